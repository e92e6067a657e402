package schedule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// judged is what this process knows of the ledger. The zero value is ready to use.
type judged struct {
	mu sync.Mutex
	by time.Time // the reading that everything was last judged by
}

// Judge takes the slots that have come into the ledger, says of each what has
// become of it by what is known of the runs, and brings to the inbox what was
// missed or has failed. It is timed work, and follows each reading. Whoever does
// it and however often, each slot is judged once.
func (s *Service) Judge(ctx context.Context) error {
	s.judged.mu.Lock()
	defer s.judged.mu.Unlock()
	now := s.Now()
	known, due, err := s.look(ctx, now)
	if err != nil {
		return fmt.Errorf("look at the ledger of slots: %w", err)
	}
	if !due {
		return nil
	}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lock); err != nil {
			return err
		}
		if known, err = findReading(ctx, tx); err != nil {
			return err
		}
		return s.judgeAll(ctx, tx, now, known)
	})
	if err != nil {
		return fmt.Errorf("judge slots: %w", err)
	}
	s.judged.by = known.to
	return nil
}

// look reports whether there is anything to do. It writes nothing, because it
// does so every few seconds.
func (s *Service) look(ctx context.Context, now time.Time) (known reading, due bool, err error) {
	if known, err = findReading(ctx, s.DB); err != nil {
		return known, false, err
	}
	if due, err = anything(ctx, s.DB, `SELECT 1 FROM schedule_jobs WHERE next_due <= ?`, now); due || err != nil {
		return known, due, err
	}
	if due, err = anything(ctx, s.DB, `SELECT 1 FROM schedule_slots WHERE look_at <= ?`, now); due || err != nil {
		return known, due, err
	}
	if s.judged.by.Equal(known.to) {
		return known, false, nil
	}
	due, err = anything(ctx, s.DB, `SELECT 1 FROM schedule_slots WHERE NOT settled`)
	if err == nil && !due {
		s.judged.by = known.to
	}
	return known, due, err
}

// judgeAll takes the slots that have come into the ledger, and judges all that
// are not settled.
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
	runs, err := runsSince(ctx, tx, first.Add(-longestBackoff-time.Minute))
	if err != nil {
		return err
	}
	var write []Slot
	var all []news
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		w, open := c.jobs[id], c.open[id]
		if w == nil {
			continue // it cannot be: a job is kept as long as its slots
		}
		f := facts{now: now, knownFrom: known.from, knownTo: known.to, since: w.since.Time, errors: w.job.State.Errors, runs: runs[id]}
		if at := w.job.State.RunningAt; at != nil && w.present {
			f.running = at.Time
		}
		if at := w.job.State.LastRunAt; at != nil {
			f.last = at.Time
		}
		after := f.judgeJob(*w, open)
		for i, slot := range after {
			if c.added[slot.place()] || slot.differs(open[i]) {
				write = append(write, slot)
			}
		}
		found := newsOf(open, after)
		for i := range found {
			found[i].at = f.happened(found[i].slot)
		}
		if was := w.alarmed; w.alarm(found) != was {
			c.came[id] = *w
		}
		all = append(all, found...)
	}
	if err := putSlots(ctx, tx, write...); err != nil {
		return err
	}
	// Their changed_at stays: the definitions are as old as they were.
	if err := putJobs(ctx, tx, slices.Collect(maps.Values(c.came))...); err != nil {
		return err
	}
	return s.tellAll(ctx, tx, all)
}

// alarm drops from the news that something is over where nothing has begun, and
// notes whether anything of the job will wait in the inbox.
func (w *watched) alarm(all []news) bool {
	for i := range all {
		n := &all[i]
		if !w.alarmed {
			n.over = nil
		}
		w.alarmed = n.slot.State == Missed || n.slot.State == Failed || w.alarmed && len(n.over) < len(troubles())
	}
	return w.alarmed
}

// troubles are the states that are brought to the inbox, each as an item of its own.
func troubles() []State { return []State{Missed, Failed} }

// cases are the slots that are to be judged.
type cases struct {
	jobs  map[string]*watched
	open  map[string][]Slot  // by their jobs, in the order of their times
	added map[place]bool     // those that are not in the ledger yet
	came  map[string]watched // jobs whose rows are to be written
}

func (s *Service) cases(ctx context.Context, tx *db.Tx, now time.Time) (cases, error) {
	c := cases{open: map[string][]Slot{}, added: map[place]bool{}, came: map[string]watched{}}
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
			c.added[slot.place()] = true
		}
		if len(slots) > 0 {
			c.open[is.job.ID] = append(c.open[is.job.ID], slots...)
		}
	}
	return c, nil
}

// judgeJob judges the slots of one job, which come in the order of their times.
func (f facts) judgeJob(w watched, open []Slot) []Slot {
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

// skippedTime explains a miss in spring: the runtime (OpenClaw 2026.9.6) runs a
// job on no later time of a day on which the clocks skip its own.
const skippedTime = " The clocks of its zone skipped its time, and the runtime does not make up for that. Run it by hand if it matters, or give it another time."

// differs reports whether there is anything to write.
func (s Slot) differs(was Slot) bool {
	return s.State != was.State || s.Reason != was.Reason || s.settled != was.settled || !same(s.StartedAt, was.StartedAt) || !same(s.lookAt, was.lookAt)
}

// news is what became of a slot, as far as it concerns humans.
type news struct {
	slot  Slot
	at    time.Time // when it happened; it may be found out much later
	was   State
	over  []State // which of its job's items in the inbox have ended
	count int     // of slots of which the same is to be told
}

// newsOf are the news of one job, in their order. Of several that were missed in
// a row only the last is told, with their number.
func newsOf(before, after []Slot) []news {
	var out []news
	for i, slot := range after {
		if slot.State == before[i].State {
			continue
		}
		n := news{slot: slot, was: before[i].State, count: 1}
		switch slot.State {
		case Missed, Failed:
			if last := len(out) - 1; last >= 0 && out[last].slot.State == slot.State {
				n.count += out[last].count
				out = out[:last]
			}
		case OnTime, Late:
			// An item that a later slot brings again at once stays as it is.
			n.over = slices.DeleteFunc(troubles(), func(trouble State) bool {
				return slices.ContainsFunc(after[i+1:], func(later Slot) bool { return later.State == trouble })
			})
		case Pending, Running, Unknown, Skipped:
			continue
		}
		out = append(out, n)
	}
	return out
}

// tellAll brings the news to the inbox, takes back what is over, and tells of
// both.
func (s *Service) tellAll(ctx context.Context, tx *db.Tx, all []news) error {
	for _, n := range all {
		switch n.slot.State {
		case Missed, Failed:
			if err := s.Raise(ctx, tx, n.matter()); err != nil {
				return err
			}
		default:
			for _, trouble := range n.over {
				if err := s.Settle(ctx, tx, cause(trouble, n.slot.JobID), "Its run of "+minute(n.slot.DueAt.Time)+" went well."); err != nil {
					return err
				}
			}
			if n.slot.State == OnTime || n.was != Missed {
				continue
			}
		}
		data := map[string]any{"due_at": n.slot.DueAt, "state": n.slot.State, "before": n.was, "reason": n.slot.Reason, "started_at": n.slot.StartedAt, "slots": n.count}
		if err := s.told(ctx, tx, event.Activity, "slot."+string(n.slot.State), n.slot.JobID, n.slot.Name, data); err != nil {
			return err
		}
		tx.Committed(func() {
			s.Log.WarnContext(ctx, "a scheduled job did not run as it should", "job_id", n.slot.JobID, "due", n.slot.DueAt.Time, "state", string(n.slot.State))
		})
	}
	return nil
}

func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 MST") }

// matter is what the inbox is told. The texts are the runtime's and the agents'.
func (n news) matter() Matter {
	m := Matter{
		Cause: cause(n.slot.State, n.slot.JobID), Kind: "job_" + string(n.slot.State), Severity: "high",
		Subject: subject(n.slot.JobID, n.slot.Name), At: n.at,
	}
	times := minute(n.slot.DueAt.Time)
	if n.count > 1 {
		times = fmt.Sprintf("%s, and %d before that", times, n.count-1)
	}
	if n.slot.State == Failed {
		m.Title = fmt.Sprintf("The job %s failed", n.slot.Name)
		m.Detail = fmt.Sprintf("Its run of %s, by the agent %s, failed: %s\n\nThis is resolved by itself when its next run goes well.", times, n.slot.AgentID, n.slot.Reason)
		return m
	}
	m.Title = fmt.Sprintf("The job %s did not run", n.slot.Name)
	m.Detail = fmt.Sprintf("The runtime was to run it, by the agent %s, at %s. %s\n\nLook whether the gateway runs and its automations are on. "+
		"Until the next time you can have it run now, here or under Schedules. This is resolved by itself when it runs.", n.slot.AgentID, times, n.slot.Reason)
	return m
}

// place is where a slot stands in the ledger, for going on behind it.
type place struct {
	due clock.Time
	job string
}

func (p place) before(q place) bool {
	return p.due.Before(q.due.Time) || p.due.Equal(q.due.Time) && p.job < q.job
}

func (s Slot) place() place { return place{s.DueAt, s.JobID} }
