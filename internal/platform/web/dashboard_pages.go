package web

import (
	"net/http"
	"strings"

	"wardroom/internal/platform/actor"
)

// Pages makes the handler h serve unknown paths when a browser navigates to them,
// because the dashboard handles its own paths. Other requests for unknown paths still
// get an error: a request for a missing script must not get a page, and nothing under
// /api is a page.
func (a *API) Pages(h http.HandlerFunc) { a.pages = h }

// wantsPage reports whether a browser sent r to navigate to a page, and not to load
// an asset or to call the API.
func wantsPage(r *http.Request) bool {
	for _, ours := range []string{"/api", "/assets"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, ours); ok && (rest == "" || rest[0] == '/') {
			return false
		}
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && isText(r.URL.Path) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// pageRoute returns the route that the log and the metrics show for all pages.
func pageRoute() *route {
	return &route{Route: Route{Method: http.MethodGet, Path: "page", Permission: actor.Public}, quiet: true}
}
