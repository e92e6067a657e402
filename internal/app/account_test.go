package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// Who may register is what the operator said, and everybody is told the same.
func TestRegistration(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		for setting, open := range map[string]bool{"": false, "false": false, "true": true} {
			s := newHouse(t, engine, func(r *config.Raw) { r.RegistrationEnabled = setting }).start()
			if c := decode[app.PublicConfig](s.nobody().get("/api/v1/config").want(http.StatusOK)); c.RegistrationEnabled != open {
				t.Errorf("REGISTRATION_ENABLED=%q: the configuration says %v", setting, c.RegistrationEnabled)
			}
			made := s.nobody().post("/api/v1/auth/register", map[string]string{"email": "ada@example.com", "password": password})
			if !open {
				made.wantProblem(http.StatusForbidden, "registration_disabled")
				continue
			}
			ada := caller{s, decode[struct{ Token string }](made.want(http.StatusCreated)).Token}
			ada.get("/api/v1/tasks").want(http.StatusOK)
			ada.get("/api/v1/users").wantProblem(http.StatusForbidden, "forbidden")
			s.login("ada@example.com").get("/api/v1/auth/me").want(http.StatusOK)
		}
	})
}

// A replica with a count of its own would give whoever guesses one more go.
func TestThrottleReachesEveryReplica(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.Postgres, nil)
	replicas := []*service{h.start(), h.start()}
	owner := replicas[0].login(ownerEmail)
	guess := func(i int, email, password string) answer {
		return replicas[i%2].nobody().post("/api/v1/auth/login", map[string]string{"email": email, "password": password})
	}
	for i := range 5 {
		guess(i, ownerEmail, "wrong").wantProblem(http.StatusUnauthorized, "login_failed")
	}
	for i := range 2 {
		if a := guess(i, ownerEmail, password).wantProblem(http.StatusTooManyRequests, "too_many_logins"); a.header.Get("Retry-After") == "" {
			t.Error("nobody says for how long")
		}
	}
	owner.get("/api/v1/auth/me").want(http.StatusOK) // who is in stays in
	for i := range 15 {
		guess(i, fmt.Sprintf("nobody%d@example.com", i), "wrong").wantProblem(http.StatusUnauthorized, "login_failed")
	}
	guess(1, "nobody@example.com", "wrong").wantProblem(http.StatusTooManyRequests, "too_many_logins")
}

// What is forgotten anyhow does not stay: the timer is really there.
func TestLoginFailuresArePurged(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		a := h.build()
		err := a.DB.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO login_failures (subject, failures, last_at) VALUES ('old', 3, ?)`, time.Now().Add(-2*time.Hour))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		s := h.start()
		waitFor(t, "the old failures to go", func() bool {
			var n int
			if err := s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM login_failures`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
	})
}
