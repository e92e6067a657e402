package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
)

// Mark makes the ETag of a list out of mark, which names the state of all that
// the list is read from, and reports whether that is the tag that the caller
// has: then there is no need to read the list. The tag is of this address, this
// caller with their role, and this build, whose answers may have other fields.
// It is a weak one: a list may be newer than the mark that was read before it.
func Mark(ctx context.Context, mark string) (tag string, same bool) {
	x := from(ctx)
	if x == nil {
		return "", false
	}
	h := sha256.New()
	for _, part := range []string{x.api.build, x.caller.ID, string(x.caller.Role), x.r.URL.Path, x.r.URL.RawQuery, mark} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	tag = `W/"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
	return tag, x.has(tag)
}

// build names the program that is running: its source and that of its modules.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.String()
}

// Marked is a List with an ETag. Make it with Marked or Unmodified.
type Marked[T any] struct {
	Status int    // another status than the route's own; 0 keeps that
	ETag   string `header:"ETag" doc:"Send it back as If-None-Match: the answer is 304 while nothing has changed."`
	List[T]
}

// Unmodified answers 304 to a caller who has what tag, from Mark, is of.
func Unmodified[T any](tag string) *Marked[T] {
	return &Marked[T]{Status: http.StatusNotModified, ETag: tag}
}

// Marked is the list with its tag, from Mark.
func (l *List[T]) Marked(tag string) *Marked[T] { return &Marked[T]{ETag: tag, List: *l} }

// has reports whether the request is a GET or HEAD whose If-None-Match names
// tag, or "*". As RFC 9110 wants it here, a weak tag is as good as a strong one,
// and what is no tag matches nothing.
func (x *exchange) has(tag string) bool {
	if tag == "" || x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return false
	}
	tag = strings.TrimPrefix(tag, "W/")
	for _, line := range x.r.Header.Values("If-None-Match") {
		// Our tags have no comma, so no piece of another's can look like one.
		for have := range strings.SplitSeq(line, ",") {
			have = strings.TrimSpace(have)
			if have == "*" || strings.TrimPrefix(have, "W/") == tag {
				return true
			}
		}
	}
	return false
}
