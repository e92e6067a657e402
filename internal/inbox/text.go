package inbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The texts of an item are written by agents, or quote them. They go into lists,
// pages and mails, so that what could break a line, hide a text or turn its
// direction is taken out before it is kept.

// line makes text one line of at most most characters: what breaks a line or
// turns its direction becomes a space, and several spaces become one.
func line(text string, most int) string {
	return cut(strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, clean(text))), " "), most)
}

// markdown keeps the lines of text and its indents, takes out every other
// control character, and cuts it to at most most characters. It is no less
// hostile for that: whoever shows it decides which of its markup counts.
func markdown(text string, most int) string {
	return cut(strings.TrimRightFunc(strings.TrimLeft(clean(text), "\n"), unicode.IsSpace), most)
}

// clean is text in good UTF-8, with \n for every kind of new line and without
// control characters and changes of direction.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// cut shortens text to most characters; three dots show that something is missing.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	n := 0
	for at := range text {
		if n == most-1 {
			return text[:at] + "…"
		}
		n++
	}
	return text
}
