package schedule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// judged records how far this process has updated the slot ledger. The zero value is ready to use.
type judged struct {
	mu sync.Mutex
	by time.Time // when the data was read that all slots were last evaluated with
}

// Judge adds due slots to the ledger, determines their state from the known runs, and
// raises inbox items for missed and failed ones. It runs on a timer and after each read of
// the runtime. It is idempotent, and any replica can run it.
func (s *Service) Judge(ctx context.Context) error {
	s.judged.mu.Lock()
	defer s.judged.mu.Unlock()
	now := s.Now()
	known, due, err := s.checkDue(ctx, now)
	if err != nil {
		return fmt.Errorf("check the slot ledger: %w", err)
	}
	if !due {
		return nil
	}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if known, err = s.reading(ctx, tx); err != nil {
			return err
		}
		return s.judgeAll(ctx, tx, now, known)
	})
	if err != nil {
		return fmt.Errorf("update the slot ledger: %w", err)
	}
	s.judged.by = known.to
	return nil
}

// checkDue returns the last reading and reports whether the slot ledger needs an update. It writes
// nothing to the database, because it runs every few seconds.
func (s *Service) checkDue(ctx context.Context, now time.Time) (known reading, due bool, err error) {
	if known, err = s.reading(ctx, s.DB); err != nil {
		return known, false, err
	}
	if due, err = rowExists(ctx, s.DB, `SELECT 1 FROM schedule_jobs WHERE next_due <= ?`, now); due || err != nil {
		return known, due, err
	}
	if due, err = rowExists(ctx, s.DB, `SELECT 1 FROM schedule_slots WHERE look_at <= ?`, now); due || err != nil {
		return known, due, err
	}
	if s.judged.by.Equal(known.to) {
		return known, false, nil
	}
	due, err = rowExists(ctx, s.DB, `SELECT 1 FROM schedule_slots WHERE NOT settled`)
	if err == nil && !due {
		s.judged.by = known.to
	}
	return known, due, err
}

// judgeAll adds due slots to the slot ledger and updates the state of all slots that are not final.
func (s *Service) judgeAll(ctx context.Context, tx *db.Tx, now time.Time, known reading) error {
	c, err := s.cases(ctx, tx, now)
	if err != nil || len(c.open) == 0 {
		return err
	}
	first := now
	for _, open := range c.open {
		if open[0].DueAt.Before(first) {
			first = open[0].DueAt.Time
		}
	}
	runs, err := runsSince(ctx, tx, first.Add(-maxBackoff-time.Minute))
	if err != nil {
		return err
	}
	var write []Slot
	var all []slotChange
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		w, open := c.jobs[id], c.open[id]
		if w == nil {
			continue // impossible: a job is kept as long as its slots
		}
		f := facts{
			now: now, knownFrom: known.from, knownTo: known.to, since: w.since.Time, change: w.change(), away: known.away,
			errors: w.job.State.Errors, runs: runs[id],
		}
		if at := w.job.State.RunningAt; at != nil && w.present {
			f.running = at.Time
		}
		if at := w.job.State.LastRunAt; at != nil {
			f.last = at.Time
		}
		after := f.judgeJob(*w, open)
		for i, slot := range after {
			if c.added[slot.key()] || slot.differs(open[i]) {
				write = append(write, slot)
			}
		}
		found := slotChangesOf(open, after)
		for i := range found {
			found[i].job = w.job
			found[i].at, found[i].failed = f.event(found[i].slot)
			found[i].explained, found[i].ended = f.away.overlaps(found[i].slot), !w.present || !w.job.Enabled
		}
		if was := w.alarmed; w.trackAlarm(found) != was {
			c.came[id] = *w
		}
		all = append(all, found...)
	}
	if err := putSlots(ctx, tx, write...); err != nil {
		return err
	}
	// These writes do not change changed_at, because the definitions of the jobs are the same.
	if err := putJobs(ctx, tx, slices.Collect(maps.Values(c.came))...); err != nil {
		return err
	}
	return s.reportChanges(ctx, tx, all)
}

// trackAlarm updates and returns w.alarmed, which is true if the job may have inbox items. For
// changes made while it is false, trackAlarm clears the resolved field, because there is no inbox
// item to resolve.
func (w *mirroredJob) trackAlarm(all []slotChange) bool {
	for i := range all {
		n := &all[i]
		if !w.alarmed {
			n.resolved = nil
		}
		w.alarmed = n.slot.State == Missed || n.slot.State == Failed || w.alarmed && len(n.resolved) < len(alertStates())
	}
	return w.alarmed
}

// alertStates returns the states that raise an inbox item, one item per state.
func alertStates() []State { return []State{Missed, Failed} }

// cases holds the slots whose states may have to change, and their jobs.
type cases struct {
	jobs  map[string]*mirroredJob
	open  map[string][]Slot      // by job, in chronological order
	added map[slotKey]bool       // slots that are not in the ledger yet
	came  map[string]mirroredJob // jobs with changed rows
}

func (s *Service) cases(ctx context.Context, tx *db.Tx, now time.Time) (cases, error) {
	c := cases{open: map[string][]Slot{}, added: map[slotKey]bool{}, came: map[string]mirroredJob{}}
	open, err := openSlots(ctx, tx)
	if err != nil {
		return c, err
	}
	if c.jobs, err = openJobs(ctx, tx); err != nil {
		return c, err
	}
	for _, slot := range open {
		c.open[slot.JobID] = append(c.open[slot.JobID], slot)
	}
	due, err := dueJobs(ctx, tx, now)
	if err != nil {
		return c, err
	}
	for _, w := range due {
		is, slots := w.due(now, s.Grace)
		c.came[is.job.ID], c.jobs[is.job.ID] = is, &is
		for _, slot := range slots {
			c.added[slot.key()] = true
		}
		if len(slots) > 0 {
			c.open[is.job.ID] = append(c.open[is.job.ID], slots...)
		}
	}
	return c, nil
}

// judgeJob returns the slots of one job, in chronological order, with their current
// state.
func (f facts) judgeJob(w mirroredJob, open []Slot) []Slot {
	after := make([]Slot, len(open))
	p, why := planOf(w.job)
	for i, slot := range open {
		var next time.Time
		switch {
		case i+1 < len(open):
			next = open[i+1].DueAt.Time
		case same(w.lastDue, &slot.DueAt) && w.nextDue != nil:
			next = w.nextDue.Time
		case why == "" && !p.times.IsZero():
			next = p.times.Next(slot.DueAt.Time)
		case w.lastDue != nil && w.lastDue.After(slot.DueAt.Time):
			next = w.lastDue.Time
		case w.nextDue != nil:
			next = w.nextDue.Time
		}
		after[i] = f.judge(slot, next)
		if s := &after[i]; s.State == Missed && open[i].State != Missed && !p.times.IsZero() && !p.times.Names(s.DueAt.Time) {
			s.Reason += skippedTime
		}
	}
	return after
}

// skippedTime explains a slot that was missed because the clocks went forward past its time. The
// runtime (OpenClaw 2026.9.6) does not run the job at another time on that day.
const skippedTime = " The clocks went forward and skipped this time. Run the job now if necessary, or change its time."

// differs reports whether a slot differs from its stored version and must be written.
func (s Slot) differs(was Slot) bool {
	return s.State != was.State || s.Reason != was.Reason || s.final != was.final || !same(s.StartedAt, was.StartedAt) ||
		!same(s.recheckAt, was.recheckAt)
}

// slotChange is a change to a slot's state that must be reported.
type slotChange struct {
	job       gateway.Job
	slot      Slot
	at        time.Time // when it happened, which can be long ago
	failed    *Run      // the run of a failed slot
	explained bool      // an outage explains a missed slot
	ended     bool      // the job is disabled or removed, so no later run can succeed by itself
	was       State
	resolved  []State // states whose inbox items of the job are resolved
	count     int     // number of slots that this change combines
}

// slotChangesOf returns the state changes to report for one job's slots, in chronological
// order. It combines consecutive changes to missed into one, which contains the last of
// these slots and their number. The same applies to failed.
func slotChangesOf(before, after []Slot) []slotChange {
	var out []slotChange
	for i, slot := range after {
		if slot.State == before[i].State {
			continue
		}
		n := slotChange{slot: slot, was: before[i].State, count: 1}
		switch slot.State {
		case Missed, Failed:
			if last := len(out) - 1; last >= 0 && out[last].slot.State == slot.State {
				n.count += out[last].count
				out = out[:last]
			}
		case OnTime, Late:
			// Do not resolve an item that a later slot raises again at once.
			n.resolved = slices.DeleteFunc(alertStates(), func(trouble State) bool {
				return slices.ContainsFunc(after[i+1:], func(later Slot) bool { return later.State == trouble })
			})
		case Pending, Running, Unknown, Skipped:
			continue
		}
		out = append(out, n)
	}
	return out
}

// reportChanges raises and resolves inbox items, and records events, for slots whose state has
// changed.
func (s *Service) reportChanges(ctx context.Context, tx *db.Tx, all []slotChange) error {
	for _, n := range all {
		switch n.slot.State {
		case Missed, Failed:
			if err := s.raise(ctx, tx, n); err != nil {
				return err
			}
		default:
			for _, trouble := range n.resolved {
				if err := s.Inbox.ResolveCause(
					ctx, tx, cause(trouble, n.slot.JobID), "The run at "+minute(n.slot.DueAt.Time)+" succeeded.",
				); err != nil {
					return err
				}
			}
			if n.slot.State == OnTime || n.was != Missed {
				continue
			}
		}
		data := map[string]any{
			"due_at": n.slot.DueAt, "state": n.slot.State, "before": n.was, "reason": n.slot.Reason,
			"started_at": n.slot.StartedAt, "slots": n.count,
		}
		if err := s.recordEvent(
			ctx, tx, event.Activity, "slot."+string(n.slot.State), n.slot.JobID, n.slot.Name, data,
		); err != nil {
			return err
		}
		tx.Committed(func() {
			s.Log.WarnContext(ctx, "a scheduled job did not run as planned", "job_id", n.slot.JobID, "due", n.slot.DueAt.Time,
				"state", string(n.slot.State))
		})
	}
	return nil
}

// raise raises the inbox item of a missed or failed slot, unless the standup that it did not start has one.
func (s *Service) raise(ctx context.Context, tx *db.Tx, n slotChange) error {
	if starts, err := s.StartsStandup(ctx, tx, n.job); starts || err != nil {
		return err
	}
	return s.Inbox.Raise(ctx, tx, n.inboxItem())
}

func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 MST") }

// inboxItem returns the inbox item for a missed or failed slot. Its details begin with the reason,
// which lists show. It quotes text from the runtime and from agents.
func (n slotChange) inboxItem() inbox.NewItem {
	m := inbox.NewItem{
		Cause: cause(n.slot.State, n.slot.JobID), Kind: inbox.JobMissed, Severity: inbox.High,
		Subject: subject(n.slot.JobID, n.slot.Name), At: n.at,
	}
	times := minute(n.slot.DueAt.Time)
	if n.count > 1 {
		times = fmt.Sprintf("%s, and %d earlier", times, n.count-1)
	}
	if n.slot.State == Failed {
		m.Kind = inbox.JobFailed
		m.Title = fmt.Sprintf("Job “%s” failed", n.slot.Name)
		next := "This item is resolved when the next run succeeds."
		if n.ended {
			next = "The job is now disabled, so this item is resolved only when a manual run succeeds."
		}
		m.Detail = fmt.Sprintf("%s\n\nThe run at %s by agent %s failed. %s", n.slot.Reason, times, n.slot.AgentID, next)
		if n.failed != nil && n.failed.SessionKey != "" {
			m.Run = &inbox.Run{SessionKey: n.failed.SessionKey, RunID: n.failed.RunID}
		}
		return m
	}
	m.Title = fmt.Sprintf("Job “%s” did not run", n.slot.Name)
	check := "Check that the gateway's automations are on. "
	if n.explained {
		check = ""
	}
	m.Detail = fmt.Sprintf("%s\n\nIt was due for agent %s at %s. %sThis item is resolved when the job runs.",
		n.slot.Reason, n.slot.AgentID, times, check)
	return m
}

// slotKey is the position of a slot in the ledger.
type slotKey struct {
	due clock.Time
	job string
}

func (p slotKey) before(q slotKey) bool {
	return p.due.Before(q.due.Time) || p.due.Equal(q.due.Time) && p.job < q.job
}

func (s Slot) key() slotKey { return slotKey{s.DueAt, s.JobID} }
