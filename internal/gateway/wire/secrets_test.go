package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// The token is redacted in frames and texts, in each of its spellings.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const hard = `very"secret\token<&>`
	s := NewSecrets(nil, hard)
	quoted, err := json.Marshal(map[string]string{"text": "it is " + hard + " indeed"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Frame(quoted)); got != `{"text":"it is [token] indeed"}` {
		t.Errorf("frame = %s", got)
	}
	if got := s.Line("a\nb\x00 " + hard + strings.Repeat("x", 1000)); !strings.HasPrefix(got, "a b [token]xxx") || len(got) > 410 {
		t.Errorf("words = %s", got)
	}
	// A short token may be a keyword of the protocol, so frames stay unchanged.
	if got := string(NewSecrets(nil, "ok").Frame([]byte(`{"ok":true}`))); got != `{"ok":true}` {
		t.Errorf("frame = %s", got)
	}
	if got := NewSecrets(nil, "").Line("as it is"); got != "as it is" {
		t.Errorf("words = %s", got)
	}
}

// Names from agents and other hosts must not contain control characters, hidden text or
// changes of direction.
func TestTexts(t *testing.T) {
	t.Parallel()
	const hidden = "\x1b\a\x7f\x00\u009b\u202e\u2066\u200f\u061c\u200b\ufeff\u00ad\u2060\U000e0041"
	const joined = "👩\u200d💻 می\u200cخواهم ❤\ufe0f 🇩🇪"
	s := NewSecrets(nil, "a-secret-of-the-house")
	for _, c := range []struct{ in, line, lines string }{
		{"Anna" + hidden + " B", "Anna B", "Anna B"},
		{"a\u2028b\u2029c\u0085d\re\r\nf\ng\th", "a b c d e f g h", "a\nb\nc\nd\ne\nf\ng\th"},
		{joined, joined, joined},
		{"a-sec\u200bret-of-the-\u2060house!", "[token]!", "[token]!"},
		{"bad \xff byte", "bad \uFFFD byte", "bad \uFFFD byte"},
	} {
		line, lines := s.Line(c.in), s.Lines(c.in)
		if line != c.line {
			t.Errorf("words(%q) = %q, want %q", c.in, line, c.line)
		}
		if lines != c.lines {
			t.Errorf("said(%q) = %q, want %q", c.in, lines, c.lines)
		}
	}
	if text, cut := s.Text("abc\x1bdef", 5); text != "abcde" || !cut {
		t.Errorf("text = %q, %t", text, cut)
	}
}

// Issued tokens are redacted at once, and only a limited number is kept.
func TestSecretsThatAreAdded(t *testing.T) {
	t.Parallel()
	s := NewSecrets(nil, "the-shared-token-0123")
	for i := range 100 {
		s.Add("issued-token-number-" + strings.Repeat("x", i))
	}
	if n := len(s.all()); n > len(s.fixed)+addedForms {
		t.Errorf("%d forms are remembered", n)
	}
	text := "issued-token-number-" + strings.Repeat("x", 99) + " the-shared-token-0123"
	if got := s.Line(text); got != "[token] [token]" {
		t.Errorf("words = %q", got)
	}
	if got := string(s.Frame([]byte(text))); got != "[token] [token]" {
		t.Errorf("frame = %q", got)
	}
}

// An agent's API key is redacted in sessions, also while it is being written.
func TestKeysOfOursAreSecret(t *testing.T) {
	t.Parallel()
	s := NewSecrets(nil, "the-shared-token-0123")
	const text = "WARDROOM_KEY=wrk_abcdefghijklmnopqrstuvwxyz234567abcdefgh; it begins with wrk_abcdefghi, see wrk_ and wrk_…k3xq"
	const want = "WARDROOM_KEY=[masked:wardroom_key]; it begins with [masked:wardroom_key], see wrk_ and wrk_…k3xq"
	if got := s.Lines(text); got != want {
		t.Errorf("said = %q", got)
	}
	if got := string(s.Frame([]byte(text))); got != want {
		t.Errorf("frame = %q", got)
	}
}
