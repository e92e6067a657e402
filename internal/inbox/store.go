package inbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/plaintext"
)

const (
	stored = `id, cause, kind, severity, urgency, title, detail, subject_kind, subject_id, subject_name, count, first_at, last_at,
		state, snoozed_until, assignee_id, resolved_at, resolver_id, resolver_name, resolution, version, session_key, run_id, effect`
	columns = `id, cause, kind, severity, title, detail, subject_kind, subject_id, subject_name, count, first_at, last_at,
		state, snoozed_until, assignee_id, (SELECT name FROM users WHERE users.id = assignee_id), resolved_at, resolver_id, resolver_name, resolution, version,
		session_key, run_id, effect`
)

// items defines the list of inbox items.
var items = list.List[Item]{
	Table: `inbox_items`, Columns: columns, Scan: scan, Usual: "rank",
	Sorts: map[string]list.Sort[Item]{
		"rank": {
			Columns:  []string{`urgency`, `first_at`, `id`},
			Position: func(i Item) []any { return []any{i.rank(), i.FirstAt.Time, i.ID} },
		},
		"last": {Columns: []string{`last_at`, `id`}, Position: func(i Item) []any { return []any{i.LastAt.Time, i.ID} }},
	},
}

// where returns the SQL condition for the filter. The condition depends on the time, because a snooze ends by itself.
func (f Filter) where(ctx context.Context, q db.Queryer, now time.Time) (w list.Where, err error) {
	f.ofStates(&w, now)
	list.In(&w, `kind`, f.Kinds)
	var ranks []int64
	for _, s := range f.Severities {
		ranks = append(ranks, s.urgency())
		if s == Urgent { // the severity of loops
			ranks = append(ranks, loopRank)
		}
	}
	list.In(&w, `urgency`, ranks)
	if f.NeedsMe {
		w.And(`(assignee_id = ? OR assignee_id IS NULL AND state <> 'acked')`, actor.From(ctx).ID)
	}
	switch f.Assignee {
	case "":
	case "none":
		w.And(`assignee_id IS NULL`)
	case "me":
		w.And(`assignee_id = ?`, actor.From(ctx).ID)
	default:
		ids, err := findUsers(ctx, q, f.Assignee)
		if err == nil && len(ids) == 0 {
			err = ErrAssignee.With("Specify a user's ID or email, an agent_id, \"me\", or \"none\".")
		}
		if err != nil {
			return w, err
		}
		list.In(&w, `assignee_id`, ids)
	}
	return w, nil
}

// ofStates adds a condition to w that selects items in the filter's states. An item whose snooze
// has ended is treated as open. A page cursor contains the filter's fingerprint, which must not
// depend on the current time, because the time differs from page to page.
func (f Filter) ofStates(w *list.Where, now time.Time) {
	want := f.wanted()
	if !want[Resolved] {
		w.And(`state <> 'resolved'`) // uses the index of unresolved items
	}
	var or []string
	for _, s := range []State{Acked, Resolved} {
		if want[s] {
			or = append(or, `state = '`+string(s)+`'`)
		}
	}
	switch {
	case want[Open] && want[Snoozed]:
		or = append(or, `state IN ('open', 'snoozed')`)
	case want[Open]:
		or = append(or, `state = 'open'`, `state = 'snoozed' AND snoozed_until <= ?`)
	case want[Snoozed]:
		or = append(or, `state = 'snoozed' AND snoozed_until > ?`)
	}
	condition := strings.Join(or, ` OR `)
	if len(or) > 1 {
		condition = `(` + condition + `)`
	}
	if strings.Contains(condition, `?`) {
		w.Now(condition, now)
		return
	}
	w.And(condition)
}

// index returns the name of the database index to use for reading the items. The index for
// unresolved items is small, so it is used unless the filter selects resolved items.
func (f Filter) index(sort string) string {
	switch {
	case !f.wanted()[Resolved]:
		return `inbox_unresolved`
	case strings.TrimPrefix(sort, "-") == "last":
		return `inbox_by_last`
	case f.Assignee != "":
		return `inbox_of_assignee`
	case len(f.Kinds) == 1:
		return `inbox_of_kind`
	}
	return `inbox_by_rank`
}

func scan(row db.Row) (Item, error) {
	var i Item
	var assigneeID, assigneeName, resolverID, resolverName, note, sessionKey, runID *string
	var resolvedAt *clock.Time
	err := row.Scan(&i.ID, &i.cause, &i.Kind, &i.Severity, &i.Title, &i.Detail, &i.Subject.Kind, &i.Subject.ID,
		&i.Subject.Name, &i.Count, &i.FirstAt, &i.LastAt, &i.State, &i.SnoozedUntil, &assigneeID, &assigneeName, &resolvedAt,
		&resolverID, &resolverName, &note, &i.Version, &sessionKey, &runID, &i.Effect)
	if err != nil {
		return Item{}, err
	}
	if sessionKey != nil && runID != nil {
		i.Run = &Run{SessionKey: *sessionKey, RunID: *runID}
	}
	if assigneeID != nil && assigneeName != nil {
		i.Assignee = &Assignee{ID: *assigneeID, Name: *assigneeName}
	}
	if resolvedAt != nil && resolverID != nil && resolverName != nil && note != nil {
		i.Resolution = &Resolution{At: *resolvedAt, By: event.Author{ID: *resolverID, Name: *resolverName}, Note: *note}
	}
	return i, nil
}

func find(ctx context.Context, q db.Queryer, id string) (Item, error) {
	return one(ctx, q, `id`, strings.ToLower(id))
}

func ofCause(ctx context.Context, q db.Queryer, cause string) (Item, error) {
	return one(ctx, q, `cause`, cause)
}

func one(ctx context.Context, q db.Queryer, column, value string) (Item, error) {
	i, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM inbox_items WHERE `+column+` = ?`, value))
	if db.IsNotFound(err) {
		return Item{}, ErrNotFound.With("Reload the inbox. Wardroom deletes old resolved items.")
	}
	return i, err
}

// unresolvedAbout returns the unresolved items of the given kinds about a subject.
func unresolvedAbout(ctx context.Context, q db.Queryer, subjectID string, kinds []Kind) ([]Item, error) {
	args := []any{subjectID}
	for _, k := range kinds {
		args = append(args, k)
	}
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM inbox_items
		WHERE subject_id = ? AND kind IN (?`+strings.Repeat(`, ?`, len(kinds)-1)+`) AND state <> 'resolved'
		ORDER BY first_at, id`, args...)
	return db.All(rows, err, scan)
}

// row returns the item's column values, in the order of the columns in the INSERT statement.
func (i Item) row() []any {
	var assignee any
	if i.Assignee != nil {
		assignee = i.Assignee.ID
	}
	ending := []any{nil, nil, nil, nil}
	if r := i.Resolution; r != nil {
		ending = []any{r.At, r.By.ID, r.By.Name, r.Note}
	}
	run := []any{nil, nil}
	if i.Run != nil {
		run = []any{i.Run.SessionKey, i.Run.RunID}
	}
	return slices.Concat([]any{
		i.ID, i.cause, i.Kind, i.Severity, i.rank(), i.Title, i.Detail, i.Subject.Kind, i.Subject.ID, i.Subject.Name,
		i.Count, i.FirstAt, i.LastAt, i.State, i.SnoozedUntil, assignee,
	}, ending, []any{i.Version}, run, []any{i.Effect})
}

func insert(ctx context.Context, tx *db.Tx, i Item) error {
	row := i.row()
	_, err := tx.Exec(ctx, `INSERT INTO inbox_items (`+stored+`) VALUES (?`+strings.Repeat(`, ?`, len(row)-1)+`)`, row...)
	return err
}

// update stores all fields of the item that can change.
func update(ctx context.Context, tx *db.Tx, i Item) error {
	row := i.row()
	_, err := tx.Exec(ctx, `
		UPDATE inbox_items SET kind = ?, severity = ?, urgency = ?, title = ?, detail = ?, subject_kind = ?, subject_id = ?, subject_name = ?,
			count = ?, first_at = ?, last_at = ?, state = ?, snoozed_until = ?, assignee_id = ?,
			resolved_at = ?, resolver_id = ?, resolver_name = ?, resolution = ?, version = ?, session_key = ?, run_id = ?, effect = ?
		WHERE id = ?`, append(row[2:], i.ID)...)
	return err
}

// dueSnoozes returns the IDs of items whose snooze has ended, earliest first.
func dueSnoozes(ctx context.Context, q db.Queryer, now time.Time, limit int) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT id FROM inbox_items WHERE state = 'snoozed' AND (snoozed_until <= ? OR snoozed_until > ?)
		ORDER BY snoozed_until, id LIMIT ?`, now, now.Add(maxSnooze+clock.Skew), limit)
	return db.All(rows, err, scanID)
}

func scanID(row db.Row) (id string, err error) { return id, row.Scan(&id) }

const (
	countResolved = `SELECT COUNT(*), MIN(resolved_at) FROM inbox_items WHERE state = 'resolved' AND resolved_at < ?`
	longResolved  = `SELECT id FROM inbox_items WHERE state = 'resolved' AND resolved_at < ? ORDER BY resolved_at, id LIMIT ?`
)

// purgeResolved deletes items that were resolved before the given time, oldest first. It
// deletes each item with a separate statement, because PostgreSQL would scan the whole
// table if one statement contained a list of IDs.
func purgeResolved(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, longResolved, before, limit)
	ids, err := db.All(rows, err, scanID)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := tx.Exec(ctx, `DELETE FROM inbox_items WHERE id = ?`, id); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), nil
}

// findUsers returns the IDs of the accounts whose ID, email or agent_id is ref. Several
// accounts can have the same agent_id. For an email that the caller may not look up,
// findUsers returns actor.NoID, which matches no account.
func findUsers(ctx context.Context, q db.Queryer, ref string) ([]string, error) {
	folded := plaintext.Fold(ref)
	if actor.OwnEmailOnly(ctx, ref) {
		var id string
		err := q.QueryRow(ctx, `SELECT id FROM users WHERE email_key = ? AND id = ?`, folded, actor.From(ctx).ID).Scan(&id)
		if db.IsNotFound(err) {
			return []string{actor.NoID}, nil
		}
		return []string{id}, err
	}
	rows, err := q.Query(ctx, `SELECT id FROM users WHERE id = ? OR email_key = ? OR agent_id = ? ORDER BY id`, folded,
		folded, ref)
	return db.All(rows, err, scanID)
}

// findAssignee finds a human's active account by ID or email.
func findAssignee(ctx context.Context, q db.Queryer, ref string) (a Assignee, err error) {
	folded := plaintext.Fold(ref)
	err = q.QueryRow(ctx, `SELECT id, name FROM users WHERE (id = ? OR email_key = ?) AND active AND role <> ?`, folded,
		folded, actor.Agent).
		Scan(&a.ID, &a.Name)
	if db.IsNotFound(err) {
		err = ErrAssignee.With("Specify the ID or email of a person with an active account, or null to unassign the item.")
	}
	return a, err
}
