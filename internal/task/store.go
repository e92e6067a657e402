package task

import (
	"context"
	"reflect"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/search"
)

// noDue is the sort value for tasks without a due time. It is the year 10000,
// in microseconds since 1970. The migrations use the same value.
const noDue = 253_402_300_800_000_000

// ranks returns two sort values. The first sorts tasks by due time. The second sorts
// tasks by priority and then by due time, which is the order in which they are claimed.
// The migrations compute the same values.
func (t Task) ranks() (due, urgency int64) {
	due = noDue
	if t.DueAt != nil {
		due = t.DueAt.UnixMicro()
	}
	const perPriority, positive = 1_000_000_000_000_000_000, 100_000_000_000_000_000
	return due, (Urgent.rank()-t.Priority.rank())*perPriority + positive + due
}

// find returns the task with the given ID or key.
func find(ctx context.Context, q db.Queryer, ref string) (Task, error) {
	where, arg := byName(ref)
	t, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM tasks WHERE `+where, arg))
	if db.IsNotFound(err) {
		return Task{}, errNoTask()
	}
	return t, err
}

// byName returns the SQL condition that selects the task with the given ID or
// key.
func byName(ref string) (condition string, arg any) {
	if number, ok := parseKey(ref); ok {
		return `number = ?`, number
	}
	return `id = ?`, strings.ToLower(ref)
}

func errNoTask() error { return ErrNotFound.With("Use the task's ID or key, such as TASK-12.") }

// findOpen is like find, but fails if the task is archived. It is for tasks
// that are about to be changed.
func findOpen(ctx context.Context, tx *db.Tx, ref string) (Task, error) {
	t, err := find(ctx, tx, ref)
	if err == nil {
		err = t.checkArchived()
	}
	return t, err
}

// checkArchived fails with ErrArchived if the task is archived.
func (t Task) checkArchived() error {
	if t.ArchivedAt == nil {
		return nil
	}
	return ErrArchived.With("Restore task %s first.", t.Key).Fact("archived_at", t.ArchivedAt)
}

// insert gives the task the next number and stores it at the end of the board.
func insert(ctx context.Context, tx *db.Tx, t *Task) error {
	var err error
	if t.number, err = nextNumber(ctx, tx); err != nil {
		return err
	}
	t.Key, t.Position = keyOf(t.number), firstPosition(t.number)
	r := t.row()
	if r.card, err = t.card(); err != nil {
		return err
	}
	values := make([]any, len(written))
	for i, c := range written {
		values[i] = c.value(r)
	}
	err = tx.Later(ctx, `INSERT INTO tasks (`+names(written)+`) VALUES (?`+strings.Repeat(`, ?`, len(written)-1)+`)`,
		values...)
	if err != nil {
		return err
	}
	err = addTags(ctx, tx, *t)
	if len(t.DependsOn) > 0 && err == nil {
		err = writeDependencies(ctx, tx, *t)
	}
	if err == nil {
		err = search.Add(ctx, tx, t.findable())
	}
	return err
}

// nextNumber returns the next task number. The row of the last number stays locked until
// the commit, so that numbers are neither reused nor skipped. Of the callers that share a
// transaction, only the first reads it. On SQLite, it uses a second statement instead of
// RETURNING, which would be slower because it adds a savepoint.
func nextNumber(ctx context.Context, tx *db.Tx) (n int64, err error) {
	last, known := tx.Numbers()["task"]
	switch {
	case known:
		n = last + 1
		err = tx.Later(ctx, `UPDATE task_counter SET last = ? WHERE one = 1`, n)
	case tx.Engine() == db.Postgres:
		err = tx.QueryRow(ctx, `UPDATE task_counter SET last = last + 1 WHERE one = 1 RETURNING last`).Scan(&n)
	default:
		if _, err = tx.Exec(ctx, `UPDATE task_counter SET last = last + 1 WHERE one = 1`); err == nil {
			err = tx.QueryRow(ctx, `SELECT last FROM task_counter WHERE one = 1`).Scan(&n)
		}
	}
	if err == nil {
		tx.Numbers()["task"] = n
	}
	return n, err
}

// findable returns the task's entry for the full-text search.
func (t Task) findable() search.Text {
	return search.Text{TaskID: t.ID, Archived: t.ArchivedAt != nil, Title: t.Key + " " + t.Title, Body: t.Description}
}

// update writes the columns that differ between the tasks old and t. The caller
// must have read old in the same transaction. Unchanged columns are not
// written, because most columns have an index.
func update(ctx context.Context, tx *db.Tx, old, t Task) error {
	before, after := old.row(), t.row()
	var err error
	if after.card, err = t.card(); err != nil {
		return err
	}
	var set []string
	var args []any
	for _, c := range written {
		if v := c.value(after); !reflect.DeepEqual(c.value(before), v) {
			set, args = append(set, c.name+` = ?`), append(args, v)
		}
	}
	err = tx.Later(ctx, `UPDATE tasks SET `+strings.Join(set, `, `)+` WHERE id = ?`, append(args, t.ID)...)
	if err == nil && old.findable() != t.findable() {
		err = search.Put(ctx, tx, t.findable())
	}
	if err == nil && old.Title != t.Title {
		err = reindexTitle(ctx, tx, t)
	}
	if err == nil && (old.ArchivedAt == nil) != (t.ArchivedAt == nil) {
		err = reindexComments(ctx, tx, t)
	}
	return err
}

// writeTags replaces the task's rows in the table task_tags, which is used to
// filter tasks by tag.
func writeTags(ctx context.Context, tx *db.Tx, t Task) error {
	if err := tx.Later(ctx, `DELETE FROM task_tags WHERE number = ?`, t.number); err != nil {
		return err
	}
	return addTags(ctx, tx, t)
}

// addTags inserts the task's rows in the table task_tags. The task must not have
// any there.
func addTags(ctx context.Context, tx *db.Tx, t Task) error {
	if len(t.Tags) == 0 {
		return nil
	}
	tags := anys(t.Tags, func(tag Tag) any { return plaintext.Fold(string(tag)) })
	values := make([]any, 0, 2*len(tags))
	for _, tag := range tags {
		values = append(values, tag, t.number)
	}
	return tx.Later(ctx, `INSERT INTO task_tags (tag, number) VALUES (?, ?)`+strings.Repeat(`, (?, ?)`, len(tags)-1),
		values...)
}

// findAccount finds an account by ID, email, or agent_id. If several accounts
// match an agent_id, it prefers the active account.
func findAccount(ctx context.Context, q db.Queryer, ref string) (id string, active bool, err error) {
	folded := plaintext.Fold(ref)
	err = q.QueryRow(ctx, `
		SELECT id, active FROM users WHERE id = ? OR email_key = ? OR agent_id = ?
		ORDER BY active DESC, id LIMIT 1`, folded, folded, ref).Scan(&id, &active)
	if db.IsNotFound(err) {
		return "", false, ErrAssignee.With("Specify a user's ID or email, or an agent_id.")
	}
	return id, active, err
}

// findPerson finds an account for a filter. It is like findAccount, but returns
// actor.NoID for an email that the caller is not allowed to look up.
func findPerson(ctx context.Context, q db.Queryer, ref string) (id string, err error) {
	if !actor.OwnEmailOnly(ctx, ref) {
		id, _, err = findAccount(ctx, q, ref)
		return id, err
	}
	err = q.QueryRow(ctx, `SELECT id FROM users WHERE email_key = ? AND id = ?`,
		plaintext.Fold(ref), actor.From(ctx).ID).Scan(&id)
	if db.IsNotFound(err) {
		return actor.NoID, nil
	}
	return id, err
}

// findAssignee finds an active account. Deactivated accounts cannot be assigned
// tasks.
func findAssignee(ctx context.Context, q db.Queryer, ref string) (string, error) {
	id, active, err := findAccount(ctx, q, ref)
	if err == nil && !active {
		return "", ErrAssignee.With(
			"The assignee's account is deactivated. Specify another user's ID or email, or an agent_id.",
		)
	}
	return id, err
}

// agentTasks returns an agent's newest tasks: its assigned tasks that are open or were done since
// the given time, and its claimed tasks.
func agentTasks(ctx context.Context, q db.Queryer, agentID string, since time.Time, limit int) ([]Task, error) {
	rows, err := q.Query(ctx, `
		WITH own AS (SELECT id FROM users WHERE agent_id = ?)
		SELECT `+columns+` FROM tasks WHERE assignee_id IN (SELECT id FROM own) AND archived_at IS NULL AND status <> 'done'
		UNION ALL
		SELECT `+columns+` FROM tasks WHERE assignee_id IN (SELECT id FROM own) AND done_at >= ?
		UNION ALL
		SELECT `+columns+` FROM tasks WHERE claim_by IN (SELECT id FROM own) AND (assignee_id IS NULL OR assignee_id NOT IN (SELECT id FROM own))
		ORDER BY number DESC LIMIT ?`, agentID, since, limit)
	return db.All(rows, err, scan)
}
