package schedule

import (
	"context"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// FailedSlot describes a scheduled run of a job that was missed or failed.
type FailedSlot struct {
	JobID, AgentID, Name, State, Reason string
	DueAt                               clock.Time
}

// FailedSlots returns the missed and failed runs of the agents' jobs since the given time, newest
// first.
func (s *Service) FailedSlots(
	ctx context.Context, agentIDs []string, since time.Time, limit int,
) ([]FailedSlot, error) {
	in, args := db.In(agentIDs)
	rows, err := s.DB.Query(ctx, `SELECT job_id, agent_id, name, state, reason, due_at FROM schedule_slots
		WHERE agent_id `+in+` AND state IN ('missed', 'failed') AND due_at >= ? ORDER BY due_at DESC LIMIT ?`, append(args, since, limit)...)
	return db.All(rows, err, func(r db.Row) (t FailedSlot, err error) {
		return t, r.Scan(&t.JobID, &t.AgentID, &t.Name, &t.State, &t.Reason, &t.DueAt)
	})
}

// Outline is the part of a job that pages about its agent show.
type Outline struct {
	JobID, AgentID, Name string
	Next                 *clock.Time // the next run; nil if unknown or the job is disabled
}

// Outlines returns the jobs that the runtime had when Wardroom last read them.
func (s *Service) Outlines(ctx context.Context) ([]Outline, error) {
	jobs, err := presentJobs(ctx, s.DB)
	all, now := make([]Outline, len(jobs)), s.Now()
	for i, w := range jobs {
		all[i] = Outline{JobID: w.job.ID, AgentID: w.job.AgentID, Name: w.job.Name}
		if p, why := planOf(w.job); why == "" {
			if next := p.next(w.job, now); !next.IsZero() {
				all[i].Next = clock.Ptr(next)
			}
		}
	}
	return all, err
}

// Stored returns the jobs whose names begin with a prefix as Wardroom last read them, and when that was. The time is
// zero if they have never been read.
func (s *Service) Stored(ctx context.Context, q db.Queryer, prefix string) ([]Job, time.Time, error) {
	known, err := s.reading(ctx, q)
	if err != nil {
		return nil, known.to, err
	}
	all, err := presentJobs(ctx, q)
	var jobs []Job
	for _, w := range all {
		if strings.HasPrefix(w.job.Name, prefix) {
			jobs = append(jobs, s.api(w, Known{AsOf: clock.At(known.to)}))
		}
	}
	return jobs, known.to, err
}

// Describe returns a job that was just read from the runtime, with the times of its next runs.
func (s *Service) Describe(j gateway.Job) Job {
	j.State.LastError = s.Redact.Text(j.State.LastError)
	return s.api(mirroredJob{job: j, present: true}, Known{AsOf: clock.At(s.Now())})
}

// Due returns the slots of a job in the ledger from one time until before another, in chronological order, at most 200.
func (s *Service) Due(ctx context.Context, q db.Queryer, id string, from, until time.Time) ([]Slot, error) {
	return slotsBetween(ctx, q, SlotFilter{JobID: id, From: from, To: until}, nil, maxSlotsAtOnce)
}
