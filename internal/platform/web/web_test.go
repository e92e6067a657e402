package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/web"
)

// Every route must check its permission for every role and let in exactly the roles
// that have it.
func TestPermissions(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	for _, r := range s.Routes() {
		for _, role := range actor.Roles() {
			if strings.HasSuffix(r.Path, "/slow") || strings.HasSuffix(r.Path, "/waits") {
				continue // these wait
			}
			url := strings.NewReplacer("{id}", "7", "{$}", "").Replace(r.Path)
			w := s.ask(t, r.Method, url, "", "Authorization", "Bearer "+string(role))
			if may := role.May(r.Permission); (w.Code == http.StatusForbidden) == may {
				t.Errorf("%s %s for %s is %d", r.Method, r.Path, role, w.Code)
			}
		}
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, header    string
		status          int
		code, challenge string
	}{
		{"refuses no token", "", 401, "sign_in_required", "Bearer"},
		{"refuses another scheme", "Basic b3duZXI6eA==", 401, "sign_in_required", "Bearer"},
		{"refuses an empty token", "Bearer  ", 401, "sign_in_required", "Bearer"},
		{"refuses a bad token", "Bearer stolen", 401, "invalid_token", `Bearer error="invalid_token"`},
		{"takes the scheme in any case", "bEARER owner", 200, "", ""},
		{"hides what breaks", "Bearer broken", 500, "internal", ""},
		{"never lets in nobody", "Bearer nobody", 500, "internal", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newToys(t).ask(t, "GET", "/api/v1/toys/7", "", "Authorization", tt.header)
			if w.Code != tt.status || w.Header().Get("WWW-Authenticate") != tt.challenge {
				t.Fatalf("got %d, %q", w.Code, w.Header().Get("WWW-Authenticate"))
			}
			if tt.code != "" && problem(t, w)["code"] != tt.code {
				t.Errorf("got %s", w.Body)
			}
		})
	}
	// The browser fills in the Authorization header itself where a proxy asks for a password.
	for _, tt := range []struct {
		name, authorization, own string
		status                   int
	}{
		{"takes the token in a header of its own", "", "owner", 200},
		{"beside the credentials for a proxy", "Basic b3duZXI6eA==", "owner", 200},
		{"beside the bearer token of a proxy", "Bearer of-the-proxy", "owner", 200},
		{"prefers its own header", "Bearer owner", "stolen", 401},
		{"refuses a blank header of its own", "Bearer owner", " ", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newToys(t).ask(t, "GET", "/api/v1/toys/7", "", "Authorization", tt.authorization, "X-Wardroom-Token", tt.own)
			if w.Code != tt.status {
				t.Errorf("got %d", w.Code)
			}
		})
	}
	t.Run("says which roles may", func(t *testing.T) {
		w := newToys(t).ask(t, "DELETE", "/api/v1/toys/7", "", "Authorization", "Bearer agent")
		p := problem(t, w)
		if w.Code != 403 || p["code"] != "forbidden" || p["detail"] != "This requires the owner or admin role. Your role is agent." {
			t.Errorf("got %d %v", w.Code, p)
		}
	})
	t.Run("ignores tokens on public routes", func(t *testing.T) {
		if w := newToys(t).ask(t, "GET", "/health", "", "Authorization", "Bearer stolen"); w.Code != 200 {
			t.Errorf("got %d", w.Code)
		}
	})
	t.Run("asks before it reads the body", func(t *testing.T) {
		w := newToys(t).ask(t, "POST", "/api/v1/toys", "{", "Authorization", "")
		if w.Code != 401 {
			t.Errorf("got %d", w.Code)
		}
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	tests := []struct {
		name, method, url, body string
		status                  int
		want                    string
		headers                 map[string]string
	}{
		{"a resource with its tag", "GET", "/api/v1/toys/7", "", 200, `"name":"<b>"`, map[string]string{"ETag": `"3-6647df308928"`, "Content-Type": "application/json", "Location": "", "Content-Length": "106"}},
		{"what was made, and where", "POST", "/api/v1/toys", `{"name":"a"}`, 201, `"id":"id-of-owner"`, map[string]string{"Location": "/api/v1/toys/8"}},
		{"another success", "POST", "/api/v1/toys", `{"name":"again"}`, 200, `"name":"again"`, nil},
		{"nothing", "DELETE", "/api/v1/toys/7", "", 204, "", map[string]string{"Content-Type": ""}},
		{"without an optional body", "POST", "/api/v1/play", "", 200, `"said":"nothing"`, nil},
		{"with only space for an optional body", "POST", "/api/v1/play", " \n", 200, `"said":"nothing"`, nil},
		{"with an optional body", "POST", "/api/v1/play", "{}", 200, `"said":"something"`, nil},
		{"a route outside of the API", "GET", "/health", "", 200, `{"status":"ok"}`, map[string]string{"Cache-Control": ""}},
		{"a page", "GET", "/", "", 200, "<h1>Toys</h1>", map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}},
		{"HEAD where GET is", "HEAD", "/api/v1/toys/7", "", 200, "", map[string]string{"ETag": `"3-6647df308928"`}},
		{"the document", "GET", "/api/v1/openapi.json", "", 200, `"openapi": "3.1.0"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := s.ask(t, tt.method, tt.url, tt.body)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			for name, want := range tt.headers {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if strings.HasPrefix(tt.url, "/api/") && w.Header().Get("Cache-Control") != "no-store" {
				t.Error("a proxy may store it")
			}
		})
	}
}

// A client that follows Link must see every row once. An empty list must be [], so
// that clients do not have to handle null.
func TestList(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	url, names := "/api/v1/toys?limit=1&total=true", []string{}
	for url != "" {
		w := s.ask(t, "GET", url, "")
		if w.Code != 200 || w.Header().Get("X-Total-Count") != "3" || len(names) > 3 {
			t.Fatalf("got %d %v %s", w.Code, w.Header(), w.Body)
		}
		_, rest, _ := strings.Cut(w.Body.String(), `"name":"`)
		name, _, _ := strings.Cut(rest, `"`)
		names = append(names, name)
		url, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		if url != "" && !strings.Contains(url, "total=true") {
			t.Errorf("the link %s forgets a parameter", url)
		}
	}
	if diff := cmp.Diff([]string{"ball", "kite", "top"}, names); diff != "" {
		t.Error(diff)
	}
	// A parameter without a value is ignored, wherever it is.
	for _, url := range []string{"/api/v1/toys?total", "/api/v1/toys?total&limit=1"} {
		if w := s.ask(t, "GET", url, ""); w.Code != 200 || w.Header().Get("X-Total-Count") != "" {
			t.Errorf("%s is %d %v", url, w.Code, w.Header())
		}
	}
	if w := s.ask(t, "GET", "/api/v1/toys?kind=kite", ""); w.Body.String() != "[]\n" || w.Header().Get("Link") != "" {
		t.Errorf("an empty list is %s", w.Body)
	}
}

// Absent, null and a value must be distinguished.
func TestPatch(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	for body, want := range map[string]string{
		`{}`:                                     `{}`,
		`{"note":null}`:                          `{"note":null}`,
		`{"note":"hi"}`:                          `{"note":"hi"}`,
		`{"kind":null,"size":3}`:                 `{"kind":null,"size":3}`,
		`{"holder":{"name":"x"}}`:                `{"holder":{"name":"x"}}`,
		`{"holder":null}`:                        `{"holder":null}`,
		`{"tags":null}`:                          `{"tags":null}`,
		`{"tags":["a"],"name":"n"}`:              `{"name":"n","tags":["a"]}`,
		`{"broken":"2026-11-20T09:00:00+01:00"}`: `{"broken":"2026-11-20T08:00:00.000Z"}`,
	} {
		w := s.ask(t, "PATCH", "/api/v1/toys/7", body)
		if got := `{"said":` + quote(t, want) + `,"version":0}`; w.Code != 200 || strings.TrimSpace(w.Body.String()) != got {
			t.Errorf("%s: got %d %s, want %s", body, w.Code, w.Body, got)
		}
	}
	for body, pointer := range map[string]string{
		`{"note":"longer"}`:      "/note",
		`{"note":7}`:             "/note",
		`{"kind":"boat"}`:        "/kind",
		`{"size":10}`:            "/size",
		`{"broken":"yesterday"}`: "/broken",
		`{"holder":{"name":7}}`:  "/holder/name",
		`{"holder":{"nam":"x"}}`: "/holder/nam",
		`{"tags":["abcde"]}`:     "/tags/0",
		`{"tags":["a","b","c"]}`: "/tags",
		`{"name":null}`:          "/name", // it cannot be cleared
		`{"name":""}`:            "/name",
	} {
		if got := pointers(t, s.ask(t, "PATCH", "/api/v1/toys/7", body)); !slices.Contains(got, pointer) {
			t.Errorf("%s: refused %q, want %s", body, got, pointer)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	want := []web.Route{
		{Method: "GET", Path: "/api/docs", Permission: "public"},
		{Method: "GET", Path: "/api/v1/openapi.json", Permission: "public"},
		{Method: "POST", Path: "/api/v1/play", Permission: "read"},
		{Method: "GET", Path: "/api/v1/slow", Permission: "public"},
		{Method: "GET", Path: "/api/v1/toys", Permission: "read"},
		{Method: "POST", Path: "/api/v1/toys", Permission: "change_tasks"},
		{Method: "DELETE", Path: "/api/v1/toys/{id}", Permission: "delete_tasks"},
		{Method: "GET", Path: "/api/v1/toys/{id}", Permission: "read"},
		{Method: "PATCH", Path: "/api/v1/toys/{id}", Permission: "change_tasks"},
		{Method: "GET", Path: "/api/v1/waits", Permission: "public", Limit: time.Minute},
		{Method: "POST", Path: "/api/v1/waits", Permission: "public", Limit: time.Minute},
		{Method: "GET", Path: "/health", Permission: "public"},
		{Method: "GET", Path: "/secret.csv", Permission: "delete_tasks"},
		{Method: "GET", Path: "/{$}", Permission: "public"},
	}
	got := newToys(t).Routes()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type hidden struct {
	ID string `path:"id"`
}

// A mistake in a declaration must fail at startup, not on a request.
func TestDeclarationsRefused(t *testing.T) {
	t.Parallel()
	type none = struct{}
	ok := func(context.Context, *none) (*none, error) { return &none{}, nil }
	tests := map[string]func(a *web.API){
		"no permission":                  func(a *web.API) { web.Get(a, "/x", "", "X", ok) },
		"an unknown permission":          func(a *web.API) { web.Get(a, "/x", "everything", "X", ok) },
		"a raw route without one":        func(a *web.API) { a.Raw("GET /x", "", http.NotFoundHandler()) },
		"a raw route for everything":     func(a *web.API) { a.Raw("GET /", actor.Public, http.NotFoundHandler()) },
		"a raw route for the whole API":  func(a *web.API) { a.Raw("GET /api/", actor.Public, http.NotFoundHandler()) },
		"a raw route without a method":   func(a *web.API) { a.Raw("/x", actor.Public, http.NotFoundHandler()) },
		"a path without a slash":         func(a *web.API) { web.Get(a, "x", actor.Public, "X", ok) },
		"the same route twice":           func(a *web.API) { web.Get(a, "/x", actor.Public, "X", ok); web.Get(a, "/x", actor.Public, "X", ok) },
		"a path segment without a field": func(a *web.API) { web.Get(a, "/x/{id}", actor.Public, "X", ok) },
		"an embedded type that huma ignores": func(a *web.API) {
			web.Get(a, "/x/{id}", actor.Public, "X", func(context.Context, *struct{ hidden }) (*none, error) { return nil, nil })
		},
		"a string without a limit": func(a *web.API) {
			web.Post(a, "/x", actor.Public, "X", func(context.Context, *wrap[struct {
				Deep []struct {
					Name string `json:"name"`
				} `json:"deep"`
			}],
			) (*none, error) {
				return nil, nil
			})
		},
		"uniqueItems": func(a *web.API) {
			web.Post(a, "/x", actor.Public, "X", func(context.Context, *wrap[struct {
				Tags []string `json:"tags" maxLength:"3" uniqueItems:"true"`
			}],
			) (*none, error) {
				return nil, nil
			})
		},
		"a patch field without omitzero": func(a *web.API) {
			web.Patch(a, "/x", actor.Public, "X", func(context.Context, *wrap[struct {
				Note patch.Field[string] `json:"note" maxLength:"3"`
			}],
			) (*none, error) {
				return nil, nil
			})
		},
		"an output that is no header": func(a *web.API) {
			web.Get(a, "/x", actor.Public, "X", func(context.Context, *none) (*struct{ Name string }, error) { return nil, nil })
		},
		"two titles for one code": func(a *web.API) {
			web.Get(a, "/x", actor.Public, "X", ok, web.Fails(errNoToy))
			other := *errNoToy
			other.Title = "Another."
			web.Get(a, "/y", actor.Public, "Y", ok, web.Fails(&other))
		},
	}
	for name, declare := range tests {
		t.Run(name, func(t *testing.T) {
			a := web.New(web.Options{})
			defer func() {
				if recover() == nil {
					t.Error("it was accepted")
				}
			}()
			declare(a)
		})
	}
	t.Run("a guarded route without Authenticate", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it was accepted")
			}
		}()
		web.Get(web.New(web.Options{}), "/x", actor.Read, "X", ok)
	})
}

// A path with an extra slash must get a regular error, and must not cause a
// redirect.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	s := newToys(t)
	for _, path := range []string{
		"/api//v1/toys/7", "/api/v1//toys/7", "//api/v1/toys/7", "/api/v1/toys//7", "/api/v1/./toys/7", "/api/v1/x/../toys/7",
		"//evil.example/api/v1/toys/7", "//evil.example/..", "/api/v1/toys/7//evil.example", "/api/v1/toys/7/", "//", "//health", "/%2f/evil.example", "/\\evil.example",
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
			u, err := url.ParseRequestURI(path)
			if err != nil {
				t.Fatal(err)
			}
			r.URL, r.RequestURI = u, path
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusNotFound || w.Header().Get("Location") != "" || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %d, %v", method, path, w.Code, w.Header())
			} else if method == "GET" && problem(t, w)["code"] != "not_found" {
				t.Errorf("%s: %s", path, w.Body)
			}
		}
	}
}
