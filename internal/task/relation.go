package task

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// Errors about a task's project, parent, and dependencies.
var (
	ErrParent     = fault.New(fault.Invalid, "parent_unknown", "The parent task does not exist.")
	ErrDependency = fault.New(fault.Invalid, "dependency_unknown", "A task in depends_on does not exist.")
	ErrProject    = fault.New(fault.Invalid, "project_unknown", "The project does not exist or is archived.")
	ErrCycle      = fault.New(fault.Conflict, "task_cycle",
		"The change would create a cycle of dependencies or parent tasks.")
	ErrWaiting = fault.New(fault.Conflict, "dependencies_unfinished", "The task depends on tasks that are not done.")
)

// Related is a summary of a task that another task depends on. ErrWaiting lists
// those that are not done.
type Related struct {
	Key    string `json:"key"`
	Title  string `json:"title"`
	Status Status `json:"status"`
}

// setRelations sets the project, parent, and dependencies of a task according
// to a change.
func setRelations(ctx context.Context, q db.Queryer, t *Task, c Change) error {
	if c.Project.Given {
		t.ProjectID = nil
		if c.Project.Value != nil {
			id, err := findProject(ctx, q, *c.Project.Value, true)
			if err != nil {
				return err
			}
			t.ProjectID = &id
		}
	}
	if c.Parent.Given {
		t.ParentID = nil
		if c.Parent.Value != nil {
			parent, err := findNamed(ctx, q, *c.Parent.Value, ErrParent)
			if err != nil {
				return err
			}
			if err := checkCycle(
				ctx, q, *t, parent, `SELECT parent_id FROM tasks JOIN above ON tasks.id = above.id WHERE parent_id IS NOT NULL`,
			); err != nil {
				return err
			}
			t.ParentID = &parent.ID
		}
	}
	if c.DependsOn != nil {
		return setDependencies(ctx, q, t, *c.DependsOn)
	}
	return nil
}

// setDependencies replaces a task's dependencies with the given tasks.
func setDependencies(ctx context.Context, q db.Queryer, t *Task, refs []Name) error {
	var numbers []int64
	waiting := int64(0)
	for i, ref := range refs {
		on, err := findNamed(ctx, q, string(ref), ErrDependency)
		if err != nil {
			f := fault.Of(err)
			if f != nil {
				f.Fields = []fault.Field{{Pointer: fmt.Sprintf("/depends_on/%d", i), Detail: "Task not found."}}
			}
			return err
		}
		if slices.Contains(numbers, on.number) {
			continue
		}
		if err := checkCycle(
			ctx, q, *t, on, `SELECT depends_on_id FROM task_dependencies JOIN above ON task_id = above.id`,
		); err != nil {
			return err
		}
		numbers = append(numbers, on.number)
		if on.Status != Done {
			waiting++
		}
	}
	slices.Sort(numbers)
	t.DependsOn, t.WaitingOn = keysOf(numbers), waiting
	return nil
}

// checkCycle fails with ErrCycle if relating t to the second task would close a
// cycle, because the second task already depends on t or is a subtask of it,
// directly or through other tasks. The SQL in next selects the parents or the
// dependencies of the tasks in the table "above", which holds the tasks found so
// far.
func checkCycle(ctx context.Context, q db.Queryer, t, to Task, next string) error {
	var n int
	err := q.QueryRow(ctx, `
		WITH RECURSIVE above (id) AS (SELECT CAST(? AS TEXT) UNION `+next+`)
		SELECT COUNT(*) FROM above WHERE id = ?`, to.ID, t.ID).Scan(&n)
	if err == nil && n > 0 {
		err = ErrCycle.With("Task %s already depends on task %s or is a subtask of it, directly or through other tasks. Choose another task, or remove that relation first.", to.Key, t.Key).
			Fact("through", to.Key)
	}
	return err
}

// findNamed finds a task that a request refers to. If there is no such task, it
// fails with the given error.
func findNamed(ctx context.Context, q db.Queryer, ref string, unknown *fault.Error) (Task, error) {
	t, err := find(ctx, q, ref)
	if fault.Of(err) != nil {
		err = unknown.With("Use the task's ID or key, such as TASK-12.")
	}
	return t, err
}

// findProject returns the ID of the project with the given ID or key, ignoring case. If
// open is true, it ignores archived projects.
func findProject(ctx context.Context, q db.Queryer, ref string, open bool) (id string, err error) {
	condition := ``
	if open {
		condition = ` AND archived_at IS NULL`
	}
	err = q.QueryRow(ctx, `SELECT id FROM projects WHERE (id = ? OR key = ?)`+condition, plaintext.Fold(ref),
		strings.ToUpper(plaintext.Fold(ref))).Scan(&id)
	if db.IsNotFound(err) {
		return "", ErrProject.With("Use the ID or key of a project that is not archived.")
	}
	return id, err
}

// dependencies returns the tasks that the given task depends on, in the order of its DependsOn.
func dependencies(ctx context.Context, q db.Queryer, t Task) ([]Related, error) {
	if len(t.DependsOn) == 0 {
		return nil, nil
	}
	numbers := anys(t.DependsOn, func(key string) any { n, _ := parseKey(key); return n })
	rows, err := q.Query(ctx, `SELECT number, title, status FROM tasks WHERE number `+in(numbers)+` ORDER BY number`,
		numbers...)
	return db.All(rows, err, func(row db.Row) (r Related, err error) {
		var number int64
		err = row.Scan(&number, &r.Title, &r.Status)
		r.Key = keyOf(number)
		return r, err
	})
}

// checkDependencies fails with ErrWaiting if the task depends on unfinished
// tasks.
func checkDependencies(ctx context.Context, q db.Queryer, t Task) error {
	if t.WaitingOn == 0 {
		return nil
	}
	by, err := dependencies(ctx, q, t)
	by = slices.DeleteFunc(by, func(r Related) bool { return r.Status == Done })
	if err != nil || len(by) == 0 {
		return err
	}
	keys := make([]string, len(by))
	for i, b := range by {
		keys[i] = b.Key
	}
	return ErrWaiting.With("Finish these tasks first, or remove them from depends_on: %s.",
		strings.Join(keys, ", ")).Fact("blocking", by)
}

// writeDependencies replaces the stored dependencies of a task.
func writeDependencies(ctx context.Context, tx *db.Tx, t Task) error {
	if _, err := tx.Exec(ctx, `DELETE FROM task_dependencies WHERE task_id = ?`, t.ID); err != nil {
		return err
	}
	for _, key := range t.DependsOn {
		number, _ := parseKey(key)
		if _, err := tx.Exec(
			ctx, `INSERT INTO task_dependencies (task_id, depends_on_id) SELECT ?, id FROM tasks WHERE number = ?`, t.ID, number,
		); err != nil {
			return err
		}
	}
	return nil
}

// updateWaiting updates the column waiting_on of the tasks that depend on t. It
// must be called when t moves to or from done. It returns the keys of tasks
// that no longer wait on other tasks.
func updateWaiting(ctx context.Context, tx *db.Tx, t Task) (freed []string, err error) {
	by := 1
	if t.Status == Done {
		by = -1
	}
	rows, err := tx.Query(ctx, `
		UPDATE tasks SET waiting_on = waiting_on + ? WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on_id = ?)
		RETURNING id, number, waiting_on`, by, t.ID)
	var numbers []int64
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) {
		var number, waiting int64
		if err = row.Scan(&id, &number, &waiting); waiting == 0 {
			numbers = append(numbers, number)
		}
		return id, err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(numbers)
	return keysOf(numbers), rewriteCards(ctx, tx, ids...)
}

func keysOf(numbers []int64) []string {
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = keyOf(n)
	}
	return keys
}

// packKeys and unpackKeys convert between the keys in DependsOn and the stored
// form, which consists of task numbers separated by spaces.
func packKeys(keys []string) string {
	return strings.ReplaceAll(strings.Join(keys, " "), "TASK-", "")
}

func unpackKeys(text string) []string {
	keys := strings.Fields(text)
	for i, n := range keys {
		keys[i] = "TASK-" + n
	}
	if keys == nil {
		keys = []string{}
	}
	return keys
}
