package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// fresh returns an unused email.
func (s *estate) fresh(name string) string { return uuid.NewString()[24:] + name + "@example.com" }

// Section 4: the endpoints.
var endpointFacts = []fact{
	{"4.1 health", func(t *testing.T, s *estate) {
		h := decode[struct {
			Status    string
			Timestamp time.Time
		}](s.anonymous().get("/health").want(http.StatusOK))
		if h.Status != "ok" || time.Since(h.Timestamp).Abs() > time.Minute {
			t.Errorf("health is %+v", h)
		}
	}},
	{"4.2 config", func(t *testing.T, s *estate) {
		if c := decode[app.PublicConfig](s.anonymous().get("/api/v1/config").want(http.StatusOK)); c.Version == "" || !c.RegistrationEnabled || c.SetupRequired {
			t.Errorf("the configuration is %+v", c)
		}
	}},
	{"4.3 login", func(t *testing.T, s *estate) {
		in := decode[struct {
			Token string
			User  map[string]any
		}](s.anonymous().post("/api/v1/auth/login", map[string]string{"email": ownerEmail, "password": password}).want(http.StatusOK))
		if strings.Count(in.Token, ".") != 2 || in.User["email"] != ownerEmail || in.User["role"] != "owner" {
			t.Errorf("login answers a token with %d dots and %v", strings.Count(in.Token, "."), in.User)
		}
	}},
	{"4.4 register", func(_ *testing.T, s *estate) {
		s.anonymous().post("/api/v1/auth/register", map[string]string{"email": s.fresh("new"), "password": password}).want(http.StatusCreated)
	}},
	{"4.5 tasks is an array", func(t *testing.T, s *estate) {
		if body := s.owner.get("/api/v1/tasks").want(http.StatusOK).body; body[0] != '[' {
			t.Errorf("it is %s", body)
		}
		s.anonymous().get("/api/v1/tasks").wantProblem(http.StatusUnauthorized, "sign_in_required")
	}},
	{"4.7 standups creates the record of the current day", func(t *testing.T, s *estate) {
		m := decode[meeting](s.coo.post("/api/v1/standups", nil)) // the standup that was run
		if m.ID != s.held.ID || m.Date != s.held.CreatedAt.UTC().Format(time.DateOnly) {
			t.Errorf("it answers the standup %s of %s, want %s of the current day", m.ID, m.Date, s.held.ID)
		}
		s.anonymous().post("/api/v1/standups", nil).want(http.StatusUnauthorized)
	}},
	{"4.8 run runs the standup", func(t *testing.T, s *estate) {
		if s.held.Attempt != 1 || s.held.StartedAt == nil {
			t.Errorf("attempt %d, started at %v", s.held.Attempt, s.held.StartedAt)
		}
		s.coo.post("/api/v1/standups/"+uuid.NewString()+"/run", nil).want(http.StatusNotFound)
		s.anonymous().post("/api/v1/standups/"+s.held.ID+"/run", nil).want(http.StatusUnauthorized)
	}},
	{"4.9 standups are listed and the latest one fetched", func(t *testing.T, s *estate) {
		all := decode[[]standup.Brief](s.user.get("/api/v1/standups").want(http.StatusOK))
		if len(all) == 0 {
			t.Error("the list is empty")
		}
		s.user.get("/api/v1/standups/latest").want(http.StatusOK)
		s.user.get("/api/v1/standups/" + s.held.ID).want(http.StatusOK)
	}},
}

// Section 5: authentication.
var authFacts = []fact{
	{"5.3 a wrong password is refused", func(_ *testing.T, s *estate) {
		email := s.fresh("guessed")
		s.owner.post("/api/v1/users", map[string]string{"email": email, "password": password, "role": "user"}).want(http.StatusCreated)
		s.anonymous().post("/api/v1/auth/login", map[string]string{"email": email, "password": password + "x"}).wantProblem(http.StatusUnauthorized, "login_failed")
	}},
	{"5.4 the token is a JWT signed with JWT_SECRET", func(t *testing.T, s *estate) {
		claims := jwt.MapClaims{}
		if _, err := jwt.ParseWithClaims(s.owner.token, claims, func(*jwt.Token) (any, error) { return []byte(jwtSecret), nil }); err != nil {
			t.Fatal(err)
		}
		if claims["sub"] == nil || claims["exp"] == nil {
			t.Errorf("the claims are %v", claims)
		}
	}},
	{"5.6 every request is verified", func(_ *testing.T, s *estate) {
		for _, token := range []string{"x", s.owner.token + "x", s.owner.token[:len(s.owner.token)/2]} {
			caller{s.service, token}.get("/api/v1/tasks").wantProblem(http.StatusUnauthorized, "token_invalid")
		}
	}},
	{"5.7 no session is kept", func(_ *testing.T, s *estate) {
		s.login(ownerEmail) // another login does not end the first one
		s.owner.get("/api/v1/auth/me").want(http.StatusOK)
	}},
	{"5.8 another JWT_SECRET invalidates all tokens", func(t *testing.T, s *estate) {
		other := with(t, dbtest.Engines()[0], func(r *config.Raw) { r.JWTSecret = config.Secret(strings.Repeat("another secret ", 4)) })
		caller{other, s.owner.token}.get("/api/v1/tasks").wantProblem(http.StatusUnauthorized, "token_invalid")
	}},
	{"5.9 a password has no maximum length", func(_ *testing.T, s *estate) {
		email, long := s.fresh("long"), strings.Repeat("a very long password ", 5000)
		s.owner.post("/api/v1/users", map[string]string{"email": email, "password": long, "role": "user"}).want(http.StatusCreated)
		login := func(password string) answer {
			return s.anonymous().post("/api/v1/auth/login", map[string]string{"email": email, "password": password})
		}
		login(long).want(http.StatusOK)
		login(long[:len(long)-1]).want(http.StatusUnauthorized) // every character counts
	}},
	{"5.10 only the public endpoints need no token", func(_ *testing.T, s *estate) {
		for _, path := range []string{"/tasks", "/users", "/agents", "/standups", "/activity", "/agentrt/status", "/agentrt/sessions", "/auth/me"} {
			s.anonymous().get("/api/v1"+path).wantProblem(http.StatusUnauthorized, "sign_in_required")
		}
	}},
	{"5.11 JWT_SECRET has at least 48 characters", func(t *testing.T, _ *estate) {
		refused(t, "JWT_SECRET", func(r *config.Raw) { r.JWTSecret = "" })
		refused(t, "JWT_SECRET", func(r *config.Raw) { r.JWTSecret = config.Secret(strings.Repeat("x", 47)) })
		accepted(t, func(r *config.Raw) { r.JWTSecret = config.Secret(strings.Repeat("x", 48)) })
	}},
	{"5.12 JWT_EXPIRES_IN is 7d unless it says otherwise", func(t *testing.T, _ *estate) {
		for given, want := range map[string]time.Duration{"": 7 * 24 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour} {
			if got := accepted(t, func(r *config.Raw) { r.JWTExpiresIn = given }).JWTExpiresIn; got != want {
				t.Errorf("%q is %s, want %s", given, got, want)
			}
		}
		refused(t, "JWT_EXPIRES_IN", func(r *config.Raw) { r.JWTExpiresIn = "soon" })
	}},
	{"5.13 the bootstrap variables create the owner", func(_ *testing.T, s *estate) {
		s.login(ownerEmail) // the environment had them, and no other request created an account
	}},
	{"5.14 the bootstrap password has at least 12 characters", func(t *testing.T, _ *estate) {
		for text, short := range map[string]bool{"elevenchars": true, "twelve-chars": false} {
			change := func(r *config.Raw) { r.BootstrapOwnerEmail, r.BootstrapOwnerPassword = ownerEmail, config.Secret(text) }
			if short {
				refused(t, "BOOTSTRAP_OWNER_PASSWORD", change)
			} else {
				accepted(t, change)
			}
		}
	}},
	{"5.15 CORS_ORIGIN is the one origin that may call", func(t *testing.T, s *estate) {
		for origin, allowed := range map[string]string{"https://ops.example.com": "https://ops.example.com", "https://evil.example.com": ""} {
			a := s.anonymous().send(http.MethodGet, "/api/v1/config", nil, "Origin", origin)
			if got := a.header.Get("Access-Control-Allow-Origin"); got != allowed {
				t.Errorf("%s may call as %q, want %q", origin, got, allowed)
			}
		}
	}},
	{"5.16 in production no wildcard and no weak password", func(t *testing.T, _ *estate) {
		refused(t, "CORS_ORIGIN", func(r *config.Raw) { r.NodeEnv, r.CORSOrigin = "production", "*" })
		refused(t, "DB_PASSWORD", func(r *config.Raw) { r.NodeEnv, r.DBHost, r.DBPassword = "production", "db.example.com", "postgres" })
	}},
	{"5.18 the service calls the gateway with its token", func(t *testing.T, s *estate) {
		if got := s.owner.status(); got.State != "connected" {
			t.Errorf("with the token the gateway is %s", got.State)
		}
	}},
}

// Sections 7 to 9: errors, limits, versions.
var errorFacts = []fact{
	{"8.1 the defaults of the limits", func(t *testing.T, _ *estate) {
		c := accepted(t, func(*config.Raw) {})
		if c.GatewayTimeout != 15*time.Second || c.ArchiveAfterDays != 7 || c.ActivityLogRetentionDays != 7 || c.SubagentRetentionDays != 30 {
			t.Errorf("timeout %s, retention %d, %d and %d days", c.GatewayTimeout, c.ArchiveAfterDays, c.ActivityLogRetentionDays, c.SubagentRetentionDays)
		}
	}},
	{"9.1 the version is in the path and health is outside", func(_ *testing.T, s *estate) {
		s.owner.get("/api/v2/tasks").wantProblem(http.StatusNotFound, "not_found")
		s.anonymous().get("/health").want(http.StatusOK)
	}},
}
