package schedule

import (
	"context"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Trouble is a time at which a job was to run and did not, or failed.
type Trouble struct {
	JobID, Name, State, Reason string
	DueAt                      clock.Time
}

// TroublesOf lists the slots of an agent's jobs since then that were missed or
// failed, the newest first.
func (s *Service) TroublesOf(ctx context.Context, agentID string, since time.Time, limit int) ([]Trouble, error) {
	rows, err := s.DB.Query(ctx, `SELECT job_id, name, state, reason, due_at FROM schedule_slots
		WHERE agent_id = ? AND state IN ('missed', 'failed') AND due_at >= ? ORDER BY due_at DESC LIMIT ?`, agentID, since, limit)
	return db.All(rows, err, func(r db.Row) (t Trouble, err error) {
		return t, r.Scan(&t.JobID, &t.Name, &t.State, &t.Reason, &t.DueAt)
	})
}
