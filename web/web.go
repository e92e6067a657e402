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
	"mime"
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

// New reads what was built. It fails when the binary was made without it.
func New() (*Dashboard, error) {
	d := &Dashboard{files: map[string]*file{}}
	err := fs.WalkDir(dist, "dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(name, "dist")
		d.files[at] = newFile(at, body)
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
	kind   string
	etag   string
	cache  string
	page   bool
	body   []byte
	packed func() []byte // nil when that is not smaller
}

func newFile(at string, body []byte) *file {
	sum := sha256.Sum256(body)
	f := &file{
		kind: mime.TypeByExtension(path.Ext(at)), body: body, page: at == index,
		etag: base64.RawURLEncoding.EncodeToString(sum[:12]),
		// It may be kept, and is asked for each time.
		cache: "no-cache",
	}
	switch {
	case strings.HasPrefix(at, "/assets/"): // their names have a hash of what is in them
		f.cache = "public, max-age=31536000, immutable"
	case f.page:
		f.cache = "no-store" // a page of yesterday asks for scripts that are gone
	}
	// Once for each file, when somebody asks for it: a program that only migrates
	// need not do it.
	f.packed = sync.OnceValue(func() []byte { return pack(body) })
	return f
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
	body, etag := f.body, `"`+f.etag+`"`
	h.Add("Vary", "Accept-Encoding")
	if packed := f.packed(); packed != nil && takesGzip(r) {
		body, etag = packed, `"`+f.etag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
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
