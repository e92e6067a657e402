package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
)

// shape describes the fields of an output type.
type shape struct {
	status  []int // field index; nil if the type has no such field
	body    []int
	stream  bool // Body is a func(huma.Context) that writes the response
	headers []header
}

type header struct {
	name  string
	index []int
}

// shapeOf returns the shape of an output type. It panics if the type is not a valid
// output.
func shapeOf(r *route, t reflect.Type) *shape {
	s := &shape{}
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("header")
		switch {
		case !f.IsExported() || f.Anonymous:
		case f.Name == "Status":
			s.status = f.Index
		case f.Name == "Body":
			s.body, s.stream = f.Index, f.Type.Kind() == reflect.Func
		case name == "":
			panic(fmt.Sprintf("web: %s %s: %s.%s is neither Status nor Body, and is not tagged as a header", r.Method, r.Path, t,
				f.Name))
		case f.Type.Kind() != reflect.String && !f.Type.ConvertibleTo(reflect.TypeFor[int64]()):
			panic(fmt.Sprintf("web: %s %s: header %s is neither a string nor a number", r.Method, r.Path, name))
		default:
			s.headers = append(s.headers, header{name, f.Index})
		}
	}
	return s
}

// answer sends a route's output. The out parameter points to the output, and s is its shape. The
// body is encoded first, so that the client gets a problem and not a partial response if the
// encoding fails.
func (x *exchange) answer(s *shape, out any) {
	v := reflect.ValueOf(out).Elem()
	status := x.route.op.DefaultStatus
	if s.status != nil {
		if n := v.FieldByIndex(s.status).Int(); n != 0 {
			status = int(n)
		}
	}
	var body *bytes.Buffer
	h := x.w.Header()
	if s.body != nil && status != http.StatusNoContent && status != http.StatusNotModified {
		if l, ok := out.(interface{ fill() }); ok {
			l.fill()
		}
		body = x.api.getBuffer()
		defer x.api.putBuffer(body)
		if err := encodeBody(body, out, v.FieldByIndex(s.body)); err != nil {
			x.fail(fmt.Errorf("encode response: %w", err))
			return
		}
		if t, ok := out.(interface{ seal([]byte) }); ok {
			t.seal(body.Bytes())
		}
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(body.Len()))
	}
	for _, f := range s.headers {
		switch v := v.FieldByIndex(f.index); {
		case v.IsZero():
		case v.Kind() == reflect.String:
			h.Set(f.name, v.String())
		default:
			h.Set(f.name, strconv.FormatInt(v.Convert(reflect.TypeFor[int64]()).Int(), 10))
		}
	}
	x.answered = true
	if held := x.matchingETag(h.Get("ETag"), true); status == http.StatusOK && held != "" {
		// Remove the headers of the body, keep those of the resource.
		h.Del("Content-Type")
		h.Del("Content-Length")
		h.Set("ETag", held)
		status, body = http.StatusNotModified, nil
	}
	x.w.WriteHeader(status)
	if body != nil {
		_, _ = x.w.Write(body.Bytes()) // the client may have disconnected
	}
}

// marshal writes v as one line of JSON. It does not escape angle brackets, because the
// escapes would make Markdown longer. This is safe because responses are never embedded
// in a page and have the nosniff header.
func marshal(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func newBuffer() any { return new(bytes.Buffer) }

func (a *API) getBuffer() *bytes.Buffer {
	b, _ := a.buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

// keptBuffer is the maximum size in bytes of a buffer that is kept for reuse. A page
// of a hundred tasks fits into it. Larger buffers are dropped.
const keptBuffer = 256 << 10

// putBuffer keeps a buffer for reuse, unless it is larger than keptBuffer.
func (a *API) putBuffer(b *bytes.Buffer) {
	if b.Cap() <= keptBuffer {
		a.buffers.Put(b)
	}
}
