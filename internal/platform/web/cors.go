package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/rs/cors"
)

// preflightTime is how long a browser may cache a preflight response.
const preflightTime = 10 * time.Minute

// withCORS wraps next so that web pages from Options.CORSOrigin can call it. The wrapper runs
// inside serve, so that preflights get the usual headers and log message. It runs outside the mux,
// so that pages can read error responses: a page that cannot read a 401 cannot redirect to the
// login.
//
// Credentials are not allowed: the API uses no cookies, and clients send their
// token in a header.
func (a *API) withCORS(next http.Handler) http.Handler {
	if a.opts.CORSOrigin == "" {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: []string{a.opts.CORSOrigin},
		AllowedMethods: a.methods(),
		AllowedHeaders: []string{
			"Authorization", tokenHeader, "Content-Type", onceHeader, "If-Match", "If-None-Match", "Last-Event-ID", "Prefer",
		},
		ExposedHeaders: []string{
			"ETag", replayedHeader, "Link", "Location", "Retry-After", "X-As-Of", "X-Away", "X-Left-Out",
			"X-Request-Id", "X-Total-Count",
		},
		MaxAge: int(preflightTime.Seconds()),
	}).Handler(next)
}

// methods returns the HTTP methods that the routes use.
func (a *API) methods() []string {
	ms := []string{http.MethodHead} // included with GET
	for _, r := range a.routes {
		if !slices.Contains(ms, r.Method) {
			ms = append(ms, r.Method)
		}
	}
	return ms
}
