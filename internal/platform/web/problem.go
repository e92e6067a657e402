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

// Problem is the body of every error (RFC 9457).
type Problem struct {
	_         struct{}      `additionalProperties:"true"`
	Type      string        `json:"type" format:"uri-reference" doc:"Where the failure is explained: the code's place in /api/docs."`
	Title     string        `json:"title" doc:"What went wrong, in one sentence that is always the same for this code."`
	Status    int           `json:"status" doc:"The HTTP status."`
	Detail    string        `json:"detail,omitempty" doc:"What was special this time, and what to do about it."`
	Instance  string        `json:"instance" doc:"The path that was asked for."`
	Code      string        `json:"code" doc:"Stable and for programs: decide by this, never by the texts."`
	RequestID string        `json:"request_id" doc:"Find it in the log; also in X-Request-Id."`
	Errors    []fault.Field `json:"errors,omitempty" doc:"Which inputs were refused."`
}

// docsPath is where our documentation lives.
const docsPath = "/api/docs"

// typeOf is a problem's type: a reference that stays the same on every host,
// is absolute in its path so that clients resolve it alike from anywhere, and
// leads a reader who follows it to the explanation of the code.
func typeOf(code string) string { return docsPath + "#" + code }

// The failures of the edge itself.
var (
	errSignIn      = fault.New(fault.Unauthenticated, "sign_in_required", "This needs a token.").With("Log in and send the token as: Authorization: Bearer <token>.")
	errForbidden   = fault.New(fault.Forbidden, "forbidden", "Your role does not allow this.")
	errNotFound    = fault.New(fault.NotFound, "not_found", "There is nothing at this address.").With("The addresses are in /api/docs.")
	errMethod      = fault.New(fault.Malformed, "method_not_allowed", "This address does not take this method.").With("The Allow header says which it takes.")
	errURL         = fault.New(fault.Malformed, "invalid_url", "The address has parts that are not text.").With("Encode it as UTF-8 without NUL.")
	errJSON        = fault.New(fault.Malformed, "invalid_json", "The body is not JSON that we read.")
	errBodyTimeout = fault.New(fault.Malformed, "body_timeout", "The body did not arrive in time.").With("Send it again.")
	errTooLarge    = fault.New(fault.TooLarge, "too_large", "The body is larger than we read.")
	errMedia       = fault.New(fault.Unsupported, "unsupported_media_type", "The body is not in a format that we read.").With("Send JSON as Content-Type: application/json, in UTF-8.")
	errTimeout     = fault.New(fault.Timeout, "request_timeout", "This took longer than we let a request take.").With("Try again later.")
	errDatabase    = fault.New(fault.Unavailable, "database_unavailable", "The database cannot be used at the moment.").With("Try again in a few seconds.").After(5 * time.Second)
	errInternal    = fault.New(fault.Internal, "internal", "Something went wrong on our side.").With("The log has the reason under this request_id.")
)

// edgeFaults are the failures that any route may answer.
func edgeFaults() []*fault.Error {
	return []*fault.Error{
		errSignIn, errForbidden, errNotFound, errMethod, errURL, errJSON, errBodyTimeout,
		errTooLarge, errMedia, fault.ErrInvalid, errTimeout, errDatabase, errInternal,
	}
}

// statusOf is the only place that turns failures into statuses. Two codes of
// the edge have a status that no feature needs a kind for.
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

// statusGone is what the log says of callers who left before the answer.
const statusGone = 499

// Fail answers err from the handler of a raw route.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	if x := from(r.Context()); x != nil {
		x.fail(err)
		return
	}
	http.Error(w, errInternal.Title, http.StatusInternalServerError) // not behind an API
}

// fail answers err as a problem. What is ours to mend is kept for the log;
// an error that is not a fault shows the caller nothing of its text.
func (x *exchange) fail(err error) {
	f := fault.Of(err)
	if f == nil {
		switch ctx := x.r.Context().Err(); {
		case errors.Is(ctx, context.Canceled) && errors.Is(err, context.Canceled):
			// The caller left. Nobody reads what we write, and nothing is broken.
			x.answered, x.status = true, statusGone
			return
		case errors.Is(ctx, context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded):
			f = errTimeout
		case x.api.opts.Away != nil && x.api.opts.Away(err):
			f, x.damped = errDatabase, true
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
		// Half of another answer is out; the log is all that is left.
		x.err, x.status = errors.Join(x.err, err), status
		return
	}
	body, err := x.problem(f, status)
	x.err = errors.Join(x.err, err)
	h := x.w.Header()
	for _, name := range []string{"ETag", "Location", "Link", "Content-Encoding", "Content-Length"} {
		h.Del(name) // of the answer that was not to be
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
	_, _ = x.w.Write(body) // the caller may have left
}

// problem is the JSON of f. Its facts follow the standard members, by name; a
// fact cannot replace one of those. The error is about facts that do not
// encode, which are left out.
func (x *exchange) problem(f *fault.Error, status int) ([]byte, error) {
	var buf bytes.Buffer
	p := Problem{
		Type: typeOf(f.Code), Title: f.Title, Status: status, Detail: f.Detail,
		Instance: x.r.URL.EscapedPath(), Code: f.Code, RequestID: x.id, Errors: f.Fields,
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

// miss answers what the mux could not route.
func (x *exchange) miss() {
	switch x.w.missed {
	case http.StatusMethodNotAllowed:
		x.fail(errMethod)
	case http.StatusBadRequest:
		x.fail(errURL)
	default: // also for a redirect
		if x.api.pages != nil && wantsPage(x.r) {
			x.route, x.answered = pageRoute(), true
			x.api.pages(x.w, x.r)
			return
		}
		x.fail(errNotFound)
	}
}

// refuse turns huma's own errors, which repeat what was sent, into our
// problems, which do not. It is a transformer because that is the one place
// that all of them pass without replacing huma's package variables.
func refuse(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	c, ok := ctx.(call)
	if !ok {
		return nil, errors.New("web: not a context of ours")
	}
	if m.Status != http.StatusBadRequest && m.Status != http.StatusUnprocessableEntity {
		c.x.fail(errors.New("huma: " + strconv.Itoa(m.Status) + " " + m.Detail))
		return v, nil
	}
	fields := c.x.refused
	for _, d := range m.Errors {
		add(&fields, d)
	}
	slices.SortStableFunc(fields, func(a, b fault.Field) int { return strings.Compare(a.Pointer, b.Pointer) })
	c.x.fail(fields.Err())
	return v, nil
}

// maxFields bounds how many refused inputs a problem names. A body of a
// mebibyte could hold half a million.
const maxFields = 50

// add translates one of huma's errors. What the strict reading already said of
// an input is enough.
func add(fields *fault.Fields, d *huma.ErrorDetail) {
	if d == nil || len(*fields) >= maxFields {
		return
	}
	at, text := d.Location, safe(d.Message)
	if at == "body" || strings.HasPrefix(at, "body.") || strings.HasPrefix(at, "body[") {
		at = pointer(strings.TrimPrefix(at, "body"))
		if p, rest, ok := strings.Cut(text, pointerMark); ok {
			if len(*fields) > 0 {
				return // the strict reading has said it, and where
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

// pointer makes huma's path a JSON pointer: ".items[3].name" is "/items/3/name".
func pointer(path string) string {
	return strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
}

// safe drops what huma appends to some messages: the text of an error that
// quotes what was sent.
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

// sentence makes huma's fragments read like our own texts.
func sentence(s string) string {
	if s == "" {
		return "It was refused."
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
