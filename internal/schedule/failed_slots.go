package schedule

import (
	"context"
	"time"

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
func (s *Service) FailedSlots(ctx context.Context, agentIDs []string, since time.Time, limit int) ([]FailedSlot, error) {
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
