package web_test

import (
	"strings"
	"testing"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

func TestIfMatch(t *testing.T) {
	for header, want := range map[string]int64{
		"": 0, "*": 0, `"7-0a1b"`: 7, `W/"7-0a1b"`: 7, `"9223372036854775807-a"`: 1<<63 - 1, `"7"`: 7,
	} {
		v, err := web.IfMatch{IfMatch: header}.Version()
		if err != nil || (v == nil) != (want == 0) || (v != nil && *v != want) {
			t.Errorf("%s is version %v, %v", header, v, err)
		}
	}
	for _, header := range []string{`7-a`, `"7-a`, `7-a"`, `"x-a"`, `"0-a"`, `"-7-a"`, `"7-a", "8-b"`, `""`, `"`, `W/`, `"9223372036854775808-a"`, `"+7-a"`} {
		v, err := web.IfMatch{IfMatch: header}.Version()
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || v != nil {
			t.Errorf("%s is version %v, %v", header, v, err)
		}
	}
}

// What an answer gives as ETag must come back as its version.
func TestETagRoundTrip(t *testing.T) {
	s := newToys(t)
	tag := s.ask(t, "GET", "/api/v1/toys/7", "").Header().Get("ETag")
	w := s.ask(t, "PATCH", "/api/v1/toys/7", `{}`, "If-Match", tag)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"version":3`) {
		t.Errorf("%s gave %d %s", tag, w.Code, w.Body)
	}
	// The version is the same and the resource is not: the tag must differ.
	a, b := s.ask(t, "POST", "/api/v1/toys", `{"name":"a"}`), s.ask(t, "POST", "/api/v1/toys", `{"name":"b"}`)
	if a, b := a.Header().Get("ETag"), b.Header().Get("ETag"); a == b || a[:3] != b[:3] {
		t.Errorf("the tags are %s and %s", a, b)
	}
}
