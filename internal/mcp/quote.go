package mcp

import (
	"strings"
	"unicode/utf8"

	"wardroom/internal/platform/plaintext"
)

// The markers around text from the board. Each line between them begins with ">", so the text
// cannot imitate the end of the data.
const (
	dataBegin = "--- data ---\n"
	dataEnd   = "--- end of data ---\n"
	cutMark   = "> … (cut; call get_task with \"full\": true for the rest)\n"
)

// quote returns text from the board as data. If most is not 0, the result has at most that many bytes.
func quote(most int, lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		for part := range strings.SplitSeq(plaintext.Lines(line), "\n") {
			b.WriteString("> " + part + "\n")
		}
	}
	text := b.String()
	if room := most - len(dataBegin) - len(dataEnd); most > 0 && len(text) > room {
		text = clip(text, room-len(cutMark)-1) + "\n" + cutMark
	}
	return dataBegin + text + dataEnd
}

// clip returns the beginning of s with at most the given number of bytes, in whole characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
