package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/rs/cors"
)

// preflightTime is how long a browser need not ask again whether it may ask.
const preflightTime = 10 * time.Minute

// shareAcross lets the pages of Options.CORSOrigin call next. It stands inside
// serve, so that preflights have the headers and the line in the log that
// everything has, and in front of the mux, so that problems are shared as well:
// a page that may not read a 401 could not send its user to the login.
//
// No credentials: we have no cookies, and a token is sent by hand.
func (a *API) shareAcross(next http.Handler) http.Handler {
	if a.opts.CORSOrigin == "" {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: []string{a.opts.CORSOrigin},
		AllowedMethods: a.methods(),
		AllowedHeaders: []string{
			"Authorization", "Content-Type", onceHeader, "If-Match", "If-None-Match", "Last-Event-ID", "Prefer",
		},
		ExposedHeaders: []string{
			"ETag", replayedHeader, "Link", "Location", "Retry-After", "X-As-Of", "X-Away", "X-Left-Out", "X-Request-Id", "X-Total-Count",
		},
		MaxAge: int(preflightTime.Seconds()),
	}).Handler(next)
}

// methods lists those that some route takes.
func (a *API) methods() []string {
	ms := []string{http.MethodHead} // comes with GET
	for _, r := range a.routes {
		if !slices.Contains(ms, r.Method) {
			ms = append(ms, r.Method)
		}
	}
	return ms
}
