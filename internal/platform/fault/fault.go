// Package fault defines errors that can be shown to API clients.
//
// A feature declares its faults as package variables and returns them wrapped with
// context. The package web converts each fault to a problem response. It reports
// every other error with the code "internal"; the text of such an error appears only
// in the log.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Kind is the class of a fault. It determines only the HTTP status of the response.
type Kind uint8

// The kinds of faults, with their HTTP status.
const (
	Internal        Kind = iota // 500: a bug or a failure in Wardroom
	Malformed                   // 400: the request cannot be parsed
	Unauthenticated             // 401: the caller is not authenticated
	Forbidden                   // 403: the caller is known but lacks permission
	NotFound                    // 404: the resource does not exist
	Conflict                    // 409: the request conflicts with the current state
	Stale                       // 412: the change is based on an outdated version
	TooLarge                    // 413: the request is too large
	Unsupported                 // 415: the format is not supported
	Invalid                     // 422: the request can be parsed but its values are invalid
	Throttled                   // 429: too many requests; see RetryAfter
	Unavailable                 // 503: a dependency is unavailable; try again later
	Timeout                     // 504: a dependency timed out
)

// Error is an error that is safe to show to the client.
type Error struct {
	Kind       Kind
	Code       string         // stable and machine-readable, such as "task_not_found"
	Title      string         // one sentence, always the same for this code
	Detail     string         // specifics of this occurrence and what to do; may be empty
	Fields     []Field        // rejected inputs, if Kind is Invalid
	Facts      map[string]any // extra members of the problem, such as the current version
	RetryAfter time.Duration  // when to try again; zero if unknown
}

// Field describes an input field that was rejected.
type Field struct {
	// Pointer is a JSON pointer into the body ("/title"), or the name of a
	// parameter ("query.limit").
	Pointer string `json:"pointer" doc:"JSON pointer into the body, or a parameter such as query.limit."`
	Detail  string `json:"detail" doc:"Why the input was rejected."`
}

// New returns a fault that is meant to be stored in a package variable. Use errors.Is
// to compare errors with it.
func New(k Kind, code, title string) *Error { return &Error{Kind: k, Code: code, Title: title} }

// With returns a copy of e with details about the current case. errors.Is still
// reports that the copy matches e.
func (e *Error) With(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// Fact returns a copy of e with an additional member for the problem response.
func (e *Error) Fact(name string, value any) *Error {
	c := *e
	c.Facts = maps.Clone(e.Facts)
	if c.Facts == nil {
		c.Facts = map[string]any{}
	}
	c.Facts[name] = value
	return &c
}

// Unless returns nil if no version is given or it is the current one. Otherwise it returns e with the
// current version. The name says what has changed, such as "task".
func (e *Error) Unless(version *int64, current int64, name string) error {
	if version == nil || *version == current {
		return nil
	}
	return e.With("The %s is now at version %d. Read it again and retry the change.", name,
		current).Fact("current_version", current)
}

// After returns a copy of e that tells the client how long to wait before a retry.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Is reports whether target has the same code as e. It ignores all other fields.
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

// Fields collects rejected inputs, so that the client sees all of them at once. The
// zero value is ready to use.
type Fields []Field

// Add adds a rejected input and the reason for its rejection.
func (f *Fields) Add(pointer, format string, args ...any) {
	*f = append(*f, Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// ErrInvalid is the fault that Fields.Err returns.
var ErrInvalid = New(Invalid, "invalid_input", "Some of the input is invalid.")

// Err returns nil if f is empty. Otherwise it returns ErrInvalid with all fields.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	e := ErrInvalid.With("Correct the inputs listed under \"errors\" and try again.")
	e.Fields = f
	return e
}

// Of returns the fault in err's chain, or nil if the chain contains none.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
