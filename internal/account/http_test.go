package account

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

// site is the service behind the real API, and all that it ever said.
type site struct {
	*Service
	url  string
	said *bytes.Buffer // answers
	log  *bytes.Buffer
}

func newSite(t *testing.T, d *db.DB) *site {
	t.Helper()
	s := &site{Service: newService(d), said: &bytes.Buffer{}, log: &bytes.Buffer{}}
	s.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	api := web.New(web.Options{Title: "Wardroom", Version: "test", Log: s.Log, Authenticate: s.Authenticate})
	s.Mount(api)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.url = server.URL + web.Prefix
	return s
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	list   []any
}

// ask sends one request, with body as JSON unless it is a string, which is sent as it is.
func (s *site) ask(t *testing.T, token, method, path string, body any, headers ...string) answer {
	t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		r = strings.NewReader(asJSON(t, b))
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, r)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.said.Write(raw)
	a := answer{status: res.StatusCode, header: res.Header}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s %s answered %d %q: %v", method, path, res.StatusCode, raw, err)
	}
	a.body, _ = v.(map[string]any)
	a.list, _ = v.([]any)
	return a
}

// login returns the token of a user who has the good password.
func (s *site) login(t *testing.T, u User) string {
	t.Helper()
	a := s.ask(t, "", "POST", "/auth/login", map[string]string{"email": u.Email, "password": goodPassword})
	token, _ := a.body["token"].(string)
	if a.status != http.StatusOK || token == "" {
		t.Fatalf("login of %s: %d %v", u.Email, a.status, a.body)
	}
	return token
}

func (a answer) want(t *testing.T, what string, status int, code string) {
	t.Helper()
	got, _ := a.body["code"].(string)
	if a.status != status || got != code {
		t.Errorf("%s: %d %q, want %d %q: %v", what, a.status, got, status, code, a.body)
	}
}

func TestLoginOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		coo := makeUser(t, s.Service, "coo", actor.Agent)
		a := s.ask(t, "", "POST", "/auth/login", map[string]string{"email": "COO@example.com", "password": goodPassword})
		user, _ := a.body["user"].(map[string]any)
		if a.status != http.StatusOK || user["id"] != coo.ID || user["role"] != "agent" || user["agent_id"] != "coo" {
			t.Fatalf("login: %d %v", a.status, a.body)
		}
		if want := monday.Add(time.Hour).Format("2006-01-02T15:04:05.000Z"); a.body["expires_at"] != want {
			t.Errorf("expires_at = %v, want %v", a.body["expires_at"], want)
		}
		token, _ := a.body["token"].(string)
		me := s.ask(t, token, "GET", "/auth/me", nil)
		if me.status != http.StatusOK || me.body["id"] != coo.ID || me.header.Get("ETag") == "" {
			t.Errorf("me: %d %v", me.status, me.body)
		}

		for name, body := range map[string]any{
			"unknown":     map[string]string{"email": "x@example.com", "password": goodPassword},
			"wrong":       map[string]string{"email": coo.Email, "password": "wrong"},
			"empty":       map[string]string{"email": "", "password": ""},
			"no email":    map[string]string{"email": "💣 ' OR 1=1 --", "password": "\u2028"},
			"very long":   map[string]string{"email": strings.Repeat("é", 200_000), "password": strings.Repeat("p", 500_000)},
			"an id of us": map[string]string{"email": coo.ID, "password": goodPassword},
		} {
			a := s.ask(t, "", "POST", "/auth/login", body)
			a.want(t, name, http.StatusUnauthorized, "login_failed")
			if a.body["title"] != ErrLogin.Title || a.body["detail"] != nil || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %v %v", name, a.body, a.header)
			}
		}
		for name, body := range map[string]string{
			"no password":    `{"email":"a@example.com"}`,
			"null":           `{"email":"a@example.com","password":null}`,
			"a number":       `{"email":"a@example.com","password":123456789012}`,
			"one field more": `{"email":"a@example.com","password":"x","otp":"1"}`,
		} {
			s.ask(t, "", "POST", "/auth/login", body).want(t, name, http.StatusUnprocessableEntity, "invalid_input")
		}
		s.ask(t, "", "POST", "/auth/login", `{"email"`).want(t, "half", http.StatusBadRequest, "invalid_json")
		s.ask(t, "", "POST", "/auth/login", `{"password":"`+strings.Repeat("p", 1<<20)+`"}`).
			want(t, "too much", http.StatusRequestEntityTooLarge, "too_large")
	})
}

func TestTokenOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	ada := makeUser(t, s.Service, "ada", actor.Admin)
	token := s.login(t, ada)
	s.ask(t, "", "GET", "/auth/me", nil).want(t, "no token", http.StatusUnauthorized, "sign_in_required")
	bad := s.ask(t, token+"x", "GET", "/auth/me", nil)
	bad.want(t, "a bad token", http.StatusUnauthorized, "token_invalid")
	if got := bad.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
		t.Errorf("WWW-Authenticate = %q", got)
	}
	if _, err := s.Change(system(t), ada.ID, Change{Role: new(actor.User)}, nil); err != nil {
		t.Fatal(err)
	}
	s.ask(t, token, "GET", "/users", nil).want(t, "demoted", http.StatusForbidden, "forbidden")
	if me := s.ask(t, token, "GET", "/auth/me", nil); me.status != http.StatusOK || me.body["role"] != "user" {
		t.Errorf("a demoted user: %d %v", me.status, me.body)
	}
	if _, err := s.Change(system(t), ada.ID, Change{Active: new(false)}, nil); err != nil {
		t.Fatal(err)
	}
	s.ask(t, token, "GET", "/auth/me", nil).want(t, "deactivated", http.StatusForbidden, "account_deactivated")
	s.ask(t, "", "POST", "/auth/login", map[string]string{"email": ada.Email, "password": goodPassword}).
		want(t, "login when deactivated", http.StatusUnauthorized, "login_failed")
	if !strings.Contains(s.log.String(), "reason=deactivated user="+ada.ID) {
		t.Errorf("the operator is not told why: %s", s.log)
	}
	s.Now = func() time.Time { return monday.Add(time.Hour) }
	s.ask(t, token, "GET", "/auth/me", nil).want(t, "expired", http.StatusUnauthorized, "token_invalid")
}

func TestUsersOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		owner := makeUser(t, s.Service, "owner", actor.Owner)
		admin := makeUser(t, s.Service, "admin", actor.Admin)
		token := s.login(t, admin)

		made := s.ask(t, token, "POST", "/users", `{"email":"cto@example.com","password":"`+goodPassword+`","role":"agent","agent_id":"cto","avatar_url":null}`)
		id, _ := made.body["id"].(string)
		if made.status != http.StatusCreated || made.header.Get("Location") != "/api/v1/users/"+id || made.body["version"] != 1.0 {
			t.Fatalf("create: %d %v %v", made.status, made.body, made.header)
		}
		tag := made.header.Get("ETag")
		for _, ref := range []string{id, "CTO@example.com", "cto%40example.com"} {
			if got := s.ask(t, token, "GET", "/users/"+ref, nil); got.status != http.StatusOK || got.body["id"] != id || got.header.Get("ETag") != tag {
				t.Errorf("GET %s: %d %v %v", ref, got.status, got.body, got.header.Get("ETag"))
			}
		}
		again := s.ask(t, token, "POST", "/users", map[string]any{"email": "Cto@example.com", "password": goodPassword, "role": "user"})
		again.want(t, "the same email", http.StatusConflict, "email_taken")
		again = s.ask(t, token, "POST", "/users", map[string]any{"email": "c@example.com", "password": goodPassword, "role": "agent", "agent_id": "cto"})
		again.want(t, "the same agent", http.StatusConflict, "agent_taken")
		if detail, _ := again.body["detail"].(string); again.body["holder"] != id || !strings.Contains(detail, "cto@example.com") {
			t.Errorf("the holder is not named: %v", again.body)
		}
		s.ask(t, token, "POST", "/users", map[string]any{"email": "c@example.com", "password": goodPassword, "role": "owner"}).
			want(t, "a second owner", http.StatusConflict, "one_owner")
		s.ask(t, token, "POST", "/users", map[string]any{"email": "c@example.com", "password": "short", "role": "user"}).
			want(t, "a short password", http.StatusUnprocessableEntity, "invalid_input")
		s.ask(t, token, "POST", "/users", map[string]any{"email": "c@example.com", "password": goodPassword, "role": "king"}).
			want(t, "no role", http.StatusUnprocessableEntity, "invalid_input")

		got := s.ask(t, token, "PATCH", "/users/"+id, `{"name":"CTO"}`, "If-Match", tag)
		if got.status != http.StatusOK || got.body["name"] != "CTO" || got.body["agent_id"] != "cto" || got.body["version"] != 2.0 {
			t.Errorf("change: %d %v", got.status, got.body)
		}
		stale := s.ask(t, token, "PATCH", "/users/"+id, `{"name":"Late"}`, "If-Match", tag)
		stale.want(t, "a stale change", http.StatusPreconditionFailed, "user_stale")
		if stale.body["current_version"] != 2.0 {
			t.Errorf("stale: %v", stale.body)
		}
		s.ask(t, token, "PATCH", "/users/"+id, `{"name":"X"}`, "If-Match", "2").
			want(t, "no ETag", http.StatusUnprocessableEntity, "invalid_input")
		s.ask(t, token, "PATCH", "/users/"+id, `{"name":null}`).want(t, "no name", http.StatusUnprocessableEntity, "invalid_input")
		s.ask(t, token, "PATCH", "/users/"+id, `{"agent_id":null}`).want(t, "no agent", http.StatusUnprocessableEntity, "invalid_input")
		s.ask(t, token, "PATCH", "/users/"+id, `{"id":"x"}`).want(t, "another id", http.StatusUnprocessableEntity, "invalid_input")
		s.ask(t, token, "PATCH", "/users/"+id, `{"role":"owner","agent_id":null}`).want(t, "promoted", http.StatusConflict, "one_owner")
		s.ask(t, token, "PATCH", "/users/nobody", `{"name":"X"}`).want(t, "nobody", http.StatusNotFound, "user_not_found")
		s.ask(t, token, "GET", "/users/nobody@example.com", nil).want(t, "nobody", http.StatusNotFound, "user_not_found")

		s.ask(t, token, "PATCH", "/users/"+owner.ID, `{"password":"`+goodPassword+`"}`).want(t, "the owner's password", http.StatusForbidden, "owner_only")
		s.ask(t, token, "PATCH", "/users/"+owner.Email, `{}`).want(t, "nothing of the owner", http.StatusForbidden, "owner_only")
		own := s.login(t, owner)
		s.ask(t, own, "PATCH", "/users/"+owner.ID, `{"name":"Taken over","password":"`+goodPassword+`"}`).want(t, "their own, without the current one", http.StatusForbidden, "own_password")
		s.ask(t, own, "PATCH", "/users/"+owner.Email, `{"password":"another passphrase"}`).want(t, "the same, by email", http.StatusForbidden, "own_password")
		if got := s.ask(t, own, "PATCH", "/users/"+owner.ID, `{"name":"Olga","role":"owner","active":true}`); got.status != http.StatusOK || got.body["name"] != "Olga" {
			t.Errorf("the owner's own change: %d %v", got.status, got.body)
		}
		s.ask(t, own, "PATCH", "/users/"+owner.ID, `{"active":false}`).want(t, "the owner gone", http.StatusConflict, "one_owner")
		s.ask(t, own, "PATCH", "/users/"+owner.ID, `{"role":"admin"}`).want(t, "the owner demoted", http.StatusConflict, "one_owner")

		first := s.ask(t, token, "GET", "/users?limit=2&total=true", nil)
		if len(first.list) != 2 || first.header.Get("X-Total-Count") != "3" {
			t.Fatalf("list: %d %v %v", first.status, first.list, first.header)
		}
		next, _, _ := strings.Cut(strings.TrimPrefix(first.header.Get("Link"), "</api/v1"), ">")
		if second := s.ask(t, token, "GET", next, nil); len(second.list) != 1 || second.header.Get("Link") != "" {
			t.Errorf("second page: %d %v %v", second.status, second.list, second.header.Get("Link"))
		}
		for query, want := range map[string]int{"role=agent": 1, "agent_id=cto": 1, "active=true": 3, "active=false": 0, "role=agent&active=true": 1, "q=CTO": 1, "q=@example.com&role=agent": 1, "q=%25": 0} {
			if got := s.ask(t, token, "GET", "/users?"+query, nil); got.list == nil || len(got.list) != want {
				t.Errorf("%s: %d users, want %d: %v", query, len(got.list), want, got.body)
			}
		}
		for _, query := range []string{"role=king", "active=maybe", "limit=0", "cursor=x", "who=me", "sort=role", "sort=name&" + strings.TrimPrefix(next, "/users?")} {
			if got := s.ask(t, token, "GET", "/users?"+query, nil); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d, want 422", query, got.status)
			}
		}
	})
}

// Who may do what with accounts, as the product's table says it.
func TestRolesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	tokens := map[actor.Role]string{"": ""}
	for _, role := range actor.Roles() {
		tokens[role] = s.login(t, makeUser(t, s.Service, "the-"+string(role), role))
	}
	target := makeUser(t, s.Service, "target", actor.User)
	const in, no, who = http.StatusOK, http.StatusForbidden, http.StatusUnauthorized
	for _, tt := range []struct {
		method, path string
		body         any
		want         map[actor.Role]int
	}{
		{"GET", "/auth/me", nil, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: in, actor.Agent: in}},
		{"PATCH", "/auth/me", `{"avatar_url":null}`, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: in, actor.Agent: in}},
		{"POST", "/auth/password", map[string]string{"current_password": goodPassword, "new_password": goodPassword}, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: in, actor.Agent: in}},
		{"GET", "/people", nil, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: in, actor.Agent: no}},
		{"GET", "/users", nil, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: no, actor.Agent: no}},
		{"POST", "/users", "new", map[actor.Role]int{"": who, actor.Owner: 201, actor.Admin: 201, actor.User: no, actor.Agent: no}},
		{"GET", "/users/" + target.ID, nil, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: no, actor.Agent: no}},
		{"PATCH", "/users/" + target.ID, `{"name":"T"}`, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: no, actor.Agent: no}},
		{"PATCH", "/users/the-owner@example.com", `{"name":"O"}`, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: no, actor.User: no, actor.Agent: no}},
		{"PATCH", "/users/the-user@example.com", `{"name":"U"}`, map[actor.Role]int{"": who, actor.Owner: in, actor.Admin: in, actor.User: no, actor.Agent: no}},
	} {
		for role, want := range tt.want {
			body := tt.body
			if body == "new" {
				body = map[string]string{"email": fmt.Sprintf("by-%s@example.com", role), "password": goodPassword, "role": "admin", "current_password": goodPassword}
			}
			if got := s.ask(t, tokens[role], tt.method, tt.path, body); got.status != want {
				t.Errorf("%s %s as %q: %d, want %d: %v", tt.method, tt.path, role, got.status, want, got.body)
			}
		}
	}
}

// Who may not see accounts reads names on a board, and learns nothing else of
// anybody but who is still there to be given work: no email, no role.
func TestPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	token := s.login(t, makeUser(t, s.Service, "zoe", actor.User))
	makeUser(t, s.Service, "adam", actor.Agent)
	gone := makeUser(t, s.Service, "mia", actor.Admin)
	if _, err := s.Change(actor.With(t.Context(), actor.System), gone.ID, Change{Active: new(false)}, nil); err != nil {
		t.Fatal(err)
	}
	first := s.ask(t, token, "GET", "/people?limit=2", nil)
	var names []string
	for _, row := range first.list {
		p, ok := row.(map[string]any)
		if !ok || len(p) != 3 || p["id"] == "" || p["active"] != !strings.HasPrefix(fmt.Sprint(p["name"]), "mia") || strings.Contains(asJSON(t, p), "@") {
			t.Errorf("a person is %v", row)
		}
		names = append(names, fmt.Sprint(p["name"]))
	}
	if len(names) != 2 || !strings.HasPrefix(names[0], "adam") || !strings.HasPrefix(names[1], "mia") || first.header.Get("Link") == "" {
		t.Errorf("the first two are %v, and then %q", names, first.header.Get("Link"))
	}
}

// Nothing that anybody can read has a password, a hash or the signing secret
// in it: not an answer, not the log, not an error, not an event. Tokens are in
// the login's answer alone.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		s.RegistrationOpen = true
		long := strings.Repeat("a long secret phrase; ", 8)
		secrets := []string{goodPassword, "a wrong passphrase", "shortpass", "another passphrase", strings.TrimSpace(long), string(secret), "$2a$", "hmac256:"}
		var errs strings.Builder
		_, warnings, err := s.Bootstrap(t.Context(), "owner@example.com", "shortpass")
		fmt.Fprintln(&errs, warnings, err)
		owner := makeUser(t, s.Service, "owner", actor.Owner)
		_, warnings, err = s.Bootstrap(t.Context(), owner.Email, goodPassword)
		fmt.Fprintln(&errs, warnings, err)
		token := s.login(t, owner)
		answers := s.said.String() // with the token
		s.said.Reset()

		s.ask(t, token, "GET", "/auth/me", nil)
		made := s.ask(t, token, "POST", "/users", map[string]string{"email": "a@example.com", "password": long, "role": "user"})
		path := fmt.Sprint("/users/", made.body["id"])
		s.ask(t, token, "GET", path, nil)
		s.ask(t, token, "GET", "/users", nil)
		for _, body := range []string{
			`{"password":"another passphrase"}`, `{"password":"another passphrase","current_password":"a wrong passphrase"}`, `{"password":"shortpass"}`, `{"password":"another passphrase","x":1}`,
			`{"password":["another passphrase"]}`, `{"password":"another passphrase","role":"king"}`, `{"password":"another passphrase`,
		} {
			s.ask(t, token, "PATCH", path, body)
		}
		for _, body := range []string{
			`{"email":"a@example.com","password":"a wrong passphrase"}`, `{"email":"a wrong passphrase","password":"a wrong passphrase"}`,
			`{"password":"a wrong passphrase"}`, `{"email":1,"password":"a wrong passphrase"}`, `{"email":"a@example.com","password":"a wrong passphrase"`,
			`{"email":"a@example.com","password":{"a wrong passphrase":1}}`, `{"email":"a@example.com","Password":"a wrong passphrase"}`,
		} {
			s.ask(t, "", "POST", "/auth/login", body)
			s.ask(t, "", "POST", "/auth/register", body)
		}
		for _, body := range []string{
			`{"current_password":"a wrong passphrase","new_password":"another passphrase"}`, `{"current_password":"a wrong passphrase","new_password":"shortpass"}`,
			`{"current_password":["a wrong passphrase"],"new_password":"another passphrase"}`, `{"current_password":"` + goodPassword + `","new_password":"another passphrase"}`,
			`{"current_password":"another passphrase","new_password":"` + goodPassword + `"}`, `{"new_password":"another passphrase"`,
		} {
			s.ask(t, token, "POST", "/auth/password", body)
		}
		s.ask(t, token, "POST", "/users", map[string]string{"email": "a@example.com", "password": goodPassword, "role": "admin"})
		_, err = s.Create(system(t), NewUser{Email: "a@example.com", Password: goodPassword, Role: actor.User})
		fmt.Fprintln(&errs, err, s.SetPassword(t.Context(), owner.ID, "shortpass"))
		u, err := s.Get(t.Context(), owner.ID)
		fmt.Fprintf(&errs, "%+v %#v %v", u, u, err)
		if s.log.Len() == 0 || !strings.Contains(s.log.String(), "login refused") {
			t.Error("the log says nothing, so this test shows nothing")
		}
		events := strings.Join(append(told(t, s.Service, owner.ID), told(t, s.Service, fmt.Sprint(made.body["id"]))...), "\n")
		if !strings.Contains(events, `"password":"changed"`) {
			t.Errorf("the events say nothing of passwords: %s", events)
		}
		for place, text := range map[string]string{
			"the login": answers, "answers": s.said.String(), "log": s.log.String(), "errors": errs.String(), "events": events,
		} {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s tell %q", place, secret)
				}
			}
			if place != "the login" && strings.Contains(text, token) {
				t.Errorf("%s have the token", place)
			}
		}
	})
}
