package task

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Place says where on the board a task is to go. Exactly one of its fields is
// given.
//
// All tasks stand in one order, and a column shows its part of it. So a task
// that changes its column keeps its place, and a new one comes last.
type Place struct {
	Before *string `json:"before,omitempty" maxLength:"64" doc:"Directly before this task: its id or key." example:"TASK-12"`
	After  *string `json:"after,omitempty" maxLength:"64" doc:"Directly after this task: its id or key."`
	At     *string `json:"at,omitempty" enum:"first,last" doc:"Before or after all others."`
}

// ErrNeighbour refuses a place beside a task that is not on the board.
var ErrNeighbour = fault.New(fault.Invalid, "neighbour_unknown", "There is no task like that on the board.")

// A position is digits: twelve of them, the task's number, as long as nobody
// moves it; more after that, the last of which is no 0. So as texts positions
// stand in the order of the fractions that they are, whatever the database's
// collation, and what a move gives out is never that of a task to come.
const (
	placeDigits = 12
	stepDigits  = 6
	// longPlace is when the tasks around a place are spread anew. A few hundred
	// moves into the same gap lead there.
	longPlace = 60
)

func firstPosition(number int64) string { return fmt.Sprintf("%0*d", placeDigits, number) }

// between is a position between two others, of which the first is the lesser.
// Empty is the beginning, or the end.
func between(low, high string) string {
	digit := func(s string, i, none int) int {
		if i < len(s) {
			return int(s[i] - '0')
		}
		return none
	}
	var b strings.Builder
	open := high == "" // above all that begins with what b holds
	for i := 0; ; i++ {
		l, h := digit(low, i, 0), 10
		if !open {
			h = digit(high, i, 0)
		}
		if h-l > 1 {
			b.WriteByte(byte('0' + (l+h)/2))
			break
		}
		b.WriteByte(byte('0' + l))
		open = open || h > l
	}
	if short := placeDigits - b.Len(); short >= 0 { // it would be that of a task as it was made
		b.WriteString(strings.Repeat("0", short) + "5")
	}
	return b.String()
}

// beyond is a position after the last one, and before that of the next task
// that is made.
func beyond(last string) string {
	whole, n := split(last)
	if n++; n%10 == 0 {
		n++
	}
	if n >= pow10(stepDigits) {
		return between(last, firstPosition(whole+1))
	}
	return firstPosition(whole) + fmt.Sprintf("%0*d", stepDigits, n)
}

// ahead is a position before the first one.
func ahead(first string) string {
	whole, n := split(first)
	if n--; n%10 == 0 {
		n--
	}
	switch {
	case n > 0:
		return firstPosition(whole) + fmt.Sprintf("%0*d", stepDigits, n)
	case whole > 0:
		return firstPosition(whole-1) + strings.Repeat("9", stepDigits)
	}
	return between("", first)
}

// split reads the number that a position begins with and its next digits.
func split(position string) (whole, step int64) {
	for i := range placeDigits + stepDigits {
		to := &whole
		if i >= placeDigits {
			to = &step
		}
		*to *= 10
		if i < len(position) {
			*to += int64(position[i] - '0')
		}
	}
	return whole, step
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// check refuses a place that is none or several.
func (p Place) check(bad *fault.Fields) {
	n := 0
	for _, given := range []bool{p.Before != nil, p.After != nil, p.At != nil} {
		if given {
			n++
		}
	}
	if n != 1 || p.At != nil && *p.At != "first" && *p.At != "last" {
		bad.Add("/position", "Give exactly one of before, after and at, which is first or last.")
	}
}

// place finds the position that t is to have. The caller has the lock of the
// board, so that nobody else takes the same.
func place(ctx context.Context, tx *db.Tx, t Task, to Place) (string, error) {
	for {
		position, err := placeNow(ctx, tx, t, to)
		if err != nil || len(position) <= longPlace {
			return position, err
		}
		if err := spread(ctx, tx, position[:placeDigits]); err != nil {
			return "", fmt.Errorf("spread the board: %w", err)
		}
		if t, err = find(ctx, tx, t.ID); err != nil {
			return "", err
		}
	}
}

func placeNow(ctx context.Context, tx *db.Tx, t Task, to Place) (string, error) {
	if to.At != nil {
		edge := map[string]struct {
			order string
			step  func(string) string
		}{"first": {`position, number`, ahead}, "last": {`position DESC, number DESC`, beyond}}[*to.At]
		at, err := neighbour(ctx, tx, `1 = 1`, edge.order)
		if err != nil || at == t.Position {
			return t.Position, err
		}
		return edge.step(at), nil
	}
	ref := to.Before
	if ref == nil {
		ref = to.After
	}
	beside, err := find(ctx, tx, *ref)
	switch {
	case err != nil && fault.Of(err) == nil:
		return "", err
	case err != nil || beside.ArchivedAt != nil:
		return "", ErrNeighbour.With("Name it by its id or its key, such as TASK-12.")
	case beside.ID == t.ID:
		return t.Position, nil
	case to.Before != nil:
		low, err := neighbour(ctx, tx, `position < ?`, `position DESC, number DESC`, beside.Position)
		if err != nil || low == t.Position {
			return t.Position, err
		}
		if low == "" {
			return ahead(beside.Position), nil
		}
		return between(low, beside.Position), nil
	default:
		high, err := neighbour(ctx, tx, `position > ?`, `position, number`, beside.Position)
		if err != nil || high == t.Position {
			return t.Position, err
		}
		if high == "" {
			return beyond(beside.Position), nil
		}
		return between(beside.Position, high), nil
	}
}

// neighbour is the first position on the board of those that match, or empty.
func neighbour(ctx context.Context, tx *db.Tx, condition, order string, args ...any) (position string, err error) {
	err = tx.QueryRow(ctx, `SELECT position FROM tasks WHERE archived_at IS NULL AND `+condition+` ORDER BY `+order+` LIMIT 1`, args...).Scan(&position)
	if db.IsNotFound(err) {
		err = nil
	}
	return position, err
}

// spread gives the tasks that were moved to places after whole, and before the
// next whole number, short positions in the order that they have.
func spread(ctx context.Context, tx *db.Tx, whole string) error {
	const digits = 9
	n, _ := split(whole)
	rows, err := tx.Query(ctx, `SELECT id FROM tasks WHERE position > ? AND position < ? ORDER BY position, number`, whole, firstPosition(n+1))
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return err
	}
	step := pow10(digits) / int64(len(ids)+1)
	for i, id := range ids {
		at := int64(i+1) * step
		if at%10 == 0 {
			at++
		}
		if _, err := tx.Exec(ctx, `UPDATE tasks SET position = ?, shown = shown + 1 WHERE id = ?`, fmt.Sprintf("%s%0*d", whole, digits, at), id); err != nil {
			return err
		}
	}
	return redraw(ctx, tx, ids...)
}
