package label_test

import (
	"strings"
	"testing"

	"wardroom/internal/platform/label"
)

// A task that nobody can see, or that looks like another, is a way to hide.
func TestWrong(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"Renew the certificate", ""},
		{"Überprüfung der Schlüssel – 証明書 🔑", ""},
		{"נושא", ""},
		{"🔑", ""},
		{"7", ""},
		{"नि:शुल्क", ""},
		{"a" + strings.Repeat("\u0301", 8), ""},
		{strings.Repeat("é", 40), ""},
		{"", "required"},
		{strings.Repeat("é", 41), "41 characters"},
		{strings.Repeat("a", 50), "50 characters"},
		{"\u200b\u200b", "cannot be shown"},
		{"\u3164", "cannot be shown"}, // a letter by its class, although it is blank
		{"a\u200bb", "cannot be shown"},
		{"👩\u200d💻 می\u200cخواهم", ""},
		{" ", "Nothing"},
		{"\u00ad\u200d", "cannot be shown"},
		{"\u0301", "Nothing"},
		{"a\u202eb", "turns"},
		{"a\nb", "cannot be shown"},
		{"a\x00b", "cannot be shown"},
		{"a\u2028b", "cannot be shown"},
		{"a" + strings.Repeat("\u0301", 9), "marks"},
		{"a\xffb", "UTF-8"},
	} {
		if got := label.Wrong(c.given, 40); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
	}
}
