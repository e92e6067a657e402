package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// long is a text that compresses well.
var long = strings.Repeat("The nightly run says that it has read everything. ", 200)

// packed is the toy API with responses that are long enough to be compressed.
type packed struct {
	*toys
	url  string
	read int           // how often the list with an ETag was read
	more chan struct{} // lets the text and the stream continue
}

func newPacked(t *testing.T) *packed {
	t.Helper()
	s := &packed{toys: newToys(t), more: make(chan struct{})}
	web.Get(s.API, "/long/{id}", actor.Read, "Get a long toy", func(_ context.Context, in *ToyInput) (*web.Tagged[toy], error) {
		switch in.ID {
		case "panics":
			panic("boom")
		case "unencodable":
			return web.Tag(toy{ID: long, Holder: &holder{Name: unencodable}}, 1), nil
		case "refused":
			return nil, errNoToy.With("%s", long)
		}
		return web.Tag(toy{ID: in.ID, Name: long, Tags: []string{}}, 3), nil
	}, web.Fails(errNoToy))
	web.Get(s.API, "/marked", actor.Read, "List the long toys", func(ctx context.Context, _ *struct{}) (*web.Marked[toy], error) {
		s.read++
		return web.Page(ctx, []toy{{ID: "1", Name: long}}, "").Marked(ctx), nil
	}, web.Unchanged(func(context.Context) (string, error) { return "mark", nil }))
	web.Post(s.API, "/keys", actor.Read, "Make a key", func(context.Context, *struct{}) (*wrap[issued], error) {
		return &wrap[issued]{issued{Name: long, Secret: "wrk_secret"}}, nil
	})
	web.Text(s.API, "/text", actor.Read, "Read a text", func(ctx context.Context, _ *struct{}) (web.Writing, error) {
		return func(say func(string) error) {
			if say("first\n") == nil && s.goesOn(ctx) {
				_ = say(long) // the client may have disconnected
			}
		}, nil
	})
	web.CSV(s.API, "/rows.csv", actor.Read, "Read a table", func(_ context.Context, in *struct {
		Breaks bool `query:"breaks" doc:"Whether it fails after some rows."`
	},
	) (*web.Table, error) {
		return &web.Table{Name: "rows.csv", Columns: []string{"name"}, Rows: func(row func(...string) error) error {
			for range 200 {
				if err := row(long); err != nil {
					return err
				}
			}
			return map[bool]error{true: errPlain}[in.Breaks]
		}}, nil
	})
	web.Stream(s.API, "/frames", actor.Read, "Watch", func(context.Context, *struct{}) (web.Streaming, error) {
		return func(ctx context.Context, send func([]byte) error) {
			if send([]byte(": first\n\n")) == nil && s.goesOn(ctx) {
				_ = send([]byte("data: " + long + "\n\n")) // the client may have disconnected
			}
		}, nil
	})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	s.url = server.URL + "/api/v1"
	return s
}

// goesOn waits until the test wants the rest, and returns false if the client
// disconnects.
func (s *packed) goesOn(ctx context.Context) bool {
	select {
	case <-s.more:
		return true
	case <-ctx.Done():
		return false
	}
}

type issued struct {
	Name   string `json:"name"`
	Secret string `json:"key" format:"password"`
}

// fetch sends a request without the client's automatic compression. The caller
// reads the body.
func (s *packed) fetch(t *testing.T, method, path string, headers ...string) *fetched {
	t.Helper()
	var body io.Reader = http.NoBody
	if method == http.MethodPatch {
		body = strings.NewReader(`{}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &fetched{res.StatusCode, res.Header, res.ContentLength, res.Body}
}

// fetched is a response whose body is closed with the test.
type fetched struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
	Body          io.Reader
}

func whole(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func unpacked(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return whole(t, z)
}

// Long responses must be compressed for clients that accept it, and be the same for
// those that do not: a board of thousands of tasks is read over mobile networks.
func TestCompressed(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	for path, kind := range map[string]string{
		"/long/7": "application/json", "/marked": "application/json", "/long/refused": "application/problem+json",
		"/rows.csv": "text/csv", "/openapi.json": "application/json",
	} {
		t.Run(path, func(t *testing.T) {
			plain, small := s.fetch(t, "GET", path, "X-Request-Id", "same"), s.fetch(t, "GET", path, "X-Request-Id", "same", "Accept-Encoding", "br;q=1.0, gzip;q=0.8")
			want := whole(t, plain.Body)
			sent := whole(t, small.Body)
			if got := unpacked(t, strings.NewReader(sent)); got != want || len(sent) > len(want)/3 {
				t.Errorf("%d bytes unpack to %d, and are %d without compression", len(sent), len(got), len(want))
			}
			for _, res := range []*fetched{plain, small} {
				if res.Header.Get("Vary") != "Accept-Encoding" || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) || res.StatusCode != plain.StatusCode {
					t.Errorf("answered %d %v", res.StatusCode, res.Header)
				}
			}
			if plain.Header.Get("Content-Encoding") != "" || small.Header.Get("Content-Encoding") != "gzip" || small.ContentLength >= 0 && small.ContentLength != int64(len(sent)) {
				t.Errorf("answered %v, and compressed %v", plain.Header, small.Header)
			}
		})
	}
}

// Clients that do not accept compression, and small responses, are not affected.
func TestNotCompressed(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	for _, c := range []struct{ name, method, path, accept string }{
		{"without the header", "GET", "/long/7", ""},
		{"refused by name", "GET", "/long/7", "gzip;q=0, br"},
		{"in another way alone", "GET", "/long/7", "br, zstd"},
		{"a short answer", "GET", "/toys/7", "gzip"},
		{"a short problem", "GET", "/toys/none", "gzip"},
		{"a panic", "GET", "/long/panics", "gzip"},
		{"an answer that cannot be encoded", "GET", "/long/unencodable", "gzip"},
		{"what has no body", "HEAD", "/long/7", "gzip"},
		{"a change", "PATCH", "/toys/7", "gzip"},
		{"nothing", "DELETE", "/toys/7", "gzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := s.fetch(t, c.method, c.path, "Accept-Encoding", c.accept)
			body := whole(t, res.Body)
			if res.Header.Get("Content-Encoding") != "" || strings.HasSuffix(res.Header.Get("ETag"), `-gzip"`) || res.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("answered %d %v", res.StatusCode, res.Header)
			}
			length := strconv.FormatInt(res.ContentLength, 10)
			switch {
			case c.method == http.MethodHead:
				if whole := s.fetch(t, "GET", c.path); res.ContentLength != whole.ContentLength || res.Header.Get("ETag") != whole.Header.Get("ETag") {
					t.Errorf("HEAD has %v, GET %v", res.Header, whole.Header)
				}
			case c.method == http.MethodDelete:
				if res.StatusCode != http.StatusNoContent || body != "" {
					t.Errorf("answered %d %q", res.StatusCode, body)
				}
			case length != strconv.Itoa(len(body)) || body == "":
				t.Errorf("Content-Length is %s, the body has %d bytes: %s", length, len(body), body)
			}
		})
	}
}

// Conditional requests and updates must work with the ETag of either
// representation.
func TestCompressedETags(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	for _, path := range []string{"/long/7", "/marked"} {
		plain, small := s.fetch(t, "GET", path).Header.Get("ETag"), s.fetch(t, "GET", path, "Accept-Encoding", "gzip").Header.Get("ETag")
		if plain == "" || small != strings.TrimSuffix(plain, `"`)+`-gzip"` {
			t.Fatalf("%s: the tags are %s and %s", path, plain, small)
		}
		s.read = 0
		for _, c := range []struct {
			tag, accept, answered string
		}{
			{plain, "", plain},
			{plain, "gzip", plain},
			{small, "gzip", small},
			{"W/" + strings.TrimPrefix(small, "W/"), "gzip", small}, // weakened by a proxy
			{`"1-a", ` + small, "gzip", small},
			{small, "", ""}, // a cache must not confuse it with the compressed one
			{strings.TrimSuffix(small, `"`) + `-gzip"`, "gzip", ""},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				res := s.fetch(t, method, path, "If-None-Match", c.tag, "Accept-Encoding", c.accept)
				body := whole(t, res.Body)
				if want := c.answered != ""; (res.StatusCode == http.StatusNotModified) != want {
					t.Errorf("%s %s with %s for %q: %d", method, path, c.tag, c.accept, res.StatusCode)
				} else if want && (res.Header.Get("ETag") != c.answered || body != "" || res.Header.Get("Vary") != "Accept-Encoding" ||
					res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Type") != "") {
					t.Errorf("%s %s with %s for %q: %v %q", method, path, c.tag, c.accept, res.Header, body)
				}
			}
		}
		if path == "/marked" && s.read != 4 { // for the two ETags that do not match
			t.Errorf("the list was read %d times", s.read)
		}
	}
	tag := s.fetch(t, "GET", "/long/7", "Accept-Encoding", "gzip").Header.Get("ETag")
	for _, tag := range []string{tag, "W/" + tag} {
		res := s.fetch(t, "PATCH", "/toys/7", "If-Match", tag, "Accept-Encoding", "gzip")
		if body := whole(t, res.Body); res.StatusCode != http.StatusOK || !strings.Contains(body, `"version":3`) {
			t.Errorf("If-Match: %s gave %d %s", tag, res.StatusCode, body)
		}
	}
}

// Responses sent in pieces must arrive in pieces, compressed or not.
func TestCompressedPieces(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	t.Run("text", func(t *testing.T) {
		res := s.fetch(t, "GET", "/text", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(res.Body)
		if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%v %v", res.Header, err)
		}
		readText(t, z, "first\n")
		s.more <- struct{}{}
		if got := whole(t, z); got != long {
			t.Errorf("then came %d bytes of %d", len(got), len(long))
		}
	})
	t.Run("stream", func(t *testing.T) {
		res := s.fetch(t, "GET", "/frames", "Accept-Encoding", "gzip")
		if res.Header.Get("Content-Encoding") != "" || res.Header.Get("Vary") != "" { // it bypasses the compressor
			t.Fatalf("%v", res.Header)
		}
		readText(t, res.Body, ": first\n\n")
		s.more <- struct{}{}
		if got := whole(t, res.Body); got != "data: "+long+"\n\n" {
			t.Errorf("then came %d bytes", len(got))
		}
	})
}

// A partial table must not look complete because its compressed data ends
// correctly.
func TestCompressedCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	s := newPacked(t)
	for _, accept := range []string{"", "gzip"} {
		res := s.fetch(t, "GET", "/rows.csv?breaks=true", "Accept-Encoding", accept)
		if data, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("with Accept-Encoding %q: %d bytes and %v", accept, len(data), err)
		}
	}
	if l := s.lines(t); len(l) != 2 || l[0]["status"] != 500.0 || l[1]["status"] != 500.0 {
		t.Errorf("logged %v", l)
	}
}

// The length of a compressed response reveals parts of its content, so responses
// with a key or token must not be compressed (BREACH).
func TestSecretsAreNotCompressed(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	res := s.fetch(t, "POST", "/keys", "Accept-Encoding", "gzip")
	if body := whole(t, res.Body); res.Header.Get("Content-Encoding") != "" || !strings.Contains(body, "wrk_secret") {
		t.Errorf("answered %v %.80s", res.Header, body)
	}
	defer func() {
		if v, _ := recover().(string); !strings.Contains(v, "contains a secret") {
			t.Errorf("a secret that may be repeated: %v", v)
		}
	}()
	web.Post(s.API, "/more", actor.Read, "Make a key", func(context.Context, *struct{}) (*wrap[issued], error) {
		return nil, errPlain
	}, web.Once())
}

// The documentation tells people to use curl.
func TestCurlCompressed(t *testing.T) {
	t.Parallel()
	s := newPacked(t)
	curl := func(args ...string) []byte {
		args = append([]string{"-sS", "--fail", "-H", "Authorization: Bearer owner", s.url + "/long/7"}, args...)
		out, err := exec.CommandContext(t.Context(), "curl", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	plain, small, raw := curl(), curl("--compressed"), curl("-H", "Accept-Encoding: gzip")
	if !bytes.Equal(plain, small) || len(raw) > len(plain)/3 || !slices.Equal(raw[:2], []byte{0x1f, 0x8b}) {
		t.Errorf("%d bytes plain, %d with --compressed, %d on the wire", len(plain), len(small), len(raw))
	}
}
