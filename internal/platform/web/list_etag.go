package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
)

// Unchanged adds an ETag to a list route. If the client already has the current list, the response
// is 304 and the list is not read. mark returns a string that identifies the current state of the
// list's data. It is called after authentication, before the rest of the request is validated. This
// is safe because the client got its ETag from a valid request with the same URL. The route's
// handler must return a Marked list.
func Unchanged(mark func(context.Context) (string, error)) Option {
	return func(r *route) { r.mark = mark }
}

// listETag returns a list's ETag. It depends on the mark, which identifies the state of the list's
// data, and on the URL, the caller and the caller's role. It also depends on the build, because
// builds can return different fields. The ETag is weak, because the list is read after the mark and
// can be newer.
func (x *exchange) listETag(mark string) string {
	text := make([]byte, 0, 512)
	for _, part := range []string{x.api.build, x.caller.ID, string(x.caller.Role), x.r.URL.Path, x.r.URL.RawQuery, mark} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// notModified responds with 304 if the client has the current list, and reports
// whether it did.
func (x *exchange) notModified() bool {
	held := x.matchingETag(x.tag, false)
	if x.tag == "" || held == "" {
		return false
	}
	x.answered = true
	x.w.Header()["Etag"] = []string{held}
	x.w.WriteHeader(http.StatusNotModified)
	return true
}

// build returns a hash of the running program's module versions and, if known, its
// revision.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(info.String())) // the full text is long, and every ETag includes it
	return string(sum[:])
}

// Marked is a List with an ETag. It is the result type of routes that use Unchanged.
type Marked[T any] struct {
	ETag string `header:"ETag" doc:"Send it as If-None-Match: the response is 304 if nothing has changed."`
	List[T]
}

// Marked returns the list with the ETag that was computed before the list was read.
func (l *List[T]) Marked(ctx context.Context) *Marked[T] {
	m := &Marked[T]{List: *l}
	if x := from(ctx); x != nil {
		m.ETag = x.tag
	}
	return m
}

// matchingETag returns the ETag of the client's copy if that copy is current, and "" otherwise. The
// copy is current if the If-None-Match header of a GET or HEAD request contains tag or, if star is
// set, "*". If the client accepts gzip, the ETag of the compressed response matches too. As RFC
// 9110 requires, weak and strong ETags are compared alike, and invalid ones match nothing.
func (x *exchange) matchingETag(tag string, star bool) string {
	if tag == "" || x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return ""
	}
	packed := gzipETag(tag)
	for _, line := range x.r.Header["If-None-Match"] {
		// Wardroom's ETags contain no comma, so a part of another ETag cannot match.
		for have := range strings.SplitSeq(line, ",") {
			have = strings.TrimSpace(have)
			bare := strings.TrimPrefix(have, "W/")
			switch {
			case star && have == "*" || bare == strings.TrimPrefix(tag, "W/"):
				return tag
			case bare == strings.TrimPrefix(packed, "W/") && acceptsGzip(x.r):
				return packed
			}
		}
	}
	return ""
}
