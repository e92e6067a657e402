package standup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
)

// Blocker is something that holds a participant up, as it stands in the record
// of one day. It has a life over the days: see life.
type Blocker struct {
	ID          *string       `json:"id" doc:"The same on each day that it is named; null for a decision about something that nobody named."`
	Status      BlockerStatus `json:"status" enum:"open,ended" doc:"How it stands now, also in the record of an earlier day."`
	EndedWhy    *string       `json:"ended_why" enum:"unblocked,done,archived,deleted,unnamed,left" doc:"What ended it: its task was unblocked, done, archived or deleted; nobody named it any more; or who named it has left."`
	Text        string        `json:"text"`
	AgentID     string        `json:"agent_id" doc:"Whom it holds up: the first who named it."`
	NamedBy     []string      `json:"named_by" nullable:"false" doc:"Who named it on this day. Nobody when it is still open because who named it last was not heard."`
	Task        *string       `json:"task" doc:"The task it names first."`
	FirstSeen   string        `json:"first_seen" format:"date"`
	Days        []string      `json:"days" nullable:"false" doc:"The days on which it was named so far, at most the last hundred."`
	AgeDays     int           `json:"age_days" doc:"Calendar days since first_seen, on the day of the record."`
	EscalatedOn *string       `json:"escalated_on" format:"date" doc:"Since when it stands in the inbox."`
	Resolution  *string       `json:"resolution" doc:"What the facilitator decided."`
}

// BlockerStatus is how a blocker stands.
type BlockerStatus string

// The states of a blocker.
const (
	BlockerOpen  BlockerStatus = "open"
	BlockerEnded BlockerStatus = "ended"
)

// What ends a blocker.
const (
	endUnblocked = "unblocked"
	endDone      = "done"
	endArchived  = "archived"
	endDeleted   = "deleted"
	endUnnamed   = "unnamed" // nobody named it in a completed standup
	endLeft      = "left"    // who named it has no account any more, or is no participant
)

// How the board may have the task of a blocker.
const (
	boardBlocked  = "blocked"
	boardOpen     = "open"
	boardDone     = "done"
	boardArchived = "archived"
	boardGone     = "gone"
)

// oldAge is from which age on a blocker goes to a human: first seen on Monday,
// it is old on Wednesday, its third day. Calendar days count and not meetings,
// as in the age that is shown: a weekend or a standup that failed makes no
// blocker younger.
const escalationAge = 2

const (
	maxDays        = 100   // that are kept of one blocker
	maxBlockerText = 2_000 // characters of a blocker that are kept beside the record
)

// life is a blocker over the days. There is one row for it as long as it lives,
// and a blocker that comes back after it has ended is a new one.
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
	StandupID   string
	CreatedAt   clock.Time

	words   wording
	entry   *Blocker // in the record of the standup that goes on, once it was named
	place   int      // of its first naming, among all of them
	fresh   bool     // not stored yet
	changed bool     // differs from what is stored
}

// naming is what one participant says of one blocker.
type mention struct {
	place   int
	agentID string
	text    string
	task    *int64
	words   wording
	since   string // the day since which the board has the task as blocked; empty if it does not
}

// book is the blockers of a team, as one standup takes them up. All of its
// rules are here; it knows no database.
type blockerTracker struct {
	row      Standup
	now      time.Time
	team     string
	blockers []*trackedBlocker // the open ones, and those that this standup may take up again
	board    map[int64]string  // how the board has their tasks
}

// namings are what the reports of row name, by report.
func mentions(row Standup) [][]mention {
	all := make([][]mention, len(row.Reports))
	place := 0
	for i, r := range row.Reports {
		if r.Blockers == nil || r.Status != Answered {
			continue
		}
		for _, text := range first(answer.Items(*r.Blockers), maxFindings) {
			place++
			n := mention{place: place, agentID: r.AgentID, text: text, words: wordingOf(text)}
			if keys := answer.TaskKeys(text); len(keys) > 0 {
				n.task = taskNumber(keys[0])
				n.since = r.blockedSince(&keys[0], row.Timezone)
			}
			all[i] = append(all[i], n)
		}
	}
	return all
}

// taskNumber is the 12 of TASK-12, or nil when it is beyond all tasks.
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

// take notes what the reports name. Each naming is one of the blockers that
// there are, or a new one: by its task, whoever names it; else by its words,
// among what the same participant named before. Of one report two namings are
// one blocker only if they name one task or use the same words, because a
// participant who lists two things means two.
func (b *blockerTracker) match(reports [][]mention) {
	for _, named := range reports {
		taken := map[*trackedBlocker]bool{}
		rest := make([]mention, 0, len(named))
		for _, n := range named {
			if l := b.byTask(n.task); l != nil {
				b.addMention(l, n)
				taken[l] = true
				continue
			}
			rest = append(rest, n)
		}
		of := b.byWords(rest, taken)
		for i, n := range rest {
			same := slices.IndexFunc(rest[:i], func(o mention) bool { return o.words.plain == n.words.plain && equalPtr(o.task, n.task) })
			if l := b.byTask(n.task); l != nil { // another of this report has begun it, or brought its task
				of[i] = l
			} else if of[i] == nil && same >= 0 {
				of[i] = of[same]
			} else if of[i] == nil {
				of[i] = b.newBlocker(n)
			}
			b.addMention(of[i], n)
		}
	}
}

// byTask is the blocker of a task, an open one before one that has ended.
func (b *blockerTracker) byTask(task *int64) *trackedBlocker {
	var found *trackedBlocker
	for _, l := range b.blockers {
		if task != nil && equalPtr(l.Task, task) && (found == nil || found.Status == BlockerEnded && l.Status == BlockerOpen) {
			found = l
		}
	}
	return found
}

func equalPtr[T comparable](a, b *T) bool {
	return a != nil && b != nil && *a == *b || a == nil && b == nil
}

// byWords finds which of the namings of one report are blockers that there are,
// the most alike first; each is one naming.
func (b *blockerTracker) byWords(named []mention, taken map[*trackedBlocker]bool) []*trackedBlocker {
	type pair struct {
		mention int
		blocker *trackedBlocker
		score   float64
	}
	var pairs []pair
	for i, n := range named {
		for _, l := range b.blockers {
			if taken[l] || !slices.Contains(l.Agents, n.agentID) || !l.sameTasks(n) || l.Status == BlockerEnded && l.Task != nil && b.byTask(l.Task) != l {
				continue
			}
			if score, same := n.words.similarity(l.words); same {
				pairs = append(pairs, pair{i, l, score})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.blocker.FirstSeen, y.blocker.FirstSeen), cmp.Compare(x.blocker.ID, y.blocker.ID))
	})
	found := make([]*trackedBlocker, len(named))
	for _, p := range pairs {
		if found[p.mention] == nil && !taken[p.blocker] {
			found[p.mention], taken[p.blocker] = p.blocker, true
		}
	}
	return found
}

// sameTasks reports whether what the two name does not speak against their being
// one: either names no task, or both the same ones in another order.
func (l *trackedBlocker) sameTasks(n mention) bool {
	if l.Task == nil || n.task == nil {
		return true
	}
	mine, theirs := answer.TaskKeys(l.Text), answer.TaskKeys(n.text)
	slices.Sort(mine)
	slices.Sort(theirs)
	return slices.Equal(mine, theirs)
}

// begin is the first day of a blocker.
func (b *blockerTracker) newBlocker(n mention) *trackedBlocker {
	l := &trackedBlocker{
		ID: db.NewID(), Team: b.team, Task: n.task, Status: BlockerOpen,
		FirstSeen: b.row.Date, LastSeen: b.row.Date, CreatedAt: clock.At(b.now), fresh: true,
	}
	if n.since != "" {
		l.Board = boardBlocked // as the participant was told; what has changed since ends it
	} else if n.task != nil {
		l.Board = b.board[*n.task]
	}
	b.blockers = append(b.blockers, l)
	return l
}

// name notes that somebody named a blocker today. It is the only place that
// changes its days: they only become more, and the first one only earlier.
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
	if l.Task == nil && n.task != nil {
		l.Task, l.Board = n.task, b.board[*n.task]
	}
	if l.Status == BlockerEnded && (*l.EndedWhy == endUnnamed || *l.EndedWhy == endLeft) {
		// It ended in this standup, which is held once more, or just now in another.
		l.Status, l.EndedAt, l.EndedWhy, l.EndedIn = BlockerOpen, nil, nil, nil
		if equalPtr(l.Cause, new(l.cause())) {
			l.Cause = nil // that was settled, so that it is raised anew
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
	case wordingOf(e.Text).plain != n.words.plain:
		e.Text += "\n\n" + n.text
	}
	if date >= l.LastSeen { // what a later standup heard stands
		l.LastSeen, l.StandupID, l.Agents = date, b.row.ID, slices.Clone(e.NamedBy)
		l.Text = answer.Clean(e.Text, maxBlockerText)
	}
}

// settle ends the blockers whose task is not blocked any more. What never was
// blocked on the board is not unblocked there.
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

// close ends the blockers that nobody named, although all who named them last
// were heard. named are those of the record.
func (b *blockerTracker) endUnmentioned(named []Blocker) (ended []*trackedBlocker) {
	for _, l := range b.blockers {
		again := slices.ContainsFunc(named, func(x Blocker) bool { return equalPtr(x.ID, &l.ID) && len(x.NamedBy) > 0 })
		if l.Status != BlockerOpen || l.LastSeen > b.row.Date || again || b.awaitsReport(l) {
			continue
		}
		why := endUnnamed
		if !slices.ContainsFunc(b.row.Reports, func(r Report) bool { return r.Status == Answered && slices.Contains(l.Agents, r.AgentID) }) {
			why = endLeft
		}
		l.end(why, b.now)
		l.EndedIn = &b.row.ID
		ended = append(ended, l)
	}
	return ended
}

// unheard reports whether somebody who named a blocker last did not get a word
// in, so that nothing can be said about it. One who has left is not waited for,
// unless the board says that the task is blocked.
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

// entries are the blockers for the record: those that were named, in the order
// of the reports, and those that stay open because somebody was not heard.
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

// blocker is a life in the record of a day.
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

// blockedSince is the day since which the board has the task as blocked.
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
