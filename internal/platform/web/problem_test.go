package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

func quote(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pointers are the inputs that a 422 names.
func pointers(t testing.TB, w *httptest.ResponseRecorder) []string {
	t.Helper()
	p := problem(t, w)
	if w.Code != http.StatusUnprocessableEntity || p["code"] != "invalid_input" {
		t.Errorf("got %d %v", w.Code, p)
	}
	var ps []string
	es, _ := p["errors"].([]any)
	for _, e := range es {
		m, _ := e.(map[string]any)
		at, ok := m["pointer"].(string)
		if !ok || m["detail"] == "" {
			t.Errorf("%v says too little", m)
		}
		ps = append(ps, at)
	}
	return ps
}

// Whatever goes wrong has one shape and its own code, and shows nothing of ours.
func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, url, body string
		status                  int
		code                    string
		headers                 map[string]string
	}{
		{"a named failure", "GET", "/api/v1/toys/none", "", 404, "toy_not_found", nil},
		{"a conflict with its facts", "GET", "/api/v1/toys/taken", "", 409, "toy_taken", nil},
		{"when to try again", "GET", "/api/v1/toys/busy", "", 429, "toy_busy", map[string]string{"Retry-After": "2"}},
		{"a failure among others", "GET", "/api/v1/toys/gateway", "", 503, "gateway_unreachable", nil},
		{"an error that is no fault", "GET", "/api/v1/toys/plain", "", 500, "internal", nil},
		{"a panic", "GET", "/api/v1/toys/panics", "", 500, "internal", nil},
		{"a handler that says nothing", "GET", "/api/v1/toys/nil", "", 500, "internal", nil},
		{"an answer that has no JSON", "GET", "/api/v1/toys/unencodable", "", 500, "internal", map[string]string{"ETag": ""}},
		{"a cancellation that is not the caller's", "GET", "/api/v1/toys/canceled", "", 500, "internal", nil},
		{"a failure of a raw route", "GET", "/secret.csv", "", 429, "toy_busy", map[string]string{"Retry-After": "2", "ETag": ""}},
		{"an unknown path of the API", "GET", "/api/v1/nothing", "", 404, "not_found", nil},
		{"an unknown path beside it", "GET", "/api/nothing", "", 404, "not_found", nil},
		{"an unknown path below a known", "GET", "/api/v1/toys/7/more", "", 404, "not_found", nil},
		{"a path with a slash too many", "GET", "/api/v1/toys/", "", 404, "not_found", nil},
		{"an unknown path elsewhere", "POST", "/nothing", "", 404, "not_found", nil},
		{"a method that the path does not take", "PUT", "/api/v1/toys/7", "", 405, "method_not_allowed", map[string]string{"Allow": "DELETE, GET, HEAD, PATCH"}},
		{"a method at the root", "POST", "/", "", 405, "method_not_allowed", map[string]string{"Allow": "GET, HEAD"}},
		{"a cursor of another list", "GET", "/api/v1/toys?cursor=abc", "", 422, "invalid_cursor", nil},
		{"NUL in the path", "GET", "/api/v1/toys/%00", "", 400, "invalid_url", nil},
		{"no text in the path", "GET", "/api/v1/toys/%ff", "", 400, "invalid_url", nil},
		{"NUL in a parameter", "GET", "/api/v1/toys?cursor=%00", "", 400, "invalid_url", nil},
		{"no text in a parameter's name", "GET", "/api/v1/toys?%ff=1", "", 400, "invalid_url", nil},
		{"a query that cannot be read", "GET", "/api/v1/toys?limit=%zz", "", 400, "invalid_url", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newToys(t)
			w := s.ask(t, tt.method, tt.url, tt.body)
			if p := problem(t, w); w.Code != tt.status || p["code"] != tt.code {
				t.Fatalf("got %d %v", w.Code, p)
			}
			for name, want := range tt.headers {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			for _, secret := range []string{"10.0.0.7", "boom", "goroutine", ".go:"} {
				if strings.Contains(w.Body.String(), secret) {
					t.Errorf("it shows %q: %s", secret, w.Body)
				}
			}
		})
	}
}

// The facts of a failure are members of its problem, and replace none of the
// standard ones.
func TestProblemWhole(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	w := s.ask(t, "GET", "/api/v1/toys/taken?", "", "X-Request-Id", "abc-1")
	want := map[string]any{
		"type": "/api/docs#toy_taken", "title": "Somebody has the toy.", "status": float64(409), "detail": "The cto has it.",
		"instance": "/api/v1/toys/taken", "code": "toy_taken", "request_id": "abc-1", "holder": "cto",
	}
	if diff := cmp.Diff(want, problem(t, w)); diff != "" {
		t.Error(diff)
	}
	if err := s.lines(t)[0]["err"]; err == nil {
		t.Error("the fact that has no JSON left no trace in the log")
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, url, body string
		want                    []string
	}{
		{"names every input at once", "POST", "/api/v1/toys", `{"name":"","size":0,"kind":"x"}`, []string{"/kind", "/name", "/size"}},
		{"names what is missing", "POST", "/api/v1/toys", `{"parts":[{}]}`, []string{"/name", "/parts/0/label"}},
		{"names what is unknown", "POST", "/api/v1/toys", `{"name":"a","x/~y":1}`, []string{"/x~1~0y"}},
		{"names what is unknown deep down", "POST", "/api/v1/toys", `{"name":"a","parts":[{"label":"a","b":2}]}`, []string{"/parts/0/b"}},
		{"refuses another case", "POST", "/api/v1/toys", `{"name":"a","Name":"b"}`, []string{"/Name"}},
		{"refuses null where it has no meaning", "POST", "/api/v1/toys", `{"name":"a","kind":null,"tags":[null]}`, []string{"/kind", "/tags/0"}},
		{"refuses null for the whole", "POST", "/api/v1/toys", `null`, []string{""}},
		{"refuses a list for an object", "POST", "/api/v1/toys", `[]`, []string{""}},
		{"refuses numbers that do not fit", "POST", "/api/v1/toys", `{"name":"a","parts":[{"label":"a","count":9223372036854775808},{"label":"a","count":1e400}]}`, []string{"/parts/0/count", "/parts/1/count"}},
		{"refuses a whole number with a point", "POST", "/api/v1/toys", `{"name":"a","size":1.0}`, []string{"/size"}},
		{"names a parameter", "GET", "/api/v1/toys?limit=501", "", []string{"query.limit"}},
		{"names a parameter that is no number", "GET", "/api/v1/toys?limit=many", "", []string{"query.limit"}},
		{"names a parameter that does not exist", "GET", "/api/v1/toys?stauts=todo", "", []string{"query.stauts"}},
		{"names it in another case", "GET", "/api/v1/toys?Kind=ball", "", []string{"query.Kind"}},
		{"names it beside others that are wrong", "GET", "/api/v1/toys?limit=0&more=1&other=2", "", []string{"query.limit", "query.more", "query.other"}},
		{"names a long one briefly", "GET", "/api/v1/toys?" + strings.Repeat("ä", 300) + "=1", "", []string{"query." + strings.Repeat("ä", 40) + "…"}},
		{"names one that is given twice", "GET", "/api/v1/toys?kind=ball&kind=kite", "", []string{"query.kind"}},
		{"names one on a route that has none", "GET", "/api/v1/toys/7?kind=ball", "", []string{"query.kind"}},
		{"reads parameters after an empty one", "GET", "/api/v1/toys?total&limit=0", "", []string{"query.limit"}},
		{"names a part of the path", "GET", "/api/v1/toys/" + strings.Repeat("x", 41), "", []string{"path.id"}},
		{"names a header", "PATCH", "/api/v1/toys/7", `{}`, []string{"header.If-Match"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newToys(t).ask(t, tt.method, tt.url, tt.body, "If-Match", "seven")
			if diff := cmp.Diff(tt.want, pointers(t, w)); diff != "" {
				t.Errorf("%s\n%s", diff, w.Body)
			}
		})
	}
}

// Who misspells a filter is told what there is.
func TestUnknownParameter(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"/api/v1/toys?stauts=todo": "There is no such parameter. This address knows cursor, kind, limit, total.",
		"/api/v1/toys/7?stauts=1":  "There is no such parameter; this address takes none.",
	} {
		w := newToys(t).ask(t, "GET", url, "")
		if p := problem(t, w); w.Code != 422 || p["code"] != "invalid_input" || !strings.Contains(w.Body.String(), `"detail":"`+want+`"`) {
			t.Errorf("%s: %d %v, want %s", url, w.Code, p, want)
		}
	}
}

// A list of values in the address becomes a part of the query and of the address
// of the next page: without an end, one request costs the database megabytes,
// and the Link header grows longer than clients read.
func TestListsInTheAddressAreBounded(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	type input struct {
		Tags []string `query:"tags" doc:"Only with these."`
	}
	web.Get(s.API, "/tagged", actor.Public, "Tagged toys", func(context.Context, *input) (*struct{}, error) { return nil, nil })
	for n, want := range map[int]int{1: 204, 20: 204, 21: 422, 5000: 422} {
		w := s.ask(t, "GET", "/api/v1/tagged?tags=x"+strings.Repeat(",x", n-1), "")
		if w.Code != want {
			t.Errorf("%d values: %d %s", n, w.Code, w.Body)
		}
		if want == 422 && !strings.Contains(w.Body.String(), `{"pointer":"query.tags","detail":"Expected array length <= 20."}`) {
			t.Errorf("%d values: %s", n, w.Body)
		}
	}
	if document := s.ask(t, "GET", "/api/v1/openapi.json", "").Body.String(); !strings.Contains(document, `"maxItems": 20`) {
		t.Error("the document does not say so")
	}
}

// What was refused may be a password. It must come back nowhere, whichever
// check it failed, and be in no log.
func TestNoEcho(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter"
	bodies := []string{
		`{"name":"a","password":"` + secret[:9] + `"}`,
		`{"name":"` + secret + `"}`, `{"kind":"` + secret + `","name":"a"}`, `{"email":"` + secret + `@@","name":"a"}`,
		`{"email":"=?` + secret + `?q?x?= <a@b>","name":"a"}`,
		`{"site":"http://[::1]` + secret + `","name":"a"}`, `{"site":"` + secret + `%zz:","name":"a"}`,
		`{"ref":"urn:` + secret[:5] + secret[:5] + strings.Repeat("a", 31) + `","name":"a"}`, `{"ref":"` + secret + `","name":"a"}`,
		`{"size":"` + secret + `","name":"a"}`, `{"made":"` + secret + `","name":"a"}`, `{"tags":"` + secret + `","name":"a"}`,
		`{"tags":["` + secret + `"],"name":"a"}`, `"` + secret + `"`, `["` + secret + `"]`, secret, `{"name":` + secret + `}`,
		`{"name":"` + secret + `","name":"` + secret + `"}`, `{"name":"` + secret + `\u0000"}`, `{"password":"` + secret, `{"name":"a"} ` + secret,
	}
	for _, body := range bodies {
		s := newToys(t)
		w := s.ask(t, "POST", "/api/v1/toys", body)
		if w.Code != 400 && w.Code != 422 {
			t.Errorf("%s is %d", body, w.Code)
		}
		if problem(t, w); strings.Contains(w.Body.String(), secret[:5]) {
			t.Errorf("%s comes back: %s", body, w.Body)
		}
		if strings.Contains(s.log.String(), secret[:5]) {
			t.Errorf("%s is in the log: %s", body, s.log)
		}
	}
	for _, url := range []string{"/api/v1/toys?limit=" + secret, "/api/v1/toys?kind=" + secret, "/api/v1/toys?total=" + secret, "/api/v1/toys?cursor=" + secret} {
		s := newToys(t)
		w := s.ask(t, "GET", url, "")
		if w.Code != 422 || strings.Contains(w.Body.String()+s.log.String(), secret) {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}

// A problem must not be larger than what it is about.
func TestInvalidIsBounded(t *testing.T) {
	t.Parallel()
	for _, item := range []string{"1", "null"} {
		body := `{"name":"a","tags":[` + strings.Repeat(item+",", 10_000) + item + `]}`
		if n := len(pointers(t, newToys(t).ask(t, "POST", "/api/v1/toys", body))); n > 50 || n == 0 {
			t.Errorf("%d inputs are named", n)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := newToys(t, func(o *web.Options) { o.RequestTimeout = time.Millisecond })
	w := s.ask(t, "GET", "/api/v1/slow", "")
	if p := problem(t, w); w.Code != 504 || p["code"] != "request_timeout" {
		t.Errorf("got %d %v", w.Code, p)
	}
}

// A route that waits is not held to the usual time.
func TestWaits(t *testing.T) {
	t.Parallel()
	s := newToys(t, func(o *web.Options) { o.RequestTimeout = time.Nanosecond })
	go func() { <-s.started; close(s.release) }()
	if w := s.ask(t, "GET", "/api/v1/waits", ""); w.Code != 200 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// What is asked elsewhere may take as long as it may there, each time.
func TestAsks(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	var left time.Duration
	web.Get(s.API, "/asks", actor.Public, "Ask twice", func(ctx context.Context, _ *struct{}) (*seen, error) {
		end, _ := ctx.Deadline()
		left = time.Until(end)
		return &seen{}, nil
	}, web.Asks(2, time.Hour))
	if w := s.ask(t, "GET", "/api/v1/asks", ""); w.Code != 200 || left <= 2*time.Hour || left > 2*time.Hour+30*time.Second {
		t.Errorf("got %d with %v left", w.Code, left)
	}
}

// A caller who leaves is not a failure of ours: no error in the log.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-s.started; leave() }()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/api/v1/slow", nil))
	l := s.lines(t)
	if len(l) != 1 || l[0]["level"] != "INFO" || l[0]["status"] != float64(499) || l[0]["err"] != nil || w.Body.Len() != 0 {
		t.Errorf("got %v and %s", l, w.Body)
	}
}
