package list

import (
	"slices"
	"strings"
	"time"
)

// Where collects the conditions of a list. It contains only the requested conditions,
// because databases plan for the exact text of a query. The zero Where matches every
// row.
type Where struct {
	conditions []condition
	index      string
}

// condition is one part of a Where.
type condition struct {
	text   string
	args   []any
	column string // the column of an In condition
	now    bool   // a cursor stays valid if the arguments change
	hint   bool   // a cursor stays valid if the condition changes
}

// And adds a condition, with arguments in the order of its question marks.
func (w *Where) And(text string, args ...any) { w.add(condition{text: text, args: args}) }

// Now adds a condition on the current time, such as that something has already ended.
// A cursor stays valid when the time changes, because each page is read at a
// different time.
func (w *Where) Now(text string, now time.Time) {
	w.add(condition{text: text, args: []any{now}, now: true})
}

// Hint adds a condition that the others imply and that an index can answer. A
// cursor stays valid when the hint changes.
func (w *Where) Hint(text string, args ...any) {
	w.add(condition{text: text, args: args, hint: true})
}

// Use makes SQLite read the rows through an index. SQLite has no statistics and
// guesses wrong if one filter matches far fewer rows than another; PostgreSQL has
// statistics and ignores this. For a partial index, the other conditions must imply
// its condition.
func (w *Where) Use(index string) { w.index = index }

func (w *Where) add(c condition) {
	// Clip forces a copy, so that two copies of a Where can be extended independently.
	w.conditions = append(slices.Clip(w.conditions), c)
}

// Is adds the condition that column equals value, unless value is the zero value,
// which means that the filter was not requested.
func Is[T comparable](w *Where, column string, value T) {
	var zero T
	if value != zero {
		w.And(column+` = ?`, value)
	}
}

// In adds the condition that column has one of the values, unless there are none.
// Duplicates are removed, because each number of values is a separate query that
// the database plans and caches.
func In[T comparable](w *Where, column string, values []T) {
	if len(values) > 0 {
		w.add(among(column, values))
	}
}

// HintIn adds the condition of In as a Hint. Without values, no rows match.
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

// Has adds the condition that column contains text, ignoring case, unless text is
// empty. The column must contain lower-case text. No index answers this: without a
// Hint, rows are read in list order until enough match.
func Has(w *Where, column, text string) {
	if text != "" {
		w.And(column+` LIKE ? ESCAPE '\'`, `%`+literal(strings.ToLower(text))+`%`)
	}
}

// literal escapes the wildcards of LIKE with a backslash.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// from returns FROM and WHERE with the conditions.
func (w Where) from(table string) string {
	var b strings.Builder
	first, joins, _ := strings.Cut(table, " ")
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

// args returns the arguments of all conditions.
func (w Where) args() (args []any) {
	for _, c := range w.conditions {
		args = append(args, c.args...)
	}
	return args
}

// apart splits w by the values of the first column that has an index in indexes.
// Each part is read through that index, and the parts are merged. Without such a
// column, or if an index was set with Use, w is the only part.
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
