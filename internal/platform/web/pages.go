package web

import (
	"net/http"
	"strings"

	"wardroom/internal/platform/actor"
)

// Pages has h answer where no route does, when it is a browser that goes there:
// an application in the browser knows its own addresses, and one of them that
// is opened or reloaded must lead to it. Whatever else misses is told so: a
// script that is not there must not be answered with a page, and nothing under
// /api is one.
func (a *API) Pages(h http.HandlerFunc) { a.pages = h }

// wantsPage tells a browser that goes somewhere from what it loads on the way,
// and from programs.
func wantsPage(r *http.Request) bool {
	for _, ours := range []string{"/api", "/assets"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, ours); ok && (rest == "" || rest[0] == '/') {
			return false
		}
	}
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && isText(r.URL.Path) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// pageRoute is what the log and the metrics call all of them.
func pageRoute() *route {
	return &route{Route: Route{Method: http.MethodGet, Path: "page", Permission: actor.Public}, quiet: true}
}
