package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

func TestBodyRefused(t *testing.T) {
	t.Parallel()
	const ok, send = `{"name":"a"}`, " Send JSON in UTF-8 with Content-Type: application/json."
	tests := []struct {
		name, body, contentType string
		status                  int
		code, detail            string
	}{
		{"empty", " ", "", 400, "invalid_json", "The body is empty."},
		{"cut off", `{"name":`, "", 400, "invalid_json", "Byte 8: expected a value."},
		{"not JSON", `name=a`, "", 400, "invalid_json", "Byte 0: invalid literal."},
		{"something after it", ok + ok, "", 400, "invalid_json", "Byte 12: unexpected data after the value."},
		{"the same name twice", `{"name":"a","n\u0061me":"b"}`, "", 400, "invalid_json", "Byte 23: duplicate name in an object."},
		{"NUL", `{"name":"a\u0000"}`, "", 400, "invalid_json", "Byte 16: NUL in a string."},
		{"half of a pair", `{"name":"\ud83d"}`, "", 400, "invalid_json", "Byte 15: unpaired surrogate in a string."},
		{"no UTF-8", "{\"name\":\"\xff\"}", "", 400, "invalid_json", "Byte 9: not valid UTF-8."},
		{"too deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), "", 400, "invalid_json", "Byte 64: the value is nested deeper than 64 levels."},
		{"too large", `{"name":"` + strings.Repeat("a", 1<<20) + `"}`, "", 413, "too_large", "The limit is 1048576 bytes."},
		{"a form", "name=a", "application/x-www-form-urlencoded", 415, "unsupported_media_type", "The body is of the type application/x-www-form-urlencoded." + send},
		{"another charset", ok, "application/json; charset=ISO-8859-1", 415, "unsupported_media_type", "The body is in the character encoding ISO-8859-1." + send},
		{"no media type at all", ok, "json", 415, "unsupported_media_type", "The body is of the type json." + send},
		{"a blank of a word processor", "{\u00a0\"name\":\"a\"}", "", 400, "invalid_json", "Byte 1: expected a name in quotes; this character is U+00A0."},
		{"an invisible character", "\u200b" + ok, "", 400, "invalid_json", "Byte 0: expected a value; this character is U+200B."},
		{"a raw tab", "{\"name\":\"a\tb\"}", "", 400, "invalid_json", "Byte 10: control character in a string; this character is U+0009."},
		{"gzip that nothing announces", "\x1f\x8b\x08\x00\x00", "", 415, "unsupported_media_type", "The body is encoded as gzip. Send JSON in UTF-8, without compression."},
		{"UTF-16", "\xff\xfe{\x00}\x00", "", 415, "unsupported_media_type", "The body is encoded as UTF-16. Send JSON in UTF-8, without compression."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newToys(t).ask(t, "POST", "/api/v1/toys", tt.body, "Content-Type", tt.contentType)
			p := problem(t, w)
			if w.Code != tt.status || p["code"] != tt.code || (tt.detail != "" && p["detail"] != tt.detail) {
				t.Errorf("got %d %v", w.Code, p)
			}
		})
	}
}

// A client that compresses bodies must learn that Wardroom does not read them, not that its text is wrong.
func TestBodyEncoded(t *testing.T) {
	t.Parallel()
	for encoding, status := range map[string]int{"gzip": 415, "x-gzip": 415, "br": 415, "deflate, gzip": 415, "zstd": 415, "identity": 201, "": 201} {
		w := newToys(t).ask(t, "POST", "/api/v1/toys", `{"name":"a"}`, "Content-Encoding", encoding)
		if w.Code != status || status == 415 && !strings.Contains(w.Body.String(), "Content-Encoding "+encoding+", which Wardroom does not read") {
			t.Errorf("%q: %d %s", encoding, w.Code, w.Body)
		}
	}
}

// Editors on Windows begin a file with a byte order mark, so curl --data @file sends one.
func TestBodyWithByteOrderMark(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	var got []byte
	s.Raw("POST /raw", actor.Public, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) }))
	if w := s.ask(t, "POST", "/api/v1/toys", "\ufeff{\"name\":\"a\"}"); w.Code != 201 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := s.ask(t, "POST", "/raw", "\ufeff{}"); w.Code != 200 || string(got) != "{}" {
		t.Errorf("a raw route: %d %q", w.Code, got)
	}
	if w := s.ask(t, "POST", "/raw", "{}", "Content-Encoding", "gzip"); w.Code != 415 {
		t.Errorf("a compressed body for a raw route: %d %s", w.Code, w.Body)
	}
	if w := s.ask(t, "POST", "/raw", ""); w.Code != 200 || len(got) > 0 {
		t.Errorf("no body for a raw route: %d %q", w.Code, got)
	}
}

func TestBodyAccepted(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", "application/json", "Application/JSON; charset=UTF-8", "application/merge-patch+json"} {
		if w := newToys(t).ask(t, "POST", "/api/v1/toys", "\t{\"name\" : \"\\ud83d\\ude00\"}\r\n", "Content-Type", contentType); w.Code != 201 {
			t.Errorf("%q is %d %s", contentType, w.Code, w.Body)
		}
	}
	// A body of exactly the limit is accepted.
	body := `{"name":"a"}`
	body += strings.Repeat(" ", 1<<20-len(body))
	if w := newToys(t).ask(t, "POST", "/api/v1/toys", body); w.Code != 201 {
		t.Errorf("the largest body is %d %s", w.Code, w.Body)
	}
}

// A page of another site can send a body without a type without permission, and
// could use up a visitor's failed logins.
func TestBodyOfAnotherSite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contentType, header, value string
		want                       int
	}{
		{"", "Origin", "https://elsewhere.example", 415},
		{"", "Origin", "null", 415},
		{"", "Sec-Fetch-Site", "cross-site", 415},
		{"", "Sec-Fetch-Site", "same-site", 415},
		{"", "Sec-Fetch-Site", "same-origin", 201},
		{"", "Origin", "http://example.com", 201}, // same host as the request
		{"application/json", "Origin", "http://example.com", 201},
	} {
		w := newToys(t).ask(t, "POST", "/api/v1/toys", `{"name":"a"}`, "Content-Type", tt.contentType, tt.header, tt.value)
		if w.Code != tt.want {
			t.Errorf("%q with %s: %s is %d, want %d", tt.contentType, tt.header, tt.value, w.Code, tt.want)
		}
	}
}

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// A body that is announced as too large must not be read if the client waits for
// 100 Continue, or if it is far too large.
func TestBodyAnnounced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length int64
		expect string
	}{{1<<20 + 1, "100-Continue"}, {8<<20 + 1, ""}, {1 << 40, ""}} {
		req := newRequest(t, "POST", "/api/v1/toys", untouched{t})
		req.ContentLength = c.length
		req.Header.Set("Expect", c.expect)
		if w := newToys(t).do(req); w.Code != 413 || w.Header().Get("Connection") != "close" {
			t.Errorf("%d bytes: %d %s %v", c.length, w.Code, w.Body, w.Header())
		}
	}
}

// A body of unknown length is limited too.
func TestBodyChunked(t *testing.T) {
	t.Parallel()
	s := newToys(t, func(o *web.Options) { o.MaxBody = 20 })
	for n, want := range map[int]int{1: 201, 30: 413} {
		req := newRequest(t, "POST", "/api/v1/toys", io.MultiReader(strings.NewReader(`{"name":"a"}`), strings.NewReader(strings.Repeat(" ", n))))
		req.ContentLength = -1
		if w := s.do(req); w.Code != want {
			t.Errorf("%d more bytes are %d, want %d", n, w.Code, want)
		}
	}
}

// escapedHalf matches surrogate escapes that encoding/json silently turns into
// U+FFFD.
var escapedHalf = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// CheckJSON must accept what encoding/json accepts, except for the cases in its
// comment, and each additional rejection must have its reason in the text.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+7,true,false,null,"x\n\u00e9\ud83d\ude00"],"b":{}}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\u0000"`,
		`"\ud800"`, `"\udc00\ud800"`, `01`, `1.`, `-`, `[1,]`, `{"a"}`, `{,}`, ` [ ] `, `nul`, "\"\xff\"", "\"\x01\"", `"\x"`, `1 2`, ``,
		strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70), `{"a":{"b":1,"b":2}}`, `[{"a":1},{"a":1}]`, `"\ud83d\u0041"`, `"\\ud800"`, "\ufeff1", `"\udc00"`, `[` + strings.Repeat(`{"a":[]},`, 70) + `{}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := web.CheckJSON(data)
		why := extra(data)
		switch {
		case err == nil && !json.Valid(data):
			t.Errorf("%q is accepted and is no JSON", data)
		case err == nil && why != "":
			t.Errorf("%q is accepted in spite of %s", data, why)
		case err != nil && json.Valid(data) && why == "":
			t.Errorf("%q is refused for nothing: %v", data, err)
		case err != nil:
			if f := fault.Of(err); f == nil || f.Code != "invalid_json" || f.Kind != fault.Malformed {
				t.Errorf("%q is refused as %v", data, err)
			}
		}
	})
}

// extra returns what CheckJSON must reject beyond encoding/json, found without the
// scanner.
func extra(data []byte) string {
	if !json.Valid(data) {
		return ""
	}
	if !utf8.Valid(data) {
		return "bad UTF-8"
	}
	type level struct {
		names map[string]bool // nil for an array
		value bool            // whether a value comes next, not a name
	}
	var levels []level
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		in := len(levels) - 1
		s, isText := token.(string)
		if isText && strings.ContainsRune(s, 0) {
			return "NUL"
		}
		if in >= 0 && levels[in].names != nil && token != json.Delim('}') {
			if !levels[in].value {
				if levels[in].names[s] {
					return "a name twice"
				}
				levels[in].names[s] = true
			}
			levels[in].value = !levels[in].value
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:in]
		}
		if len(levels) > 64 {
			return "depth"
		}
	}
	if halves(data) {
		return "half of a pair"
	}
	return ""
}

// halves reports whether data contains an unpaired surrogate escape: encoding/json
// decodes it to an additional U+FFFD.
func halves(data []byte) bool {
	if !escapedHalf.Match(data) {
		return false
	}
	written := bytes.Count(data, []byte("\ufffd"))
	plain := bytes.ReplaceAll(data, []byte(`\\`), []byte("  "))
	written += strings.Count(strings.ToLower(string(plain)), `\ufffd`)
	decoded := 0
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return decoded > written
		}
		if s, ok := token.(string); ok {
			decoded += strings.Count(s, "\ufffd")
		}
	}
}
