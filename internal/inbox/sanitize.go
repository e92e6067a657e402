package inbox

import (
	"strings"
	"unicode"

	"wardroom/internal/platform/plaintext"
)

// line converts text to a single line and truncates it to the given number of characters.
func line(text string, most int) string { return plaintext.Cut(plaintext.Line(text), most, "…") }

// markdown sanitizes text, keeping its lines and indentation, and truncates it to the
// given number of characters. It does not interpret markup; that is up to the client that
// renders the text.
func markdown(text string, most int) string {
	return plaintext.Cut(strings.TrimRightFunc(strings.TrimLeft(plaintext.Lines(text), "\n"), unicode.IsSpace), most, "…")
}
