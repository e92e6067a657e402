package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

func newRequest(t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, url, body)
	r.Header.Set("Authorization", "Bearer owner")
	return r
}

func (s *toys) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// The id of a request ties the answer to the log; what a caller chooses must
// not be able to forge a line there.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	for given, kept := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "": false,
		"a b": false, "a\"b": false, "a\u00e9": false, "a/b": false,
	} {
		got := s.ask(t, "GET", "/health", "", "X-Request-Id", given).Header().Get("X-Request-Id")
		if (got == given) != kept || len(got) < 11 {
			t.Errorf("%q became %q", given, got)
		}
	}
	if a, b := s.ask(t, "GET", "/health", ""), s.ask(t, "GET", "/health", ""); a.Header().Get("X-Request-Id") == b.Header().Get("X-Request-Id") {
		t.Error("two requests have one id")
	}
	var inside string
	s.Raw("GET /id", actor.Public, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { inside = web.RequestID(r.Context()) }))
	if w := s.ask(t, "GET", "/id", ""); inside == "" || inside != w.Header().Get("X-Request-Id") {
		t.Errorf("the handler sees %q", inside)
	}
	if got := web.RequestID(t.Context()); got != "" {
		t.Errorf("without a request it is %q", got)
	}
}

// One line per request, by pattern and never by address, with the level that
// an alarm can go by.
func TestLog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, url, route, level string
		status                    int
		actor, err                string
	}{
		{"GET", "/api/v1/toys/7?kind=x", "/api/v1/toys/{id}", "INFO", 422, "id-of-owner", ""},
		{"GET", "/api/v1/toys/7", "/api/v1/toys/{id}", "INFO", 200, "id-of-owner", ""},
		{"HEAD", "/api/v1/toys/7", "/api/v1/toys/{id}", "INFO", 200, "id-of-owner", ""},
		{"GET", "/api/v1/toys/none", "/api/v1/toys/{id}", "INFO", 404, "id-of-owner", ""},
		{"GET", "/api/v1/toys/plain", "/api/v1/toys/{id}", "ERROR", 500, "id-of-owner", "dial tcp 10.0.0.7:5432: password authentication failed"},
		{"GET", "/api/v1/toys/gateway", "/api/v1/toys/{id}", "WARN", 503, "id-of-owner", "gateway_unreachable"},
		{"GET", "/api/v1/toys/panics", "/api/v1/toys/{id}", "ERROR", 500, "id-of-owner", "panic: boom with a secret"},
		{"GET", "/health", "/health", "DEBUG", 200, "", ""},
		{"GET", "/api/v1/nothing/here", "unmatched", "INFO", 404, "", ""},
		{"PUT", "/api/v1/toys/7", "unmatched", "INFO", 405, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.url, func(t *testing.T) {
			s := newToys(t)
			w := s.ask(t, tt.method, tt.url, "")
			ls := s.lines(t)
			if len(ls) != 1 {
				t.Fatalf("%d lines: %s", len(ls), s.log)
			}
			l := ls[0]
			text := func(name string) string { v, _ := l[name].(string); return v }
			if l["msg"] != "request" || l["method"] != tt.method || l["route"] != tt.route || l["level"] != tt.level ||
				l["status"] != float64(tt.status) || text("actor") != tt.actor || !strings.Contains(text("err"), tt.err) ||
				(tt.err == "") != (l["err"] == nil) || l["request_id"] != w.Header().Get("X-Request-Id") {
				t.Errorf("got %v", l)
			}
			if _, ok := l["duration"].(float64); !ok {
				t.Errorf("no duration: %v", l)
			}
			if strings.Contains(tt.url, "panics") != strings.Contains(text("stack"), "handleGet") {
				t.Errorf("the stack is %q", text("stack"))
			}
			if strings.Contains(s.log.String(), "Bearer") {
				t.Error("the token is in the log")
			}
		})
	}
}

// The duration is that of our clock, so that it can be tested at all.
func TestLogDuration(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newToys(t, func(o *web.Options) {
		o.Now = func() time.Time { now = now.Add(time.Second); return now }
	})
	s.ask(t, "GET", "/health", "")
	if d := s.lines(t)[0]["duration"]; d != float64(time.Second) {
		t.Errorf("it took %v", d)
	}
}

// When half of an answer is out, the connection must break: to the caller it
// would look whole.
func TestPanicHalfway(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	s.Raw("GET /half", actor.Public, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("boom")
	}))
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/half", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := srv.Client().Do(req)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("the answer looks whole")
	}
	srv.Close()
	if l := s.lines(t); len(l) != 1 || l[0]["level"] != "ERROR" || !strings.Contains(fmt.Sprint(l[0]["err"]), "boom") {
		t.Errorf("logged %v", l)
	}
}
