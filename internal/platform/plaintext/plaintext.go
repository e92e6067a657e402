// Package plaintext removes invisible characters, which can change how the visible
// text looks. Text from agents, the runtime and clients passes through this package
// after formats such as JSON have been decoded, and before the text is stored or
// shown.
//
// The rules follow the Unicode Character Database, in the version that Go's
// standard library uses:
//
//   - Line endings become "\n": CR LF, CR, VT, FF, NEL (U+0085), the line separator
//     (U+2028) and the paragraph separator (U+2029).
//   - Control characters (Cc) are removed, except "\n" and "\t".
//   - Format characters (Cf) are removed: bidirectional controls, zero-width
//     characters, the byte order mark, interlinear annotation anchors, tag
//     characters. The few visible ones (Prepended_Concatenation_Mark) stay.
//   - Other default-ignorable characters (Other_Default_Ignorable_Code_Point) are
//     removed, among them the Hangul fillers and the combining grapheme joiner.
//   - A zero-width joiner stays between two emoji. It and the non-joiner also stay
//     after a letter or mark of a script that uses them.
//   - One variation selector stays where it is valid: U+FE0E and U+FE0F after an
//     emoji or a keycap base, U+FE00–U+FE02 and U+E0100–U+E01EF after a Han
//     character.
//   - Bytes that are not UTF-8 become U+FFFD.
//   - The rest is in the composed form NFC, so that text that looks the same is stored
//     the same.
//
// Flags of regions such as Scotland consist of tag characters and become a plain
// black flag.
//
// Texts are compared and searched in the form that Fold returns.
package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	nonJoiner     = '\u200C'
	joiner        = '\u200D'
	textSelector  = '\uFE0E'
	emojiSelector = '\uFE0F'
)

// Lines returns s without invisible characters. It keeps line breaks.
func Lines(s string) string {
	if isPlain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(-1) // last character that was kept
	for i, r := range s {
		switch next, size := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):]); {
		case r == '\r' && size > 0 && next == '\n':
			continue
		case endsLine(r):
			r = '\n'
		case !Hidden(r), r == '\t':
		case !fits(prev, r, next):
			continue
		}
		b.WriteRune(r)
		prev = r
	}
	return NFC(b.String())
}

// NFC returns s in the composed form NFC.
func NFC(s string) string { return withoutMarkBreaks(norm.NFC.String(s)) }

// withoutMarkBreaks removes the invisible character that package norm inserts after each
// 30 combining marks.
func withoutMarkBreaks(s string) string { return strings.ReplaceAll(s, "\u034f", "") }

// Fold returns the form of s in which texts are compared and searched. Texts have the same form
// if they differ only in case, in the Unicode form, in width, in white space, or in invisible
// characters. The form has no white space at either end.
func Fold(s string) string {
	if isPlain(s) {
		s = strings.ToLower(s)
	} else {
		s = FoldPart(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// FoldPart is like Fold, but keeps all white space, for parts of a text whose places matter.
func FoldPart(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case Blank(r):
			return ' '
		case Hidden(r):
			return -1
		case unicode.Is(unicode.Cherokee, r): // its case folding swaps the cases
			return unicode.ToUpper(r)
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = caseFolding.String(norm.NFKC.String(s))
	return withoutMarkBreaks(norm.NFKC.String(anyI.ReplaceAllLiteralString(s, "i")))
}

var (
	caseFolding = cases.Fold()
	// anyI finds the letter I of Turkish, with and without a dot, which equals that of other languages.
	anyI = regexp.MustCompile("i\u0307+|ı\u0307*")
)

// Blank reports whether r is white space or looks like it.
func Blank(r rune) bool { return unicode.IsSpace(r) || r == '\u2800' }

// Line returns s on one line. It removes the same characters as Lines, replaces each
// run of white space with one space and trims both ends.
func Line(s string) string { return strings.Join(strings.Fields(Lines(s)), " ") }

// Odd describes the first character of a single line of text that Line removes, or returns "" if there is none. A
// person can't see that character, so the description has its position and its number: "an invisible character:
// character 7 is U+200B".
func Odd(s string) string {
	prev := rune(-1)
	for n := 1; s != ""; n++ {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		next, _ := utf8.DecodeRuneInString(s)
		what, which := "an invisible character", ""
		switch {
		case endsLine(r):
			which = ", a line break"
		case r == '\t':
			which = ", a tab"
		case !Hidden(r) || fits(prev, r, next):
			prev = r
			continue
		case unicode.Is(unicode.Bidi_Control, r):
			what = "a text-direction character"
		}
		return fmt.Sprintf("%s: character %d is %U%s", what, n, r, which)
	}
	return ""
}

// Capital returns s, which must not be empty, with its first letter in upper case.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Cut returns s if it has at most the given number of characters. Otherwise it
// returns the beginning of s followed by mark, with that number of characters in
// total. It leaves out a mark that would take up more than half of the result.
func Cut(s string, most int, mark string) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	if utf8.RuneCountInString(mark) > (most+1)/2 {
		mark = ""
	}
	keep := max(most-utf8.RuneCountInString(mark), 0)
	for i := range s {
		if keep == 0 {
			s = s[:i]
			break
		}
		keep--
	}
	return strings.TrimRight(s, string(joiner)+string(nonJoiner)) + mark
}

// Hidden reports whether r is a control character, a line separator or an invisible
// character. The function Lines keeps such a character in a few cases, depending on its
// neighbors.
func Hidden(r rune) bool {
	if r <= unicode.MaxASCII {
		return r < ' ' || r == 0x7F
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isPlain reports whether s contains only printable ASCII, "\n" and "\t". This is
// true of most text.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7F || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// endsLine reports whether r ends a line, that is, whether it is in class BK, CR, LF
// or NL of UAX #14.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// fits reports whether the invisible character r is valid between prev and next.
func fits(prev, r, next rune) bool {
	switch {
	case r == joiner && isEmoji(next) && (isEmoji(prev) || prev == emojiSelector):
		return true
	case r == joiner || r == nonJoiner:
		return unicode.In(prev, joining...) && unicode.In(prev, unicode.L, unicode.M) && !Hidden(prev)
	case r == textSelector || r == emojiSelector:
		return isEmoji(prev) || prev >= '0' && prev <= '9' || prev == '#' || prev == '*'
	case r >= 0xFE00 && r <= 0xFE02 || r >= 0xE0100 && r <= 0xE01EF:
		return unicode.Is(unicode.Han, prev)
	}
	return false
}

// joining lists the scripts that use U+200C or U+200D within words.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// isEmoji reports whether r can be part of an emoji: it is in a block that contains
// Extended_Pictographic characters, or is a skin tone modifier.
func isEmoji(r rune) bool {
	switch {
	case r < 0x203C:
		return r == 0xA9 || r == 0xAE
	case r <= 0x3299:
		return r == 0x203C || r == 0x2049 || r >= 0x2100 && r <= 0x27BF || r >= 0x2900 && r <= 0x297F ||
			r >= 0x2B00 && r <= 0x2BFF || r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299
	}
	return r >= 0x1F000 && r <= 0x1FAFF
}
