// Package dashboard serves the web dashboard, which is embedded in the binary. The
// source is in this folder. The build output in dist (`make web`) is committed, so
// that `go run` and `go install` do not need Node.
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

// Policy is the Content-Security-Policy for the dashboard. It allows only resources
// from the same origin, and no inline scripts or styles, so that injected text cannot
// run as code.
const Policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// Dashboard serves the built files of the dashboard.
type Dashboard struct {
	files map[string]*file // by path, such as /assets/index-1a2b.js
}

// New returns the embedded dashboard. The page loads its files from below the path base,
// such as "/wardroom", which is empty at the root of the host. New returns an error if the
// binary was built without the dashboard.
func New(base string) (*Dashboard, error) {
	d := &Dashboard{files: map[string]*file{}}
	err := fs.WalkDir(dist, "dist", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		d.files[strings.TrimPrefix(name, "dist")] = newFile(name, base)
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

// Paths returns the sorted paths of the built files, except for the page itself and
// the checksum of the sources.
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

// ServeFile serves the built file at the request's path. If there is no such file, it returns
// false and sends no response. It never falls back to the HTML page, because the browser would
// then report a missing script as a syntax error.
func (d *Dashboard) ServeFile(w http.ResponseWriter, r *http.Request) bool {
	f := d.files[path.Clean(r.URL.Path)]
	if f == nil || r.URL.Path == index {
		return false
	}
	f.serve(w, r)
	return true
}

// ServePage serves the dashboard's page. It ignores the request's path, which the script
// in the page evaluates.
func (d *Dashboard) ServePage(w http.ResponseWriter, r *http.Request) {
	d.files[index].serve(w, r)
}

// file is one built file of the dashboard.
type file struct {
	kind  string
	cache string
	page  bool
	body  func() ([]byte, error) // returns a copy, so that the file does not stay in memory
	made  func() (forms, error)
}

// forms holds a file's ETag and compressed body. The compressed body is nil if
// compression saves too little.
type forms struct {
	etag   string
	packed []byte
}

// newFile returns the file with the given name, such as dist/index.html, in the embedded build.
//
// In the page, it replaces the relative addresses of the build by those below base, because the page
// is also served at deep paths such as /tasks/TASK-1. All other files are the same below every path:
// they refer to each other relative to themselves.
func newFile(name, base string) *file {
	at := strings.TrimPrefix(name, "dist")
	f := &file{
		kind: kinds[path.Ext(at)], page: at == index,
		body: func() ([]byte, error) { return dist.ReadFile(name) },
		// The browser may cache the file, but must revalidate it.
		cache: "no-cache",
	}
	if f.page {
		f.body = func() ([]byte, error) {
			body, err := dist.ReadFile(name)
			return bytes.ReplaceAll(body, []byte(`="./`), []byte(`="`+base+"/")), err
		}
	}
	switch {
	case strings.HasPrefix(at, "/assets/"): // the names contain a hash of the content
		f.cache = "public, max-age=31536000, immutable"
	case f.page:
		f.cache = "no-store" // a cached page would load scripts that no longer exist
	}
	// Each file is read at its first request. Reading all of them at the start would
	// cost time and memory.
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

// kinds maps the file extensions of the built files to content types. The standard
// library's mapping is not used, because it depends on the machine's configuration, which
// may be wrong.
var kinds = map[string]string{
	".css":    "text/css; charset=utf-8",
	".html":   "text/html; charset=utf-8",
	".js":     "text/javascript; charset=utf-8",
	".json":   "application/json",
	".png":    "image/png",
	".sha256": "text/plain; charset=utf-8",
	".svg":    "image/svg+xml",
	".txt":    "text/plain; charset=utf-8",
	".woff2":  "font/woff2",
}

// pack returns body compressed with gzip, or nil if that saves less than a tenth.
func pack(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil // cannot happen with a valid level
	}
	if _, err := z.Write(body); err != nil || z.Close() != nil {
		return nil // cannot happen when writing to memory
	}
	if b.Len() > len(body)*9/10 {
		return nil
	}
	return b.Bytes()
}

// serve sends the file. It sends the compressed body if there is one and the client
// accepts gzip.
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
		http.Error(w, "Couldn't read the dashboard.", http.StatusInternalServerError) // cannot happen: the file is embedded
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
		_, _ = w.Write(body) // fails if the client has disconnected
	}
}

// takesGzip reports whether the client accepts gzip. "gzip;q=0" means that it does not.
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

// has reports whether an If-None-Match header contains the ETag or "*".
func has(list, etag string) bool {
	for given := range strings.SplitSeq(list, ",") {
		if given = strings.TrimSpace(given); given == "*" || strings.TrimPrefix(given, "W/") == etag {
			return true
		}
	}
	return false
}
