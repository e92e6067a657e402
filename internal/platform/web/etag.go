package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
)

// Tagged answers one resource with its ETag. Make it with Tag.
type Tagged[T any] struct {
	Status   int    // another status than the route's own; 0 keeps that
	ETag     string `header:"ETag" doc:"The version and a hash of the body; send it back as If-Match."`
	Location string `header:"Location" doc:"Where the resource is, when this request made it."`
	Body     T

	version int64
}

// Tag answers v, whose version column is version. The ETag is
// "<version>-<hash>": the version is what If-Match compares, and the hash
// changes with what has no version (claims, costs, counts). It is filled in
// when the answer is written, because the hash is over its JSON.
func Tag[T any](v T, version int64) *Tagged[T] { return &Tagged[T]{Body: v, version: version} }

// At says where the resource is, such as "/api/v1/tasks/TASK-1".
func (t *Tagged[T]) At(location string) *Tagged[T] {
	t.Location = location
	return t
}

// As answers with another status than the route's own.
func (t *Tagged[T]) As(status int) *Tagged[T] {
	t.Status = status
	return t
}

// seal computes the ETag of the JSON that is about to be sent.
func (t *Tagged[T]) seal(body []byte) {
	if t.ETag == "" && t.version > 0 {
		t.ETag = etag(t.version, body)
	}
}

func etag(version int64, body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(version, 10) + "-" + hex.EncodeToString(sum[:6]) + `"`
}

// IfMatch is embedded in the input of a PATCH or DELETE whose resource has a version.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag that the change is based on; 412 when the resource has moved on."`
}

// Version is the version that the caller based the change on, or nil when they
// do not say or say "*". An If-Match that is not an ETag of ours is refused.
func (m IfMatch) Version() (*int64, error) {
	s := strings.TrimSpace(m.IfMatch)
	if s == "" || s == "*" {
		return nil, nil
	}
	// A compressed answer's ETag has a suffix, and a proxy that compresses makes it
	// weak. The version, which is what we compare, is the same in all of them.
	s = strings.TrimPrefix(s, "W/")
	s, opened := strings.CutPrefix(s, `"`)
	s, closed := strings.CutSuffix(s, `"`)
	number, _, _ := strings.Cut(s, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	if !opened || !closed || err != nil || n == 0 || strings.ContainsAny(s, `",`) {
		var f fault.Fields
		f.Add("header.If-Match", "Send one ETag as this API answered it, or leave it out.")
		return nil, f.Err()
	}
	v := int64(n)
	return &v, nil
}

// List answers one page of a list as a bare array. Make it with Page.
type List[T any] struct {
	Link  string `header:"Link" doc:"The next page, as <url>; rel=\"next\"; absent on the last."`
	Total string `header:"X-Total-Count" doc:"How many match in all, when asked for with total=true."`
	Body  []T
}

// Page answers rows, and the way to the next page unless next is empty.
func Page[T any](ctx context.Context, rows []T, next string) *List[T] {
	l := &List[T]{Body: rows}
	if x := from(ctx); x != nil {
		l.Link = page.Link(x.r.URL, next)
	}
	return l
}

// Of says how many rows match in all.
func (l *List[T]) Of(total int64) *List[T] {
	l.Total = strconv.FormatInt(total, 10)
	return l
}

// Part answers one page of a list as a service returns it.
func Part[T any](ctx context.Context, p page.Part[T]) *List[T] {
	l := Page(ctx, p.Rows, p.Next)
	if p.Total != nil {
		l.Of(*p.Total)
	}
	return l
}

// fill keeps an empty list from being null.
func (l *List[T]) fill() {
	if l.Body == nil {
		l.Body = []T{}
	}
}
