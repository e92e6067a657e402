package schedule

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// SlotFilter says which slots are meant.
type SlotFilter struct {
	JobID    string // only of this job; empty is all
	From, To time.Time
}

// longestSpan is how much of the ledger is read at once.
const longestSpan = 31 * 24 * time.Hour

// Slots are the slots from one time on and before another, by their times: those
// that are in the ledger, and those that are to come. They begin behind a place,
// and are limit at most.
func (s *Service) Slots(ctx context.Context, f SlotFilter, after *place, limit int) ([]Slot, error) {
	if !f.From.Before(f.To) || f.To.Sub(f.From) > longestSpan {
		return nil, ErrSpan.With("from must be before to, and 31 days before it at most.")
	}
	if f.JobID != "" {
		if err := s.exists(ctx, f.JobID); err != nil {
			return nil, err
		}
	}
	var slots []Slot
	var jobs []watched
	err := s.DB.View(ctx, func(q db.Queryer) (err error) {
		if slots, err = slotsBetween(ctx, q, f, after, limit); err != nil {
			return err
		}
		if f.JobID == "" {
			jobs, err = presentJobs(ctx, q)
			return err
		}
		w, err := findJob(ctx, q, f.JobID)
		if w != nil {
			jobs = []watched{*w}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	slots = append(slots, s.toCome(jobs, f, after, limit)...)
	slices.SortStableFunc(slots, func(a, b Slot) int {
		switch {
		case a.place().before(b.place()):
			return -1
		case b.place().before(a.place()):
			return 1
		}
		return 0
	})
	return slots[:min(limit, len(slots))], nil
}

// toCome are the slots of jobs that are not in the ledger yet. A job that runs
// every minute has thousands of them: the next of all jobs is taken, again and
// again.
func (s *Service) toCome(jobs []watched, f SlotFilter, after *place, limit int) []Slot {
	var q queue
	for _, w := range jobs {
		p, why := planOf(w.job)
		if why != "" || !w.present || w.nextDue == nil {
			continue
		}
		c := coming{job: w, plan: p, due: w.nextDue.Time}
		from := f.From
		if after != nil && after.due.After(from) {
			from = after.due.Time
		}
		if c.due.Before(from) {
			c.skip(from)
		}
		if !c.due.IsZero() {
			q = append(q, c)
		}
	}
	heap.Init(&q)
	var slots []Slot
	for len(q) > 0 && len(slots) < limit && q[0].due.Before(f.To) {
		slot := slotOf(q[0].job.job, q[0].due, s.Grace)
		if after == nil || after.before(slot.place()) {
			slots = append(slots, slot)
		}
		q[0].due = q[0].plan.following(q[0].job.job, q[0].due)
		if q[0].due.IsZero() {
			heap.Pop(&q)
		} else {
			heap.Fix(&q, 0)
		}
	}
	return slots
}

// coming is a job with its next slot.
type coming struct {
	job  watched
	plan plan
	due  time.Time
}

// skip goes on to the first slot from a time on.
func (c *coming) skip(from time.Time) {
	if !c.plan.times.IsZero() {
		c.due = c.plan.times.Next(from.Add(-time.Nanosecond))
		return
	}
	step := c.plan.following(c.job.job, c.due)
	if step.IsZero() {
		c.due = time.Time{}
		return
	}
	every := step.Sub(c.due)
	for c.due.Before(from) { // once, or a few times: what is between may be more than a duration can be
		missing := min(from.Sub(c.due), longestInterval) + every - 1
		c.due = c.due.Add(missing - missing%every)
	}
}

// queue has the job with the earliest slot first.
type queue []coming

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := place{clock.At(q[i].due), q[i].job.job.ID}, place{clock.At(q[j].due), q[j].job.job.ID}
	return a.before(b)
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is part of heap.Interface; nothing is ever added.
func (q *queue) Push(x any) {
	if c, ok := x.(coming); ok {
		*q = append(*q, c)
	}
}

// Pop is part of heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
