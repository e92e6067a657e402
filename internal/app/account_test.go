package app_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// The setting decides who may register, and the public configuration reports it to
// everyone.
func TestRegistration(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		for setting, open := range map[string]bool{"": false, "false": false, "true": true} {
			s := newHouse(t, engine, func(r *config.Raw) { r.RegistrationEnabled = setting }).start()
			if c := decode[app.PublicConfig](s.anonymous().get("/api/v1/config").want(http.StatusOK)); c.RegistrationEnabled != open {
				t.Errorf("REGISTRATION_ENABLED=%q: the configuration says %v", setting, c.RegistrationEnabled)
			}
			made := s.anonymous().post("/api/v1/auth/register", map[string]string{"email": "ada@example.com", "password": password})
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

// Behind a proxy, an attacker must neither lock out other clients nor get around the
// limit with a forged address.
func TestThrottleBehindAProxy(t *testing.T) {
	t.Parallel()
	for setting, told := range map[string]bool{"": false, "127.0.0.1, ::1": true, "192.0.2.0/24": false} {
		h := newHouse(t, db.SQLite, func(r *config.Raw) { r.TrustedProxies = setting })
		s := h.start()
		guess := func(i int, chain string) answer {
			body := map[string]string{"email": fmt.Sprintf("nobody%d@example.com", i), "password": "wrong"}
			return s.anonymous().send(http.MethodPost, "/api/v1/auth/login", body, "X-Forwarded-For", chain)
		}
		for i := range 20 {
			guess(i, fmt.Sprintf("198.51.100.%d, 203.0.113.7", i)).wantProblem(http.StatusUnauthorized, "login_failed")
		}
		guess(20, "198.51.100.99, 203.0.113.7").wantProblem(http.StatusTooManyRequests, "too_many_logins")
		if other := guess(21, "203.0.113.8"); (other.status == http.StatusUnauthorized) != told {
			t.Errorf("TRUSTED_PROXIES=%q: another caller gets %d", setting, other.status)
		}
		if log := h.seen.String(); regexp.MustCompile(`msg=request .*address=203\.0\.113\.8`).MatchString(log) != told || strings.Contains(log, "address=198.51.100") {
			t.Errorf("TRUSTED_PROXIES=%q: the log has other addresses", setting)
		}
	}
}

// The timer that purges old failures and setup tokens must be registered.
func TestAccountsArePurged(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		a := h.build()
		err := a.DB.Tx(t.Context(), func(tx *db.Tx) error {
			past := time.Now().Add(-2 * time.Hour)
			if _, err := tx.Exec(t.Context(), `INSERT INTO setup_tokens (digest, expires_at) VALUES ('old', ?)`, past); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `INSERT INTO login_failures (subject, failures, last_at) VALUES ('old', 3, ?)`, past)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		s := h.start()
		waitFor(t, "the purge of old failures and tokens", func() bool {
			var n int
			if err := s.DB.QueryRow(t.Context(), `SELECT (SELECT COUNT(*) FROM login_failures) + (SELECT COUNT(*) FROM setup_tokens)`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
	})
}

// Setup must work on every replica while there is no owner, and must be refused
// afterwards.
func TestSetup(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.BootstrapOwnerEmail, r.BootstrapOwnerPassword = "", "" })
		offers := make(chan app.SetupOffer, 2)
		h.onSetup = func(o app.SetupOffer) {
			h.secret(o.Token, "a set-up token")
			offers <- o
		}
		first := h.start()
		offer := <-offers
		last := first
		if engine == db.Postgres {
			last = h.start()
			<-offers
		}
		if offer.Address != first.base {
			t.Errorf("the address is %s, want %s", offer.Address, first.base)
		}
		required := func() bool {
			return decode[app.PublicConfig](last.anonymous().get("/api/v1/config").want(http.StatusOK)).SetupRequired
		}
		setup := func(s *service, token string) answer {
			return s.anonymous().post("/api/v1/auth/setup", map[string]string{"token": token, "email": ownerEmail, "password": password})
		}
		setup(last, "AAAAAAAAAAAAAAAAAAAAAAAAAA").wantProblem(http.StatusForbidden, "setup_token_invalid")
		if !required() {
			t.Error("setup_required is false without an owner")
		}
		owner := caller{first, decode[struct{ Token string }](setup(last, offer.Token).want(http.StatusCreated)).Token}
		owner.get("/api/v1/users").want(http.StatusOK)
		setup(first, offer.Token).wantProblem(http.StatusConflict, "setup_done")
		if required() {
			t.Error("setup_required is true with an owner")
		}
	})
}

// An operator must find out which proxy to list, without looking for it in the log.
func TestUnlistedProxyIsShown(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.TrustedProxies = "192.0.2.0/24" })
	s := h.start()
	owner := s.login(ownerEmail)
	warnings := func() []app.Warning {
		return decode[app.Warnings](owner.get("/api/v1/warnings").want(http.StatusOK)).Warnings
	}
	if list := warnings(); len(list) > 0 {
		t.Errorf("without a proxy: %+v", list)
	}
	s.anonymous().send(http.MethodGet, "/api/v1/config", nil, "X-Forwarded-For", "203.0.113.5")
	list := warnings()
	if len(list) != 1 || list[0].Kind != "unlisted_proxy" || list[0].Address != "127.0.0.1" || list[0].Requests != 1 || !strings.Contains(list[0].Text, "add 127.0.0.1 to TRUSTED_PROXIES") {
		t.Errorf("%+v", list)
	}
}
