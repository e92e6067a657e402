package inbox

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wardroom/internal/event"
)

// Texts from agents are sanitized before they are shown.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, line, markdown string }{
		{"plain", "The card has expired", "The card has expired", "The card has expired"},
		{"lines", "\n\r\none\r\ntwo\rthree\n\n", "one two three", "one\ntwo\nthree"},
		{"Unicode's own lines", "one\u2028two\u2029three\u0085", "one two three", "one\ntwo\nthree"},
		{"an indent", "- a\n  - b\n\tc", "- a - b c", "- a\n  - b\n\tc"},
		{"a terminal", "a\x1b[31mred\x07\x00", "a[31mred", "a[31mred"},
		{"a turned text", "pay \u202ebob\u202c \u2066x\u2069\u200f", "pay bob x", "pay bob x"},
		{"bad bytes", "a\xff\xfeb", "a\uFFFDb", "a\uFFFDb"},
		{"markup", "<script>alert(1)</script> [x](javascript:y)", "<script>alert(1)</script> [x](javascript:y)", "<script>alert(1)</script> [x](javascript:y)"},
		{"other scripts", "出荷 ärger 👩‍🚀", "出荷 ärger 👩‍🚀", "出荷 ärger 👩‍🚀"},
		{"blank", " \t\n ", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := line(tt.text, 100); got != tt.line {
				t.Errorf("as a line %q, want %q", got, tt.line)
			}
			if got := markdown(tt.text, 100); got != tt.markdown {
				t.Errorf("as Markdown %q, want %q", got, tt.markdown)
			}
		})
	}
	if got := line("äöü", 2); got != "ä…" {
		t.Errorf("cut to %q", got)
	}
}

// Sanitizing bounds any text and is idempotent, so that a repeat is not a
// change.
func TestAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\r\n\t\xe2\x80\xae\xa8 a"))), 0, 60).Draw(rt, "text"))
		most := rapid.IntRange(1, 20).Draw(rt, "most")
		for name, fn := range map[string]func(string, int) string{"line": line, "markdown": markdown} {
			got := fn(text, most)
			bad := func(r rune) bool {
				return unicode.IsControl(r) && (name == "line" || r != '\n' && r != '\t') || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
			}
			if utf8.RuneCountInString(got) > most || !utf8.ValidString(got) || strings.ContainsFunc(got, bad) {
				rt.Fatalf("%s of %q to %d is %q", name, text, most, got)
			}
			if again := fn(got, most); again != got {
				rt.Fatalf("%s of %q is %q, and of that %q", name, text, got, again)
			}
		}
	})
}

// Empty or oversized texts do not prevent an item from being raised.
func TestHostileMatter(t *testing.T) {
	t.Parallel()
	m := NewItem{
		Cause: "c", Kind: "escalation", Severity: "high", Title: " \x00\u202e ", Detail: strings.Repeat("ä", 2<<20),
		Subject: event.Subject{Kind: "task", ID: strings.Repeat("i", 5000), Name: "a\nb\u202e"},
	}
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	i := m.open("1", monday)
	if i.Title == "" || utf8.RuneCountInString(i.Detail) != maxDetail || !strings.HasSuffix(i.Detail, "…") || len(i.Subject.ID) > maxSubject+2 || i.Subject.Name != "a b" {
		t.Errorf("the item is %.300q, %d characters, %+v", i.Title, utf8.RuneCountInString(i.Detail), i.Subject)
	}
}

// An item keeps the time at which it happened, unless that is in the future.
func TestMatterHasItsOwnTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	m := NewItem{Kind: JobFailed, Severity: High, Title: "t"}
	at := func(before time.Duration) NewItem { m.At = now.Add(-before); return m }
	i := at(6*time.Hour).open("id", now)
	if !i.FirstAt.Equal(now.Add(-6*time.Hour)) || !i.LastAt.Equal(now.Add(-6*time.Hour)) {
		t.Errorf("it happened from %s to %s", i.FirstAt, i.LastAt)
	}
	if i = i.repeat(at(2*time.Hour), now); !i.LastAt.Equal(now.Add(-2*time.Hour)) || !i.FirstAt.Equal(now.Add(-6*time.Hour)) {
		t.Errorf("once more: it happened from %s to %s", i.FirstAt, i.LastAt)
	}
	if i = i.repeat(at(4*time.Hour), now); !i.LastAt.Equal(now.Add(-2 * time.Hour)) {
		t.Errorf("what is older has made it %s", i.LastAt)
	}
	if i = i.repeat(at(-time.Hour), now); !i.LastAt.Equal(now) {
		t.Errorf("what has not come yet has made it %s", i.LastAt)
	}
	if i = (NewItem{}).open("id", now); !i.LastAt.Equal(now) {
		t.Errorf("without a time it is of %s", i.LastAt)
	}
}
