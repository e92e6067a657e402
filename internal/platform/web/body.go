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

// readBody reads the body, if the route has one, and performs all checks that do not
// need the input's Go type.
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
		return errJSON.With("The body ended early or is malformed.")
	}
	if x.r.ContentLength != 0 {
		// The deadline was for the body. If it stayed, it would end the context of a
		// request whose handler waits longer.
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

// mostDiscarded is the maximum number of bytes that are read from a body that is too
// large. The body is read because most clients send all of it before they read the
// response. If the connection closed earlier, they would not see the response.
const mostDiscarded = 8 << 20

// tooLarge discards the rest of a body that is too large, then returns the error for the client.
// The caller passes the number of bytes that it has already read. If the rest is too long or
// arrives too slowly, the connection is closed. A client that waits for 100 Continue gets the
// response without sending the body.
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
	return errTooLarge.With("The limit is %d bytes.", limit).Fact("limit", limit)
}

// foreign reports whether a page from another website sent the request. A browser
// lets such a page send a body without a content type, but sends a body declared as
// JSON only if the server permits it.
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

// isJSON reports whether a content type is application/json or based on it, such as
// application/merge-patch+json. A missing type counts as JSON.
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

// pointerMark separates the JSON pointer from the message in the text of unmarshal's
// errors, because huma passes on only the text.
const pointerMark = "\x00"

// unmarshal decodes JSON that a scanner has already validated. Its errors never quote
// a value.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, text := "", "It has the wrong type."
		if e.Field != "" {
			at = "/" + strings.ReplaceAll(e.Field, ".", "/")
		}
		if strings.HasPrefix(e.Value, "number") {
			text = "The number is out of range."
		}
		return errors.New(at + pointerMark + text)
	}
	return errors.New(pointerMark + "It contains a value that cannot be parsed.")
}
