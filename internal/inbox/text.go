package inbox

import (
	"strings"
	"unicode"

	"wardroom/internal/platform/plaintext"
)

// line returns text on one line of at most most characters.
func line(text string, most int) string { return plaintext.Cut(plaintext.Line(text), most, "…") }

// markdown keeps the lines of text and their indents, and cuts it to at most most
// characters. Whoever shows it decides which of its markup counts.
func markdown(text string, most int) string {
	return plaintext.Cut(strings.TrimRightFunc(strings.TrimLeft(plaintext.Lines(text), "\n"), unicode.IsSpace), most, "…")
}
