package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// readBody reads the body of a route that has one, and checks everything about
// it that does not need the input's Go type.
func (x *exchange) readBody() error {
	want := x.route.op.RequestBody
	if want == nil {
		return nil
	}
	limit := x.api.opts.MaxBody
	if x.r.ContentLength > limit {
		return x.tooLarge(0)
	}
	x.body = x.api.getBuffer()
	n, err := x.body.ReadFrom(io.LimitReader(x.r.Body, limit+1))
	switch {
	case n > limit:
		return x.tooLarge(n)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errBodyTimeout
	case err != nil:
		return errJSON.With("The body ended early or was cut wrongly.")
	}
	if x.r.ContentLength != 0 {
		// The deadline was for the body. Left in place it would end the context
		// of a request that waits.
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
	}
	data := bytes.TrimLeft(x.body.Bytes(), " \t\r\n")
	if len(data) == 0 {
		x.body.Reset()
		if want.Required {
			return errJSON.With("The body is empty.")
		}
		return nil
	}
	if t := x.r.Header.Get("Content-Type"); !isJSON(t) || t == "" && foreign(x.r) {
		return errMedia
	}
	s := scanner{data: x.body.Bytes(), registry: x.api.huma.OpenAPI().Components.Schemas}
	if err := s.document(want.Content["application/json"].Schema); err != nil {
		return err
	}
	x.refused = append(x.refused, s.fields...)
	return nil
}

// mostDiscarded is how much of a body that is too large is read all the same, in
// bytes with what was read before. Most clients send all of a body before they
// look for an answer, and would find a broken connection in its place.
const mostDiscarded = 8 << 20

// tooLarge is the failure of a body of which read bytes were read. It reads the
// rest and throws it away. The connection closes when there is too much of that, or
// it takes too long. Who waits for a word before they send gets the answer instead.
func (x *exchange) tooLarge(read int64) error {
	waits := read == 0 && strings.EqualFold(x.r.Header.Get("Expect"), "100-continue")
	if !waits && x.r.ContentLength <= mostDiscarded {
		if _, err := io.CopyN(io.Discard, x.r.Body, mostDiscarded-read+1); errors.Is(err, io.EOF) {
			return x.oversize()
		}
	}
	x.w.Header().Set("Connection", "close")
	return x.oversize()
}

func (x *exchange) oversize() error {
	limit := x.api.opts.MaxBody
	return errTooLarge.With("At most %d bytes are read.", limit).Fact("limit", limit)
}

// foreign says whether a page of another site sent a request. A body without a type
// needs no leave of ours to be sent from there; one that is called JSON does.
func foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// isJSON accepts JSON under its own name and under those of formats made of
// it, such as application/merge-patch+json. A body that says nothing is taken
// for JSON.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return true
	}
	t, params, err := mime.ParseMediaType(contentType)
	if err != nil || (t != "application/json" && !strings.HasSuffix(t, "+json")) {
		return false
	}
	c, ok := params["charset"]
	return !ok || strings.EqualFold(c, "utf-8")
}

// pointerMark parts a pointer from the text in the errors that unmarshal
// returns, because huma passes on nothing but their text.
const pointerMark = "\x00"

// unmarshal reads JSON that the scanner has accepted. Its errors never repeat
// a value.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, text := "", "It does not fit here."
		if e.Field != "" {
			at = "/" + strings.ReplaceAll(e.Field, ".", "/")
		}
		if strings.HasPrefix(e.Value, "number") {
			text = "The number is out of range."
		}
		return errors.New(at + pointerMark + text)
	}
	return errors.New(pointerMark + "A value in it could not be read.")
}

// CheckJSON reports whether data is JSON as we read it: RFC 8259, and beyond
// that valid UTF-8, no NUL and no half of a surrogate pair in a string, no key
// twice in an object, not deeper than maxDepth, nothing after it. The fault
// says where and what, and never repeats a value.
func CheckJSON(data []byte) error {
	s := scanner{data: data}
	return s.document(nil)
}
