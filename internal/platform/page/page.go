// Package page cuts long lists into pages.
//
// A page is asked for by the position of its first row, not by its number, so
// that rows which arrive meanwhile neither repeat nor hide others.
package page

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"wardroom/internal/platform/fault"
)

// Query is what a caller may say of the page. Embed it in the input of a list.
type Query struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many to answer at most."`
	Cursor string `query:"cursor" maxLength:"2000" doc:"Where to go on: taken from the Link header of the page before."`
}

// Total is embedded beside Query by lists that can count all their rows.
type Total struct {
	Total bool `query:"total" doc:"Whether to count everything that matches, in the header X-Total-Count."`
}

// Want is what a service is asked for: a page, in which order, and whether to
// count. The zero Want is the beginning, in the list's usual order.
type Want struct {
	Query
	Sort  string // a sort of the list; with a minus before it, downwards
	Total bool
}

// Part is one page of a list.
type Part[T any] struct {
	Rows  []T
	Next  string // the cursor of the next page; empty on the last
	Total *int64 // how many match in all, when that was wanted
}

// ErrCursor refuses a cursor that we did not give out, or that belongs to another list.
var ErrCursor = fault.New(fault.Invalid, "invalid_cursor", "The cursor is not one that this list gave out.")

// version is the first character of every cursor, so that a later format can
// be told from this one.
const version = "1"

// Encode makes a cursor of a row's position: what the list is sorted by, then
// the id, as text. It is opaque to callers, and no secret.
func Encode(parts ...string) string {
	raw, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always encode
	}
	return version + base64.RawURLEncoding.EncodeToString(raw)
}

// Decode reads a cursor of n parts. It answers nil for the empty cursor, which
// is the start of the list, and ErrCursor for anything that Encode does not
// make. The parts come from the caller: parse and bind them, never splice them
// into SQL.
func Decode(cursor string, n int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(cursor, version)
	if !ok {
		return nil, Refused()
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, Refused()
	}
	var parts []string
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != n || Encode(parts...) != cursor {
		return nil, Refused()
	}
	for _, p := range parts {
		// PostgreSQL has no NUL in its texts and would fail instead of finding nothing.
		if !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return nil, Refused()
		}
	}
	return parts, nil
}

// Refused is ErrCursor with what to do about it, for a cursor that decodes and
// still cannot be a position in the list.
func Refused() error {
	e := ErrCursor.With("Start again without a cursor, or follow the Link header.")
	e.Fields = []fault.Field{{Pointer: "query.cursor", Detail: "This list did not give it out."}}
	return e
}

// Cut makes a page of rows, which were fetched with limit+1, and tells the
// cursor of the next page, which is empty on the last. position names the
// parts of a row's position for Encode.
func Cut[T any](rows []T, limit int, position func(T) []string) (cut []T, next string) {
	if len(rows) <= limit || limit < 1 {
		return rows, ""
	}
	return rows[:limit], Encode(position(rows[limit-1])...)
}

// Link is the value of the Link header that leads from the page at u to the
// one at cursor. It keeps every other query parameter, and is relative to the
// host, because behind a proxy we do not know our own name.
func Link(u *url.URL, cursor string) string {
	if cursor == "" {
		return ""
	}
	q := u.Query()
	q.Set("cursor", cursor)
	next := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}
	return "<" + next.String() + `>; rel="next"`
}
