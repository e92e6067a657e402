package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
	"wardroom/internal/task"
)

// This file applies the facilitator's review: comments, tasks and inbox items. All of
// it happens in the transaction that completes the standup, so a crash neither loses
// nor repeats any of it. The effects are stored in standup_effects. A standup that is
// run again does not repeat an effect with the same subject and words.

// closing holds the data that its close method needs to complete a standup.
type closing struct {
	*meeting
	tx      *db.Tx
	row     *Standup
	tracker *blockerTracker
	asked   []Blocker // the blockers in the order of their numbers in the question to the facilitator
	done    []effect  // effects of earlier runs of this standup
	known   []effect  // recent escalations of the team
	items   []effect  // recent action items whose tasks are not done
	fresh   []effect  // effects of this run
}

// close applies the review and completes the standup.
func (m *meeting) close(ctx context.Context, review answer.Review) error {
	return m.step(ctx, "close", func(tx *db.Tx, row *Standup) error {
		c, err := m.closing(ctx, tx, row)
		if err != nil {
			return err
		}
		ended := c.tracker.endByBoard()
		if row.ActionItems, err = c.actionItems(ctx, review.ActionItems); err != nil {
			return err
		}
		if err := c.applyResolutions(ctx, review.Resolutions); err != nil {
			return err
		}
		if err := c.escalate(ctx, review.Escalations); err != nil {
			return err
		}
		ended = append(ended, c.tracker.endUnmentioned(row.Blockers)...)
		if err := c.escalateOldBlockers(ctx); err != nil {
			return err
		}
		if err := c.store(ctx); err != nil {
			return err
		}
		now := c.tracker.now
		row.Summary = &review.Summary
		row.Status, row.Phase, row.CompletedAt, row.DeadlineAt = Completed, Closed, clock.Ptr(now), nil
		facts := digest(*row)
		row.Digest = &facts
		if err := update(ctx, tx, row, now); err != nil {
			return err
		}
		if err := appendLine(ctx, tx, m.id, now, "summary", row.Facilitator, team, review.Summary); err != nil {
			return err
		}
		if err := appendLine(ctx, tx, m.id, now, "note", service, team, "The standup is completed."); err != nil {
			return err
		}
		if err := m.Inbox.ResolveCause(ctx, tx, row.failedCause(), "The standup completed."); err != nil {
			return err
		}
		if err := m.resolveMissed(ctx, tx, *row); err != nil {
			return err
		}
		if err := m.resolveEnded(ctx, tx, *row, ended); err != nil {
			return err
		}
		return record(ctx, tx, m.Now(), "standup.completed", *row, nil) // last, so that events stay in chronological order
	})
}

// closing loads the data needed to close a standup: its blockers and effects, and past escalations and action items.
func (m *meeting) closing(ctx context.Context, tx *db.Tx, row *Standup) (*closing, error) {
	c := &closing{meeting: m, tx: tx, row: row, asked: row.Blockers}
	reports := mentions(*row)
	var err error
	if c.tracker, err = m.loadTracker(ctx, tx, *row, reports); err != nil {
		return nil, err
	}
	// Match again after the review: a report may have been submitted since.
	c.tracker.match(reports)
	row.Blockers = c.tracker.recordEntries()
	if c.done, err = effectsOf(ctx, tx, row.ID); err != nil {
		return nil, fmt.Errorf("read effects: %w", err)
	}
	if c.known, err = m.escalated(ctx, tx, *row); err != nil {
		return nil, err
	}
	c.items, err = m.openItems(ctx, tx, *row)
	return c, err
}

// knownDays is the number of days for which a team's escalations and action items are
// remembered, so that repeated ones are recognized.
const knownDays = 14

// lately returns the date knownDays days before the standup.
func (s Standup) lately() (string, error) {
	day, err := time.Parse(time.DateOnly, s.Date)
	return day.AddDate(0, 0, -knownDays).Format(time.DateOnly), err
}

// escalated returns the team's escalations from the last knownDays days. It returns only
// the latest escalation for each cause, with the date of the first.
func (s *Service) escalated(ctx context.Context, q db.Queryer, row Standup) ([]effect, error) {
	from, err := row.lately()
	if err != nil {
		return nil, err
	}
	all, err := effectsSince(ctx, q, row.Team, kindEscalation, from)
	if err != nil {
		return nil, fmt.Errorf("read escalations: %w", err)
	}
	var known []effect
	for _, e := range all {
		i := slices.IndexFunc(known, func(k effect) bool { return k.Subject == e.Subject })
		if i < 0 {
			known, i = append(known, e), len(known)
		}
		known[i].first = e.Date
	}
	return known, nil
}

// addEffect records an effect of the current run. The store method writes the recorded effects to
// the database.
func (c *closing) addEffect(kind, subject, words string) {
	c.fresh = append(c.fresh, effect{StandupID: c.row.ID, Kind: kind, Subject: subject, Words: words, Date: c.row.Date})
}

// number matches the number by which a review cites a blocker, as in "2" and "2. cto: no access".
var number = regexp.MustCompile(`^#?(\d{1,4})([.:)]\s|[.:)]?$)`)

// cited returns the blocker that the review names by its number in the question, by its task or in
// its words, or nil if there is none.
func (c *closing) cited(said string, task *string) *trackedBlocker {
	id := ""
	if m := number.FindStringSubmatch(said); m != nil {
		if n, _ := strconv.Atoi(m[1]); n >= 1 && n <= len(c.asked) && c.asked[n-1].ID != nil {
			id = *c.asked[n-1].ID
		}
	}
	if keys := answer.TaskKeys(said); task == nil && len(keys) > 0 {
		task = &keys[0]
	}
	if id == "" && task != nil {
		return c.tracker.find(mention{task: taskNumber(*task)})
	}
	i := slices.IndexFunc(c.tracker.blockers, func(l *trackedBlocker) bool {
		return l.ID == id || id == "" && l.words == fold(said)
	})
	if i < 0 {
		return nil
	}
	return c.tracker.blockers[i]
}

// store writes the new effects and the changed blockers to the database.
func (c *closing) store(ctx context.Context) error {
	for _, e := range c.fresh {
		if err := putEffect(ctx, c.tx, c.tracker.team, e, c.tracker.now); err != nil {
			return fmt.Errorf("store effect: %w", err)
		}
	}
	for _, l := range c.tracker.blockers {
		for i := range c.row.Blockers {
			if x := &c.row.Blockers[i]; equalPtr(x.ID, &l.ID) {
				x.Status, x.EndedWhy, x.EscalatedOn = l.Status, l.EndedWhy, l.EscalatedOn
			}
		}
	}
	if err := saveBlockers(ctx, c.tx, c.tracker.blockers, c.tracker.now); err != nil {
		return fmt.Errorf("store blockers: %w", err)
	}
	return nil
}

// maxComment is the maximum length of a task comment in characters.
const maxComment = 10_000

// applyResolutions adds the facilitator's resolutions to the blockers in the record, and as comments
// to their tasks. A resolution that cites no blocker becomes an entry of its own, so that it is not
// lost.
func (c *closing) applyResolutions(ctx context.Context, resolutions []answer.Resolution) error {
	for _, r := range resolutions {
		l := c.cited(r.Blocker, r.Task)
		i := -1
		if l != nil {
			i = slices.IndexFunc(c.row.Blockers, func(b Blocker) bool { return equalPtr(b.ID, &l.ID) })
			r.Blocker, r.Task = l.Text, cmp.Or(taskKey(l.Task), r.Task)
		}
		if i < 0 {
			b := Blocker{
				Status: BlockerEnded, Text: r.Blocker, AgentID: c.row.Facilitator, NamedBy: []string{}, Task: r.Task,
				FirstSeen: c.row.Date, Days: []string{},
			}
			if b.Text == "" && r.Task != nil {
				b.Text = *r.Task
			}
			i = len(c.row.Blockers)
			c.row.Blockers = append(c.row.Blockers, b)
		}
		b := &c.row.Blockers[i]
		if old := b.Resolution; old == nil {
			b.Resolution = &r.Resolution
		} else if !strings.Contains(*old, r.Resolution) {
			b.Resolution = new(*old + "\n\n" + r.Resolution)
		}
		if err := c.comment(ctx, r.Task, strings.TrimSpace(r.Resolution)); err != nil {
			return err
		}
	}
	return nil
}

// comment adds a resolution as a comment to the task that it is about, unless it is there already.
func (c *closing) comment(ctx context.Context, key *string, words string) error {
	if key == nil || words == "" {
		return nil
	}
	for _, e := range slices.Concat(c.fresh, c.done) {
		if e.Kind == "comment" && e.Subject == *key && fold(e.Words) == fold(words) {
			return nil
		}
	}
	day, err := time.Parse(time.DateOnly, c.row.Date)
	if err != nil {
		return fmt.Errorf("read the date of the standup: %w", err)
	}
	text := answer.Clean("Decided in the standup of "+day.Format("2 Jan")+":\n\n"+words, maxComment)
	switch err := c.commentAs(ctx, c.row.Facilitator, *key, text); {
	case errors.Is(err, task.ErrNotFound) || errors.Is(err, task.ErrArchived):
	case err != nil:
		return fmt.Errorf("comment on %s: %w", *key, err)
	default:
		c.addEffect("comment", *key, words)
	}
	return nil
}

// commentAs comments on a task on behalf of an agent. If the agent has no account, the system is the
// author, and the comment shows the agent's ID as the name.
func (c *closing) commentAs(ctx context.Context, agentID, key, text string) error {
	users, err := c.Accounts.AgentUsers(ctx, c.tx)
	if err != nil {
		return err
	}
	by := actor.Actor{ID: actor.System.ID, Name: agentID}
	for _, u := range users {
		if u.AgentID == agentID {
			by = actor.Actor{ID: u.UserID, Name: u.Name, Role: actor.Agent, AgentID: u.AgentID}
		}
	}
	_, err = c.Tasks.CommentIn(actor.With(ctx, by), c.tx, key, task.CommentText{Body: text})
	return err
}

// escalate adds the facilitator's escalations to the inbox. Escalations with the same cause share an item.
func (c *closing) escalate(ctx context.Context, wanted []answer.Escalation) error {
	c.row.Escalations = []Escalation{}
	var items []inbox.NewItem
	for _, w := range wanted {
		task, l := c.escalationTarget(w)
		c.row.Escalations = append(c.row.Escalations, Escalation{w.Title, w.Detail, cmp.Or(w.Task, taskKey(task))})
		cause := c.causeOf(w, task, l)
		if l != nil {
			if err := c.markEscalated(ctx, l, cause); err != nil {
				return err
			}
		}
		if i := slices.IndexFunc(items, func(m inbox.NewItem) bool { return m.Cause == cause }); i >= 0 {
			items[i].Detail += "\n\n" + strings.Join([]string{headline(w.Title), w.Detail}, "\n\n")
			continue
		}
		about, err := subjectOf(ctx, c.tx, *c.row, task)
		if err != nil {
			return err
		}
		m := inbox.NewItem{
			Cause: cause, Kind: inbox.Escalation, Severity: inbox.High, Title: w.Title, Detail: w.Detail, Subject: about,
		}
		items = append(items, m)
	}
	for _, m := range items {
		if raised(c.done, m.Cause) {
			continue // raised by an earlier run of this standup
		}
		if err := c.raise(ctx, c.tx, m); err != nil {
			return err
		}
		c.addEffect(kindEscalation, m.Cause, m.Title)
	}
	return nil
}

// raised reports whether one of the effects raised an inbox item with the given cause.
func raised(done []effect, cause string) bool {
	return slices.ContainsFunc(done, func(e effect) bool {
		return e.Subject == cause && (e.Kind == kindEscalation || e.Kind == kindOldBlocker)
	})
}

// escalationTarget returns the task and the open blocker that an escalation is about.
func (c *closing) escalationTarget(w answer.Escalation) (*int64, *trackedBlocker) {
	if keys := answer.TaskKeys(w.Title); w.Task == nil && len(keys) > 0 {
		w.Task = &keys[0]
	}
	var task *int64
	if w.Task != nil {
		task = taskNumber(*w.Task)
	}
	if l := c.cited(cmp.Or(w.Blocker, w.Title), w.Task); l != nil && l.Status == BlockerOpen {
		return cmp.Or(l.Task, task), l
	}
	return task, nil
}

// causeOf returns the cause of the inbox item for an escalation. Repeated escalations of the same
// issue must share an item. Therefore the cause is derived from the task if there is one.
// Otherwise, causeOf reuses the cause of the blocker's earlier escalation or, if there was none, of
// a recent escalation with the same title. If it finds neither, it creates a new cause.
func (c *closing) causeOf(w answer.Escalation, task *int64, l *trackedBlocker) string {
	if task != nil {
		return "escalation/" + *taskKey(task)
	}
	if l != nil && l.Cause != nil && *l.Cause != l.cause() {
		return *l.Cause
	}
	for _, e := range slices.Concat(c.fresh, c.known) {
		if e.Kind == kindEscalation && !strings.HasPrefix(e.Subject, "escalation/TASK-") && fold(e.Words) == fold(w.Title) {
			return e.Subject
		}
	}
	return "escalation/" + db.NewID()
}

// markEscalated sets the cause of an escalated blocker. If the blocker already had an
// inbox item with a different cause, such as the blocker's age, it resolves that item, so
// that each blocker has at most one open item.
func (c *closing) markEscalated(ctx context.Context, l *trackedBlocker, cause string) error {
	if equalPtr(l.Cause, &cause) {
		return nil
	}
	if l.Cause != nil {
		if err := c.Inbox.ResolveCause(ctx, c.tx, *l.Cause, c.row.Facilitator+" escalated it."); err != nil {
			return err
		}
	}
	l.Cause, l.EscalatedOn, l.changed = &cause, c.escalatedOn(cause), true
	return nil
}

// escalatedOn returns the day on which an escalation with the given cause was added to the inbox: today, unless it is
// already there.
func (c *closing) escalatedOn(cause string) *string {
	if i := slices.IndexFunc(c.known, func(e effect) bool { return e.Subject == cause }); i >= 0 {
		return &c.known[i].first
	}
	return &c.row.Date
}

// escalateOldBlockers adds blockers that are at least escalationAge days old to the inbox.
// If a blocker is already in the inbox, its item is raised again. If the facilitator
// escalated the blocker, the item for that escalation is used.
func (c *closing) escalateOldBlockers(ctx context.Context) error {
	for _, l := range c.tracker.blockers {
		age := ageDays(l.FirstSeen, c.row.Date)
		if l.Status != BlockerOpen || age < escalationAge || l.LastSeen > c.row.Date {
			continue
		}
		m := inbox.NewItem{
			Cause: l.cause(), Kind: inbox.OldBlocker, Severity: inbox.Medium,
			Title: l.Agents[0] + " is blocked" + c.row.teamSuffix(" in team ") + ": " + l.Text,
		}
		if age >= highSeverityAge {
			m.Severity = inbox.High
		}
		anew := l.Cause == nil
		if l.Task != nil && anew {
			l.Cause = c.knownCause("escalation/" + *taskKey(l.Task))
		}
		if l.Cause != nil && *l.Cause != m.Cause {
			m.Cause, m.Kind, m.Severity = *l.Cause, inbox.Escalation, inbox.High
			if i := slices.IndexFunc(c.known, func(e effect) bool { return e.Subject == m.Cause }); i >= 0 {
				m.Title = c.known[i].Words
			}
		}
		l.Cause, l.changed = &m.Cause, true
		if l.EscalatedOn == nil {
			l.EscalatedOn = c.escalatedOn(m.Cause)
		}
		if raised(c.fresh, m.Cause) || !anew && raised(c.done, m.Cause) {
			continue
		}
		about, err := subjectOf(ctx, c.tx, *c.row, l.Task)
		if err != nil {
			return err
		}
		m.Subject = about
		m.Detail = fmt.Sprintf("It has blocked %s for %s, since %s:\n\n%s", strings.Join(l.Agents, ", "), days(age),
			l.FirstSeen, quoted(l.Text))
		if err := c.raise(ctx, c.tx, m); err != nil {
			return err
		}
		c.addEffect(kindOldBlocker, m.Cause, headline(l.Text))
	}
	return nil
}

// knownCause returns a pointer to the given cause if it was escalated recently, otherwise nil.
func (c *closing) knownCause(cause string) *string {
	if slices.ContainsFunc(c.known, func(e effect) bool { return e.Subject == cause }) {
		return &cause
	}
	return nil
}
