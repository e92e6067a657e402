// Package dashboard is the web application that the binary carries: what a
// person opens in the morning. Its source is beside this file; dist is what
// `make web` built of it, committed so that neither `go run` nor `go install`
// needs Node.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Policy is what a page of the dashboard may do: load from its own origin, and
// nothing else. No script and no style stands in the page itself, so that text
// which gets into it by mistake cannot run.
const Policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// Dashboard serves the built files.
type Dashboard struct {
	files map[string]*file // by path, such as /assets/index-1a2b.js
}

// New lists what was built. It fails when the binary was made without it.
func New() (*Dashboard, error) {
	d := &Dashboard{files: map[string]*file{}}
	err := fs.WalkDir(dist, "dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		d.files[strings.TrimPrefix(name, "dist")] = newFile(name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	if d.files[index] == nil {
		return nil, fmt.Errorf("the dashboard has no %s: build it with `make web`", index)
	}
	return d, nil
}

const index = "/index.html"

// Paths are those of the built files, but for the page itself and the note of
// its sources, which nobody needs.
func (d *Dashboard) Paths() []string {
	var ps []string
	for p := range d.files {
		if p != index && p != "/source.sha256" {
			ps = append(ps, p)
		}
	}
	slices.Sort(ps)
	return ps
}

// ServeFile answers the file at the path of the request, or 404 without a page:
// a missing script that is answered with HTML is told as a syntax error.
func (d *Dashboard) ServeFile(w http.ResponseWriter, r *http.Request) bool {
	f := d.files[path.Clean(r.URL.Path)]
	if f == nil || r.URL.Path == index {
		return false
	}
	f.serve(w, r)
	return true
}

// ServePage answers the page of the application, whichever of its places the
// address names; the application finds that out.
func (d *Dashboard) ServePage(w http.ResponseWriter, r *http.Request) {
	d.files[index].serve(w, r)
}

// file is one built file.
type file struct {
	kind  string
	cache string
	page  bool
	body  func() ([]byte, error) // a copy: what is embedded stays in the program's file
	made  func() (forms, error)
}

// forms are a file's ETag, and its compressed body, which is nil when that is not
// smaller.
type forms struct {
	etag   string
	packed []byte
}

func newFile(name string) *file {
	at := strings.TrimPrefix(name, "dist")
	f := &file{
		kind: kinds[path.Ext(at)], page: at == index,
		body: func() ([]byte, error) { return dist.ReadFile(name) },
		// It may be kept, and is asked for each time.
		cache: "no-cache",
	}
	switch {
	case strings.HasPrefix(at, "/assets/"): // their names have a hash of what is in them
		f.cache = "public, max-age=31536000, immutable"
	case f.page:
		f.cache = "no-store" // a page of yesterday asks for scripts that are gone
	}
	// Once for each file, when somebody asks for it: reading all of them at the start
	// costs time and memory, and a program that only migrates needs none.
	f.made = sync.OnceValues(func() (forms, error) {
		body, err := f.body()
		if err != nil {
			return forms{}, err
		}
		sum := sha256.Sum256(body)
		return forms{base64.RawURLEncoding.EncodeToString(sum[:12]), pack(body)}, nil
	})
	return f
}

// kinds are the types of what a build writes. The standard library would read the
// machine's own tables, at every start, and believe them.
var kinds = map[string]string{
	".css":    "text/css; charset=utf-8",
	".html":   "text/html; charset=utf-8",
	".js":     "text/javascript; charset=utf-8",
	".json":   "application/json",
	".png":    "image/png",
	".sha256": "text/plain; charset=utf-8",
	".svg":    "image/svg+xml",
	".woff2":  "font/woff2",
}

// pack compresses, or returns nil when that saves nothing worth it.
func pack(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil // not with that level
	}
	if _, err := z.Write(body); err != nil || z.Close() != nil {
		return nil // not into memory
	}
	if b.Len() > len(body)*9/10 {
		return nil
	}
	return b.Bytes()
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	made, err := f.made()
	body, etag := made.packed, `"`+made.etag+`-gzip"`
	h.Add("Vary", "Accept-Encoding")
	if body != nil && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
	} else if err == nil {
		etag = `"` + made.etag + `"`
		body, err = f.body()
	}
	if err != nil {
		http.Error(w, "The dashboard cannot be read.", http.StatusInternalServerError) // it is in the program itself
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", f.cache)
	h.Set("ETag", etag)
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !f.page && has(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may have left
	}
}

// takesGzip reads Accept-Encoding; "gzip;q=0" says no.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			v, err := strconv.ParseFloat(q, 64)
			return !found || (err == nil && v > 0)
		}
	}
	return false
}

func has(list, etag string) bool {
	for given := range strings.SplitSeq(list, ",") {
		if given = strings.TrimSpace(given); given == "*" || strings.TrimPrefix(given, "W/") == etag {
			return true
		}
	}
	return false
}
