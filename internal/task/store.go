package task

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
)

const columns = `id, number, title, description, status, priority, type, tags, assignee_id, reporter_id,
	blocked_reason, blocked_since, blocked_by, session_key, branch, pr_url, origin,
	due_at, done_at, moved_at, created_at, updated_at, version`

// derived are the columns that are made of others, for lists: see Task.keys.
const derived = `search, priority_rank`

func scan(row db.Row) (Task, error) {
	var t Task
	var tags string
	var reason, by sql.NullString
	var since *clock.Time
	err := row.Scan(&t.ID, &t.number, &t.Title, &t.Description, &t.Status, &t.Priority, &t.Type, &tags, &t.AssigneeID, &t.ReporterID,
		&reason, &since, &by, &t.SessionKey, &t.Branch, &t.PRURL, &t.Origin,
		&t.DueAt, &t.DoneAt, &t.MovedAt, &t.CreatedAt, &t.UpdatedAt, &t.Version)
	if err != nil {
		return Task{}, err
	}
	t.Key = keyOf(t.number)
	if reason.Valid && since != nil {
		t.Blocked = &Blocked{Reason: reason.String, Since: *since, By: by.String}
	}
	return t, json.Unmarshal([]byte(tags), &t.Tags)
}

// values are the columns from title on, in their order.
func (t Task) values() []any {
	tags, err := json.Marshal(t.Tags)
	if err != nil {
		panic(err) // strings always encode
	}
	var reason, by *string
	var since *clock.Time
	if b := t.Blocked; b != nil {
		reason, since, by = &b.Reason, &b.Since, &b.By
	}
	return []any{
		t.Title, t.Description, t.Status, t.Priority, t.Type, string(tags), t.AssigneeID, t.ReporterID,
		reason, since, by, t.SessionKey, t.Branch, t.PRURL, t.Origin,
		t.DueAt, t.DoneAt, t.MovedAt, t.CreatedAt, t.UpdatedAt, t.Version,
	}
}

// keys are the values of derived.
func (t Task) keys() []any {
	return []any{strings.ToLower(t.Key + " " + t.Title), t.Priority.rank()}
}

// find looks a task up by its id or its key.
func find(ctx context.Context, q db.Queryer, ref string) (Task, error) {
	where, arg := `id = ?`, any(strings.ToLower(ref))
	if number, ok := parseKey(ref); ok {
		where, arg = `number = ?`, number
	}
	t, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM tasks WHERE `+where, arg))
	if db.IsNotFound(err) {
		return Task{}, ErrNotFound.With("Name it by its id or its key, such as TASK-12.")
	}
	return t, err
}

// insert numbers the task and stores it. The counter's row stays locked until
// the commit, so that a number is neither given twice nor skipped.
func insert(ctx context.Context, tx *db.Tx, t *Task) error {
	if err := tx.QueryRow(ctx, `UPDATE task_counter SET last = last + 1 RETURNING last`).Scan(&t.number); err != nil {
		return err
	}
	t.Key = keyOf(t.number)
	_, err := tx.Exec(ctx, `INSERT INTO tasks (`+columns+`, `+derived+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		slices.Concat([]any{t.ID, t.number}, t.values(), t.keys())...)
	return err
}

// errRaced says that another change was committed between reading a task and
// writing it, which only happens on PostgreSQL.
var errRaced = errors.New("the task was changed since it was read")

// update writes t if nobody has written it since version was, else returns errRaced.
func update(ctx context.Context, tx *db.Tx, t Task, was int64) error {
	n, err := tx.Exec(ctx, `
		UPDATE tasks SET title = ?, description = ?, status = ?, priority = ?, type = ?, tags = ?, assignee_id = ?, reporter_id = ?,
			blocked_reason = ?, blocked_since = ?, blocked_by = ?, session_key = ?, branch = ?, pr_url = ?, origin = ?,
			due_at = ?, done_at = ?, moved_at = ?, created_at = ?, updated_at = ?, version = ?,
			search = ?, priority_rank = ?
		WHERE id = ? AND version = ?`,
		slices.Concat(t.values(), t.keys(), []any{t.ID, was})...)
	if err == nil && n == 0 {
		return errRaced
	}
	return err
}

// Filter says which tasks to list. The zero Filter lists all.
type Filter struct {
	Statuses     []Status
	Priorities   []Priority
	Types        []Type
	Assignee     Person
	Reporter     Person
	Blocked      *bool
	UpdatedSince time.Time // not before; zero is no bound
	Text         string    // in the key or the title, in whatever case
}

// Person names an account in a filter: by its id, email or agent_id, as Me or
// as Nobody. Empty is anyone.
type Person string

// The names of people that are not looked up. No account can be named by them.
const (
	Me     Person = "me"   // the caller
	Nobody Person = "none" // tasks that have no such person
)

// where is the filter in SQL. The people in it were looked up.
func (f Filter) where() list.Where {
	var w list.Where
	list.In(&w, `status`, f.Statuses)
	list.In(&w, `priority_rank`, ranks(f.Priorities))
	list.In(&w, `type`, f.Types)
	f.Assignee.in(&w, `assignee_id`)
	f.Reporter.in(&w, `reporter_id`)
	list.Has(&w, `search`, f.Text)
	if f.Blocked != nil {
		w.And(map[bool]string{true: `blocked_reason IS NOT NULL`, false: `blocked_reason IS NULL`}[*f.Blocked])
	}
	if !f.UpdatedSince.IsZero() {
		w.And(`updated_at >= ?`, f.UpdatedSince)
	}
	return w
}

func (p Person) in(w *list.Where, column string) {
	if p == Nobody {
		w.And(column + ` IS NULL`)
		return
	}
	list.Is(w, column, p)
}

// tasks is how the board is listed. A row's number tells it apart.
var tasks = list.List[Task]{
	Table: `tasks`, Columns: columns, Scan: scan, Usual: "-key",
	Sorts: map[string]list.Sort[Task]{
		"key":      {Columns: []string{`number`}, Position: func(t Task) []any { return []any{t.number} }},
		"created":  {Columns: []string{`created_at`, `number`}, Position: func(t Task) []any { return []any{t.CreatedAt.Time, t.number} }},
		"updated":  {Columns: []string{`updated_at`, `number`}, Position: func(t Task) []any { return []any{t.UpdatedAt.Time, t.number} }},
		"priority": {Columns: []string{`priority_rank`, `number`}, Position: func(t Task) []any { return []any{t.Priority.rank(), t.number} }},
	},
}

// findAccount finds the account that ref names, by id, email or agent_id. Of an
// agent's accounts it takes the active one.
func findAccount(ctx context.Context, q db.Queryer, ref string) (id string, active bool, err error) {
	lower := strings.ToLower(ref)
	err = q.QueryRow(ctx, `
		SELECT id, active FROM users WHERE id = ? OR email_key = ? OR agent_id = ?
		ORDER BY active DESC, id LIMIT 1`, lower, lower, ref).Scan(&id, &active)
	if db.IsNotFound(err) {
		return "", false, ErrAssignee.With("Give a user's id or email, or an agent_id.")
	}
	return id, active, err
}

// findAssignee finds the active account that ref names; nobody else gets tasks.
func findAssignee(ctx context.Context, q db.Queryer, ref string) (string, error) {
	id, active, err := findAccount(ctx, q, ref)
	if err == nil && !active {
		return "", ErrAssignee.With("That account is deactivated. Give another user's id or email, or an agent_id.")
	}
	return id, err
}

// agentTasks returns what an agent has on the board: all that is open, and
// what was finished since then.
func agentTasks(ctx context.Context, q db.Queryer, agentID string, since time.Time, limit int) ([]Task, error) {
	rows, err := q.Query(ctx, `
		SELECT `+columns+` FROM tasks
		WHERE assignee_id IN (SELECT id FROM users WHERE agent_id = ?) AND (status <> 'done' OR done_at >= ?)
		ORDER BY number DESC LIMIT ?`, agentID, since, limit)
	return db.All(rows, err, scan)
}
