package task

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// site is the board behind the real API. Tokens are role names; each role has
// one account, and the agent's is "cto".
type site struct {
	*Service
	api   http.Handler
	users map[string]actor.Actor
}

var errToken = fault.New(fault.Unauthenticated, "invalid_token", "The token is not good.")

func newSite(t testing.TB, d *db.DB) *site {
	t.Helper()
	s := &site{Service: newService(d), users: map[string]actor.Actor{}}
	for _, role := range actor.Roles() {
		name := string(role)
		if role == actor.Agent {
			name = "cto"
		}
		s.users[string(role)] = makeUser(t, d, name, role, true)
	}
	api := web.New(web.Options{
		Title: "Board", Version: "test",
		Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			if a, ok := s.users[token]; ok {
				return a, nil
			}
			return actor.Actor{}, errToken
		},
	})
	s.Mount(api)
	s.api = api.Handler()
	return s
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	list   []any
}

// ask sends one request as a role, with the given body.
func (s *site) ask(t testing.TB, role, method, path, body string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if !strings.HasPrefix(path, web.Prefix) {
		r = httptest.NewRequestWithContext(t.Context(), method, web.Prefix+path, strings.NewReader(body))
	}
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+role)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	var v any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil && w.Code != http.StatusNoContent {
		t.Fatalf("%s %s answered %d %q: %v", method, path, w.Code, w.Body, err)
	}
	a := answer{status: w.Code, header: w.Header()}
	a.body, _ = v.(map[string]any)
	a.list, _ = v.([]any)
	return a
}

// want checks the status and, for a problem, the code and the rejected fields.
func (a answer) want(t testing.TB, what string, status int, code string, pointers ...string) {
	t.Helper()
	got, _ := a.body["code"].(string)
	if a.status != status || got != code {
		t.Errorf("%s: %d %q, want %d %q: %v", what, a.status, got, status, code, a.body)
		return
	}
	var at []string
	errs, _ := a.body["errors"].([]any)
	for _, e := range errs {
		field, _ := e.(map[string]any)
		at = append(at, fmt.Sprint(field["pointer"]))
	}
	if !slices.Equal(at, pointers) {
		t.Errorf("%s: refused %q, want %q", what, at, pointers)
	}
}

// keysOf returns the numbers of the listed tasks.
func (a answer) keysOf() string {
	var keys []string
	for _, v := range a.list {
		row, _ := v.(map[string]any)
		keys = append(keys, strings.TrimPrefix(fmt.Sprint(row["key"]), "TASK-"))
	}
	return strings.Join(keys, " ")
}

// All signed-in users can use the board, and only they.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	makeTask(t, s.Service, "Ship it")
	for _, role := range actor.Roles() {
		r := string(role)
		s.ask(t, r, "GET", "/tasks", "").want(t, r+" lists", 200, "")
		s.ask(t, r, "GET", "/tasks/TASK-1", "").want(t, r+" reads", 200, "")
		made := s.ask(t, r, "POST", "/tasks", `{"title":"x"}`)
		made.want(t, r+" makes", 201, "")
		if made.body["reporter_id"] != s.users[r].ID {
			t.Errorf("%s: reporter is %v, want %s", r, made.body["reporter_id"], s.users[r].ID)
		}
		s.ask(t, r, "PATCH", "/tasks/TASK-1", `{"title":"by `+r+`"}`).want(t, r+" changes", 200, "")
	}
	for token, code := range map[string]string{"": "sign_in_required", "stranger": errToken.Code} {
		s.ask(t, token, "GET", "/tasks", "").want(t, "list", 401, code)
		s.ask(t, token, "GET", "/tasks/TASK-1", "").want(t, "read", 401, code)
		s.ask(t, token, "POST", "/tasks", `{"title":"x"}`).want(t, "make", 401, code)
		s.ask(t, token, "PATCH", "/tasks/TASK-1", `{"title":"x"}`).want(t, "change", 401, code)
	}
}

// The response has exactly the documented fields.
func TestCreateOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		a := s.ask(t, "user", "POST", "/tasks", `{"title":" Ship it ","assignee_id":"cto","tags":["Web"],"due_at":"2026-11-20T17:00:00+08:00"}`)
		a.want(t, "create", 201, "")
		const monday = "2026-11-16T08:00:00.000Z"
		want := map[string]any{
			"id": a.body["id"], "key": "TASK-1", "title": "Ship it", "description": "", "status": "todo", "priority": "medium", "type": "task",
			"tags": []any{"web"}, "assignee_id": s.users["agent"].ID, "reporter_id": s.users["user"].ID, "blocked": nil,
			"session_key": nil, "branch": nil, "pr_url": nil, "origin": nil, "due_at": "2026-11-20T09:00:00.000Z", "started_at": nil, "done_at": nil,
			"project_id": nil, "parent_id": nil, "depends_on": []any{}, "criteria": []any{}, "checks": []any{}, "waiting_on": 0.0, "claim": nil, "archived_at": nil, "position": "000000000001", "comment_count": 0.0,
			"dispatch": nil, "cost_usd": nil, "tokens": nil, "cost_complete": nil,
			"moved_at": monday, "created_at": monday, "updated_at": monday, "version": 1.0,
		}
		if d := cmp.Diff(want, a.body); d != "" {
			t.Errorf("created (-want +got):\n%s", d)
		}
		location, etag := a.header.Get("Location"), a.header.Get("ETag")
		if location != "/api/v1/tasks/TASK-1" || !strings.HasPrefix(etag, `"1-`) {
			t.Errorf("Location is %q and ETag %s", location, etag)
		}
		for _, path := range []string{location, "/tasks/task-1", "/tasks/" + fmt.Sprint(a.body["id"])} {
			got := s.ask(t, "agent", "GET", path, "")
			got.want(t, path, 200, "")
			if d := cmp.Diff(want, got.body); d != "" || got.header.Get("ETag") != etag {
				t.Errorf("%s: ETag %s (-want +got):\n%s", path, got.header.Get("ETag"), d)
			}
		}
		list := s.ask(t, "agent", "GET", "/tasks", "")
		if d := cmp.Diff([]any{want}, list.list); d != "" {
			t.Errorf("listed (-want +got):\n%s", d)
		}
	})
}

// Each validation error points at its field.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	makeTask(t, s.Service, "Ship it")
	long := strings.Repeat
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		code                     string
		pointers                 []string
	}{
		{"no body", "POST", "/tasks", ``, 400, "invalid_json", nil},
		{"no JSON", "POST", "/tasks", `{"title":`, 400, "invalid_json", nil},
		{"no title", "POST", "/tasks", `{}`, 422, "invalid_input", []string{"/title"}},
		{"an empty title", "POST", "/tasks", `{"title":""}`, 422, "invalid_input", []string{"/title"}},
		{"a blank title", "POST", "/tasks", `{"title":" \n"}`, 422, "invalid_input", []string{"/title"}},
		{"a long title", "POST", "/tasks", `{"title":"` + long("x", 501) + `"}`, 422, "invalid_input", []string{"/title"}},
		{"many bytes of description", "POST", "/tasks", `{"title":"x","description":"` + long("ж", 40000) + `"}`, 422, "invalid_input", []string{"/description"}},
		{"a number for a title", "POST", "/tasks", `{"title":7}`, 422, "invalid_input", []string{"/title"}},
		{"an unknown field", "POST", "/tasks", `{"title":"x","colour":"red"}`, 422, "invalid_input", []string{"/colour"}},
		{"a field that is ours to set", "POST", "/tasks", `{"title":"x","origin":"standup:2026-11-16"}`, 422, "invalid_input", []string{"/origin"}},
		{"another status", "POST", "/tasks", `{"title":"x","status":"blocked"}`, 422, "invalid_input", []string{"/status"}},
		{"a tag of two words", "POST", "/tasks", `{"title":"x","tags":["ok","two words"]}`, 422, "invalid_input", []string{"/tags/1"}},
		{"many tags", "POST", "/tasks", `{"title":"x","tags":["` + long(`x","`, 20) + `x"]}`, 422, "invalid_input", []string{"/tags"}},
		{"no time", "POST", "/tasks", `{"title":"x","due_at":"tomorrow"}`, 422, "invalid_input", []string{"/due_at"}},
		{"a time that UTC cannot say", "POST", "/tasks", `{"title":"x","due_at":"9999-12-31T23:00:00-02:00"}`, 422, "invalid_input", []string{"/due_at"}},
		{"an assignee who is nobody", "POST", "/tasks", `{"title":"x","assignee_id":"cfo"}`, 422, ErrAssignee.Code, nil},
		{"an unknown task", "GET", "/tasks/TASK-99", ``, 404, ErrNotFound.Code, nil},
		{"a long id", "GET", "/tasks/" + long("x", 65), ``, 422, "invalid_input", []string{"path.id"}},
		{"a change of an unknown task", "PATCH", "/tasks/TASK-99", `{"title":"x"}`, 404, ErrNotFound.Code, nil},
		{"a change without a body", "PATCH", "/tasks/TASK-1", ``, 400, "invalid_json", nil},
		{"an unknown field of a change", "PATCH", "/tasks/TASK-1", `{"Title":"x"}`, 422, "invalid_input", []string{"/Title"}},
		{"a title taken away", "PATCH", "/tasks/TASK-1", `{"title":null}`, 422, "invalid_input", []string{"/title"}},
		{"tags taken away", "PATCH", "/tasks/TASK-1", `{"tags":null}`, 422, "invalid_input", []string{"/tags"}},
		{"a blocker without a reason", "PATCH", "/tasks/TASK-1", `{"blocked":{}}`, 422, "invalid_input", []string{"/blocked/reason"}},
		{"a blocker with a blank reason", "PATCH", "/tasks/TASK-1", `{"blocked":{"reason":" "}}`, 422, "invalid_input", []string{"/blocked/reason"}},
		{"a blocker with another age", "PATCH", "/tasks/TASK-1", `{"blocked":{"reason":"x","since":"2020-01-01T00:00:00Z"}}`, 422, "invalid_input", []string{"/blocked/since"}},
		{"an address that is a script", "PATCH", "/tasks/TASK-1", `{"pr_url":"javascript:alert(1)"}`, 422, "invalid_input", []string{"/pr_url"}},
		{"a version in the body", "PATCH", "/tasks/TASK-1", `{"version":1}`, 422, "invalid_input", []string{"/version"}},
		{"an unknown filter", "GET", "/tasks?state=todo", ``, 422, "invalid_input", []string{"query.state"}},
		{"an unknown column", "GET", "/tasks?status=todo,gone", ``, 422, "invalid_input", []string{"query.status[1]"}},
		{"no limit", "GET", "/tasks?limit=0", ``, 422, "invalid_input", []string{"query.limit"}},
		{"a large limit", "GET", "/tasks?limit=501", ``, 422, "invalid_input", []string{"query.limit"}},
		{"a filter by nobody", "GET", "/tasks?assignee=cfo", ``, 422, ErrAssignee.Code, nil},
		{"a cursor of nobody's", "GET", "/tasks?cursor=x", ``, 422, "invalid_cursor", []string{"query.cursor"}},
		{"a cursor of another list", "GET", "/tasks?cursor=1WyJ4Il0", ``, 422, "invalid_cursor", []string{"query.cursor"}},
		{"another method", "PUT", "/tasks/TASK-1", ``, 405, "method_not_allowed", nil},
	} {
		s.ask(t, "user", tt.method, tt.path, tt.body).want(t, tt.name, tt.status, tt.code, tt.pointers...)
	}
	if got := told(t, s.DB); len(got) != 1 {
		t.Errorf("the log says %q, want nothing of what was refused", got)
	}
}

// Null clears a field, and an omitted field is kept.
func TestPatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		s.ask(t, "user", "POST", "/tasks", `{"title":"Ship it","assignee_id":"cto"}`).want(t, "create", 201, "")
		full := s.ask(t, "agent", "PATCH", "/tasks/TASK-1", `{"session_key":"agent:cto:main","branch":"main","pr_url":"https://x.example/1",
			"due_at":"2026-11-20T09:00:00Z","blocked":{"reason":"No key"},"tags":["web"]}`)
		full.want(t, "fill", 200, "")
		blocked := map[string]any{"reason": "No key", "since": "2026-11-16T08:00:00.000Z", "by": "CTO"}
		want := map[string]any{
			"assignee_id": s.users["agent"].ID, "session_key": "agent:cto:main", "branch": "main", "pr_url": "https://x.example/1",
			"due_at": "2026-11-20T09:00:00.000Z", "blocked": blocked, "tags": []any{"web"}, "version": 2.0,
		}
		hold := func(what string, a answer) {
			t.Helper()
			a.want(t, what, 200, "")
			for name, w := range want {
				if d := cmp.Diff(w, a.body[name]); d != "" {
					t.Errorf("%s: %s (-want +got):\n%s", what, name, d)
				}
			}
			if etag := a.header.Get("ETag"); !strings.HasPrefix(etag, fmt.Sprintf(`"%v-`, want["version"])) {
				t.Errorf("%s: ETag is %s at version %v", what, etag, want["version"])
			}
		}
		hold("filled", full)
		want["version"] = 3.0
		hold("a title alone", s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"Now"}`))
		hold("nothing", s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{}`))
		want["assignee_id"], want["session_key"], want["branch"], want["version"] = nil, nil, nil, 4.0
		hold("some emptied", s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"assignee_id":null,"session_key":null,"branch":null}`))
		want["pr_url"], want["due_at"], want["blocked"], want["tags"], want["version"] = nil, nil, nil, []any{}, 5.0
		hold("all emptied", s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"pr_url":null,"due_at":null,"blocked":null,"tags":[]}`))
		if got := s.ask(t, "user", "GET", "/tasks/TASK-1", ""); got.body["title"] != "Now" {
			t.Errorf("title is %v", got.body["title"])
		}
	})
}

// A task that an agent marks as done goes to review.
func TestDoneByAgentOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	a := s.ask(t, "agent", "POST", "/tasks", `{"title":"Did it","status":"done"}`)
	if a.want(t, "made as done", 201, ""); a.body["status"] != "review" || a.body["done_at"] != nil {
		t.Errorf("made as done: %v at %v, want review", a.body["status"], a.body["done_at"])
	}
	makeTask(t, s.Service, "Ship it")
	if a := s.ask(t, "agent", "PATCH", "/tasks/TASK-2", `{"status":"done"}`); a.body["status"] != "review" || a.body["done_at"] != nil {
		t.Errorf("by the agent: %v at %v, want review", a.body["status"], a.body["done_at"])
	}
	if a := s.ask(t, "user", "PATCH", "/tasks/TASK-2", `{"status":"done"}`); a.body["status"] != "done" || a.body["done_at"] == nil {
		t.Errorf("by a person: %v at %v, want done", a.body["status"], a.body["done_at"])
	}
}

// Of two concurrent edits with If-Match, the second is refused.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		seen := s.ask(t, "user", "POST", "/tasks", `{"title":"Shared"}`).header.Get("ETag")
		first := s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"First"}`, "If-Match", seen)
		first.want(t, "the first", 200, "")
		second := s.ask(t, "admin", "PATCH", "/tasks/TASK-1", `{"title":"Second"}`, "If-Match", seen)
		second.want(t, "the second", 412, ErrStale.Code)
		if second.body["current_version"] != 2.0 || second.header.Get("ETag") != "" {
			t.Errorf("told %v with ETag %q, want version 2 and none", second.body["current_version"], second.header.Get("ETag"))
		}
		for what, etag := range map[string]string{"a number": "2", "two": `"1-a", "2-b"`, "version 0": `"0-a"`, "text": `"x"`} {
			s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"x"}`, "If-Match", etag).want(t, what, 422, "invalid_input", "header.If-Match")
		}
		s.ask(t, "user", "PATCH", "/tasks/TASK-9", `{"title":"x"}`, "If-Match", seen).want(t, "of no task", 404, ErrNotFound.Code)
		s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"Third"}`, "If-Match", first.header.Get("ETag")).want(t, "the current one", 200, "")
		s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"Fourth"}`, "If-Match", "*").want(t, "whatever it is", 200, "")
		s.ask(t, "user", "PATCH", "/tasks/TASK-1", `{"title":"Fifth"}`, "If-Match", `W/"4-made-weak"`).want(t, "through a proxy", 200, "")
		if got := s.ask(t, "user", "GET", "/tasks/TASK-1", ""); got.body["title"] != "Fifth" || got.body["version"] != 5.0 {
			t.Errorf("it is %v at version %v", got.body["title"], got.body["version"])
		}
	})
}

// Following the Link headers returns each matching task once, in order, and
// ends.
func TestPagesOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		for i := range 11 {
			n := New{Title: "A task"}
			if i%3 == 0 {
				n.Status, n.Assignee = Backlog, new("cto")
			}
			if _, err := s.Create(asService(t), n); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct{ path, want string }{
			{"/tasks?limit=3", "11 10 9 | 8 7 6 | 5 4 3 | 2 1"},
			{"/tasks?limit=11", "11 10 9 8 7 6 5 4 3 2 1"},
			{"/tasks", "11 10 9 8 7 6 5 4 3 2 1"},
			{"/tasks?limit=2&status=backlog&assignee=cto", "10 7 | 4 1"},
			{"/tasks?status=backlog,todo&blocked=false&limit=6", "11 10 9 8 7 6 | 5 4 3 2 1"},
			{"/tasks?blocked=true", ""},
		} {
			var pages []string
			for path := tt.path; path != "" && len(pages) < 12; {
				a := s.ask(t, "user", "GET", path, "")
				a.want(t, path, 200, "")
				if a.list == nil {
					t.Fatalf("%s answered no array", path)
				}
				pages = append(pages, a.keysOf())
				path = ""
				if link := a.header.Get("Link"); link != "" {
					next, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
					if path = next; rel != `; rel="next"` {
						t.Errorf("Link is %s", link)
					}
				}
			}
			if got := strings.Join(pages, " | "); got != tt.want {
				t.Errorf("%s: pages are %q, want %q", tt.path, got, tt.want)
			}
		}
	})
}
