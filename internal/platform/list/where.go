package list

import (
	"slices"
	"strings"
	"time"
)

// Where collects the conditions of a list: as many as were asked for, and not
// one for each that could have been, because a database plans for the text that
// it is given. The zero Where is true of every row.
type Where struct {
	conditions []string
	args       []any
	lasting    []any // those of args that a cursor belongs to
	hints      []string
	hintArgs   []any
}

// And adds a condition, with its arguments in the order of its question marks.
func (w *Where) And(condition string, args ...any) {
	// A copy: a Where may be the beginning of two others.
	w.conditions = append(slices.Clip(w.conditions), condition)
	w.args = append(slices.Clip(w.args), args...)
	w.lasting = append(slices.Clip(w.lasting), args...)
}

// Now adds a condition that holds at the time of reading, such as that
// something has ended by then. The time is no part of what a cursor belongs to,
// because each page is read at another one.
func (w *Where) Now(condition string, now time.Time) {
	lasting := w.lasting
	w.And(condition, now)
	w.lasting = lasting
}

// Hint adds a condition that the others imply, or that may be written in several
// ways. A cursor stays valid when the hint changes.
func (w *Where) Hint(text string, args ...any) {
	w.hints = append(slices.Clip(w.hints), text)
	w.hintArgs = append(slices.Clip(w.hintArgs), args...)
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
	var args []any
	for _, v := range values {
		if !slices.Contains(args, any(v)) {
			args = append(args, v)
		}
	}
	switch len(args) {
	case 0:
	case 1:
		w.And(column+` = ?`, args...)
	default:
		w.And(column+` IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	}
}

// Has adds that column contains the text, in whatever case, unless it is empty.
// The column holds its text in lower case. No index helps with this: rows are
// read in the order of the list until enough match.
func Has(w *Where, column, text string) {
	if text != "" {
		w.And(column+` LIKE ? ESCAPE '\'`, `%`+literal(strings.ToLower(text))+`%`)
	}
}

// literal escapes what LIKE reads as more than a letter. The escape is \.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// clause is WHERE and the conditions, or nothing.
func (w Where) clause() string {
	all := slices.Concat(w.conditions, w.hints)
	if len(all) == 0 {
		return ``
	}
	return ` WHERE ` + strings.Join(all, ` AND `)
}

// all are the arguments of the clause.
func (w Where) all() []any { return slices.Concat(w.args, w.hintArgs) }
