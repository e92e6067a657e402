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

// Unchanged gives a list an ETag and answers 304 to those who have it. mark names
// the state of all that the list is read from; it is asked when the caller is
// known, and before anything else of the request is looked at: whoever has the
// tag got it for the same address, in which there was nothing to refuse. So a
// list that has not changed is not read. The handler answers a Marked list.
func Unchanged(mark func(context.Context) (string, error)) Option {
	return func(r *route) { r.mark = mark }
}

// tagOf makes the ETag of a list out of its mark. It is of this address, this
// caller with their role, and this build, whose answers may have other fields.
// It is a weak one: a list may be newer than the mark that was read before it.
func (x *exchange) tagOf(mark string) string {
	text := make([]byte, 0, 512)
	for _, part := range []string{x.api.build, x.caller.ID, string(x.caller.Role), x.r.URL.Path, x.r.URL.RawQuery, mark} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// same answers 304 when the caller has the list already, and reports whether so.
func (x *exchange) same() bool {
	held := x.held(x.tag, false)
	if x.tag == "" || held == "" {
		return false
	}
	x.answered = true
	x.w.Header()["Etag"] = []string{held}
	x.w.WriteHeader(http.StatusNotModified)
	return true
}

// build names the program that is running: its modules, and its own source where
// that was a repository when it was built.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(info.String())) // pages of it, and each mark is made with it
	return string(sum[:])
}

// Marked is a List with an ETag, of a route that is Unchanged.
type Marked[T any] struct {
	ETag string `header:"ETag" doc:"Send it back as If-None-Match: the answer is 304 while nothing has changed."`
	List[T]
}

// Marked is the list with the tag that was made before it was read.
func (l *List[T]) Marked(ctx context.Context) *Marked[T] {
	m := &Marked[T]{List: *l}
	if x := from(ctx); x != nil {
		m.ETag = x.tag
	}
	return m
}

// held returns the ETag of the caller's copy when the request is a GET or HEAD
// whose If-None-Match names tag, or "*" where that counts; else it is empty. To a
// caller who takes gzip the compressed answer's tag is as good. As RFC 9110 wants
// it here, a weak tag is as good as a strong one, and what is no tag matches nothing.
func (x *exchange) held(tag string, star bool) string {
	if tag == "" || x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return ""
	}
	packed := gzipTag(tag)
	for _, line := range x.r.Header["If-None-Match"] {
		// Our tags have no comma, so no piece of another's can look like one.
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
