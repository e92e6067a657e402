package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"wardroom/internal/platform/fault"
)

// Problem is the body of every error response (RFC 9457).
type Problem struct {
	_         struct{}      `additionalProperties:"true"`
	Type      string        `json:"type" format:"uri-reference" doc:"Link to the documentation of this error code."`
	Title     string        `json:"title" doc:"What failed, always the same for this code."`
	Status    int           `json:"status" doc:"HTTP status code."`
	Detail    string        `json:"detail,omitempty" doc:"Details of this error, and what to do about it."`
	Instance  string        `json:"instance" doc:"Path of the request."`
	Code      string        `json:"code" doc:"Stable error code for programs. Do not rely on the texts."`
	RequestID string        `json:"request_id" doc:"ID of the request in the log and in the X-Request-Id header."`
	Errors    []fault.Field `json:"errors,omitempty" doc:"Rejected inputs."`
}

// docsPath is the path of the API documentation.
const docsPath = "/api/docs"

// typeOf returns the type of a problem: the URL path of the code's documentation. It
// contains no host, because the external host name is unknown behind a proxy.
func (a *API) typeOf(code string) string { return a.opts.BasePath + docsPath + "#" + code }

// The faults that this package returns.
var (
	errSignIn = fault.New(fault.Unauthenticated, "sign_in_required", "This request requires a token.").With(
		"Log in and send the token in this header: Authorization: Bearer <token>.",
	)
	errForbidden = fault.New(fault.Forbidden, "forbidden", "Your role does not allow this.")
	errNotFound  = fault.New(fault.NotFound, "not_found", "This path does not exist.").With(
		"See /api/docs for the available paths.",
	)
	errMethod = fault.New(fault.Malformed, "method_not_allowed", "The path does not support this method.").With(
		"The Allow header lists the supported methods.",
	)
	errURL = fault.New(fault.Malformed, "invalid_url", "The URL contains invalid characters.").With(
		"Encode the URL as UTF-8 without NUL characters.",
	)
	errJSON        = fault.New(fault.Malformed, "invalid_json", "The body is not valid JSON.")
	errBodyTimeout = fault.New(fault.Malformed, "body_timeout", "The body did not arrive in time.").With(
		"Send the request again.",
	)
	errTooLarge = fault.New(fault.TooLarge, "too_large", "The body is too large.")
	errMedia    = fault.New(fault.Unsupported, "unsupported_media_type",
		"The format of the body is not supported.").With("Send JSON in UTF-8 with Content-Type: application/json.")
	errTimeout  = fault.New(fault.Timeout, "request_timeout", "The request took too long.").With("Try again later.")
	errDatabase = fault.New(fault.Unavailable, "database_unavailable",
		"The database is unavailable.").With("Try again in a few seconds.").After(5 * time.Second)
	errInternal = fault.New(fault.Internal, "internal", "Wardroom failed to handle the request.").With(
		"Search Wardroom's log for this request_id.",
	)
)

// commonFaults returns the faults that any route can return.
func commonFaults() []*fault.Error {
	return []*fault.Error{
		errSignIn, errForbidden, errNotFound, errMethod, errURL, errJSON, errBodyTimeout,
		errTooLarge, errMedia, fault.ErrInvalid, errTimeout, errDatabase, errInternal,
	}
}

// statusOf maps a fault to its HTTP status. Two of this package's codes have their
// own status, regardless of their kind.
func statusOf(f *fault.Error) int {
	switch f.Code {
	case errMethod.Code:
		return http.StatusMethodNotAllowed
	case errBodyTimeout.Code:
		return http.StatusRequestTimeout
	}
	switch f.Kind {
	case fault.Malformed:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Stale:
		return http.StatusPreconditionFailed
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unsupported:
		return http.StatusUnsupportedMediaType
	case fault.Invalid:
		return http.StatusUnprocessableEntity
	case fault.Throttled:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// statusGone is the status that is logged if the client disconnected before the
// response was sent.
const statusGone = 499

// Fail responds with err. Handlers of raw routes use it to report errors.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if x := from(r.Context()); x != nil {
		x.fail(err)
		return
	}
	http.Error(w, errInternal.Title, http.StatusInternalServerError) // not called within an API
}

// fail responds with err as a problem. It keeps server errors for the log. The client
// never sees the text of an error that is not a fault.
func (x *exchange) fail(err error) {
	f := fault.Of(err)
	if f == nil {
		switch ctx := x.r.Context().Err(); {
		case errors.Is(ctx, context.Canceled) && errors.Is(err, context.Canceled):
			// The client disconnected, which is not an error.
			x.answered, x.status = true, statusGone
			return
		case errors.Is(ctx, context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded):
			f = errTimeout
		case x.api.opts.DB.Away("requests", err):
			f, x.loggedElsewhere = errDatabase, true
		default:
			f = errInternal
		}
	}
	status := statusOf(f)
	if status >= http.StatusInternalServerError {
		x.err = errors.Join(x.err, err)
	}
	x.answered = true
	if x.w.status != 0 {
		// Part of another response was sent, so the error can only be logged.
		x.err, x.status = errors.Join(x.err, err), status
		return
	}
	body, err := x.problem(f, status)
	x.err = errors.Join(x.err, err)
	h := x.w.Header()
	for _, name := range []string{"ETag", "Location", "Link", "Content-Encoding", "Content-Length"} {
		h.Del(name) // set for the response that failed
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(f.RetryAfter.Seconds()), 'f', 0, 64))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client may have disconnected
}

// problem encodes f as JSON. The standard members come first, followed by f's facts
// sorted by name. A fact cannot replace a standard member. Facts that cannot be encoded
// are left out and reported in the error.
func (x *exchange) problem(f *fault.Error, status int) ([]byte, error) {
	var buf bytes.Buffer
	p := Problem{
		Type: x.api.typeOf(f.Code), Title: f.Title, Status: status, Detail: f.Detail,
		Instance: x.api.opts.BasePath + x.r.URL.EscapedPath(), Code: f.Code, RequestID: x.id, Errors: f.Fields,
	}
	if err := marshal(&buf, p); err != nil {
		return nil, err
	}
	buf.Truncate(buf.Len() - 2) // "}\n"
	var failed error
	for _, name := range slices.Sorted(maps.Keys(f.Facts)) {
		switch name {
		case "type", "title", "status", "detail", "instance", "code", "request_id", "errors":
			continue
		}
		v, err := json.Marshal(f.Facts[name])
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		buf.WriteString(`,` + strconv.Quote(name) + `:`)
		buf.Write(v)
	}
	buf.WriteString("}\n")
	return buf.Bytes(), failed
}

// unmatched responds to a request that the mux did not route.
func (x *exchange) unmatched() {
	switch x.w.missed {
	case http.StatusMethodNotAllowed:
		x.fail(errMethod)
	case http.StatusBadRequest:
		x.fail(errURL)
	default: // including redirects
		if x.api.pages != nil && wantsPage(x.r) {
			x.route, x.answered = pageRoute(), true
			x.api.pages(x.w, x.r)
			return
		}
		x.fail(errNotFound)
	}
}

// convertError converts huma's errors to problems, because huma's errors quote the
// input. It is a huma transformer, which receives all of huma's errors, so there is no
// need to replace package variables such as huma.NewError.
func convertError(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	c, ok := ctx.(call)
	if !ok {
		return nil, errors.New("web: unexpected context type")
	}
	if m.Status != http.StatusBadRequest && m.Status != http.StatusUnprocessableEntity {
		c.x.fail(errors.New("huma: " + strconv.Itoa(m.Status) + " " + m.Detail))
		return v, nil
	}
	fields := c.x.refused
	for _, d := range m.Errors {
		addDetail(&fields, d)
	}
	slices.SortStableFunc(fields, func(a, b fault.Field) int { return strings.Compare(a.Pointer, b.Pointer) })
	c.x.fail(fields.Err())
	return v, nil
}

// maxFields is the maximum number of rejected inputs that a problem lists. A 1 MiB
// body could contain half a million of them.
const maxFields = 50

// addDetail adds one of huma's errors to fields, unless Wardroom's own checks have
// already rejected the same input.
func addDetail(fields *fault.Fields, d *huma.ErrorDetail) {
	if d == nil || len(*fields) >= maxFields {
		return
	}
	at, text := d.Location, safe(d.Message)
	if at == "body" || strings.HasPrefix(at, "body.") || strings.HasPrefix(at, "body[") {
		at = pointer(strings.TrimPrefix(at, "body"))
		if p, rest, ok := strings.Cut(text, pointerMark); ok {
			if len(*fields) > 0 {
				return // the strict checks have reported it with its position
			}
			at, text = p, rest
		}
		if name, ok := cutBoth(text, "expected required property ", " to be present"); ok {
			at, text = at+"/"+name, "It is required."
		}
	}
	for _, f := range *fields {
		if f.Pointer == at || (text == validation.MsgUnexpectedProperty && strings.HasPrefix(f.Pointer, "/")) {
			return
		}
	}
	fields.Add(at, "%s", sentence(text))
}

// pointer converts huma's path to a JSON pointer: ".items[3].name" becomes
// "/items/3/name".
func pointer(path string) string {
	return strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
}

// safe removes the part of huma's message that quotes the input.
func safe(message string) string {
	for _, m := range []string{
		validation.MsgExpectedRFC5322Email, validation.MsgExpectedRFC3986URI, validation.MsgExpectedRFC4122UUID,
		validation.MsgExpectedRegexp, validation.MsgExpectedDuration, "invalid value: %v",
	} {
		if p := strings.TrimSuffix(m, ": %v"); strings.HasPrefix(message, p) {
			return p
		}
	}
	return message
}

// sentence turns a message fragment from huma into a sentence.
func sentence(s string) string {
	if s == "" {
		return "It was rejected."
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

func cutBoth(s, prefix, suffix string) (string, bool) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, suffix)
}
