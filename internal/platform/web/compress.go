package web

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

const (
	// compressFrom is the smallest answer, in bytes, that is compressed: a smaller
	// one fits into one packet either way.
	compressFrom = 1024
	// compressLevel costs as much CPU as level 1 and makes answers 6 % larger, but
	// keeps no table of 0.8 MB for each answer in progress (docs/performance.md).
	compressLevel = gzip.StatelessCompression
	// gzipSuffix tells the ETag of a compressed answer from that of a plain one, as
	// RFC 9110 wants of two representations.
	gzipSuffix = "-gzip"
)

// newCompressor returns the wrapper of handlers whose answers may be compressed.
func newCompressor() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.EnableZstd(false),
		gzhttp.MinSize(compressFrom),
		gzhttp.CompressionLevel(compressLevel),
		gzhttp.SuffixETag(gzipSuffix),
		gzhttp.ContentTypeFilter(compressible),
	)
	if err != nil {
		panic(fmt.Errorf("web: the compressor's options: %w", err))
	}
	return wrap
}

// compressible reports whether answers of this type are worth compressing. A
// stream of events is not: each is small, and must not wait for the next.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "application/json", "application/problem+json", "text/plain", "text/csv", "text/html":
		return true
	}
	return false
}

// compressed has h's answers compressed for callers who take gzip. h gets the
// exchange's own writer, as it would without.
func (a *API) compressed(h http.HandlerFunc) http.HandlerFunc {
	packing := a.pack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := from(r.Context())
		plain := x.w.ResponseWriter
		x.w.ResponseWriter = w
		// A panic is answered after the compressor has closed.
		defer func() { x.w.ResponseWriter = plain }()
		h(x.w, r)
	}))
	return func(w http.ResponseWriter, r *http.Request) {
		if !acceptsGzip(r) {
			w.Header().Add("Vary", "Accept-Encoding")
			h(w, r)
			return
		}
		packing(from(r.Context()).w.ResponseWriter, r)
	}
}

// acceptsGzip reports whether r's sender names gzip. The compressor reads the
// header in full; this spares callers who do not name it.
func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		if strings.Contains(line, "gzip") {
			return true
		}
	}
	return false
}

// gzipTag is the ETag of the same answer compressed.
func gzipTag(tag string) string { return strings.TrimSuffix(tag, `"`) + gzipSuffix + `"` }

// holdsSecret reports whether an answer of type t has a field of the format
// "password". Such an answer is never compressed: its length would tell something
// of the secret to whoever can have text of theirs put beside it (BREACH).
func holdsSecret(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsSecret(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return false
		}
		seen[t] = true
		for f := range t.Fields() {
			if f.Tag.Get("format") == "password" || holdsSecret(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
