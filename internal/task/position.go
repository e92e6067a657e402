package task

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Place is a requested place for a task on the board. Exactly one field is set.
//
// There is a single order of all tasks, and each column shows its tasks in this
// order. Therefore a task keeps its place when it moves to another column. New
// tasks come last.
type Place struct {
	Before *string `json:"before,omitempty" maxLength:"64" doc:"Directly before this task: an ID or key." example:"TASK-12"`
	After  *string `json:"after,omitempty" maxLength:"64" doc:"Directly after this task: an ID or key."`
	At     *string `json:"at,omitempty" enum:"first,last" doc:"Before or after all other tasks."`
}

// ErrNeighbor means that a requested place refers to a task that is not on the
// board.
var ErrNeighbor = fault.New(fault.Invalid, "neighbor_unknown",
	"The position refers to a task that is not on the board.")

// A position is a string of digits that determines a task's place on the board.
// Positions are compared as text, like the digits after a decimal point. The
// position of a new task is its number, padded to twelve digits. The position
// of a moved task has more digits and does not end in 0, so that it never
// equals the position of a future task. All database collations sort digits in
// the same order.
const (
	placeDigits = 12
	stepDigits  = 6
	// When a position gets longer than longPlace, the tasks around it are
	// spread out. That takes a few hundred moves into the same gap.
	longPlace = 60
)

func firstPosition(number int64) string { return fmt.Sprintf("%0*d", placeDigits, number) }

// between returns a position between low and high, where low < high. If low is
// empty, there is no lower bound; if high is empty, there is no upper bound.
func between(low, high string) string {
	digit := func(s string, i, none int) int {
		if i < len(s) {
			return int(s[i] - '0')
		}
		return none
	}
	var b strings.Builder
	open := high == "" // any digits after the prefix in b are below high
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
	if short := placeDigits - b.Len(); short >= 0 { // must not equal the position of a new task
		b.WriteString(strings.Repeat("0", short) + "5")
	}
	return b.String()
}

// afterLast returns a position that comes after the board's last position and
// before the position of the next new task.
func afterLast(last string) string {
	whole, n := split(last)
	if n++; n%10 == 0 {
		n++
	}
	if n >= pow10(stepDigits) {
		return between(last, firstPosition(whole+1))
	}
	return firstPosition(whole) + fmt.Sprintf("%0*d", stepDigits, n)
}

// beforeFirst returns a position that comes before the board's first position.
func beforeFirst(first string) string {
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

// split parses a position. The first placeDigits digits are a task number (whole), and the next
// stepDigits digits are the step.
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

// check adds an error to bad unless exactly one field of p is set and its value is valid.
func (p Place) check(bad *fault.Fields) {
	n := 0
	for _, given := range []bool{p.Before != nil, p.After != nil, p.At != nil} {
		if given {
			n++
		}
	}
	if n != 1 || p.At != nil && *p.At != "first" && *p.At != "last" {
		bad.Add("/position",
			"Specify exactly one of \"before\", \"after\", and \"at\". The value of \"at\" must be \"first\" or \"last\".")
	}
}

// place returns the new position for a task.
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
		}{"first": {`position, number`, beforeFirst}, "last": {`position DESC, number DESC`, afterLast}}[*to.At]
		at, err := neighbor(ctx, tx, `1 = 1`, edge.order)
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
		return "", ErrNeighbor.With("Use the ID or key of a task that is not archived, such as TASK-12.")
	case beside.ID == t.ID:
		return t.Position, nil
	case to.Before != nil:
		low, err := neighbor(ctx, tx, `position < ?`, `position DESC, number DESC`, beside.Position)
		if err != nil || low == t.Position {
			return t.Position, err
		}
		if low == "" {
			return beforeFirst(beside.Position), nil
		}
		return between(low, beside.Position), nil
	default:
		high, err := neighbor(ctx, tx, `position > ?`, `position, number`, beside.Position)
		if err != nil || high == t.Position {
			return t.Position, err
		}
		if high == "" {
			return afterLast(beside.Position), nil
		}
		return between(beside.Position, high), nil
	}
}

// neighbor returns the position of the first matching task on the board, or "".
func neighbor(ctx context.Context, tx *db.Tx, condition, order string, args ...any) (position string, err error) {
	err = tx.QueryRow(ctx,
		`SELECT position FROM tasks WHERE archived_at IS NULL AND `+condition+` ORDER BY `+order+` LIMIT 1`,
		args...).Scan(&position)
	if db.IsNotFound(err) {
		err = nil
	}
	return position, err
}

// spread makes room for further moves: it shortens the positions of moved tasks without changing
// their order. It changes only positions that start with whole.
func spread(ctx context.Context, tx *db.Tx, whole string) error {
	const digits = 9
	n, _ := split(whole)
	rows, err := tx.Query(ctx, `SELECT id FROM tasks WHERE position > ? AND position < ? ORDER BY position, number`, whole,
		firstPosition(n+1))
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
		if _, err := tx.Exec(
			ctx, `UPDATE tasks SET position = ? WHERE id = ?`, fmt.Sprintf("%s%0*d", whole, digits, at), id,
		); err != nil {
			return err
		}
	}
	return rewriteCards(ctx, tx, ids...)
}
