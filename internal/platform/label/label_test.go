package label_test

import (
	"strings"
	"testing"

	"wardroom/internal/platform/label"
)

// An invisible or misleading title could hide a task.
func TestClean(t *testing.T) {
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
		{"\u200b\u200b", "invisible"},
		{"\u3164", "invisible"}, // a letter by its class, although it is blank
		{"a\u200bb", "invisible"},
		{"👩\u200d💻 می\u200cخواهم", ""},
		{" ", "required"},
		{"\u2800", "no visible"},
		{"cafe\u0301", ""},
		{"\u00ad\u200d", "invisible"},
		{"\u0301", "no visible"},
		{"a\u202eb", "text-direction"},
		{"a\nb", "invisible"},
		{"a\x00b", "invisible"},
		{"a\u2028b", "invisible"},
		{"a" + strings.Repeat("\u0316", 9), "marks"},
		{"a\xffb", "UTF-8"},
	} {
		if _, got := label.Clean(c.given, 40); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
	}
	if kept, wrong := label.Clean(" Cafe\u0301  au lait\u00a0", 40); kept != "Café  au lait" || wrong != "" {
		t.Errorf("kept %+q, %q", kept, wrong)
	}
}
