package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wardroom/internal/platform/web"
)

// nowhere discards a response.
type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

// BenchmarkEdge measures the cost of a request without the socket and the handler.
func BenchmarkEdge(b *testing.B) {
	// Log lines are formatted, as in production, and discarded.
	var sink struct{ io.Writer }
	sink.Writer = io.Discard
	s := newToys(b, func(o *web.Options) { o.Log = slog.New(slog.NewJSONHandler(sink, nil)) })
	h := s.Handler()
	run := func(name, method, url, body string) {
		b.Run(name, func(b *testing.B) {
			req := httptest.NewRequestWithContext(b.Context(), method, url, nil)
			req.Header.Set("Authorization", "Bearer owner")
			r := strings.NewReader(body)
			w := &nowhere{h: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				if body != "" {
					r.Reset(body)
					req.Body, req.ContentLength = io.NopCloser(r), int64(len(body))
				}
				clear(w.h)
				h.ServeHTTP(w, req)
			}
		})
	}
	run("health", "GET", "/health", "")
	run("get", "GET", "/api/v1/toys/7", "")
	run("list", "GET", "/api/v1/toys?limit=2", "")
	run("post", "POST", "/api/v1/toys", `{"name":"ball","kind":"ball","size":7,"tags":["a","b"]}`)
	run("refused", "POST", "/api/v1/toys", `{"name":""}`)
}

func BenchmarkCheckJSON(b *testing.B) {
	data := []byte(`{"name":"ball","kind":"ball","size":7,"tags":["a","b"],"text":"` + strings.Repeat("word ", 200) + `"}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := web.CheckJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}
