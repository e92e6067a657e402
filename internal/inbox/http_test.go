package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

var errToken = fault.New(fault.Unauthenticated, "invalid_token", "The token is not good.")

// site is the inbox behind the real API. Tokens are role names.
type site struct {
	*fixture
	api     *web.API
	handler http.Handler
	users   map[string]actor.Actor
}

func newSite(t testing.TB, d *db.DB) *site {
	t.Helper()
	s := &site{fixture: newDesk(t, d), users: map[string]actor.Actor{}}
	s.users["user"] = s.me
	for _, role := range []actor.Role{actor.Owner, actor.Admin, actor.Agent} {
		s.users[string(role)] = makeUser(t, d, string(role), role, true)
	}
	s.api = web.New(web.Options{
		Title: "Inbox", Version: "test",
		Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			if a, ok := s.users[token]; ok {
				return a, nil
			}
			return actor.Actor{}, errToken
		},
	})
	s.Mount(s.api)
	s.handler = s.api.Handler()
	return s
}

// ask sends a request as a role and checks the status and the problem's code.
func (s *site) ask(role, method, path, body string, status int, code string, headers ...string) (*httptest.ResponseRecorder, map[string]any) {
	s.t.Helper()
	if !strings.HasPrefix(path, web.Prefix) {
		path = web.Prefix + path
	}
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+role)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var v any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		s.t.Errorf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
	m, _ := v.(map[string]any)
	if got, _ := m["code"].(string); w.Code != status || got != code {
		s.t.Errorf("%s %s %s as %s: %d %s, want %d %s", method, path, body, role, w.Code, w.Body, status, code)
	}
	return w, m
}

// The actions of the inbox page, one after the other.
func TestInboxOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		i := s.raise(blocked("a", High))
		at := "/inbox/" + i.ID
		w, got := s.ask("user", "GET", at, "", 200, "")
		tag := w.Header().Get("ETag")
		subject, _ := got["subject"].(map[string]any)
		if got["state"] != "open" || got["count"] != 1.0 || got["severity"] != "high" || got["kind"] != "old_blocker" || subject["name"] != "TASK-1" ||
			got["first_at"] != "2026-11-16T08:00:00.000Z" || got["assignee"] != nil || got["resolution"] != nil || got["snoozed_until"] != nil || tag == "" {
			t.Fatalf("it is %v, ETag %q", got, tag)
		}
		if _, shown := got["cause"]; shown {
			t.Error("the cause is shown")
		}
		s.raise(blocked("a", High)) // a repeat keeps the ETag
		_, got = s.ask("user", "POST", at+"/ack", "", 200, "", "If-Match", tag)
		if got["state"] != "acked" || got["count"] != 2.0 {
			t.Errorf("acknowledged it is %v", got)
		}
		_, p := s.ask("admin", "POST", at+"/snooze", `{"until":"2026-11-16T12:00:00+02:00"}`, 412, ErrStale.Code, "If-Match", tag)
		if p["current_version"] != 2.0 {
			t.Errorf("the problem is %v", p)
		}
		_, got = s.ask("admin", "POST", at+"/snooze", `{"until":"2026-11-16T12:00:00+02:00"}`, 200, "")
		if got["state"] != "snoozed" || got["snoozed_until"] != "2026-11-16T10:00:00.000Z" {
			t.Errorf("put off it is %v", got)
		}
		_, got = s.ask("owner", "POST", at+"/assign", `{"assignee":"ada@example.com"}`, 200, "")
		if who, _ := got["assignee"].(map[string]any); who["id"] != s.me.ID || who["name"] != "ADA" {
			t.Errorf("assigned it is %v", got)
		}
		_, got = s.ask("user", "POST", at+"/resolve", `{"note":"Paid"}`, 200, "")
		if r, _ := got["resolution"].(map[string]any); r["note"] != "Paid" || fmt.Sprint(r["by"]) != fmt.Sprintf("map[id:%s name:ADA]", s.me.ID) {
			t.Errorf("resolved it is %v", got)
		}
		_, p = s.ask("user", "POST", at+"/ack", "", 409, ErrResolved.Code)
		if p["resolution"] == nil || p["detail"] == "" {
			t.Errorf("the problem is %v", p)
		}
		s.ask("user", "POST", at+"/reopen", "", 200, "")
		s.ask("user", "POST", at+"/resolve", "", 200, "")
		s.ask("user", "POST", at+"/resolve", `{}`, 200, "", "If-Match", "*")
	})
}

// An invalid request is refused with its reason and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	at := "/inbox/" + s.raise(blocked("a", High)).ID
	for _, tt := range []struct {
		role, method, path, body string
		status                   int
		code                     string
	}{
		{"agent", "GET", "/inbox", ``, 403, "forbidden"},
		{"agent", "GET", at, ``, 403, "forbidden"},
		{"agent", "POST", at + "/ack", ``, 403, "forbidden"},
		{"agent", "POST", at + "/snooze", `{"until":"2026-11-17T08:00:00Z"}`, 403, "forbidden"},
		{"agent", "POST", at + "/assign", `{"assignee":null}`, 403, "forbidden"},
		{"agent", "POST", at + "/resolve", ``, 403, "forbidden"},
		{"agent", "POST", at + "/reopen", ``, 403, "forbidden"},
		{"user", "GET", "/inbox/x", ``, 404, ErrNotFound.Code},
		{"user", "POST", "/inbox/x/ack", ``, 404, ErrNotFound.Code},
		{"user", "POST", at + "/snooze", `{"until":"2026-11-16T08:00:00Z"}`, 422, "invalid_input"},
		{"user", "POST", at + "/snooze", `{"until":"2027-11-16T08:00:00Z"}`, 422, "invalid_input"},
		{"user", "POST", at + "/snooze", `{"until":"soon"}`, 422, "invalid_input"},
		{"user", "POST", at + "/snooze", `{}`, 422, "invalid_input"},
		{"user", "POST", at + "/snooze", ``, 400, "invalid_json"},
		{"user", "POST", at + "/assign", `{}`, 422, "invalid_input"},
		{"user", "POST", at + "/assign", `{"assignee":""}`, 422, "invalid_input"},
		{"user", "POST", at + "/assign", `{"assignee":"agent"}`, 422, ErrAssignee.Code},
		{"user", "POST", at + "/resolve", `{"note":"` + strings.Repeat("x", 1001) + `"}`, 422, "invalid_input"},
		{"user", "POST", at + "/resolve", `{"why":"x"}`, 422, "invalid_input"},
		{"user", "GET", "/inbox?state=closed", ``, 422, "invalid_input"},
		{"user", "GET", "/inbox?kind=party", ``, 422, "invalid_input"},
		{"user", "GET", "/inbox?severity=worst", ``, 422, "invalid_input"},
		{"user", "GET", "/inbox?sort=title", ``, 422, "invalid_input"},
		{"user", "GET", "/inbox?assignee=nobody", ``, 422, ErrAssignee.Code},
		{"user", "GET", "/inbox?cursor=1xyz", ``, 422, "invalid_cursor"},
	} {
		s.ask(tt.role, tt.method, tt.path, tt.body, tt.status, tt.code)
	}
	if i := s.of("a"); i.Version != 1 || len(s.events()) != 1 {
		t.Errorf("it is %+v, with %d events", i, len(s.events()))
	}
	s.ask("user", "POST", at+"/assign", `{"assignee":null}`, 200, "")
}

// Pages link to each other and have the total, also for filters that depend on
// the time.
func TestPagesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	for n := range 7 {
		s.raise(blocked(fmt.Sprint(n), High))
	}
	for _, query := range []string{"", "state=open", "state=open&state=snoozed", "severity=high&kind=old_blocker,escalation&assignee=none"} {
		seen := map[string]bool{}
		for path := "/inbox?limit=3&total=true&" + query; path != ""; {
			w, _ := s.ask("user", "GET", path, "", 200, "")
			var rows []Item
			if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || w.Header().Get("X-Total-Count") != "7" {
				t.Fatalf("%s: %v, of %q", path, err, w.Header().Get("X-Total-Count"))
			}
			for _, i := range rows {
				seen[i.ID] = true
			}
			s.now = s.now.Add(time.Minute)
			path, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		}
		if len(seen) != 7 {
			t.Errorf("%q: %d of 7", query, len(seen))
		}
	}
	w, _ := s.ask("user", "GET", "/inbox?limit=3&state=open", "", 200, "")
	link, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"state=acked", "state=open&kind=escalation", "state=open&sort=last", ""} {
		s.ask("user", "GET", "/inbox?"+other+"&cursor="+url.QueryEscape(u.Query().Get("cursor")), "", 422, "invalid_cursor")
	}
}

// The OpenAPI document lists every kind, state, and severity.
func TestDocumentKnowsEveryWord(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	text := string(s.api.Document())
	words := func(list any) string {
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, want := range []string{words(Kinds()), words(Severities()), words(States())} {
		if flat := strings.Join(strings.Fields(text), ""); strings.Count(flat, `"enum":`+want) != 2 {
			t.Errorf("%s is %d times in the document, want as a field and as a filter", want, strings.Count(flat, `"enum":`+want))
		}
	}
	for _, k := range Kinds() {
		m := blocked(string(k), Low)
		m.Kind = k
		s.raise(m)
	}
}
