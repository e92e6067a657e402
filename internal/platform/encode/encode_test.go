package encode_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"wardroom/internal/platform/encode"
)

func standard(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// Text from an agent must not end a JSON string early or change because of the
// custom encoder.
func FuzzString(f *testing.F) {
	for _, s := range []string{
		"", "plain", `"quoted" \ and <b>&amp;</b>`, "\x00\x01\b\f\n\r\t\x1f\x7f", "é ü 漢字 🙂", "\u2028 and \u2029", "\xff broken \xc3", "\xed\xa0\x80", "\ufffd", "end \xe6",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(encode.String(nil, s)), standard(t, s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	})
}

// Optional values must be encoded as null, like in encoding/json.
func TestOptional(t *testing.T) {
	for name, v := range map[string]struct{ got, want string }{
		"a string that is there":     {string(encode.Optional(nil, new("a\n"))), standard(t, new("a\n"))},
		"a string that is not there": {string(encode.Optional[string](nil, nil)), "null"},
		"a number":                   {string(encode.Int(nil, -12)), "-12"},
	} {
		if v.got != v.want {
			t.Errorf("%s: %s, want %s", name, v.got, v.want)
		}
	}
}
