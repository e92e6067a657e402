package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// An address of the application that is reloaded must lead to it again, and a
// script or an API address that does not exist must not be taken for a page.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	s.Pages(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<p>page</p>")
	})
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		name, method, path, accept string
		status                     int
	}{
		{"a browser opens a place", "GET", "/tasks/TASK-1", browser, http.StatusOK},
		{"a browser asks for its head", "HEAD", "/tasks", browser, http.StatusOK},
		{"a program asks for anything", "GET", "/tasks", "*/*", http.StatusNotFound},
		{"a browser sends something", "POST", "/tasks", browser, http.StatusNotFound},
		{"a browser opens an unknown address of the API", "GET", "/api/v1/nowhere", browser, http.StatusNotFound},
		{"a browser opens /api", "GET", "/api", browser, http.StatusNotFound},
		{"a browser opens a missing asset", "GET", "/assets/gone.js", browser, http.StatusNotFound},
		{"a place whose name begins alike", "GET", "/apiary", browser, http.StatusOK},
		{"a method that a route does not have", "DELETE", "/health", browser, http.StatusMethodNotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.ask(t, c.method, c.path, "", "Accept", c.accept)
			page := strings.HasPrefix(got.Header().Get("Content-Type"), "text/html")
			if got.Code != c.status || page != (c.status == http.StatusOK) {
				t.Errorf("%d %s, want %d", got.Code, got.Header().Get("Content-Type"), c.status)
			}
		})
	}
}
