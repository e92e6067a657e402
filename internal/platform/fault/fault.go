// Package fault names the ways a request can fail.
//
// A feature declares its failures once, as package variables, and returns them
// wrapped with context. The HTTP edge turns each of them into a problem
// response; whatever is not a fault is answered as "internal", and its text
// stays in the log.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Kind is the broad class of a failure. It decides the HTTP status and nothing else.
type Kind uint8

// The kinds, with the status each becomes.
const (
	Internal        Kind = iota // 500: a bug, or something of ours broke
	Malformed                   // 400: we could not even read what the caller sent
	Unauthenticated             // 401: we do not know who is calling
	Forbidden                   // 403: we know, and they may not
	NotFound                    // 404: it is not there
	Conflict                    // 409: it clashes with the current state
	Stale                       // 412: the caller changed a version that is no longer the current one
	TooLarge                    // 413: more than we read
	Unsupported                 // 415: not in a format that we read
	Invalid                     // 422: we could read it, and cannot accept it
	Throttled                   // 429: too often; see RetryAfter
	Unavailable                 // 503: something we depend on is off or away; try again later
	Timeout                     // 504: something we depend on was slower than its limit
)

// Error is a failure that is safe to show to the caller.
type Error struct {
	Kind       Kind
	Code       string         // stable and machine-readable, such as "task_not_found"
	Title      string         // one sentence, the same every time
	Detail     string         // what was special this time, and what to do about it; may be empty
	Fields     []Field        // which inputs were wrong, when Kind is Invalid
	Facts      map[string]any // further members of the problem, such as the version that is current
	RetryAfter time.Duration  // when it makes sense to try again; zero says nothing
}

// Field is one rejected input.
type Field struct {
	// Pointer is a JSON pointer into the body ("/title"), or names a parameter ("query.limit").
	Pointer string `json:"pointer" doc:"Where: a JSON pointer into the body, or a parameter such as query.limit."`
	Detail  string `json:"detail" doc:"What is wrong with it."`
}

// New returns a failure to be kept in a package variable and compared with errors.Is.
func New(k Kind, code, title string) *Error { return &Error{Kind: k, Code: code, Title: title} }

// With returns a copy of e that tells what was special this time. The copy is
// still e to errors.Is.
func (e *Error) With(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// Fact returns a copy of e whose problem has one more member.
func (e *Error) Fact(name string, value any) *Error {
	c := *e
	c.Facts = maps.Clone(e.Facts)
	if c.Facts == nil {
		c.Facts = map[string]any{}
	}
	c.Facts[name] = value
	return &c
}

// After returns a copy of e that says when to try again.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Is reports whether target is the same failure, whatever its details.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Code
	}
	return e.Code + ": " + e.Detail
}

// Fields collects rejected inputs while a value is checked, so that the caller
// hears of all of them at once. The zero value is ready to use.
type Fields []Field

// Add records that an input was rejected.
func (f *Fields) Add(pointer, format string, args ...any) {
	*f = append(*f, Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// ErrInvalid is the failure that Fields.Err returns.
var ErrInvalid = New(Invalid, "invalid_input", "Some of the input was refused.")

// Err returns nil when nothing was added, else an ErrInvalid that names every field.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	e := ErrInvalid.With("Correct what errors names and send it again.")
	e.Fields = f
	return e
}

// Of finds the fault in err, or nil when there is none.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
