package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dashboard "wardroom/web"
)

func open(t *testing.T) *dashboard.Dashboard {
	t.Helper()
	d, err := dashboard.New("")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func get(t *testing.T, h http.HandlerFunc, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r)
	return w
}

// The embedded dashboard must be built from the current sources.
func TestDistIsOfTheseSources(t *testing.T) {
	var names []string
	for _, root := range []string{"compile-hint.ts", "first-load.ts", "font-license.ts", "index.html", "package-lock.json", "package.json", "public", "source-hash.ts", "src", "tsconfig.json", "vite.config.ts"} {
		err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.Contains(name, ".test.") {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		hash.Write([]byte(name + "\x00"))
		hash.Write(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
		hash.Write([]byte{0})
	}
	built, err := os.ReadFile("dist/source.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != strings.TrimSpace(string(built)) {
		t.Errorf("dist was built from other sources (%s, want %s): run `make web` and commit the result", built, got)
	}
}

// Below a path, every file that the page names must be below it, at any depth of the page's own path.
func TestPageBelowPath(t *testing.T) {
	d, err := dashboard.New("/wardroom")
	if err != nil {
		t.Fatal(err)
	}
	html := get(t, d.ServePage, http.MethodGet, "/tasks/TASK-1").Body.String()
	for _, part := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		file, below := strings.CutPrefix(part[1], "/wardroom/")
		if !below {
			t.Errorf("the page names %s", part[1])
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+file, nil)
		if !d.ServeFile(httptest.NewRecorder(), r) {
			t.Errorf("there is no file %s", file)
		}
	}
}

// The page must contain only what its policy allows. Inline scripts and styles, or those
// of another origin, would not work.
func TestPageKeepsItsPolicy(t *testing.T) {
	d := open(t)
	page := get(t, d.ServePage, http.MethodGet, "/tasks")
	html := page.Body.String()
	if csp := page.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %q", csp)
	}
	if got := page.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("the page may be cached: %q", got)
	}
	for what, bad := range map[string]string{
		"a script in the page": `<script>|<script (?:[^s>]|s[^r])*>`, "a style in the page": `<style| style=`,
		"a handler in the page": ` on[a-z]+=`, "another origin": `(?:src|href)="(?:https?:)?//`,
	} {
		if found := regexp.MustCompile(bad).FindString(html); found != "" {
			t.Errorf("%s: %q", what, found)
		}
	}
	for _, asset := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(html, -1) {
		if w := httptest.NewRecorder(); !d.ServeFile(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, asset[1], nil)) {
			t.Errorf("the page loads %s, which does not exist", asset[1])
		}
	}
}

// Browsers do not run scripts or show images with another content type.
func TestEveryFileHasAType(t *testing.T) {
	d := open(t)
	for _, p := range append(d.Paths(), "/index.html") {
		serve := func(w http.ResponseWriter, r *http.Request) { d.ServeFile(w, r) }
		if p == "/index.html" {
			serve = d.ServePage
		}
		got := get(t, serve, http.MethodGet, p).Header().Get("Content-Type")
		if got == "" || strings.HasSuffix(p, ".js") != strings.HasPrefix(got, "text/javascript") {
			t.Errorf("%s is %q", p, got)
		}
	}
}

// Files are compressed and cached for as long as their name allows.
func TestServeFile(t *testing.T) {
	d := open(t)
	serve := func(w http.ResponseWriter, r *http.Request) {
		if !d.ServeFile(w, r) {
			http.NotFound(w, r)
		}
	}
	script := ""
	for _, p := range d.Paths() {
		if strings.HasPrefix(p, "/assets/index-") && strings.HasSuffix(p, ".js") {
			script = p
		}
	}
	plain := get(t, serve, http.MethodGet, script)
	packed := get(t, serve, http.MethodGet, script, "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, plain.Body.Bytes()) {
		t.Errorf("the decompressed body differs from the plain one: %v", err)
	}
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Error("both encodings have the same ETag")
	}
	if got := packed.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("%s: Cache-Control is %q", script, got)
	}
	if got := get(t, serve, http.MethodGet, script, "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"); got != "" {
		t.Errorf("without gzip the encoding is %s", got)
	}
	theme := get(t, serve, http.MethodGet, "/theme.js")
	if got := theme.Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("/theme.js has no hash in its name and Cache-Control %q", got)
	}
	if got := get(t, serve, http.MethodGet, "/theme.js", "If-None-Match", theme.Header().Get("ETag")); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
		t.Errorf("an unchanged file is sent again: %d", got.Code)
	}
	for _, gone := range []string{"/assets/gone.js", "/index.html", "/assets/../../web.go", "/assets/"} {
		if got := get(t, serve, http.MethodGet, gone); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", gone, got.Code)
		}
	}
}

// Without the font of the dashboard's own, each system would draw another one. Its license
// requires that it is distributed beside the font.
func TestFont(t *testing.T) {
	const most = 60_000
	d := open(t)
	serve := func(w http.ResponseWriter, r *http.Request) { d.ServeFile(w, r) }
	page := get(t, d.ServePage, http.MethodGet, "/")
	html := page.Body.String()
	preload := regexp.MustCompile(`<link rel="preload"[^>]* href="(/assets/[^"]+\.woff2)"[^>]*>`).FindStringSubmatch(html)
	if preload == nil || !strings.Contains(preload[0], `as="font"`) || !strings.Contains(preload[0], "crossorigin") {
		t.Fatalf("the page preloads no font: %q", preload)
	}
	font := get(t, serve, http.MethodGet, preload[1])
	if got := font.Header().Get("Content-Type"); got != "font/woff2" || !bytes.HasPrefix(font.Body.Bytes(), []byte("wOF2")) {
		t.Errorf("%s is %q", preload[1], got)
	}
	if got := font.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("%s: Cache-Control is %q", preload[1], got)
	}
	if font.Body.Len() > most {
		t.Errorf("the font is %d bytes, want at most %d", font.Body.Len(), most)
	}
	if csp := page.Header().Get("Content-Security-Policy"); strings.Contains(csp, "font-src") || strings.Contains(csp, "data:") {
		t.Errorf("the policy allows fonts of other origins: %q", csp)
	}
	styles := regexp.MustCompile(`href="(/[^"]+\.css)"`).FindStringSubmatch(html)
	if styles == nil {
		t.Fatal("the page has no style sheet")
	}
	css := get(t, serve, http.MethodGet, styles[1]).Body.String()
	if faces := strings.Count(css, "@font-face"); faces != 1 || !strings.Contains(css, path.Base(preload[1])) || !strings.Contains(css, "font-display:optional") {
		t.Errorf("%s has %d fonts, want 1: the preloaded one, optional", styles[1], faces)
	}
	license := slices.IndexFunc(d.Paths(), func(p string) bool { return strings.HasPrefix(p, "/assets/inter-OFL-") })
	if license < 0 || !strings.Contains(get(t, serve, http.MethodGet, d.Paths()[license]).Body.String(), "SIL OPEN FONT LICENSE") {
		t.Error("the license of the font is missing")
	}
}

// The script and the styles of the first page load must stay within 200 kB as sent,
// without the page's own chunk.
func TestFirstLoad(t *testing.T) {
	const most = 200_000
	d := open(t)
	page := get(t, d.ServePage, http.MethodGet, "/")
	sum := 0
	for _, asset := range regexp.MustCompile(`(?:src|href)="(/[^"]+\.(?:js|css))"`).FindAllStringSubmatch(page.Body.String(), -1) {
		w := get(t, func(w http.ResponseWriter, r *http.Request) { d.ServeFile(w, r) }, http.MethodGet, asset[1], "Accept-Encoding", "gzip")
		t.Logf("%7d bytes %s", w.Body.Len(), asset[1])
		sum += w.Body.Len()
	}
	t.Logf("%7d bytes in all", sum)
	if sum > most || sum == 0 {
		t.Errorf("the first load is %d bytes, want at most %d", sum, most)
	}
}
