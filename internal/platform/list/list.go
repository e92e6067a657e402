// Package list reads long tables page by page: filtered, sorted, and counted
// on demand, with a cursor that belongs to exactly that list.
//
// A page begins after the last row of the page before, at that row's place in
// the order (a "keyset"), and not at a number of rows. So rows that come and go
// meanwhile neither repeat nor hide others. What cannot be avoided: a row whose
// own place changes while somebody turns pages is seen again when it moves
// ahead of the reader, and not seen any more when it moves behind, as a task
// does that is changed while the tasks are read by their last change.
package list

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
)

// List says how the rows of one table are listed. The names of tables and
// columns go into the SQL as they are: they are constants of the program.
type List[T any] struct {
	Table   string
	Columns string // what Scan reads
	Scan    func(db.Row) (T, error)
	Sorts   map[string]Sort[T] // by the name that callers use
	Usual   string             // the order of those who ask for none, such as "-created"
}

// Sort is one order. It needs an index over Columns that begins with them, or
// with a filter's column, and none of them may be null.
type Sort[T any] struct {
	// Columns are compared one after the other; the last one, or all together,
	// differ in every row. Downwards, all of them go down, so that one index
	// serves both directions.
	Columns []string
	// Position is a row's values of Columns, each a string, an int64 or a
	// time.Time. It is also called with the zero T, for the types alone.
	Position func(T) []any
	// Apart names, for a column that list.In filters by, an index that begins with
	// it and goes on with Columns. The list is read through that index once for each
	// value and merged: with several values no index has the rows in this order. The
	// list's Columns must include those of the sort.
	Apart map[string]string
}

// Order is the order that a caller has chosen among the sorts of a list.
type order[T any] struct {
	Sort[T]
	down  bool
	bound string // names the list, the order and the filters in a cursor
}

// Query is the SQL for one page, and one row more that tells whether another
// page follows. It answers page.ErrCursor for a cursor that another list, order
// or filter gave out.
func (l List[T]) Query(engine db.Engine, w Where, want page.Want) (query string, args []any, err error) {
	o, err := l.order(w, want.Sort)
	if err != nil {
		return "", nil, err
	}
	after, err := o.after(want.Cursor)
	if err != nil {
		return "", nil, err
	}
	if after != nil {
		w.And(o.beyond(), after...)
	}
	// The limit is a number in the text: SQLite plans a statement anew whenever
	// that is given another time.
	order := ` ORDER BY ` + o.by() + ` LIMIT ` + strconv.Itoa(limit(want)+1)
	parts := w.apart(o.Apart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i], args = `SELECT `+l.Columns+part.from(l.Table), append(args, part.args()...)
		if engine == db.Postgres && len(parts) > 1 {
			// It merges only what is sorted already. SQLite would read each part to
			// its limit then.
			texts[i] = `SELECT * FROM (` + texts[i] + order + `) AS part`
		}
	}
	return strings.Join(texts, ` UNION ALL `) + order, args, nil
}

// usualLimit is how many rows a page has for callers inside the program who do
// not say; the API has the same default in page.Query.
const usualLimit = 100

func limit(want page.Want) int {
	if want.Limit < 1 {
		return usualLimit
	}
	return want.Limit
}

// Read returns the page that is wanted of the rows that match w, with their
// total when that is wanted too. For a total that fits to its page, q is one
// view of the database; see View.
func (l List[T]) Read(ctx context.Context, q db.Queryer, w Where, want page.Want) (page.Part[T], error) {
	query, args, err := l.Query(q.Engine(), w, want)
	if err != nil {
		return page.Part[T]{}, err
	}
	rows, err := q.Query(ctx, query, args...)
	part := page.Part[T]{}
	if part.Rows, err = db.All(rows, err, l.Scan); err != nil {
		return page.Part[T]{}, fmt.Errorf("list %s: %w", l.Table, err)
	}
	o, err := l.order(w, want.Sort)
	if err != nil {
		return page.Part[T]{}, err
	}
	part.Rows, part.Next = page.Cut(part.Rows, limit(want), o.position)
	if want.Total {
		part.Total = new(int64)
		if err := q.QueryRow(ctx, `SELECT COUNT(*)`+w.from(l.Table), w.args()...).Scan(part.Total); err != nil {
			return page.Part[T]{}, fmt.Errorf("count %s: %w", l.Table, err)
		}
	}
	return part, nil
}

// View runs fn on what a page is read from: one unchanging view when there is
// also a total, and the database as it is, which is cheaper, when not. What a
// caller filters by may have no index and find nothing, so that a long table is
// read to its end: of one caller only a few are read at once; see db.Turn.
func View(ctx context.Context, d *db.DB, want page.Want, fn func(db.Queryer) error) error {
	leave, err := d.LimitReads(ctx, actor.From(ctx).ID)
	if err != nil {
		return fmt.Errorf("wait for the caller's other lists: %w", err)
	}
	defer leave()
	if want.Total {
		return d.View(ctx, fn)
	}
	return fn(d)
}

// order finds the sort that given names, with a minus for downwards.
func (l List[T]) order(w Where, given string) (order[T], error) {
	given = cmp.Or(given, l.Usual)
	name, down := strings.CutPrefix(given, "-")
	s, ok := l.Sorts[name]
	if !ok {
		return order[T]{}, fmt.Errorf("list %s: there is no sort %q", l.Table, given)
	}
	return order[T]{s, down, w.bound(l.Table, given)}, nil
}

// by is what ORDER BY says.
func (o order[T]) by() string {
	if !o.down {
		return strings.Join(o.Columns, `, `)
	}
	return strings.Join(o.Columns, ` DESC, `) + ` DESC`
}

// beyond is the condition for the rows after a position.
func (o order[T]) beyond() string {
	than := ` > `
	if o.down {
		than = ` < `
	}
	return `(` + strings.Join(o.Columns, `, `) + `)` + than + `(?` + strings.Repeat(`, ?`, len(o.Columns)-1) + `)`
}

// position is what the cursor behind a row says.
func (o order[T]) position(row T) []string {
	parts := []string{o.bound}
	for _, v := range o.Position(row) {
		parts = append(parts, text(v))
	}
	return parts
}

// The moments that a position may name: those of the years 1 to 9999, in
// microseconds since 1970. Others would come out of the sum as another moment.
const (
	firstMicro = -62_135_596_800_000_000
	lastMicro  = 253_402_300_799_999_999
)

// after reads a cursor, of which nothing can be believed, back into the values
// of Columns. It is nil at the start of the list.
func (o order[T]) after(cursor string) ([]any, error) {
	var zero T
	values := o.Position(zero)
	parts, err := page.Decode(cursor, 1+len(values))
	if err != nil || parts == nil {
		return nil, err
	}
	if parts[0] != o.bound {
		return nil, page.Refused()
	}
	for i, part := range parts[1:] {
		switch values[i].(type) {
		case int64:
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, page.Refused()
			}
			values[i] = n
		case time.Time:
			n, err := strconv.ParseInt(part, 10, 64)
			if err != nil || n < firstMicro || n > lastMicro {
				return nil, page.Refused()
			}
			values[i] = time.UnixMicro(n)
		default:
			values[i] = part
		}
	}
	return values, nil
}

// text writes one value of a position or of a filter.
func text(v any) string {
	if at, ok := v.(time.Time); ok {
		return strconv.FormatInt(at.UnixMicro(), 10)
	}
	return fmt.Sprint(v)
}

// bound is a short digest of a list, its order and its filters. It keeps people
// from errors; it is no secret and guards nothing.
func (w Where) bound(table, sort string) string {
	h := sha256.New()
	texts, lasting := []string{table, sort}, []string(nil)
	for _, c := range w.conditions {
		if c.hint {
			continue
		}
		texts = append(texts, c.text)
		for _, a := range c.args {
			if !c.now {
				lasting = append(lasting, text(a))
			}
		}
	}
	for _, s := range append(texts, lasting...) {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}
