package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"wardroom/internal/platform/db"
)

// Workload contains an agent's task counts and most recently changed tasks.
type Workload struct {
	Open    map[Status]int64 // number of its tasks in each column except done
	Blocked int64            // how many of those are blocked
	Claimed int64            // tasks it has claimed, assigned to it or not
	Last    []Task           // its most recently changed tasks
}

// WorkloadOf returns an agent's workload. It lists at most the given number of tasks,
// most recently changed first.
func (s *Service) WorkloadOf(ctx context.Context, agentID string, most int) (Workload, error) {
	d := Workload{Open: map[Status]int64{Backlog: 0, Todo: 0, InProgress: 0, Review: 0}}
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
		return d, fmt.Errorf("count the claims of %s: %w", agentID, err)
	}
	newer := func(a, b Task) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt.Time), cmp.Compare(b.number, a.number))
	}
	d.Last, err = newestOf(ctx, s.DB, agentID, most, newer, scan,
		`SELECT `+columns+` FROM tasks WHERE assignee_id = ? AND archived_at IS NULL ORDER BY updated_at DESC, number DESC`)
	for i := range d.Last {
		d.Last[i] = d.Last[i].withoutExpiredClaim(now)
	}
	return d, err
}

// newestOf runs a query for each account that belongs or belonged to an agent, with the account ID
// as the first argument. It combines the rows, sorts them with the comparison function newer and
// returns the first ones, up to the limit most. A single query with an IN condition would be
// slower, because the database would have to read and sort all rows.
func newestOf[T any](ctx context.Context, q db.Queryer, agentID string, most int, newer func(a, b T) int, scan func(db.Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, `SELECT id FROM users WHERE agent_id = ?`, agentID)
	accounts, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	all := []T{}
	for _, account := range accounts {
		rows, err := q.Query(ctx, query+` LIMIT `+strconv.Itoa(most), append([]any{account}, args...)...)
		part, err := db.All(rows, err, scan)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, newer)
	return all[:min(most, len(all))], err
}
