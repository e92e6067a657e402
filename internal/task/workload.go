package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"wardroom/internal/platform/db"
)

// Workload contains an agent's task counts.
type Workload struct {
	Open    map[Status]int64 // number of its tasks in each column except done
	Blocked int64            // how many of those are blocked
}

// Workloads returns the workload of each agent that has open tasks, by agent.
func (s *Service) Workloads(ctx context.Context, agentIDs []string) (map[string]Workload, error) {
	in, args := db.In(agentIDs)
	// The first part reads only the index tasks_of_assignee_by_status, the second only blocked tasks. Counting
	// both in one pass would read the wide rows of all open tasks.
	rows, err := s.DB.Query(ctx, `WITH own AS (SELECT id, agent_id FROM users WHERE agent_id `+in+`)
		SELECT own.agent_id, t.status, COUNT(*) FROM own CROSS JOIN tasks t INDEXED BY tasks_of_assignee_by_status
		WHERE t.assignee_id = own.id AND t.archived_at IS NULL AND t.status IN ('backlog', 'todo', 'in_progress', 'review') GROUP BY own.agent_id, t.status
		UNION ALL SELECT own.agent_id, '', COUNT(*) FROM tasks t INDEXED BY tasks_blocked CROSS JOIN own
		WHERE own.id = t.assignee_id AND t.blocked_reason IS NOT NULL AND t.archived_at IS NULL AND t.status <> 'done' GROUP BY own.agent_id`, args...)
	type count struct {
		agentID string
		status  Status
		n       int64
	}
	counts, err := db.All(rows, err, func(r db.Row) (c count, err error) { return c, r.Scan(&c.agentID, &c.status, &c.n) })
	if err != nil {
		return nil, fmt.Errorf("count the tasks of agents: %w", err)
	}
	all := map[string]Workload{}
	for _, c := range counts {
		w := all[c.agentID]
		if c.status == "" {
			w.Blocked = c.n
		} else {
			if w.Open == nil {
				w.Open = map[Status]int64{}
			}
			w.Open[c.status] = c.n
		}
		all[c.agentID] = w
	}
	return all, nil
}

// Brief names a task.
type Brief struct {
	Key     string `json:"key"`
	Title   string `json:"title" doc:"Untrusted: agents can write it."`
	Blocked bool   `json:"blocked"`
}

// InProgress returns each agent's tasks in progress, most recently changed first. It returns at most
// the given number of tasks per agent.
func (s *Service) InProgress(ctx context.Context, agentIDs []string, most int) (map[string][]Brief, error) {
	in, args := db.In(agentIDs)
	// The condition on done is that of the index.
	rows, err := s.DB.Query(ctx, `WITH own AS (SELECT id, agent_id FROM users WHERE agent_id `+in+`),
		started AS (SELECT own.agent_id, t.number, t.title, t.blocked_reason IS NOT NULL AS blocked,
			ROW_NUMBER() OVER (PARTITION BY own.agent_id ORDER BY t.updated_at DESC, t.number DESC) AS place
			FROM own CROSS JOIN tasks t INDEXED BY tasks_open_of_assignee
			WHERE t.assignee_id = own.id AND t.status = 'in_progress' AND t.status <> 'done' AND t.archived_at IS NULL)
		SELECT agent_id, number, title, blocked FROM started WHERE place <= ? ORDER BY agent_id, place`, append(args, most)...)
	all := map[string][]Brief{}
	_, err = db.All(rows, err, func(r db.Row) (number int64, err error) {
		var agentID string
		var one Brief
		err = r.Scan(&agentID, &number, &one.Title, &one.Blocked)
		one.Key = keyOf(number)
		all[agentID] = append(all[agentID], one)
		return number, err
	})
	return all, err
}

// LatestOf returns an agent's tasks, most recently changed first. It returns at most the given
// number of tasks.
func (s *Service) LatestOf(ctx context.Context, agentID string, most int) ([]Task, error) {
	newer := func(a, b Task) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt.Time), cmp.Compare(b.number, a.number))
	}
	tasks, err := newestOf(ctx, s.DB, agentID, most, newer, scan,
		`SELECT `+columns+` FROM tasks WHERE assignee_id = ? AND archived_at IS NULL ORDER BY updated_at DESC, number DESC`)
	for i := range tasks {
		tasks[i] = tasks[i].withoutExpiredClaim(s.Now())
	}
	return tasks, err
}

// Titles returns the titles of the tasks with the given keys, by key. It omits keys without a task.
func (s *Service) Titles(ctx context.Context, keys []string) (map[string]string, error) {
	titles, args := map[string]string{}, []any{}
	for _, key := range keys {
		if number, ok := parseKey(key); ok {
			args = append(args, number)
		}
	}
	if len(args) == 0 {
		return titles, nil
	}
	rows, err := s.DB.Query(ctx, `SELECT number, title FROM tasks WHERE number `+in(args), args...)
	_, err = db.All(rows, err, func(r db.Row) (number int64, err error) {
		var title string
		err = r.Scan(&number, &title)
		titles[keyOf(number)] = title
		return number, err
	})
	return titles, err
}

// newestOf runs a query for each account that belongs or belonged to an agent, with the account ID
// as the first argument. It combines the rows, sorts them with the comparison function newer and
// returns the first ones, up to the limit most. A single query with an IN condition would be
// slower, because the database would have to read and sort all rows.
func newestOf[T any](
	ctx context.Context, q db.Queryer, agentID string, most int, newer func(a, b T) int, scan func(db.Row) (T, error),
	query string, args ...any,
) ([]T, error) {
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
