package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/web"
)

// public returns the routes that need no token.
func public() []string {
	return []string{
		"GET /", "GET /api/docs", "GET /api/v1/config", "GET /api/v1/openapi.json",
		"GET /assets/01990000-0000-7000-8000-000000000000", "GET /favicon.svg", "GET /health", "GET /livez", "GET /readyz", "GET /theme.js",
		"POST /api/v1/auth/link", "POST /api/v1/auth/login", "POST /api/v1/auth/register", "POST /api/v1/auth/setup",
	}
}

// TestRoutesAskForTheirPermission calls every route with every role, without a token and
// with invalid tokens. It finds new routes without a permission and routes that are
// public by mistake.
func TestRoutesAskForTheirPermission(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	// Otherwise the doctor waits for one.
	sendEvent := func() {
		if _, err := h.runtime.Heartbeat("cto"); err != nil {
			t.Fatal(err)
		}
	}
	sendEvent()
	callers := map[actor.Role]caller{actor.Owner: s.login(ownerEmail)}
	for _, role := range []actor.Role{actor.Admin, actor.User, actor.Agent} {
		body := map[string]any{"email": string(role) + "@example.com", "password": password, "role": role, "current_password": password}
		if role == actor.Agent {
			body["agent_id"] = "cto"
		}
		callers[actor.Owner].post("/api/v1/users", body).want(http.StatusCreated)
		callers[role] = s.login(string(role) + "@example.com")
	}
	var open []string
	for _, r := range s.API.Routes() {
		name := r.Method + " " + r.Path
		if r.Permission == actor.Public {
			open = append(open, r.Method+" "+nowhere(r.Path))
		}
		t.Run(name, func(t *testing.T) {
			wantNobody(t, s.anonymous(), r)
			for _, role := range actor.Roles() {
				a := callers[role].send(r.Method, nowhere(r.Path), nil)
				problem := struct{ Code string }{}
				if strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
					problem = decode[struct{ Code string }](a)
				}
				refused := a.status == http.StatusForbidden && problem.Code == "forbidden"
				if may := role.May(r.Permission); refused == may || a.status == http.StatusUnauthorized || a.status >= 500 {
					t.Errorf("as %s: %d %s; %s needs %s", role, a.status, problem.Code, name, r.Permission)
				}
			}
		})
		if name == "POST "+pairingPath+"/rotate" { // the other routes need the gateway
			callers[actor.Owner].send(http.MethodDelete, pairingPath, nil)
			waitFor(t, "the gateway", func() bool {
				st := s.Gateway.Status()
				return st.State == link.Connected && st.DeviceID == ""
			})
			sendEvent()
		}
	}
	slices.Sort(open)
	if !slices.Equal(open, public()) {
		t.Errorf("public routes are\n%s\nwant\n%s", strings.Join(open, "\n"), strings.Join(public(), "\n"))
	}
}

// wantNobody tries a route without a token and with invalid ones.
func wantNobody(t *testing.T, nobody caller, r web.Route) {
	t.Helper()
	for _, c := range []struct{ name, token, code string }{
		{"no token", "", "sign_in_required"},
		{"rubbish", "rubbish", "token_invalid"},
		{"a token of another secret", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJ3YXJkcm9vbSIsInN1YiI6IjAxOTlhMGI0LTVjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMSIsImV4cCI6NDEwMjQ0NDgwMH0.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "token_invalid"},
		{"an unsigned token", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ3YXJkcm9vbSIsInN1YiI6IjAxOTlhMGI0LTVjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMSIsImV4cCI6NDEwMjQ0NDgwMH0.", "token_invalid"},
	} {
		methods := []string{r.Method}
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for _, method := range methods {
			a := caller{nobody.service, c.token}.send(method, nowhere(r.Path), nil)
			if r.Permission == actor.Public {
				if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
					t.Errorf("%s with %s: %d, but it is public", method, c.name, a.status)
				}
				continue
			}
			if a.status != http.StatusUnauthorized || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s with %s: %d, WWW-Authenticate %q", method, c.name, a.status, a.header.Get("WWW-Authenticate"))
			}
			if method != http.MethodHead {
				a.wantProblem(http.StatusUnauthorized, c.code)
			}
		}
	}
}

// nowhere returns the path with parameters that match nothing.
func nowhere(path string) string {
	if path == "/{$}" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = "01990000-0000-7000-8000-000000000000"
		}
	}
	return strings.Join(parts, "/")
}

// The permissions are documented, so a change must be deliberate.
func TestPermissions(t *testing.T) {
	var b strings.Builder
	for _, p := range actor.Permissions() {
		fmt.Fprintln(&b, p, p.Holders())
	}
	const want = `public [owner admin user agent]
read [owner admin user agent]
change_tasks [owner admin user agent]
delete_tasks [owner admin]
hold_standups [owner admin agent]
file_reports [owner admin agent]
manage_standups [owner admin]
manage_schedules [owner admin]
control_sessions [owner admin]
manage_runtime [owner admin]
manage_settings [owner admin]
use_inbox [owner admin user]
name_people [owner admin user]
manage_accounts [owner admin]
read_audit [owner admin]
manage_retention [owner admin]
manage_prices [owner admin]
manage_limits [owner admin]
dispatch_tasks [owner admin]
decide_tasks [owner admin user]
answer_agents [owner admin]
use_tools [agent]
`
	if b.String() != want {
		t.Errorf("the table is\n%swant\n%s", b.String(), want)
	}
}
