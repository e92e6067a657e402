package inbox

import (
	"strings"
	"unicode"

	"wardroom/internal/platform/plaintext"
)

// line returns text as one line, truncated to most characters.
func line(text string, most int) string { return plaintext.Cut(plaintext.Line(text), most, "…") }

// markdown sanitizes text, keeps its lines and indentation, and truncates it to
// most characters. Markup is left to the client that renders it.
func markdown(text string, most int) string {
	return plaintext.Cut(strings.TrimRightFunc(strings.TrimLeft(plaintext.Lines(text), "\n"), unicode.IsSpace), most, "…")
}
