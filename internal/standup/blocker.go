package standup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/standup/answer"
)

// Blocker is a participant's blocker as it appears in the record of one standup. A
// trackedBlocker follows the same blocker across standups.
type Blocker struct {
	ID          *string       `json:"id" doc:"The same in every standup that reports the blocker; null for a resolution that matches no reported blocker."`
	Status      BlockerStatus `json:"status" enum:"open,ended" doc:"The current status, even in the record of an earlier day."`
	EndedWhy    *string       `json:"ended_why" enum:"unblocked,done,archived,deleted,unnamed,left,decided" doc:"Why it ended. unblocked, done, archived and deleted say what happened to its task. decided: a person decided about its task and unblocked it. unnamed: no participant reported it again. left: the participant who reported it is no longer in the team."`
	Text        string        `json:"text"`
	AgentID     string        `json:"agent_id" doc:"The blocked agent: the first one who reported the blocker."`
	NamedBy     []string      `json:"named_by" nullable:"false" doc:"The agents who reported it on this day. Empty if it stays open because the agent who last reported it gave no report."`
	Task        *string       `json:"task" doc:"The first task that the text names."`
	FirstSeen   string        `json:"first_seen" format:"date"`
	Days        []string      `json:"days" nullable:"false" doc:"The days on which it was reported; the latest 100."`
	AgeDays     int           `json:"age_days" doc:"Calendar days from first_seen to the day of the record."`
	EscalatedOn *string       `json:"escalated_on" format:"date" doc:"The day on which it was added to the inbox."`
	Resolution  *string       `json:"resolution" doc:"What the facilitator says should happen."`
	Decision    *Verdict      `json:"decision" doc:"What the person decided who ended it; null unless ended_why is decided, and in old records."`
}

// Verdict is what a person decided about the task of a blocker.
type Verdict struct {
	By   string     `json:"by" doc:"Name of the person."`
	Text string     `json:"text" doc:"The start of the decision."`
	At   clock.Time `json:"at"`
}

// BlockerStatus is the state of a blocker.
type BlockerStatus string

// The states of a blocker.
const (
	BlockerOpen  BlockerStatus = "open"
	BlockerEnded BlockerStatus = "ended"
)

// Reasons why a blocker ended.
const (
	endUnblocked = "unblocked"
	endDone      = "done"
	endArchived  = "archived"
	endDeleted   = "deleted"
	endUnnamed   = "unnamed" // no participant reported it in a completed standup
	endLeft      = "left"    // its reporter has no active account or is no longer a participant
	endDecided   = "decided" // a person decided what to do about its task
)

// Possible board states of a blocker's task.
const (
	boardBlocked  = "blocked"
	boardOpen     = "open"
	boardDone     = "done"
	boardArchived = "archived"
	boardGone     = "gone"
)

// escalationAge is the age, in calendar days, at which a blocker is added to the inbox. For
// example, a blocker first seen on Monday is added on Wednesday. Weekends and days with failed
// standups count, too.
const escalationAge = 2

const (
	maxDays        = 100   // stored days per blocker
	maxBlockerText = 2_000 // stored characters of a tracked blocker's text
)

// trackedBlocker is a blocker that is followed across standups. It is stored as one row.
// If a blocker is reported again after it ended, a new trackedBlocker is created.
type trackedBlocker struct {
	ID          string
	Team        string
	Agents      []string
	Text        string
	Task        *int64
	Board       string
	FirstSeen   string
	LastSeen    string
	Days        []string
	Status      BlockerStatus
	Cause       *string
	EscalatedOn *string
	EndedAt     *clock.Time
	EndedWhy    *string
	EndedIn     *string
	DecidedBy   *string // name of the person who decided about its task
	Decision    *string // what they decided
	StandupID   string
	CreatedAt   clock.Time

	words   string   // its text, folded
	entry   *Blocker // its entry in the current standup's record; nil until it is mentioned
	place   int      // position of its first mention in the standup
	changed bool     // differs from the stored row
}

// mention is a blocker as mentioned in one participant's report.
type mention struct {
	place   int
	agentID string
	text    string
	task    *int64
	words   string // the text, folded
	since   string // the day on which the task was blocked on the board; empty if it is not blocked
}

// blockerTracker matches the blockers in a standup's reports with the team's tracked
// blockers. It contains all matching rules and does not access the database.
type blockerTracker struct {
	row      Standup
	now      time.Time
	team     string
	blockers []*trackedBlocker // the open ones, and ended ones that this standup may reopen
	board    map[int64]string  // the state of their tasks, by task number
}

// mentions returns the blockers mentioned in each of the standup's reports.
func mentions(row Standup) [][]mention {
	all := make([][]mention, len(row.Reports))
	place := 0
	for i, r := range row.Reports {
		if r.Blockers == nil || r.Status != Answered {
			continue
		}
		items := slices.DeleteFunc(answer.Items(*r.Blockers), answer.SaysNone)
		for _, text := range first(items, maxFindings) {
			place++
			n := mention{place: place, agentID: r.AgentID, text: text, words: fold(text)}
			if keys := answer.TaskKeys(text); len(keys) > 0 {
				n.task = taskNumber(keys[0])
				n.since = r.blockedSince(&keys[0], row.Timezone)
			}
			all[i] = append(all[i], n)
		}
	}
	return all
}

// taskNumber returns the number in a task key, such as 12 for TASK-12. It returns nil if the number is out of range.
func taskNumber(key string) *int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(key, "TASK-"), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func taskKey(n *int64) *string {
	if n == nil {
		return nil
	}
	return new("TASK-" + strconv.FormatInt(*n, 10))
}

// match assigns each mention to a tracked blocker, or creates a new one for it.
func (b *blockerTracker) match(reports [][]mention) {
	for _, n := range slices.Concat(reports...) {
		l := b.find(n)
		if l == nil {
			l = b.newBlocker(n)
		}
		b.addMention(l, n)
	}
}

// find returns the blocker that a mention is about, or nil. A mention that names a task is about the
// blocker of that task, even if another agent reported it. Any other is about a blocker that the same
// agent reported in the same words. find prefers an open blocker to an ended one.
func (b *blockerTracker) find(n mention) (found *trackedBlocker) {
	for _, l := range b.blockers {
		same := equalPtr(l.Task, n.task) && (n.task != nil || l.words == n.words && slices.Contains(l.Agents, n.agentID))
		if same && (found == nil || found.Status == BlockerEnded && l.Status == BlockerOpen) {
			found = l
		}
	}
	return found
}

// fold returns the letters and digits of a text's stored part in the form of plaintext.Fold. Texts that
// differ only in case, punctuation or spaces are equal after folding.
func fold(text string) string {
	text = answer.Clean(text, maxBlockerText)
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return r
		}
		return -1
	}, plaintext.Fold(text))
	return cmp.Or(folded, text)
}

// equalPtr reports whether the two pointers are both nil or point to equal values.
func equalPtr[T comparable](a, b *T) bool {
	return a != nil && b != nil && *a == *b || a == nil && b == nil
}

// newBlocker adds a blocker for a mention that matches no existing one.
func (b *blockerTracker) newBlocker(n mention) *trackedBlocker {
	l := &trackedBlocker{
		ID: db.NewID(), Team: b.team, Task: n.task, Status: BlockerOpen,
		FirstSeen: b.row.Date, LastSeen: b.row.Date, CreatedAt: clock.At(b.now),
	}
	if n.since != "" {
		l.Board = boardBlocked // as in the agent's evidence; a change since then ends the blocker
	} else if n.task != nil {
		l.Board = b.board[*n.task]
	}
	b.blockers = append(b.blockers, l)
	return l
}

// addMention records that a blocker was mentioned in this standup. No other function changes
// the days on which the blocker was mentioned. addMention can move FirstSeen to an earlier
// day, but not to a later one.
func (b *blockerTracker) addMention(l *trackedBlocker, n mention) {
	date := b.row.Date
	l.changed = true
	if at, had := slices.BinarySearch(l.Days, date); !had {
		l.Days = slices.Insert(slices.Clone(l.Days), at, date)
		l.Days = l.Days[max(len(l.Days)-maxDays, 0):]
	}
	l.FirstSeen = min(l.FirstSeen, date)
	if n.since != "" {
		l.FirstSeen = min(l.FirstSeen, n.since)
	}
	if l.Status == BlockerEnded && (*l.EndedWhy == endUnnamed || *l.EndedWhy == endLeft) {
		// It ended in an earlier run of this standup, or just now in another standup.
		l.Status, l.EndedAt, l.EndedWhy, l.EndedIn = BlockerOpen, nil, nil, nil
		if equalPtr(l.Cause, new(l.cause())) {
			l.Cause = nil // its inbox item is resolved, so raise a new one
		}
	}
	e := l.entry
	switch {
	case e == nil:
		e = &Blocker{Text: n.text, AgentID: n.agentID, NamedBy: []string{n.agentID}}
		l.entry, l.place = e, n.place
	case !slices.Contains(e.NamedBy, n.agentID):
		e.NamedBy = append(e.NamedBy, n.agentID)
		e.Text += "\n\n" + n.agentID + ": " + n.text
	case fold(e.Text) != n.words:
		e.Text += "\n\n" + n.text
	}
	if date >= l.LastSeen { // do not overwrite the data of a later standup
		l.LastSeen, l.StandupID, l.Agents = date, b.row.ID, slices.Clone(e.NamedBy)
		l.Text = answer.Clean(e.Text, maxBlockerText)
		l.words = fold(l.Text)
	}
}

// endByBoard ends the blockers whose task is done, archived, deleted or no longer blocked.
// A task that was never blocked on the board is not treated as unblocked.
func (b *blockerTracker) endByBoard() (ended []*trackedBlocker) {
	for _, l := range b.blockers {
		if l.Status != BlockerOpen || l.Task == nil {
			continue
		}
		was, is := l.Board, b.board[*l.Task]
		if is == was || is == "" {
			continue
		}
		l.Board, l.changed = is, true
		why := map[string]string{boardDone: endDone, boardArchived: endArchived, boardGone: endDeleted}[is]
		if is == boardOpen && was == boardBlocked {
			why = endUnblocked
		}
		if why != "" && (is != boardArchived || was != boardDone) {
			l.end(why, b.now)
			ended = append(ended, l)
		}
	}
	return ended
}

func (l *trackedBlocker) end(why string, now time.Time) {
	l.Status, l.EndedWhy, l.EndedAt, l.changed = BlockerEnded, &why, clock.Ptr(now), true
}

// endUnmentioned ends the open blockers that were not reported again, except those for which
// awaitsReport returns true. The slice named contains the blockers in the standup's record.
func (b *blockerTracker) endUnmentioned(named []Blocker) (ended []*trackedBlocker) {
	for _, l := range b.blockers {
		again := slices.ContainsFunc(named, func(x Blocker) bool { return equalPtr(x.ID, &l.ID) && len(x.NamedBy) > 0 })
		if l.Status != BlockerOpen || l.LastSeen > b.row.Date || again || b.awaitsReport(l) {
			continue
		}
		why := endUnnamed
		if !slices.ContainsFunc(b.row.Reports, func(r Report) bool {
			return r.Status == Answered && slices.Contains(l.Agents, r.AgentID)
		}) {
			why = endLeft
		}
		l.end(why, b.now)
		l.EndedIn = &b.row.ID
		ended = append(ended, l)
	}
	return ended
}

// awaitsReport reports whether the blocker must stay open because an agent that reported it
// last time has not answered in this standup. Agents that no longer take part are ignored,
// unless the blocker's task is blocked on the board.
func (b *blockerTracker) awaitsReport(l *trackedBlocker) bool {
	for _, agentID := range l.Agents {
		i := slices.IndexFunc(b.row.Reports, func(r Report) bool { return r.AgentID == agentID })
		if i >= 0 && b.row.Reports[i].Status != Answered && b.row.Reports[i].Status != Missing {
			return true
		}
		if l.Board == boardBlocked && (i < 0 || b.row.Reports[i].Status == Missing) {
			return true
		}
	}
	return false
}

// recordEntries returns the blockers for the standup's record: first the mentioned ones,
// in the order of the reports, then those that stay open because a report is missing.
func (b *blockerTracker) recordEntries() []Blocker {
	var named, silent []*trackedBlocker
	for _, l := range b.blockers {
		switch {
		case l.entry != nil:
			named = append(named, l)
		case l.Status == BlockerOpen && l.LastSeen <= b.row.Date && b.awaitsReport(l):
			silent = append(silent, l)
		}
	}
	slices.SortFunc(named, func(x, y *trackedBlocker) int { return cmp.Compare(x.place, y.place) })
	slices.SortFunc(silent, func(x, y *trackedBlocker) int {
		return cmp.Or(cmp.Compare(x.FirstSeen, y.FirstSeen), cmp.Compare(x.ID, y.ID))
	})
	list := make([]Blocker, 0, len(named)+len(silent))
	for _, l := range append(named, silent...) {
		list = append(list, l.recordEntry(b.row.Date))
	}
	return list
}

// recordEntry returns the blocker as it appears in the record of the given day's standup.
func (l *trackedBlocker) recordEntry(date string) Blocker {
	e := Blocker{Text: l.Text, AgentID: l.Agents[0], NamedBy: []string{}}
	if l.entry != nil {
		e = *l.entry
	}
	e.ID, e.Status, e.EndedWhy, e.Task = new(l.ID), l.Status, l.EndedWhy, taskKey(l.Task)
	e.FirstSeen, e.Days, e.EscalatedOn = l.FirstSeen, slices.Clone(l.Days), l.EscalatedOn
	e.AgeDays = ageDays(l.FirstSeen, date)
	return e
}

// blockedSince returns the day on which the task was blocked, or "" if the report's
// evidence does not list the task as blocked.
func (r Report) blockedSince(task *string, timezone string) string {
	zone, err := time.LoadLocation(timezone)
	if task == nil || r.Evidence == nil || err != nil {
		return ""
	}
	for _, item := range r.Evidence.Blocked {
		if item.Key == *task && item.Since != nil {
			return item.Since.In(zone).Format(time.DateOnly)
		}
	}
	return ""
}
