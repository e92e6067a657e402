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
	// compressFrom is the smallest response, in bytes, that is compressed. Smaller ones
	// fit into one packet anyway.
	compressFrom = 1024
	// compressLevel needs as much CPU as level 1 and produces 6% larger responses, but
	// saves a table of 0.8 MB per response in progress (docs/performance.md).
	compressLevel = gzip.StatelessCompression
	// gzipSuffix distinguishes the ETags of compressed and plain responses, as RFC 9110
	// requires for two representations.
	gzipSuffix = "-gzip"
)

// newCompressor returns a wrapper for handlers whose responses can be compressed.
func newCompressor() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.EnableZstd(false),
		gzhttp.MinSize(compressFrom),
		gzhttp.CompressionLevel(compressLevel),
		gzhttp.SuffixETag(gzipSuffix),
		gzhttp.ContentTypeFilter(compressible),
	)
	if err != nil {
		panic(fmt.Errorf("web: invalid compressor options: %w", err))
	}
	return wrap
}

// compressible reports whether responses with this content type are compressed.
// Event streams are not: events are small and must be sent immediately.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "application/json", "application/problem+json", "text/plain", "text/csv", "text/html":
		return true
	}
	return false
}

// compressed returns a handler that compresses the responses of h for clients that accept gzip. The
// writer that h gets still records the response's status.
func (a *API) compressed(h http.HandlerFunc) http.HandlerFunc {
	packing := a.pack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := from(r.Context())
		plain := x.w.ResponseWriter
		x.w.ResponseWriter = w
		// A panic is handled after the compressor has closed.
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

// acceptsGzip reports whether the Accept-Encoding header mentions gzip. If it does not, the
// compressor, which would parse the whole header, need not run.
func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		if strings.Contains(line, "gzip") {
			return true
		}
	}
	return false
}

// gzipETag converts an uncompressed response's ETag to the compressed response's ETag.
func gzipETag(tag string) string { return strings.TrimSuffix(tag, `"`) + gzipSuffix + `"` }

// holdsSecret reports whether a response of type t has a field with the format
// "password". Such responses are never compressed: the length would reveal parts of
// the secret to an attacker who can place text next to it (BREACH).
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
