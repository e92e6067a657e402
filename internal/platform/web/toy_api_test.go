package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/web"
)

// A small service with every kind of route, for the tests of this package.

var (
	errToken    = fault.New(fault.Unauthenticated, "invalid_token", "The token is not good.")
	errNoToy    = fault.New(fault.NotFound, "toy_not_found", "There is no such toy.")
	errTaken    = fault.New(fault.Conflict, "toy_taken", "Somebody has the toy.")
	errBusy     = fault.New(fault.Throttled, "toy_busy", "The toy is asked for too often.")
	errGateway  = fault.New(fault.Unavailable, "gateway_unreachable", "The gateway does not answer.")
	errPlain    = errors.New("dial tcp 10.0.0.7:5432: password authentication failed")
	toyTime     = clock.At(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	toyHolder   = &holder{Name: "coo"}
	allTheToys  = []toy{{ID: "1", Name: "ball", Tags: []string{}}, {ID: "2", Name: "kite", Tags: []string{}}, {ID: "3", Name: "top", Tags: []string{}}}
	toyPosition = func(t toy) []string { return []string{t.Name, t.ID} }
)

// unencodable is a name that the JSON encoder fails on.
const unencodable = "unencodable"

type name string

func (n name) MarshalText() ([]byte, error) {
	if n == unencodable {
		return nil, errPlain
	}
	return []byte(n), nil
}

type holder struct {
	Name name `json:"name" maxLength:"20"`
}

type toy struct {
	ID     string      `json:"id"`
	Name   string      `json:"name" doc:"What children call it."`
	Tags   []string    `json:"tags"`
	Made   clock.Time  `json:"made"`
	Broken *clock.Time `json:"broken" doc:"When it broke."`
	Holder *holder     `json:"holder" doc:"Who plays with it."`
	Note   *string     `json:"note,omitempty"`
}

type ToyInput struct {
	ID string `path:"id" maxLength:"40" doc:"The toy's id."`
}

type createInput struct {
	Body struct {
		Name     string      `json:"name" minLength:"1" maxLength:"10"`
		Kind     string      `json:"kind,omitempty" enum:"ball,kite"`
		Size     int64       `json:"size,omitempty" minimum:"1" maximum:"100"`
		Email    string      `json:"email,omitempty" format:"email" maxLength:"200"`
		Site     string      `json:"site,omitempty" format:"uri" maxLength:"200"`
		Ref      string      `json:"ref,omitempty" format:"uuid"`
		Password string      `json:"password,omitempty" format:"password" minLength:"12"`
		Tags     []string    `json:"tags,omitempty" maxItems:"3" maxLength:"5"`
		Parts    []part      `json:"parts,omitempty"`
		Made     *clock.Time `json:"made" required:"false"`
	}
}

type part struct {
	Label string `json:"label" maxLength:"5"`
	Count int64  `json:"count,omitempty"`
}

type changeInput struct {
	ToyInput
	web.IfMatch
	Body change
}

type change struct {
	Name   *string                 `json:"name,omitempty" minLength:"1" maxLength:"10"`
	Note   patch.Field[string]     `json:"note,omitzero" maxLength:"5"`
	Kind   patch.Field[string]     `json:"kind,omitzero" enum:"ball,kite"`
	Broken patch.Field[clock.Time] `json:"broken,omitzero"`
	Size   patch.Field[int]        `json:"size,omitzero" maximum:"9"`
	Holder patch.Field[holder]     `json:"holder,omitzero"`
	Tags   patch.Field[[]string]   `json:"tags,omitzero" maxItems:"2" maxLength:"4"`
}

type seen struct {
	Body struct {
		Said    string `json:"said"`
		Version int64  `json:"version"`
	}
}

type wrap[T any] struct{ Body T }

// toys is the test API and its log.
type toys struct {
	*web.API
	log     *bytes.Buffer
	release chan struct{} // lets GET /toys/slow respond
	started chan struct{} // closed when it runs
}

func newToys(t testing.TB, change ...func(*web.Options)) *toys {
	t.Helper()
	s := &toys{log: &bytes.Buffer{}, release: make(chan struct{}), started: make(chan struct{}, 16)}
	o := web.Options{
		Title: "Toys", Version: "1.2.3",
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			switch role := actor.Role(token); {
			case slices.Contains(actor.Roles(), role):
				return actor.Actor{ID: "id-of-" + token, Name: token, Role: role}, nil
			case token == "broken":
				return actor.Actor{}, errPlain
			case token == "nobody":
				return actor.Actor{}, nil
			}
			return actor.Actor{}, errToken.With("Log in again.")
		},
	}
	for _, c := range change {
		c(&o)
	}
	s.API = web.New(o)
	s.mount()
	return s
}

func (s *toys) mount() {
	web.Get(s.API, "/health", actor.Public, "Whether we are up", func(context.Context, *struct{}) (*wrap[map[string]string], error) {
		return &wrap[map[string]string]{map[string]string{"status": "ok"}}, nil
	}, web.Root(), web.Quiet())
	web.Get(s.API, "/toys", actor.Read, "List the toys", handleList)
	web.Get(s.API, "/toys/{id}", actor.Read, "Get a toy", handleGet, web.Fails(errNoToy))
	web.Post(s.API, "/toys", actor.ChangeTasks, "Make a toy", handleCreate, web.Status(201), web.Also(200, 409))
	web.Patch(s.API, "/toys/{id}", actor.ChangeTasks, "Change a toy", handleChange, web.Fails(errNoToy, errTaken))
	web.Delete(s.API, "/toys/{id}", actor.DeleteTasks, "Delete a toy", func(context.Context, *ToyInput) (*struct{}, error) {
		return &struct{}{}, nil
	})
	web.Post(s.API, "/play", actor.Read, "Play", func(_ context.Context, in *struct {
		Body *struct {
			Loud bool `json:"loud,omitempty"`
		}
	},
	) (*seen, error) {
		out := &seen{}
		out.Body.Said = map[bool]string{true: "nothing", false: "something"}[in.Body == nil]
		return out, nil
	})
	web.Get(s.API, "/slow", actor.Public, "Take long", s.handleSlow)
	web.Get(s.API, "/waits", actor.Public, "Wait", s.handleSlow, web.Waits(time.Minute))
	web.Post(s.API, "/waits", actor.Public, "Wait", func(ctx context.Context, _ *struct{ Body *struct{} }) (*seen, error) {
		return s.handleSlow(ctx, nil)
	}, web.Waits(time.Minute))
	s.Raw("GET /{$}", actor.Public, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<h1>Toys</h1>")
	}))
	s.Raw("GET /secret.csv", actor.DeleteTasks, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"the file's"`)
		w.Header().Set("Content-Type", "text/csv")
		web.Fail(w, r, errBusy.After(1500*time.Millisecond))
	}))
}

func (s *toys) handleSlow(ctx context.Context, _ *struct{}) (*seen, error) {
	s.started <- struct{}{}
	out := &seen{}
	select {
	case <-s.release:
		out.Body.Said = "released"
		return out, nil
	case <-web.Stopping(ctx):
		out.Body.Said = "stopping"
		return out, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func handleList(ctx context.Context, in *struct {
	page.Query
	page.Total
	Kind string `query:"kind" enum:"ball,kite" doc:"Only these."`
},
) (*web.List[toy], error) {
	after, err := page.Decode(in.Cursor, 2)
	if err != nil {
		return nil, err
	}
	rows := allTheToys
	if after != nil {
		for len(rows) > 0 && rows[0].Name <= after[0] {
			rows = rows[1:]
		}
	}
	if in.Kind == "kite" {
		rows = nil
	}
	rows, next := page.Cut(rows, in.Limit, toyPosition)
	out := web.Page(ctx, rows, next)
	if in.Total.Total {
		out.Of(3)
	}
	return out, nil
}

func handleGet(_ context.Context, in *ToyInput) (*web.Tagged[toy], error) {
	switch in.ID {
	case "7":
		return web.Tag(toy{ID: "7", Name: "<b>", Tags: []string{}, Made: toyTime, Holder: toyHolder}, 3), nil
	case "taken":
		return nil, errTaken.With("The cto has it.").Fact("holder", "cto").Fact("code", "nonsense").Fact("type", "nonsense").Fact("bad", make(chan int))
	case "busy":
		return nil, errBusy.After(1500 * time.Millisecond)
	case "gateway":
		return nil, errors.Join(errPlain, errGateway)
	case "plain":
		return nil, errPlain
	case "panics":
		panic("boom with a secret")
	case "nil":
		return nil, nil
	case "canceled":
		return nil, context.Canceled
	case "unencodable":
		return web.Tag(toy{ID: "x", Made: toyTime, Holder: &holder{Name: unencodable}}, 1), nil
	}
	return nil, errNoToy
}

func handleCreate(ctx context.Context, in *createInput) (*web.Tagged[toy], error) {
	t := toy{ID: actor.From(ctx).ID, Name: in.Body.Name, Tags: []string{}, Made: toyTime}
	out := web.Tag(t, 1).At("/api/v1/toys/8")
	if in.Body.Name == "again" {
		out.As(200)
	}
	return out, nil
}

func handleChange(_ context.Context, in *changeInput) (*seen, error) {
	v := in.Version()
	out := &seen{}
	if v != nil {
		out.Body.Version = *v
	}
	said, err := json.Marshal(in.Body)
	out.Body.Said = string(said)
	return out, err
}

// ask sends a request as the owner, unless a header overrides that.
func (s *toys) ask(t testing.TB, method, url, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, url, r)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer owner")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, req)
	return w
}

// problem parses a problem and checks its format.
func problem(t testing.TB, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type is %q", got)
	}
	for _, name := range []string{"type", "title", "instance", "code", "request_id"} {
		if s, _ := p[name].(string); s == "" {
			t.Errorf("the problem has no %s: %s", name, w.Body)
		}
	}
	if p["status"] != float64(w.Code) {
		t.Errorf("the problem says %v and the status is %d", p["status"], w.Code)
	}
	if p["type"] != fmt.Sprint("/api/docs#", p["code"]) {
		t.Errorf("type is %v", p["type"])
	}
	if p["request_id"] != w.Header().Get("X-Request-Id") {
		t.Errorf("request_id is %v, the header says %q", p["request_id"], w.Header().Get("X-Request-Id"))
	}
	return p
}

// lines returns the parsed log messages.
func (s *toys) lines(t testing.TB) []map[string]any {
	t.Helper()
	var ls []map[string]any
	for line := range strings.Lines(s.log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	return ls
}
