package app_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// team returns the agents by ID.
func (c caller) team() map[string]agent.Agent {
	c.house.t.Helper()
	team := map[string]agent.Agent{}
	for _, a := range decode[[]agent.Agent](c.get("/api/v1/agents").want(http.StatusOK)) {
		team[a.AgentID] = a
	}
	return team
}

func (c caller) status() link.Status {
	c.house.t.Helper()
	return decode[link.Status](c.get("/api/v1/agentrt/status").want(http.StatusOK))
}

// Agents must not be shown as gone when only the gateway is offline.
func TestAgentsWithoutGateway(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto", "intern") // an agent without a counterpart in the runtime

		st := owner.status()
		if st.State != link.Connected || st.LastError != "" || st.GatewayVersion == "" || st.BootID == "" || st.ConnectedAt == nil || len(st.MissingScopes) > 0 {
			t.Errorf("connected, the status is %+v", st)
		}
		team := owner.team()
		if len(team) != 5 {
			t.Errorf("the team is %v, want the runtime's four and the intern", team)
		}
		for id, want := range map[string]struct{ runtime, account bool }{
			"cto": {true, true}, "coo": {true, false}, "intern": {false, true},
		} {
			a := team[id]
			if a.Runtime == nil || *a.Runtime != want.runtime || (a.Account != nil) != want.account || (a.AsOf != nil) != want.runtime {
				t.Errorf("%s is in the runtime %v with the account %v as of %v, want %v", id, a.Runtime, a.Account, a.AsOf, want)
			}
		}

		h.runtime.Restart(time.Hour)
		waitFor(t, "the loss of the connection", func() bool { return owner.status().State == link.Unreachable })
		st = owner.status()
		if st.LastError == "" || st.ConnectedAt != nil || st.LastSeenAt == nil || st.Since.IsZero() {
			t.Errorf("offline, the status is %+v", st)
		}
		wantKnown(t, owner.team(), team)
		// Requests that do not need the runtime still work.
		s.anonymous().get("/health").want(http.StatusOK)

		// After a restart without a connection, the agents are the same.
		s.stop()
		owner = h.start().login(ownerEmail)
		waitFor(t, "a connection attempt", func() bool { return owner.status().State == link.Unreachable })
		wantKnown(t, owner.team(), team)
		if p := owner.page("coo"); p.Runtime != nil || p.AsOf == nil {
			t.Errorf("the page of an agent without an account is %+v", p.Agent)
		}
	})
}

// wantKnown checks that the team is the last known one, and that its time shows that.
func wantKnown(t *testing.T, now, before map[string]agent.Agent) {
	t.Helper()
	if len(now) != len(before) {
		t.Errorf("offline, the team is %v, want the %d that were known", now, len(before))
	}
	for id, was := range before {
		a := now[id]
		if a.Runtime != nil || a.Name != was.Name || (a.Account != nil) != (was.Account != nil) || a.Presence == nil || a.Presence.State != agent.Offline {
			t.Errorf("offline, %s is %+v, was %+v", id, a, was)
		}
		if was.AsOf != nil && (a.AsOf == nil || a.AsOf.After(was.AsOf.Time)) {
			t.Errorf("offline, %s is as of %v, want %v", id, a.AsOf, was.AsOf)
		}
	}
}

// Invalid tokens, bodies and addresses must not appear in the log or in answers. Every
// house searches for its secrets; this test provokes leaks.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		nobody := s.anonymous()
		const tried = "a password that was tried 7d2e"
		h.secret(tried, "a password that was tried")
		for _, body := range []any{
			map[string]any{"email": ownerEmail, "password": tried},
			map[string]any{"email": tried, "password": tried},
			map[string]any{"email": ownerEmail, "password": tried, "passwort": tried},
			map[string]any{"email": ownerEmail, "password": []string{tried}},
			map[string]any{"email": 1, tried[:12]: tried},
			[]string{tried},
			tried,
		} {
			if a := nobody.post("/api/v1/auth/login", body); a.status < 400 || a.status >= 500 {
				t.Errorf("%s: %d", a.what, a.status)
			}
		}
		for _, body := range []map[string]any{
			{"password": tried, "role": "king"},
			{"password": tried[:5]},
			{"password": map[string]string{"is": tried}},
			{"password": tried, "email": "cto@example.com", "version": tried},
		} {
			if a := owner.patch("/api/v1/users/"+ownerEmail, body); a.status != http.StatusUnprocessableEntity && a.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", a.what, a.status, a.body)
			}
		}
		forged := owner.token[:len(owner.token)-4] + "AAAA"
		h.secret(forged, "a forged token")
		caller{s, forged}.get("/api/v1/tasks").wantProblem(http.StatusUnauthorized, "token_invalid")
		if strings.Contains(h.logged(), owner.token) {
			t.Error("the log contains a token")
		}
		for _, hash := range hashes(t, s) {
			h.secret(hash, "a password's hash")
		}
		owner.get("/api/v1/users").want(http.StatusOK)
		owner.get("/api/v1/activity").want(http.StatusOK)
	})
}

// asDevice gives the service a key pair and an unknown token, and makes the runtime
// accept only paired devices. All encodings of the key and the token count as secrets.
func (h *house) asDevice() {
	h.t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	const token = "device-token-of-another-day-4b8e"
	h.raw.DevicePrivateKey = config.Secret(base64.RawURLEncoding.EncodeToString(key.Seed()))
	h.raw.DevicePublicKey = base64.RawURLEncoding.EncodeToString(public)
	h.raw.DeviceToken = token
	h.secret(token, "the configured device token")
	h.secret(hex.EncodeToString(key.Seed()), "the device's seed in hex")
	h.secret(strings.ToUpper(hex.EncodeToString(key.Seed())), "the device's seed in hex")
	h.secret(fmt.Sprintf("%d", key.Seed()), "the device's seed in numbers")
	for what, data := range map[string][]byte{"seed": key.Seed(), "private key": key, "PKCS #8": der} {
		for _, form := range []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding} {
			h.secret(form.EncodeToString(data), "the device's "+what)
		}
	}
	h.runtime.RequirePairing(true)
}

// logged returns the lines of the log.
func (h *house) logged() string {
	var b strings.Builder
	for line := range strings.Lines(h.seen.String()) {
		if strings.HasPrefix(line, "time=") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// hashes returns the password hashes, which are secrets too.
func hashes(t *testing.T, s *service) []string {
	t.Helper()
	rows, err := s.DB.Query(t.Context(), `SELECT password_hash FROM users`)
	all, err := db.All(rows, err, func(r db.Row) (hash string, err error) { return hash, r.Scan(&hash) })
	if err != nil || len(all) != 2 {
		t.Fatalf("%d hashes, %v", len(all), err)
	}
	return all
}

// A request that waits for the runtime must not time out before the runtime's own limit,
// so that the error can say what may have happened.
func TestTimeForTheRuntime(t *testing.T) {
	const patience = 10 * time.Minute
	s := newHouse(t, db.SQLite, func(r *config.Raw) {
		r.GatewayTimeoutMS = strconv.FormatInt(patience.Milliseconds(), 10)
	}).start()
	document := decode[struct {
		Paths map[string]map[string]json.RawMessage
	}](s.anonymous().get("/api/v1/openapi.json"))
	limits, asking := map[string]time.Duration{}, 0
	for _, r := range s.API.Routes() {
		limits[r.Method+" "+r.Path] = r.Limit
	}
	for path, methods := range document.Paths {
		for method, described := range methods {
			if !strings.Contains(string(described), link.ErrTimeout.Code) {
				continue
			}
			asking++
			if name := strings.ToUpper(method) + " " + path; limits[name] <= patience {
				t.Errorf("%s may take %v, and the runtime %v", name, limits[name], patience)
			}
		}
	}
	if asking < 14 {
		t.Errorf("%d routes document that the runtime may be slow, want all", asking)
	}
}
