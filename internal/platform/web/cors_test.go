package web_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/web"
)

const dashboard = "https://ops.example.com"

// exposed lists the response headers that a page of another origin may read.
const exposed = "ETag, Idempotency-Replayed, Link, Location, Retry-After, X-As-Of, X-Away, X-Left-Out, X-Request-Id, X-Total-Count"

func sharing(origin string) func(*web.Options) {
	return func(o *web.Options) { o.CORSOrigin = origin }
}

// sharedHeaders returns the CORS headers of a response.
func sharedHeaders(w *httptest.ResponseRecorder) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(w.Header()) {
			if strings.HasPrefix(name, "Access-Control-") && !yield(name) {
				return
			}
		}
	})
}

// preflight sends the request that a browser sends before the actual one.
func (s *toys) preflight(t *testing.T, origin, method string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	slices.Sort(headers) // browsers sort them and use lower case
	return s.ask(t, http.MethodOptions, "/api/v1/toys/7", "", "Authorization", "", "Origin", origin,
		"Access-Control-Request-Method", method, "Access-Control-Request-Headers", strings.ToLower(strings.Join(headers, ",")))
}

// The configured dashboard must be able to use the whole API.
func TestCORS(t *testing.T) {
	t.Parallel()
	for setting, answered := range map[string]string{dashboard: dashboard, "*": "*"} {
		s := newToys(t, sharing(setting))
		for _, c := range []struct{ method, path, token string }{
			{"GET", "/api/v1/toys/7", "Bearer owner"},
			{"HEAD", "/api/v1/toys/7", "Bearer owner"},
			{"GET", "/api/v1/toys/none", "Bearer owner"},
			{"GET", "/api/v1/toys/7", ""},
			{"GET", "/api/v1/nothing", ""},
			{"PUT", "/api/v1/toys/7", ""},
			{"GET", "/api/v1/toys/panics", "Bearer owner"},
			{"DELETE", "/api/v1/toys/7", "Bearer user"},
			{"GET", "/secret.csv", "Bearer owner"},
			{"GET", "/health", ""},
		} {
			w := s.ask(t, c.method, c.path, "", "Authorization", c.token, "Origin", dashboard)
			h := w.Header()
			// Headers of unmatched methods may be missing: the preflight rejects those methods.
			if c.method != "PUT" && (h.Get("Access-Control-Allow-Origin") != answered ||
				!strings.EqualFold(h.Get("Access-Control-Expose-Headers"), exposed)) {
				t.Errorf("%s: %s %s: %d %v", setting, c.method, c.path, w.Code, h)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
				t.Errorf("%s: %s %s: %v", setting, c.method, c.path, h)
			}
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE"} {
			w := s.preflight(t, dashboard, method, "Authorization", "X-Wardroom-Token", "Content-Type", "If-Match", "If-None-Match", "Prefer", "Idempotency-Key", "Last-Event-ID")
			h := w.Header()
			if w.Code != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != answered || h.Get("Access-Control-Allow-Methods") != method ||
				!strings.Contains(h.Get("Access-Control-Allow-Headers"), "last-event-id") || h.Get("Access-Control-Max-Age") != "600" ||
				h.Get("Access-Control-Allow-Credentials") != "" || h.Get("X-Request-Id") == "" || w.Body.Len() > 0 {
				t.Errorf("%s: preflight of %s: %d %v %s", setting, method, w.Code, h, w.Body)
			}
		}
		if w := s.preflight(t, dashboard, "POST"); w.Header().Get("Access-Control-Allow-Origin") != answered {
			t.Errorf("%s: preflight without headers: %v", setting, w.Header())
		}
	}
}

// A page of another origin must get no data and no permission, and the dashboard
// must not send unknown headers.
func TestCORSRefuses(t *testing.T) {
	t.Parallel()
	s := newToys(t, sharing(dashboard))
	for _, origin := range []string{"", "null", "*", "http://ops.example.com", dashboard + ":8443", dashboard + ".evil.com", "https://evil.com", "https://x.ops.example.com", dashboard + "/"} {
		w := s.ask(t, "GET", "/api/v1/toys/7", "", "Origin", origin)
		if got := sharedHeaders(w); len(got) > 0 || w.Code != http.StatusOK {
			t.Errorf("%q: %d with %v", origin, w.Code, got)
		}
		if got := sharedHeaders(s.preflight(t, origin, "GET", "Authorization")); len(got) > 0 {
			t.Errorf("preflight of %q: %v", origin, got)
		}
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"an unknown method": s.preflight(t, dashboard, "PUT"),
		"an unknown header": s.preflight(t, dashboard, "GET", "Authorization", "X-Forwarded-For"),
	} {
		if got := sharedHeaders(w); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	// An OPTIONS request that is not a preflight is handled like other methods.
	if w := s.ask(t, "OPTIONS", "/api/v1/toys/7", "", "Origin", dashboard); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("OPTIONS: %d", w.Code)
	}
}

// Without the setting there are no CORS headers.
func TestCORSOff(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	if w := s.ask(t, "GET", "/api/v1/toys/7", "", "Origin", dashboard); len(sharedHeaders(w)) > 0 || strings.Contains(w.Header().Get("Vary"), "Origin") {
		t.Errorf("got %v", w.Header())
	}
	w := s.preflight(t, dashboard, "GET", "Authorization")
	if w.Code != http.StatusMethodNotAllowed || len(sharedHeaders(w)) > 0 {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	problem(t, w)
}

// A page sends a preflight for nearly every request, so they are not logged.
func TestCORSLog(t *testing.T) {
	t.Parallel()
	s := newToys(t, sharing(dashboard))
	s.preflight(t, dashboard, "PATCH", "Authorization")
	if l := s.lines(t); len(l) != 1 || l[0]["level"] != "DEBUG" || l[0]["route"] != "preflight" || l[0]["status"] != 204.0 {
		t.Errorf("logged %v", l)
	}
}
