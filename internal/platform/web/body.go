package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/plaintext"
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
	start, err := plainBody(x.r.Header, x.body.Bytes())
	if err != nil {
		return err
	}
	x.body.Next(start)
	data := bytes.TrimLeft(x.body.Bytes(), " \t\r\n")
	if len(data) == 0 {
		x.body.Reset()
		if want.Required {
			return errJSON.With("The body is empty.")
		}
		return nil
	}
	t := x.r.Header.Get("Content-Type")
	if wrong := notJSON(t); wrong != "" {
		return errMedia.With("The body is %s. Send JSON in UTF-8 with Content-Type: application/json.", wrong)
	}
	if t == "" && foreign(x.r) {
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

// notJSON names the format of a body if its content type is not JSON in UTF-8, and returns "" otherwise. Types based on
// application/json, such as application/merge-patch+json, and a missing type count as JSON.
func notJSON(contentType string) string {
	if contentType == "" || contentType == "application/json" {
		return ""
	}
	t, params, err := mime.ParseMediaType(contentType)
	if err != nil || t != "application/json" && !strings.HasSuffix(t, "+json") {
		return "of the type " + shorten(plaintext.Line(contentType))
	}
	// All ASCII is UTF-8.
	if c, ok := params["charset"]; ok && !slices.Contains([]string{"utf-8", "utf8", "us-ascii"}, strings.ToLower(c)) {
		return "in the character encoding " + shorten(plaintext.Line(c))
	}
	return ""
}

// plainBody returns where a body begins, which is after the byte order mark that some editors write. If the body is
// not plain UTF-8, the error names its encoding: the one in the Content-Encoding header, or the one that its first
// bytes show.
func plainBody(h http.Header, body []byte) (start int, err error) {
	name := plaintext.Line(strings.Join(h.Values("Content-Encoding"), ", "))
	if name != "" && !strings.EqualFold(name, "identity") {
		return 0, errMedia.With(
			"The body has the Content-Encoding %s, which Wardroom does not read. Send it without an encoding.", shorten(name),
		)
	}
	for _, e := range []struct{ start, name string }{
		{"\x1f\x8b", "gzip"},
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"},
		{"{\x00", "UTF-16"},
		{"\x00{", "UTF-16"},
	} {
		if bytes.HasPrefix(body, []byte(e.start)) {
			return 0, errMedia.With("The body is encoded as %s. Send JSON in UTF-8, without compression.", e.name)
		}
	}
	if bytes.HasPrefix(body, []byte(byteOrderMark)) {
		start = len(byteOrderMark)
	}
	return start, nil
}

// rawBody makes the checks of plainBody for a raw route, whose handler reads the body itself.
func (x *exchange) rawBody() error {
	if x.r.Method != http.MethodPost {
		return nil
	}
	body := bufio.NewReader(x.r.Body)
	head, err := body.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil // the handler gets the same error
	}
	start, err := plainBody(x.r.Header, head)
	if err != nil {
		return err
	}
	_, _ = body.Discard(start) // it was read already
	x.r.Body = struct {
		io.Reader
		io.Closer
	}{body, x.r.Body}
	return nil
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
