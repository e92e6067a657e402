// Package label checks the short texts by which people tell things apart: names
// and titles. They stand in lists, logs and the questions to agents, and whoever
// gives one may wish to deceive.
package label

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// mostMarks is how many marks a letter may have on it. Living scripts need four;
// hundreds cover the lines above and below.
const mostMarks = 8

// Wrong says what is wrong with a label of at most so many characters, in a
// sentence for whoever gave it; "" is nothing.
func Wrong(s string, most int) string {
	n, marks, seen := 0, 0, false
	for _, r := range s {
		n++
		if Deceives(r) {
			return "It has a character that cannot be shown, or that turns the text around it."
		}
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		if marks > mostMarks {
			return fmt.Sprintf("It has a letter with more than %d marks on it.", mostMarks)
		}
		seen = seen || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
	}
	switch {
	case n == 0:
		return "It is required."
	case n > most:
		return fmt.Sprintf("It has %d characters; at most %d are allowed.", n, most)
	case !utf8.ValidString(s):
		return "It must be text in UTF-8."
	case !seen:
		return "Nothing of it can be seen."
	}
	return ""
}

// Deceives reports whether a character would make a label look like another, or
// break the line that it stands in.
func Deceives(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
