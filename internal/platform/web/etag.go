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

// Tagged is a response with one resource and its ETag. Create it with Tag.
type Tagged[T any] struct {
	Status   int    // overrides the route's status unless 0
	ETag     string `header:"ETag" doc:"Version and hash of the resource. Send it as If-Match to change this version only."`
	Location string `header:"Location" doc:"Path of the resource, if this request created it."`
	Body     T

	version int64
}

// Tag returns a response with v and its version. The ETag is "<version>-<hash>". If-Match
// compares only the version. The hash covers the whole body, because some fields, such as
// claims, costs and counts, change without a new version. The ETag is computed from the
// response's JSON when the response is written.
func Tag[T any](v T, version int64) *Tagged[T] { return &Tagged[T]{Body: v, version: version} }

// At sets the Location header to the path of the resource, such as
// "/api/v1/tasks/TASK-1".
func (t *Tagged[T]) At(location string) *Tagged[T] {
	t.Location = location
	return t
}

// As sets the status of the response. It overrides the route's status.
func (t *Tagged[T]) As(status int) *Tagged[T] {
	t.Status = status
	return t
}

// seal computes the ETag from the JSON of the body.
func (t *Tagged[T]) seal(body []byte) {
	if t.ETag == "" && t.version > 0 {
		t.ETag = etag(t.version, body)
	}
}

func etag(version int64, body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(version, 10) + "-" + hex.EncodeToString(sum[:6]) + `"`
}

// IfMatch holds the If-Match header. Embed it in the input of a PATCH or DELETE route
// for a versioned resource.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of the version to change. If the resource has changed since, the response is 412."`

	version *int64
}

// Version returns the version in If-Match, or nil if the header is missing or "*".
func (m IfMatch) Version() *int64 { return m.version }

// parse reads the version before the handler runs. It returns an error if the header is not an ETag
// from this API.
func (m *IfMatch) parse() error {
	s := strings.TrimSpace(m.IfMatch)
	if s == "" || s == "*" {
		return nil
	}
	// The ETag of a compressed response has a suffix, and compressing proxies make
	// ETags weak. The version is the same in all of them.
	s = strings.TrimPrefix(s, "W/")
	s, opened := strings.CutPrefix(s, `"`)
	s, closed := strings.CutSuffix(s, `"`)
	number, _, _ := strings.Cut(s, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	if !opened || !closed || err != nil || n == 0 || strings.ContainsAny(s, `",`) {
		var f fault.Fields
		f.Add("header.If-Match", "Send one ETag from a response of this API, or omit the header.")
		return f.Err()
	}
	m.version = new(int64(n))
	return nil
}

// List is a response with one page of a list as an array. Create it with Page.
type List[T any] struct {
	Link  string `header:"Link" doc:"Link to the next page, as <url>; rel=\"next\". Absent on the last page."`
	Total string `header:"X-Total-Count" doc:"Number of matching rows, if requested with total=true."`
	Body  []T
}

// Page returns a response with rows and a link to the next page, if next is not
// empty.
func Page[T any](ctx context.Context, rows []T, next string) *List[T] {
	l := &List[T]{Body: rows}
	if x := from(ctx); x != nil {
		l.Link = page.Link(x.r.URL, next)
	}
	return l
}

// Of sets the total number of matching rows.
func (l *List[T]) Of(total int64) *List[T] {
	l.Total = strconv.FormatInt(total, 10)
	return l
}

// Part converts p, a page of rows from a service, into a response.
func Part[T any](ctx context.Context, p page.Part[T]) *List[T] {
	l := Page(ctx, p.Rows, p.Next)
	if p.Total != nil {
		l.Of(*p.Total)
	}
	return l
}

// fill replaces a nil list with an empty one, so that it is not encoded as null.
func (l *List[T]) fill() {
	if l.Body == nil {
		l.Body = []T{}
	}
}
