package list

import (
	"slices"
	"strings"
	"time"
)

// Where collects the conditions of a list: only those that were asked for,
// because a database plans for the exact text that it is given. The zero Where
// is true of every row.
type Where struct {
	conditions []condition
	index      string
}

// condition is one part of a Where.
type condition struct {
	text   string
	args   []any
	column string // of an In, whose values are args
	now    bool   // the arguments are no part of what a cursor belongs to
	hint   bool   // the condition is no part of it either
}

// And adds a condition, with its arguments in the order of its question marks.
func (w *Where) And(text string, args ...any) { w.add(condition{text: text, args: args}) }

// Now adds a condition that holds at the time of reading, such as that
// something has ended by then. A cursor stays valid when the time changes,
// because each page is read at another one.
func (w *Where) Now(text string, now time.Time) {
	w.add(condition{text: text, args: []any{now}, now: true})
}

// Hint adds a condition that the others imply and that an index can answer. A
// cursor stays valid when the hint changes.
func (w *Where) Hint(text string, args ...any) {
	w.add(condition{text: text, args: args, hint: true})
}

// Use makes SQLite read the rows through an index. SQLite has no statistics of
// what is in a table and guesses wrong where one filter matches far fewer rows
// than another; PostgreSQL has them and ignores this. The other conditions must
// imply that of a partial index.
func (w *Where) Use(index string) { w.index = index }

func (w *Where) add(c condition) {
	// A copy: a Where may be the beginning of two others.
	w.conditions = append(slices.Clip(w.conditions), c)
}

// Is adds that column has the value, unless that is the zero value, which is
// what a filter holds that was not asked for.
func Is[T comparable](w *Where, column string, value T) {
	var zero T
	if value != zero {
		w.And(column+` = ?`, value)
	}
}

// In adds that column has one of the values, unless there are none. A value
// counts once, however often it is given: each other number of them is another
// query, which the database plans anew and keeps.
func In[T comparable](w *Where, column string, values []T) {
	if len(values) > 0 {
		w.add(among(column, values))
	}
}

// HintIn is In as a Hint. Without values it is true of no row.
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

// Has adds that column contains the text, in whatever case, unless it is empty.
// The column holds its text in lower case. No index answers this: without a Hint,
// rows are read in the order of the list until enough match.
func Has(w *Where, column, text string) {
	if text != "" {
		w.And(column+` LIKE ? ESCAPE '\'`, `%`+literal(strings.ToLower(text))+`%`)
	}
}

// literal escapes what LIKE reads as more than a letter. The escape is \.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// from is FROM, WHERE and the conditions.
func (w Where) from(table string) string {
	var b strings.Builder
	b.WriteString(` FROM ` + table)
	if w.index != "" {
		b.WriteString(` INDEXED BY ` + w.index)
	}
	for i, c := range w.conditions {
		b.WriteString(map[bool]string{true: ` WHERE `, false: ` AND `}[i == 0] + c.text)
	}
	return b.String()
}

// args are the arguments of all conditions.
func (w Where) args() (args []any) {
	for _, c := range w.conditions {
		args = append(args, c.args...)
	}
	return args
}

// apart splits w by the values of the first column that has an index among
// indexes. Each part is read through that index, and the parts are merged. Without
// such a column, or when an index was chosen, w is the only part.
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
