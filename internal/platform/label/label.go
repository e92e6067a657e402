// Package label checks the short texts by which people tell things apart: names
// and titles. They stand in lists, logs and the questions to agents, and whoever
// gives one may wish to deceive.
package label

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/plaintext"
)

// mostMarks is how many marks a letter may have on it. Living scripts need four;
// hundreds cover the lines above and below.
const mostMarks = 8

// Wrong says what is wrong with a label of at most most characters, in a sentence
// for whoever gave it, and returns "" for a good one. Labels are refused for what
// plaintext removes from longer texts: people compare them by eye.
func Wrong(s string, most int) string {
	n, marks, seen := 0, 0, false
	for _, r := range s {
		n++
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
	case !utf8.ValidString(s):
		return "It must be text in UTF-8."
	case plaintext.Lines(s) != s || strings.ContainsAny(s, "\n\t"):
		return "It has a character that cannot be shown, or that turns the text around it."
	case n > most:
		return fmt.Sprintf("It has %d characters; at most %d are allowed.", n, most)
	case !seen:
		return "Nothing of it can be seen."
	}
	return ""
}
