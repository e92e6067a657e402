// Package list reads large tables page by page, with filters, sort orders and an
// optional total count. A cursor is valid only for the list, sort order and filters
// that it was created for.
//
// Pages use keyset pagination: a page starts after the position of the previous page's last
// row, not at a row number. Rows that are added or deleted between two pages cause neither
// duplicates nor gaps. A row whose own position changes can still appear twice or be missed.
// An example is a task that is updated while a client lists tasks by their last update.
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

// List describes how the rows of a table are listed. Table and column names become
// part of the SQL, so they must be constants.
type List[T any] struct {
	Table   string
	Columns string // the columns that Scan reads
	Scan    func(db.Row) (T, error)
	Sorts   map[string]Sort[T] // by name
	Usual   string             // default order, such as "-created"
}

// Sort is a sort order. The table needs an index that starts with Columns, or with a
// filter column followed by Columns. None of the columns may be null.
type Sort[T any] struct {
	// Columns are the columns to sort by. The last column, or the combination of all
	// columns, must be unique. A descending sort reverses all columns, so that one
	// index serves both directions.
	Columns []string
	// Position returns a row's values for Columns. Each value is a string, an int64
	// or a time.Time. Position is also called with the zero T to get the types of the
	// values.
	Position func(T) []any
	// Apart maps a column filtered with list.In to an index on that column followed by Columns. No
	// index returns the rows for several values in the sort order. The rows for each value are
	// therefore read separately through this index and then merged. The list's Columns must include
	// the sort's Columns.
	Apart map[string]string
}

// order is a sort order chosen by a caller.
type order[T any] struct {
	Sort[T]
	down  bool
	bound string // identifies the list, order and filters in a cursor
}

// Query returns the SQL that reads one page and one more row. The extra row shows
// whether another page follows. Query returns page.ErrCursor if the cursor was created
// for another list, sort order or filter.
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
	// The limit is part of the text: as an argument, SQLite would plan the statement
	// again for each new value.
	order := ` ORDER BY ` + o.by() + ` LIMIT ` + strconv.Itoa(limit(want)+1)
	parts := w.apart(o.Apart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i], args = `SELECT `+l.Columns+part.from(l.Table), append(args, part.args()...)
		if engine == db.Postgres && len(parts) > 1 {
			// PostgreSQL merges the parts only if each part is sorted. SQLite merges
			// them anyway, and with a limit for each part would read all parts up to
			// that limit.
			texts[i] = `SELECT * FROM (` + texts[i] + order + `) AS part`
		}
	}
	return strings.Join(texts, ` UNION ALL `) + order, args, nil
}

// usualLimit is the page size for internal callers that set no limit. The API has the same default
// in page.Query.
const usualLimit = 100

func limit(want page.Want) int {
	if want.Limit < 1 {
		return usualLimit
	}
	return want.Limit
}

// Read returns the requested page of the rows that match w and, if requested, the
// number of all matching rows. To get a number that is consistent with the page, call
// Read within View.
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

// View calls fn to read a page. If a total is requested, fn reads from a consistent snapshot;
// otherwise it reads directly from d, which is cheaper. If a list is filtered by a column without
// an index, fn may have to read a whole table. View therefore limits how many reads a caller can
// run at the same time; see db.LimitReads.
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

// order returns the sort order with the given name. A leading minus means descending
// order.
func (l List[T]) order(w Where, given string) (order[T], error) {
	given = cmp.Or(given, l.Usual)
	name, down := strings.CutPrefix(given, "-")
	s, ok := l.Sorts[name]
	if !ok {
		return order[T]{}, fmt.Errorf("list %s: unknown sort %q", l.Table, given)
	}
	return order[T]{s, down, w.bound(l.Table, given)}, nil
}

// by returns the columns for the ORDER BY clause.
func (o order[T]) by() string {
	if !o.down {
		return strings.Join(o.Columns, `, `)
	}
	return strings.Join(o.Columns, ` DESC, `) + ` DESC`
}

// beyond returns the SQL condition that selects the rows after a cursor's position.
func (o order[T]) beyond() string {
	than := ` > `
	if o.down {
		than = ` < `
	}
	return `(` + strings.Join(o.Columns, `, `) + `)` + than + `(?` + strings.Repeat(`, ?`, len(o.Columns)-1) + `)`
}

// position returns the cursor contents for the page that starts after the given row.
func (o order[T]) position(row T) []string {
	parts := []string{o.bound}
	for _, v := range o.Position(row) {
		parts = append(parts, text(v))
	}
	return parts
}

// Limits for times in a cursor: the years 1 to 9999, in microseconds since 1970.
// Times beyond them would overflow.
const (
	firstMicro = -62_135_596_800_000_000
	lastMicro  = 253_402_300_799_999_999
)

// after parses an untrusted cursor. It returns the sort values of the previous page's last row,
// or nil if the cursor is empty, which means the start of the list.
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

// text formats a value for a cursor or for the digest of a filter.
func text(v any) string {
	if at, ok := v.(time.Time); ok {
		return strconv.FormatInt(at.UnixMicro(), 10)
	}
	return fmt.Sprint(v)
}

// bound returns a short digest of a list's table, sort order and filters. It is used
// to detect cursors from other lists, not as a security feature.
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
