package task

import (
	"context"
	"fmt"

	"wardroom/internal/platform/db"
)

// Desk is what an agent has on the board.
type Desk struct {
	Open    map[Status]int64 // how many of its tasks are in each column but done
	Blocked int64            // of those, how many are blocked
	Claimed int64            // tasks that it holds, its own or not
	Last    []Task           // of its tasks, those that were changed last
}

// DeskOf reads what an agent has on the board, with at most that many of its
// tasks, the last changed first.
func (s *Service) DeskOf(ctx context.Context, agentID string, most int) (Desk, error) {
	d := Desk{Open: map[Status]int64{Backlog: 0, Todo: 0, InProgress: 0, Review: 0}}
	const own = `WITH own AS (SELECT id FROM users WHERE agent_id = ?) `
	type count struct {
		status   Status
		n, block int64
	}
	rows, err := s.DB.Query(ctx, own+`SELECT status, COUNT(*), COUNT(blocked_reason) FROM tasks
		WHERE assignee_id IN (SELECT id FROM own) AND archived_at IS NULL AND status <> 'done' GROUP BY status`, agentID)
	counts, err := db.All(rows, err, func(r db.Row) (c count, err error) { return c, r.Scan(&c.status, &c.n, &c.block) })
	if err != nil {
		return d, fmt.Errorf("count the tasks of %s: %w", agentID, err)
	}
	for _, c := range counts {
		d.Open[c.status] = c.n
		d.Blocked += c.block
	}
	now := s.Now()
	err = s.DB.QueryRow(ctx, own+`SELECT COUNT(*) FROM tasks WHERE claim_by IS NOT NULL AND claim_by IN (SELECT id FROM own) AND claim_until > ?`, agentID, now).Scan(&d.Claimed)
	if err != nil {
		return d, fmt.Errorf("count what %s holds: %w", agentID, err)
	}
	rows, err = s.DB.Query(ctx, own+`SELECT `+columns+` FROM tasks WHERE assignee_id IN (SELECT id FROM own) AND archived_at IS NULL
		ORDER BY updated_at DESC, number DESC LIMIT ?`, agentID, most)
	d.Last, err = db.All(rows, err, scan)
	for i := range d.Last {
		d.Last[i] = d.Last[i].seen(now)
	}
	return d, err
}
