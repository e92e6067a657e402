package list

import (
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/plaintext"
)

// Where collects the conditions that filter a list. It contains only the conditions that
// the caller requested, so that the database can plan each combination separately. The
// zero Where matches every row.
type Where struct {
	conditions []condition
	index      string
}

// condition is one condition of a Where.
type condition struct {
	text   string
	args   []any
	column string // the column of an In condition
	now    bool   // a cursor stays valid if the arguments change
	hint   bool   // a cursor stays valid if the condition changes
}

// And adds an SQL condition. The arguments replace its question marks in order.
func (w *Where) And(text string, args ...any) { w.add(condition{text: text, args: args}) }

// Now adds a condition that compares a column with the current time. Although that time changes
// from page to page, cursors stay valid.
func (w *Where) Now(text string, now time.Time) {
	w.add(condition{text: text, args: []any{now}, now: true})
}

// Hint adds a redundant condition that lets the database use an index. The other
// conditions must imply it. Page cursors stay valid when the hint changes.
func (w *Where) Hint(text string, args ...any) {
	w.add(condition{text: text, args: args, hint: true})
}

// Use makes SQLite read the rows through the given index. Without statistics,
// SQLite may choose the wrong index if one filter matches far fewer rows than another.
// PostgreSQL has statistics and ignores the given index. If the index is partial,
// the conditions in w must imply the index's condition.
func (w *Where) Use(index string) { w.index = index }

func (w *Where) add(c condition) {
	// Clip forces a copy, so that two copies of a Where can be extended independently.
	w.conditions = append(slices.Clip(w.conditions), c)
}

// Is adds the condition that column equals value. It adds nothing if value is the
// zero value, which means that the caller did not request the filter.
func Is[T comparable](w *Where, column string, value T) {
	var zero T
	if value != zero {
		w.And(column+` = ?`, value)
	}
}

// In adds the condition that column equals one of the values. It adds nothing if there are no
// values. It removes duplicates, so that the database has fewer different query texts to plan
// and cache.
func In[T comparable](w *Where, column string, values []T) {
	if len(values) > 0 {
		w.add(among(column, values))
	}
}

// HintIn adds the same condition as In, but as a hint (see Hint). If there are no values,
// no rows match; In would add no condition.
func HintIn[T comparable](w *Where, column string, values []T) {
	c := condition{text: `1 = 0`}
	if len(values) > 0 {
		c = among(column, values)
	}
	c.hint = true
	w.add(c)
}

func among[T comparable](column string, values []T) condition {
	var args []any
	for _, v := range values {
		if !slices.Contains(args, any(v)) {
			args = append(args, v)
		}
	}
	if len(args) == 1 {
		return condition{text: column + ` = ?`, args: args, column: column}
	}
	return condition{text: column + ` IN (?` + strings.Repeat(`, ?`, len(args)-1) + `)`, args: args, column: column}
}

// Has adds the condition that column contains text, both in the form of plaintext.Fold, in which
// the column must be stored. It adds nothing if text is blank. No index supports this
// search: without a Hint, the database reads rows in the list's order until enough of
// them match.
func Has(w *Where, column, text string) {
	if text = plaintext.Fold(text); text != "" {
		w.And(column+` LIKE ? ESCAPE '\'`, `%`+literal(text)+`%`)
	}
}

// literal escapes the wildcards of LIKE with a backslash.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// from returns the FROM and WHERE clauses of the query.
func (w Where) from(table string) string {
	var b strings.Builder
	first, joins, _ := strings.Cut(table, " ") // SQLite expects the hint after its table and before the joins
	b.WriteString(` FROM ` + first)
	if w.index != "" {
		b.WriteString(` INDEXED BY ` + w.index)
	}
	if joins != "" {
		b.WriteString(` ` + joins)
	}
	for i, c := range w.conditions {
		b.WriteString(map[bool]string{true: ` WHERE `, false: ` AND `}[i == 0] + c.text)
	}
	return b.String()
}

// args returns the arguments for all conditions, in order.
func (w Where) args() (args []any) {
	for _, c := range w.conditions {
		args = append(args, c.args...)
	}
	return args
}

// apart splits w at the first In condition whose column has an index in indexes. It
// returns one part for each value of that condition. Each part is read through the
// index, and the rows are then merged. If there is no such condition, or if Use has
// set an index, apart returns only w.
func (w Where) apart(indexes map[string]string) []Where {
	at := slices.IndexFunc(w.conditions, func(c condition) bool { return indexes[c.column] != "" })
	if at < 0 || w.index != "" {
		return []Where{w}
	}
	column, values := w.conditions[at].column, w.conditions[at].args
	parts := make([]Where, len(values))
	for i, value := range values {
		parts[i] = Where{conditions: slices.Clone(w.conditions), index: indexes[column]}
		parts[i].conditions[at] = condition{text: column + ` = ?`, args: []any{value}}
	}
	return parts
}
