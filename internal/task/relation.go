package task

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// The failures of what ties tasks together.
var (
	ErrParent     = fault.New(fault.Invalid, "parent_unknown", "There is no task like that to be a part of.")
	ErrDependency = fault.New(fault.Invalid, "dependency_unknown", "There is no task like that to depend on.")
	ErrProject    = fault.New(fault.Invalid, "project_unknown", "There is no open project like that.")
	ErrCycle      = fault.New(fault.Conflict, "task_cycle", "The tasks would wait for each other, or be parts of each other, in a circle.")
	ErrWaiting    = fault.New(fault.Conflict, "dependencies_unfinished", "The task depends on others that are not done.")
)

// Blocking is a task that another one waits for, as a conflict names it.
type Blocking struct {
	Key    string `json:"key"`
	Title  string `json:"title"`
	Status Status `json:"status"`
}

// board is the name of the lock of what concerns several tasks: who depends on
// whom, which of them are done, and the order that they stand in.
const board = "task.board"

// reaches reports whether the change concerns other tasks than was, too.
func (c Change) reaches(was Task) bool {
	return c.DependsOn != nil || c.Parent.Given || c.Position != nil ||
		c.Status != nil && (*c.Status == Done) != (was.Status == Done)
}

// relate sets what ties t to others. The caller has the lock of the board.
func relate(ctx context.Context, q db.Queryer, t *Task, c Change) error {
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
			parent, err := named(ctx, q, *c.Parent.Value, ErrParent)
			if err != nil {
				return err
			}
			if err := noCircle(ctx, q, *t, parent, `SELECT parent_id FROM tasks JOIN above ON tasks.id = above.id WHERE parent_id IS NOT NULL`); err != nil {
				return err
			}
			t.ParentID = &parent.ID
		}
	}
	if c.DependsOn != nil {
		return depend(ctx, q, t, *c.DependsOn)
	}
	return nil
}

// depend makes t wait for the tasks that refs name, and for no others.
func depend(ctx context.Context, q db.Queryer, t *Task, refs []Name) error {
	var numbers []int64
	waiting := int64(0)
	for i, ref := range refs {
		on, err := named(ctx, q, string(ref), ErrDependency)
		if err != nil {
			f := fault.Of(err)
			if f != nil {
				f.Fields = []fault.Field{{Pointer: fmt.Sprintf("/depends_on/%d", i), Detail: "There is no such task."}}
			}
			return err
		}
		if slices.Contains(numbers, on.number) {
			continue
		}
		if err := noCircle(ctx, q, *t, on, `SELECT depends_on_id FROM task_dependencies JOIN above ON task_id = above.id`); err != nil {
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

// noCircle refuses to put t below a task that is below t. next selects the
// tasks right above those in "above".
func noCircle(ctx context.Context, q db.Queryer, t, to Task, next string) error {
	var n int
	err := q.QueryRow(ctx, `
		WITH RECURSIVE above (id) AS (SELECT CAST(? AS TEXT) UNION `+next+`)
		SELECT COUNT(*) FROM above WHERE id = ?`, to.ID, t.ID).Scan(&n)
	if err == nil && n > 0 {
		err = ErrCycle.With("%s is, directly or through others, behind %s already. Choose another one, or take that tie away first.", to.Key, t.Key).
			Fact("through", to.Key)
	}
	return err
}

// named finds a task that a body names, and answers unknown when there is none.
func named(ctx context.Context, q db.Queryer, ref string, unknown *fault.Error) (Task, error) {
	t, err := find(ctx, q, ref)
	if fault.Of(err) != nil {
		err = unknown.With("Name it by its id or its key, such as TASK-12.")
	}
	return t, err
}

// findProject finds a project by its id or its key, in any case. Only an open
// one gets tasks.
func findProject(ctx context.Context, q db.Queryer, ref string, open bool) (id string, err error) {
	condition := ``
	if open {
		condition = ` AND archived_at IS NULL`
	}
	err = q.QueryRow(ctx, `SELECT id FROM projects WHERE (id = ? OR key = ?)`+condition, strings.ToLower(ref), strings.ToUpper(ref)).Scan(&id)
	if db.IsNotFound(err) {
		return "", ErrProject.With("Give the id or the key of a project that is not archived.")
	}
	return id, err
}

// blocking are the tasks that t waits for.
func blocking(ctx context.Context, q db.Queryer, t Task) ([]Blocking, error) {
	if len(t.DependsOn) == 0 {
		return nil, nil
	}
	var numbers []any
	for _, key := range t.DependsOn {
		n, _ := parseKey(key)
		numbers = append(numbers, n)
	}
	rows, err := q.Query(ctx, `SELECT number, title, status FROM tasks WHERE number IN (?`+strings.Repeat(`, ?`, len(numbers)-1)+`)
		AND status <> 'done' ORDER BY number`, numbers...)
	return db.All(rows, err, func(row db.Row) (Blocking, error) {
		var b Blocking
		var number int64
		err := row.Scan(&number, &b.Title, &b.Status)
		b.Key = keyOf(number)
		return b, err
	})
}

// ready refuses to start or finish a task whose dependencies are not done.
func ready(ctx context.Context, q db.Queryer, t Task) error {
	if t.WaitingOn == 0 {
		return nil
	}
	by, err := blocking(ctx, q, t)
	if err != nil || len(by) == 0 {
		return err
	}
	keys := make([]string, len(by))
	for i, b := range by {
		keys[i] = b.Key
	}
	return ErrWaiting.With("Finish %s first, or take the dependency away.", strings.Join(keys, ", ")).Fact("blocking", by)
}

// tie writes the dependencies of t anew.
func tie(ctx context.Context, tx *db.Tx, t Task) error {
	if _, err := tx.Exec(ctx, `DELETE FROM task_dependencies WHERE task_id = ?`, t.ID); err != nil {
		return err
	}
	for _, key := range t.DependsOn {
		number, _ := parseKey(key)
		if _, err := tx.Exec(ctx, `INSERT INTO task_dependencies (task_id, depends_on_id) SELECT ?, id FROM tasks WHERE number = ?`, t.ID, number); err != nil {
			return err
		}
	}
	return nil
}

// shift counts anew for the tasks that depend on t, which was done or is again
// not. It returns the keys of those that wait for nothing any more.
func shift(ctx context.Context, tx *db.Tx, t Task) (freed []string, err error) {
	by := 1
	if t.Status == Done {
		by = -1
	}
	rows, err := tx.Query(ctx, `
		UPDATE tasks SET waiting_on = waiting_on + ?, shown = shown + 1 WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on_id = ?)
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
	return keysOf(numbers), redraw(ctx, tx, ids...)
}

func keysOf(numbers []int64) []string {
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = keyOf(n)
	}
	return keys
}

// packKeys and unpackKeys turn the keys in DependsOn into the text of their
// column and back: numbers with blanks between them.
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
