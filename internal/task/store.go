package task

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/search"
)

// fields are the columns that a task's values are written to, in the order of
// Task.values. The last of them are made of others, for lists: see Task.ranks.
var fields = []string{
	"title", "description", "status", "priority", "type", "tags", "assignee_id", "reporter_id", "project_id", "parent_id", "depends_on", "waiting_on",
	"blocked_reason", "blocked_since", "blocked_by", "claim_by", "claim_name", "claim_until", "claim_seq", "claim_lost_by", "last_report",
	"session_key", "branch", "pr_url", "origin", "due_at", "done_at", "archived_at", "archive_from", "moved_at", "created_at", "updated_at",
	"position", "version",
	"search", "priority_rank", "due_rank", "urgency",
}

const columns = `id, number, title, description, status, priority, type, tags, assignee_id, reporter_id, project_id, parent_id, depends_on, waiting_on,
	blocked_reason, blocked_since, blocked_by, claim_by, claim_name, claim_until, claim_seq, claim_lost_by, last_report,
	session_key, branch, pr_url, origin, due_at, done_at, archived_at, archive_from, moved_at, created_at, updated_at,
	position, version, comment_count, dispatch, cost_nano, tokens, unpriced, shown`

func scan(row db.Row) (Task, error) {
	var t Task
	var tags, dependsOn string
	var reason, by, claimBy, claimName sql.NullString
	var dispatch, tokens *string
	var cost *int64
	var unpriced int64
	var since, until *clock.Time
	err := row.Scan(&t.ID, &t.number, &t.Title, &t.Description, &t.Status, &t.Priority, &t.Type, &tags, &t.AssigneeID, &t.ReporterID,
		&t.ProjectID, &t.ParentID, &dependsOn, &t.WaitingOn,
		&reason, &since, &by, &claimBy, &claimName, &until, &t.claimSeq, &t.lostBy, &t.lastReport,
		&t.SessionKey, &t.Branch, &t.PRURL, &t.Origin, &t.DueAt, &t.DoneAt, &t.ArchivedAt, &t.archiveFrom, &t.MovedAt, &t.CreatedAt, &t.UpdatedAt,
		&t.Position, &t.Version, &t.Comments, &dispatch, &cost, &tokens, &unpriced, &t.shown)
	if err == nil {
		err = cmp.Or(t.readDispatch(dispatch), t.readSpend(cost, tokens, unpriced))
	}
	if err != nil {
		return Task{}, err
	}
	t.Key, t.DependsOn = keyOf(t.number), unpackKeys(dependsOn)
	if reason.Valid && since != nil {
		t.Blocked = &Blocked{Reason: reason.String, Since: *since, By: by.String}
	}
	if claimBy.Valid && until != nil {
		t.Claim = &Claim{By: claimBy.String, Name: claimName.String, ExpiresAt: *until}
	}
	t.Tags, err = readTags(tags)
	return t, err
}

// readTags reads what Task.values has written of the tags. No tag has a quote,
// a comma or a backslash in it, and every card of every list comes by here.
func readTags(text string) (tags []Tag, err error) {
	inner, opened := strings.CutPrefix(text, `["`)
	inner, closed := strings.CutSuffix(inner, `"]`)
	for tag := range strings.SplitSeq(inner, `","`) {
		if !opened || !closed || strings.ContainsAny(tag, `"\`) {
			tags = nil
			err = json.Unmarshal([]byte(text), &tags)
			return tags, err
		}
		tags = append(tags, Tag(tag))
	}
	return tags, nil
}

// values are what is written to fields.
func (t Task) values() []any {
	tags, err := json.Marshal(t.Tags)
	if err != nil {
		panic(err) // strings always encode
	}
	var reason, by, claimBy, claimName *string
	var since, until *clock.Time
	if b := t.Blocked; b != nil {
		reason, since, by = &b.Reason, &b.Since, &b.By
	}
	if c := t.Claim; c != nil {
		claimBy, claimName, until = &c.By, &c.Name, &c.ExpiresAt
	}
	due, urgency := t.ranks()
	return []any{
		t.Title, t.Description, t.Status, t.Priority, t.Type, string(tags), t.AssigneeID, t.ReporterID,
		t.ProjectID, t.ParentID, packKeys(t.DependsOn), t.WaitingOn,
		reason, since, by, claimBy, claimName, until, t.claimSeq, t.lostBy, t.lastReport,
		t.SessionKey, t.Branch, t.PRURL, t.Origin, t.DueAt, t.DoneAt, t.ArchivedAt, t.archiveFrom, t.MovedAt, t.CreatedAt, t.UpdatedAt,
		t.Position, t.Version,
		t.searched(), t.Priority.rank(), due, urgency,
	}
}

// noDue is the rank of tasks that are due at no time: the year 10000, in
// microseconds since 1970. The migrations have the same.
const noDue = 253_402_300_800_000_000

// ranks are numbers that tasks are sorted by: when they are due, and how soon
// they are to be claimed, by priority and then by that. The migrations compute
// the same.
func (t Task) ranks() (due, urgency int64) {
	due = noDue
	if t.DueAt != nil {
		due = t.DueAt.UnixMicro()
	}
	const perPriority, positive = 1_000_000_000_000_000_000, 100_000_000_000_000_000
	return due, (Urgent.rank()-t.Priority.rank())*perPriority + positive + due
}

// find looks a task up by its id or its key.
func find(ctx context.Context, q db.Queryer, ref string) (Task, error) {
	where, arg := byName(ref)
	t, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM tasks WHERE `+where, arg))
	if db.IsNotFound(err) {
		return Task{}, errNoTask()
	}
	return t, err
}

// byName is the condition for the task with that id or key.
func byName(ref string) (condition string, arg any) {
	if number, ok := parseKey(ref); ok {
		return `number = ?`, number
	}
	return `id = ?`, strings.ToLower(ref)
}

func errNoTask() error { return ErrNotFound.With("Name it by its id or its key, such as TASK-12.") }

// findOpen is find for whoever wants to change the task.
func findOpen(ctx context.Context, tx *db.Tx, ref string) (Task, error) {
	t, err := find(ctx, tx, ref)
	if err == nil && t.ArchivedAt != nil {
		err = ErrArchived.With("Restore %s first.", t.Key).Fact("archived_at", t.ArchivedAt)
	}
	return t, err
}

// insert numbers the task and stores it, as the last one of the board. The
// counter's row stays locked until the commit, so that a number is neither
// given twice nor skipped.
func insert(ctx context.Context, tx *db.Tx, t *Task) error {
	var err error
	if t.number, err = nextNumber(ctx, tx); err != nil {
		return err
	}
	t.Key, t.Position = keyOf(t.number), firstPosition(t.number)
	card, rest, err := t.draw()
	if err != nil {
		return err
	}
	err = tx.Later(ctx, `INSERT INTO tasks (id, number, card, rest, `+strings.Join(fields, `, `)+`)
		VALUES (?, ?, ?, ?`+strings.Repeat(`, ?`, len(fields))+`)`, slices.Concat([]any{t.ID, t.number, card, rest}, t.values())...)
	if err != nil {
		return err
	}
	if len(t.Tags) > 0 {
		err = tag(ctx, tx, *t)
	}
	if len(t.DependsOn) > 0 && err == nil {
		err = tie(ctx, tx, *t)
	}
	if err == nil {
		err = search.Add(ctx, tx, t.findable())
	}
	return err
}

// nextNumber counts. SQLite guards a statement with RETURNING by a savepoint,
// which costs it more than a second statement.
func nextNumber(ctx context.Context, tx *db.Tx) (n int64, err error) {
	if tx.Engine() == db.Postgres {
		err = tx.QueryRow(ctx, `UPDATE task_counter SET last = last + 1 WHERE one = 1 RETURNING last`).Scan(&n)
		return n, err
	}
	if _, err := tx.Exec(ctx, `UPDATE task_counter SET last = last + 1 WHERE one = 1`); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT last FROM task_counter WHERE one = 1`).Scan(&n)
	return n, err
}

// findable is what a task is found by.
func (t Task) findable() search.Text {
	return search.Text{TaskID: t.ID, Archived: t.ArchivedAt != nil, Title: t.Key + " " + t.Title, Body: t.Description}
}

// errRaced says that another change was committed between reading a task and
// writing it, which only happens on PostgreSQL.
var errRaced = errors.New("the task was changed since it was read")

// update writes what t has and was had not. The caller has read was in the same
// transaction, so nobody has written the task since. Columns that did not change
// are left alone: most of them have an index to keep.
func update(ctx context.Context, tx *db.Tx, was, t Task) error {
	card, rest, err := t.draw()
	if err != nil {
		return err
	}
	set, args := []string{`card = ?`, `rest = ?`}, []any{card, rest}
	before, after := was.values(), t.values()
	for i, name := range fields {
		if !reflect.DeepEqual(before[i], after[i]) {
			set, args = append(set, name+` = ?`), append(args, after[i])
		}
	}
	err = tx.Later(ctx, `UPDATE tasks SET `+strings.Join(set, `, `)+` WHERE id = ?`, append(args, t.ID)...)
	if err == nil && was.findable() != t.findable() {
		err = search.Put(ctx, tx, t.findable())
	}
	if err == nil && was.Title != t.Title {
		err = retitle(ctx, tx, t)
	}
	if err == nil && (was.ArchivedAt == nil) != (t.ArchivedAt == nil) {
		err = refileComments(ctx, tx, t)
	}
	return err
}

// tag writes the tags of t anew, for the filter.
func tag(ctx context.Context, tx *db.Tx, t Task) error {
	if _, err := tx.Exec(ctx, `DELETE FROM task_tags WHERE number = ?`, t.number); err != nil {
		return err
	}
	for _, tag := range t.Tags {
		if _, err := tx.Exec(ctx, `INSERT INTO task_tags (tag, number) VALUES (?, ?)`, tag, t.number); err != nil {
			return err
		}
	}
	return nil
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

// findPerson is findAccount for a filter. An email of which the caller must not
// learn whether it has an account is actor.NoID.
func findPerson(ctx context.Context, q db.Queryer, ref string) (id string, err error) {
	if !actor.OwnEmailOnly(ctx, ref) {
		id, _, err = findAccount(ctx, q, ref)
		return id, err
	}
	err = q.QueryRow(ctx, `SELECT id FROM users WHERE email_key = ? AND id = ?`, strings.ToLower(ref), actor.From(ctx).ID).Scan(&id)
	if db.IsNotFound(err) {
		return actor.NoID, nil
	}
	return id, err
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
// what was finished since then, or is held by it.
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
