package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"wardroom/internal/platform/plaintext"
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct{ given, lines, line string }{
		"plain":                  {"One\n\ttwo  three", "One\n\ttwo  three", "One two three"},
		"ends of lines":          {"a\r\nb\rc\u0085d\u2028e\u2029f\vg\fh\r\r\ni", "a\nb\nc\nd\ne\nf\ng\nh\n\ni", "a b c d e f g h i"},
		"controls":               {"a\x00b\x1b[31mc\x07\x7f\u009bd", "ab[31mcd", "ab[31mcd"},
		"bidirectional controls": {"pay \u202ebob\u202c \u2066x\u2069\u200e\u200f\u061c", "pay bob x", "pay bob x"},
		"zero width":             {"a\u200bb\ufeffc\u2060d\u00ade\u180ef\u2063g\u034fh", "abcdefgh", "abcdefgh"},
		"fillers":                {"a\u3164b\u115f\u1160c\uffa0d", "abcd", "abcd"},
		"annotations":            {"a\ufff9b\ufffac\ufffbd", "abcd", "abcd"},
		"tags":                   {"go\U000e0001\U000e0041\U000e0042 on", "go on", "go on"},
		"a number sign":          {"\u0600٤", "\u0600٤", "\u0600٤"},
		"emoji":                  {"👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f #\ufe0f\u20e3 🇩🇪", "👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f #\ufe0f\u20e3 🇩🇪", "👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f #\ufe0f\u20e3 🇩🇪"},
		"joiners elsewhere":      {"a\u200db\u200cc \u200d👩\u200d\u200d💻\u200d", "abc 👩\u200d💻", "abc 👩\u200d💻"}, // the second of two
		"joiners of scripts":     {"می\u200cخواهم क्\u200dष ශ්\u200dරී", "می\u200cخواهم क्\u200dष ශ්\u200dරී", "می\u200cخواهم क्\u200dष ශ්\u200dරී"},
		"joiners in a row":       {"می\u200c\u200c\u200dخ", "می\u200cخ", "می\u200cخ"},
		"selectors":              {"漢\U000e0100 a\ufe0fb\U000e0101 👍\ufe0f\ufe0f\ufe01\ufe0e", "漢\U000e0100 ab 👍\ufe0f", "漢\U000e0100 ab 👍\ufe0f"},
		"forms":                  {"cafe\u0301 \u1100\u1161\u11a8 \u212b ﬁ", "café 각 Å ﬁ", "café 각 Å ﬁ"},
		"many marks":             {"a" + strings.Repeat("\u0316", 40), "a" + strings.Repeat("\u0316", 40), "a" + strings.Repeat("\u0316", 40)},
		"broken UTF-8":           {"a\xff\xfeb", "a\uFFFDb", "a\uFFFDb"},
	} {
		if got := plaintext.Lines(c.given); got != c.lines {
			t.Errorf("%s: Lines(%+q) = %+q, want %+q", name, c.given, got, c.lines)
		}
		if got := plaintext.Line(c.given); got != c.line {
			t.Errorf("%s: Line(%+q) = %+q, want %+q", name, c.given, got, c.line)
		}
	}
}

// Two names, emails or words that look the same count as the same.
func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"ada lovelace", "Ada Lovelace", " ADA  lovelace\t", "Ada\u00a0Lovelace", "Ada\u2009Lovelace", "Ada\u3000Lovelace", "Ada\u2800Lovelace", "Ada\u2028Lovelace", "Ａｄａ Ｌｏｖｅｌａｃｅ", "A\u200bda Love\u00adlace", "𝐀da Lovelace"},
		{"café", "cafe\u0301", "CAFÉ", "CAFE\u0301", "ｃａｆé", "caf\u034fe\u0301"},
		{"김철수", "\u1100\u1175\u11b7\u110e\u1165\u11af\u1109\u116e"},
		{"straße", "STRASSE", "Straẞe"},
		{"οδος", "ΟΔΟΣ", "οδοσ"},
		{"istanbul", "İstanbul", "ISTANBUL", "ıstanbul"},
		{"ガ", "ｶﾞ", "カ\u3099"},
		{"1", "①", "１", "¹"},
		{"Ꭰ", "ꭰ"},
		{"fi", "ﬁ"},
		{"", " \u200b\n", "\u3164"},
	} {
		for _, s := range same {
			if got, want := plaintext.Fold(s), plaintext.Fold(same[0]); got != want {
				t.Errorf("%+q becomes %+q, and %+q becomes %+q", same[0], want, s, got)
			}
		}
	}
	for _, other := range [][2]string{{"cafe", "café"}, {"ada lovelace", "adalovelace"}, {"は", "ば"}, {"a.b", "ab"}} {
		if plaintext.Fold(other[0]) == plaintext.Fold(other[1]) {
			t.Errorf("%q and %q are the same", other[0], other[1])
		}
	}
}

// Without its number and position, nobody finds the invisible character that a name is refused for.
func TestOdd(t *testing.T) {
	for given, want := range map[string]string{
		"Ship it": "", "": "", "👩\u200d💻 می\u200cخواهم": "",
		"Deploy\u200b": "an invisible character: character 7 is U+200B",
		"ä\u00ad":      "an invisible character: character 2 is U+00AD",
		"\ufeffa":      "an invisible character: character 1 is U+FEFF",
		"日本\u202eab":   "a text-direction character: character 3 is U+202E",
		"a\nb":         "an invisible character: character 2 is U+000A, a line break",
		"a\u2028b":     "an invisible character: character 2 is U+2028, a line break",
		"a\tb":         "an invisible character: character 2 is U+0009, a tab",
		"a\x1b[0m":     "an invisible character: character 2 is U+001B",
		"👩\U000e0041":  "an invisible character: character 2 is U+E0041",
	} {
		if got := plaintext.Odd(given); got != want {
			t.Errorf("Odd(%+q) = %q, want %q", given, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s, mark, want string
		most          int
	}{
		{"abc", "…", "abc", 3},
		{"abcd", "…", "ab…", 3},
		{"äöüß", "…", "äö…", 3},
		{"abcd", "… [cut]", "ab", 2},
		{"abcd", "…", "", 0},
		{"a👩\u200d💻👩", "…", "a👩…", 4},
	} {
		if got := plaintext.Cut(c.s, c.most, c.mark); got != c.want {
			t.Errorf("Cut(%q, %d, %q) = %q, want %q", c.s, c.most, c.mark, got, c.want)
		}
	}
}

// Each character, between two letters, must be removed if it is invisible.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := []rune(plaintext.Lines("a" + string(r) + "b"))
		kept := len(got) == 3
		gone := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
		switch {
		case strings.ContainsRune("\n\t", r), !gone && !unicode.In(r, unicode.Zl, unicode.Zp):
			if string(got) != norm.NFC.String("a"+string(r)+"b") {
				t.Errorf("%U became %+q", r, string(got))
			}
		case strings.ContainsRune("\v\f\r\u0085\u2028\u2029", r):
			if string(got) != "a\nb" {
				t.Errorf("%U became %+q, not a line break", r, string(got))
			}
		case kept:
			t.Errorf("%U stays", r)
		}
	}
}

// texts generates text from the characters that the rules name and their neighbors.
func texts() *rapid.Generator[string] {
	special := []rune("a1# \n\t\r\v\u0085\u00ad\u034f\u061c\u200b\u200c\u200d\u200e\u202e\u2028\u2029\u2066\u3164\ufe00\ufe0e\ufe0f\ufeff\ufff9\U000e0041\U000e0100👩💻🏽❤漢می्क")
	return rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom(special)), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

// check verifies what Lines and Line guarantee for any text.
func check(t interface {
	Helper()
	Errorf(string, ...any)
}, s string,
) {
	t.Helper()
	lines, line := plaintext.Lines(s), plaintext.Line(s)
	if again := plaintext.Lines(lines); again != lines {
		t.Errorf("Lines(%+q) = %+q, and again %+q", s, lines, again)
	}
	if again := plaintext.Line(line); again != line {
		t.Errorf("Line(%+q) = %+q, and again %+q", s, line, again)
	}
	folded := plaintext.Fold(s)
	if again := plaintext.Fold(folded); again != folded || plaintext.Fold(lines) != folded {
		t.Errorf("Fold(%+q) = %+q, again %+q, and after Lines %+q", s, folded, again, plaintext.Fold(lines))
	}
	if !utf8.ValidString(lines) || strings.ContainsAny(line, "\n\t") {
		t.Errorf("%+q became %+q and %+q", s, lines, line)
	}
	if utf8.ValidString(s) && (plaintext.Odd(s) == "") != (lines == plaintext.NFC(s) && !strings.ContainsAny(s, "\n\t\u034f")) {
		t.Errorf("Odd(%+q) = %q, but Lines = %+q", s, plaintext.Odd(s), lines)
	}
	for _, r := range lines {
		if plaintext.Hidden(r) && !strings.ContainsRune("\n\t\u200c\u200d", r) && !unicode.Is(unicode.Variation_Selector, r) {
			t.Errorf("%U stays in %+q", r, lines)
		}
	}
	visible := func(s string) string {
		return strings.Map(func(r rune) rune {
			if plaintext.Hidden(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
	}
	if plaintext.NFC(visible(s)) != plaintext.NFC(visible(lines)) {
		t.Errorf("%+q lost what can be seen: %+q", s, lines)
	}
}

func TestAnyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := texts().Draw(rt, "text")
		check(rt, s)
		most, mark := rapid.IntRange(0, 20).Draw(rt, "most"), rapid.SampledFrom([]string{"", "…", "… [cut]"}).Draw(rt, "mark")
		cut := plaintext.Cut(plaintext.Lines(s), most, mark)
		if utf8.RuneCountInString(cut) > most || plaintext.Lines(cut) != cut {
			rt.Errorf("Cut(%+q, %d, %q) = %+q", s, most, mark, cut)
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\r\n\u202eb", "👩\u200d💻\ufe0f", "می\u200cخواهم", "\xff\u2028", "漢\U000e0100\U000e0101"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

// The form of each character stays the same if it is folded again.
func TestFoldOfEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		if testing.Short() && (r > 0x1FFFF || unicode.In(r, unicode.Han, unicode.Hangul)) { // most of them stay as they are
			continue
		}
		if folded := plaintext.Fold(string(r)); plaintext.Fold(folded) != folded {
			t.Errorf("%U becomes %+q, and then %+q", r, folded, plaintext.Fold(folded))
		}
	}
}
