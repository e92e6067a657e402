package web_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// An ETag from a response must be parsed as its version.
func TestETagRoundTrip(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	tag := s.ask(t, "GET", "/api/v1/toys/7", "").Header().Get("ETag")
	w := s.ask(t, "PATCH", "/api/v1/toys/7", `{}`, "If-Match", tag)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"version":3`) {
		t.Errorf("%s gave %d %s", tag, w.Code, w.Body)
	}
	// Same version but different content: the ETag must differ.
	a, b := s.ask(t, "POST", "/api/v1/toys", `{"name":"a"}`), s.ask(t, "POST", "/api/v1/toys", `{"name":"b"}`)
	if a, b := a.Header().Get("ETag"), b.Header().Get("ETag"); a == b || a[:3] != b[:3] {
		t.Errorf("the tags are %s and %s", a, b)
	}
}

// A client that polls must not get an unchanged body again, and must never get 304
// after a change.
func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	full := s.ask(t, "GET", "/api/v1/toys/7", "")
	tag := full.Header().Get("ETag")
	if tag == "" || full.Code != http.StatusOK {
		t.Fatalf("%d with the ETag %q", full.Code, tag)
	}
	for given, unchanged := range map[string]bool{
		tag: true, "W/" + tag: true, `"1-a", ` + tag: true, tag + `,"1-a"`: true, "*": true, " " + tag + " ": true,
		"": false, `"3-000000000000"`: false, strings.Trim(tag, `"`): false, `"x` + tag + `"`: false, `"a,` + strings.Trim(tag, `"`) + `,b"`: false,
		"w/" + tag: false, tag + tag: false, ",,": false, "W/": false, `"`: false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := s.ask(t, method, "/api/v1/toys/7", "", "If-None-Match", given)
			want := map[bool]int{true: http.StatusNotModified, false: http.StatusOK}[unchanged]
			if w.Code != want || w.Header().Get("ETag") != tag {
				t.Errorf("%s with %s: %d with the ETag %q, want %d", method, given, w.Code, w.Header().Get("ETag"), want)
			}
			if unchanged && (w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" || w.Header().Get("Content-Length") != "") {
				t.Errorf("%s with %s: a 304 with %v %s", method, given, w.Header(), w.Body)
			}
			if w.Header().Get("Cache-Control") != full.Header().Get("Cache-Control") || w.Header().Get("X-Request-Id") == "" {
				t.Errorf("%s with %s: the headers are %v", method, given, w.Header())
			}
		}
	}
	two := newRequest(t, "GET", "/api/v1/toys/7", nil)
	two.Header["If-None-Match"] = []string{`"1-a"`, tag}
	if w := s.do(two); w.Code != http.StatusNotModified {
		t.Errorf("in two lines: %d", w.Code)
	}
}

// The condition only applies to reads; no other response becomes a 304.
func TestIfNoneMatchElsewhere(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/v1/toys/none", "", 404},
		{"GET", "/api/v1/toys", "", 200},
		{"GET", "/health", "", 200},
		{"POST", "/api/v1/toys", `{"name":"a"}`, 201},
		{"POST", "/api/v1/toys", `{"name":"again"}`, 200},
		{"PATCH", "/api/v1/toys/7", `{}`, 200},
	} {
		if w := s.ask(t, c.method, c.path, c.body, "If-None-Match", "*"); w.Code != c.status || w.Body.Len() == 0 {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, w.Code, w.Body, c.status)
		}
	}
	if w := s.ask(t, "GET", "/api/v1/toys/7", "", "If-None-Match", "*", "Authorization", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("as nobody: %d", w.Code)
	}
}

// The document must show exactly the routes that support the condition.
func TestIfNoneMatchDocumented(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Responses  map[string]struct {
				Headers, Content map[string]any
			}
		}
	}
	if err := json.Unmarshal(newToys(t).Document(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			want := path == "/api/v1/toys/{id}" && method == "get"
			unchanged, has := op.Responses["304"]
			asks := slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == "If-None-Match" && p.In == "header" })
			if has != want || asks != want {
				t.Errorf("%s %s: 304 is %v, the parameter %v", method, path, has, asks)
			}
			if want && (unchanged.Headers["ETag"] == nil || unchanged.Content != nil) {
				t.Errorf("the 304 is %v", unchanged)
			}
		}
	}
}
