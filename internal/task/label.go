package task

import (
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/db"
)

// Label is the title, the project, and the assignee's user ID of a task. A field is empty if it has none.
type Label struct{ Title, ProjectKey, ProjectName, AssigneeID string }

// Labels returns the labels of tasks by key, archived ones too. It omits keys that no task has.
func Labels(ctx context.Context, q db.Queryer, keys []string) (map[string]Label, error) {
	labels := map[string]Label{}
	for some := range slices.Chunk(keys, 500) {
		var numbers []any
		for _, key := range some {
			if n, ok := parseKey(key); ok {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) == 0 {
			continue
		}
		rows, err := q.Query(ctx, `SELECT t.number, t.title, COALESCE(p.key, ''), COALESCE(p.name, ''), COALESCE(t.assignee_id, '')
			FROM tasks t LEFT JOIN projects p ON p.id = t.project_id WHERE t.number `+in(numbers), numbers...)
		_, err = db.All(rows, err, func(r db.Row) (l Label, err error) {
			var number int64
			err = r.Scan(&number, &l.Title, &l.ProjectKey, &l.ProjectName, &l.AssigneeID)
			labels[keyOf(number)] = l
			return l, err
		})
		if err != nil {
			return nil, fmt.Errorf("read the labels of tasks: %w", err)
		}
	}
	return labels, nil
}
