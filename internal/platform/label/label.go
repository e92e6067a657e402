// Package label validates names and titles. They appear in lists, logs and agent
// prompts, so characters that could deceive a reader are rejected.
package label

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/plaintext"
)

// mostMarks is the maximum number of combining marks on one letter. Living languages
// need up to four. Hundreds of marks would cover the lines above and below.
const mostMarks = 8

// Clean returns s as it is stored: in NFC, without white space at either end. If s is not a valid
// label, wrong is a sentence for the client that says why. A valid label has at most the given
// number of characters. People tell labels apart by sight, so Clean rejects invisible characters
// instead of removing them.
func Clean(s string, most int) (kept, wrong string) {
	kept = s
	if utf8.ValidString(s) {
		kept = plaintext.NFC(strings.TrimSpace(s))
	}
	return kept, problem(kept, most)
}

func problem(s string, most int) string {
	n, marks, seen := 0, 0, false
	for _, r := range s {
		n++
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		if marks > mostMarks {
			return fmt.Sprintf("It contains a letter with more than %d combining marks.", mostMarks)
		}
		seen = seen || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !plaintext.Blank(r)
	}
	odd := plaintext.Odd(s)
	switch {
	case n == 0:
		return "It is required."
	case !utf8.ValidString(s):
		return "It must be valid UTF-8."
	case odd != "":
		return "It contains " + odd + "."
	case n > most:
		return fmt.Sprintf("It has %d characters; the maximum is %d.", n, most)
	case !seen:
		return "It contains no visible characters."
	}
	return ""
}
