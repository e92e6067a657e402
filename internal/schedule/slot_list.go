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

// SlotFilter selects slots.
type SlotFilter struct {
	JobID    string // empty means all jobs
	From, To time.Time
}

// maxSpan is the longest time range for which a request can list slots.
const maxSpan = 31 * 24 * time.Hour

// Slots returns at most limit slots that match a filter, sorted by time and starting after the
// given position. The result includes the slots in the ledger and upcoming slots.
func (s *Service) Slots(ctx context.Context, f SlotFilter, after *slotKey, limit int) ([]Slot, error) {
	if !f.From.Before(f.To) || f.To.Sub(f.From) > maxSpan {
		return nil, ErrSpan.With("\"from\" must be before \"to\", and the range can be at most 31 days long.")
	}
	if f.JobID != "" {
		if err := s.exists(ctx, f.JobID); err != nil {
			return nil, err
		}
	}
	var slots []Slot
	var jobs []mirroredJob
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
			jobs = []mirroredJob{*w}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	slots = append(slots, s.upcomingSlots(jobs, f, after, limit)...)
	slices.SortStableFunc(slots, func(a, b Slot) int {
		switch {
		case a.key().before(b.key()):
			return -1
		case b.key().before(a.key()):
			return 1
		}
		return 0
	})
	return slots[:min(limit, len(slots))], nil
}

// upcomingSlots returns the slots that are not in the ledger yet. It repeatedly takes the earliest
// remaining slot of all jobs. It doesn't compute every slot of each job, because one job can have
// thousands.
func (s *Service) upcomingSlots(jobs []mirroredJob, f SlotFilter, after *slotKey, limit int) []Slot {
	var q queue
	for _, w := range jobs {
		p, why := planOf(w.job)
		if why != "" || !w.present || w.nextDue == nil {
			continue
		}
		c := upcomingJob{job: w, plan: p, due: w.nextDue.Time}
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
		if after == nil || after.before(slot.key()) {
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

// upcomingJob is a job with its next slot.
type upcomingJob struct {
	job  mirroredJob
	plan plan
	due  time.Time
}

// skip advances to the job's first slot at or after the given time.
func (c *upcomingJob) skip(from time.Time) {
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
	for c.due.Before(from) { // repeats only if the difference exceeds maxInterval
		missing := min(from.Sub(c.due), maxInterval) + every - 1
		c.due = c.due.Add(missing - missing%every)
	}
}

// queue is a heap with the earliest slot first.
type queue []upcomingJob

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := slotKey{clock.At(q[i].due), q[i].job.job.ID}, slotKey{clock.At(q[j].due), q[j].job.job.ID}
	return a.before(b)
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is part of heap.Interface.
func (q *queue) Push(x any) {
	if c, ok := x.(upcomingJob); ok {
		*q = append(*q, c)
	}
}

// Pop is part of heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
