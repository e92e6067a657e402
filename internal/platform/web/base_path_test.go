package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/platform/web"
)

// Below a path of the public URL, every request must reach its route, whether or not the proxy removes the path, and
// every address in a response must lead through the proxy.
func TestBasePath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"/wardroom", "/teams/ops", "/toys", "/tasks", "/api/wardroom"} {
		s := newToys(t, func(o *web.Options) { o.BasePath = base })
		s.Pages(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page of "+r.URL.Path) })
		for _, proxy := range []struct{ name, before string }{{"keeps the path", base}, {"removes the path", ""}} {
			t.Run(base+" with a proxy that "+proxy.name, func(t *testing.T) {
				at := proxy.before
				if w := s.ask(t, "GET", at+"/api/v1/toys/7", ""); w.Code != http.StatusOK {
					t.Errorf("a toy: %d %s", w.Code, w.Body)
				}
				w := s.ask(t, "GET", at+"/api/v1/toys?limit=1", "")
				if link := w.Header().Get("Link"); !strings.HasPrefix(link, "<"+base+"/api/v1/toys?") {
					t.Errorf("the link is %q", link)
				}
				w = s.ask(t, "POST", at+"/api/v1/toys", `{"name":"ball"}`)
				if place := w.Header().Get("Location"); w.Code != http.StatusCreated || !strings.HasPrefix(place, base+"/api/v1/toys/") {
					t.Errorf("a new toy: %d at %q", w.Code, place)
				}
				var p web.Problem
				w = s.ask(t, "GET", at+"/api/v1/toys/none", "")
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Instance != base+"/api/v1/toys/none" || p.Type != base+"/api/docs#toy_not_found" {
					t.Errorf("the problem is %s", w.Body)
				}
				if w := s.ask(t, "GET", at+"/api/docs", ""); !strings.Contains(w.Body.String(), `href="`+base+`/api/v1/openapi.json"`) {
					t.Error("the documentation does not link to the document")
				}
				if w := s.ask(t, "GET", at+"/tasks/TASK-1", "", "Accept", "text/html"); !strings.HasPrefix(w.Body.String(), "page of ") {
					t.Errorf("a deep page: %d %s", w.Code, w.Body)
				}
			})
		}
		for path, want := range map[string]string{base: "<h1>Toys</h1>", base + "/": "<h1>Toys</h1>", "/elsewhere" + base: "page of "} {
			if w := s.ask(t, "GET", path, "", "Accept", "text/html"); !strings.HasPrefix(w.Body.String(), want) {
				t.Errorf("%s is %s", path, w.Body)
			}
		}
	}
}
