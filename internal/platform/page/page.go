// Package page implements cursor pagination.
//
// A cursor holds the position of the last row of a page, not a page number. Rows that
// are added while a client pages through the list therefore cause neither duplicates
// nor gaps.
package page

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"wardroom/internal/platform/fault"
)

// Query holds a request's parameters for paging. Embed it in the input type of a route
// that returns a list.
type Query struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of rows to return."`
	Cursor string `query:"cursor" maxLength:"2000" doc:"Cursor of the page, from the Link header of the previous page."`
}

// Total holds the parameter that requests a row count. Embed it next to Query if the
// list can count its rows.
type Total struct {
	Total bool `query:"total" doc:"Whether to return the number of matching rows in the header X-Total-Count."`
}

// Want describes the page that a caller wants: where it starts, its order, and
// whether to count the rows. The zero Want is the first page in the list's default
// order.
type Want struct {
	Query
	Sort  string // name of a sort order; a leading minus means descending
	Total bool
}

// Part is one page of a list.
type Part[T any] struct {
	Rows  []T
	Next  string // the cursor of the next page; empty on the last
	Total *int64 // number of matching rows, if requested
}

// ErrCursor is the error for a cursor that is invalid or belongs to another list.
var ErrCursor = fault.New(fault.Invalid, "invalid_cursor", "The cursor is not valid for this list.")

// version is the first character of every cursor, so that the format can change.
const version = "1"

// Encode returns the cursor for a row's position. The parts are the row's sort values
// and its ID, as text. Clients must treat the cursor as opaque, but it is not secret.
func Encode(parts ...string) string {
	raw, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always encode
	}
	return version + base64.RawURLEncoding.EncodeToString(raw)
}

// Decode splits a cursor into n parts. It returns nil for the empty cursor, which
// means the start of the list, and ErrCursor for anything that Encode does not
// produce. The parts are client input: parse them and bind them as arguments, and
// never put them into SQL text.
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
		// PostgreSQL rejects NUL in text with an error instead of finding no rows.
		if !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return nil, Refused()
		}
	}
	return parts, nil
}

// Refused returns ErrCursor with the name of the invalid parameter and advice for the client.
// Return this error for a cursor that Decode accepts but that is not a position in the list.
func Refused() error {
	e := ErrCursor.With("Start again without a cursor, or follow the Link header.")
	e.Fields = []fault.Field{{Pointer: "query.cursor", Detail: "The cursor is not valid for this list."}}
	return e
}

// Cut returns the first limit rows and the cursor for the next page, which is empty on the last
// page. The caller must read limit+1 rows, so that Cut can tell whether another page follows.
// position returns the values from which Encode creates the cursor for a row.
func Cut[T any](rows []T, limit int, position func(T) []string) (cut []T, next string) {
	if len(rows) <= limit || limit < 1 {
		return rows, ""
	}
	return rows[:limit], Encode(position(rows[limit-1])...)
}

// Link returns the value of a Link header that points to the page at the given
// cursor. The other query parameters are those of u, the URL of the current page. The
// link omits the host, because the external host name is unknown behind a proxy.
func Link(u *url.URL, cursor string) string {
	if cursor == "" {
		return ""
	}
	q := u.Query()
	q.Set("cursor", cursor)
	next := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}
	return "<" + next.String() + `>; rel="next"`
}
