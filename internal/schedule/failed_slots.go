package schedule

import (
	"context"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// FailedSlot describes a scheduled run of a job that was missed or failed.
type FailedSlot struct {
	JobID, Name, State, Reason string
	DueAt                      clock.Time
}

// FailedSlots returns the missed and failed runs of an agent's jobs since the given time, newest
// first.
func (s *Service) FailedSlots(ctx context.Context, agentID string, since time.Time, limit int) ([]FailedSlot, error) {
	rows, err := s.DB.Query(ctx, `SELECT job_id, name, state, reason, due_at FROM schedule_slots
		WHERE agent_id = ? AND state IN ('missed', 'failed') AND due_at >= ? ORDER BY due_at DESC LIMIT ?`, agentID, since, limit)
	return db.All(rows, err, func(r db.Row) (t FailedSlot, err error) {
		return t, r.Scan(&t.JobID, &t.Name, &t.State, &t.Reason, &t.DueAt)
	})
}
