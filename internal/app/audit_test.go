package app_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/db"
)

// audit returns the audit events of some kinds, oldest first.
func (c caller) audit(query string) []event.Event {
	c.house.t.Helper()
	return decode[[]event.Event](c.get("/api/v1/audit?limit=500&sort=id&" + query).want(http.StatusOK))
}

func kindsOf(events []event.Event) (kinds []string) {
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// The audit log shows who logged in from where and what they read and exported. It
// contains no secrets, which the house checks in every test, and only admins may read it.
func TestAudit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start()
		const tried = "a password that was tried 2c9f"
		h.secret(tried, "a password that was tried")
		for _, email := range []string{ownerEmail, tried} {
			s.anonymous().post("/api/v1/auth/login", map[string]string{"email": email, "password": tried}).wantProblem(http.StatusUnauthorized, "login_failed")
		}
		owner := s.login(ownerEmail)
		waitFor(t, "the failed logins in the audit log", func() bool { return len(owner.audit("kind=login.failed")) == 2 })
		owner.hire("cto")
		bot, k := owner.key("cto@example.com", map[string]any{"name": "=2+3"})
		owner.patch("/api/v1/users/cto@example.com", map[string]any{"name": "Chief", "password": password}).want(http.StatusOK)
		owner.send(http.MethodDelete, "/api/v1/users/cto@example.com/keys/"+k.ID, nil).want(http.StatusNoContent)
		owner.send(http.MethodDelete, "/api/v1/standups/"+owner.open().ID, nil).want(http.StatusNoContent)
		bot.get("/api/v1/audit").wantProblem(http.StatusUnauthorized, "token_invalid")
		s.login("cto@example.com").get("/api/v1/audit").wantProblem(http.StatusForbidden, "forbidden")

		got := owner.audit("")
		want := []string{
			"user.created", "service.started", "login.failed", "login.failed", "login.succeeded",
			"user.created", "key.created", "user.changed", "key.revoked", "standup.deleted", "login.succeeded",
		}
		order := kindsOf(got) // a failure may be recorded after the login that followed it
		if slices.Sort(order); !slices.Equal(order, slices.Sorted(slices.Values(want))) {
			t.Errorf("the audit log has %v, want %v", order, want)
		}
		for _, e := range got {
			if byRequest := e.Actor.ID != "system"; byRequest != (e.From.Address == "127.0.0.1") || byRequest != (e.From.Via == "api") {
				t.Errorf("%s by %s came from %+v", e.Kind, e.Actor.Name, e.From)
			}
		}
		for _, e := range decode[[]event.Event](owner.get("/api/v1/activity?limit=500").want(http.StatusOK)) {
			if !strings.HasPrefix(e.Kind, "standup.") || e.From != nil {
				t.Errorf("everyone can read %s, %+v", e.Kind, e.From)
			}
		}
		table, err := csv.NewReader(strings.NewReader(string(owner.get("/api/v1/audit.csv").want(http.StatusOK).body))).ReadAll()
		if err != nil || len(table) != 1+len(got) {
			t.Errorf("the table has %d rows of %d, %v", len(table), len(got), err)
		}
	})
}

// The audit log shows which settings changed since the last start, without secrets.
// Repeated identical starts are not recorded.
func TestStartsAreAudited(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		for range 3 {
			s := h.start()
			s.anonymous().get("/health").want(http.StatusOK) // the start is recorded by then
			s.stop()
		}
		// A start that was recorded while the clock was ahead hides no other.
		s := h.start()
		err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE events SET at = ? WHERE kind = 'service.started'`, time.Now().AddDate(10, 0, 0))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.stop()
		s = h.start()
		s.anonymous().get("/health").want(http.StatusOK)
		s.stop()
		h.raw.RegistrationEnabled, h.raw.BootstrapOwnerPassword = "true", ""
		s = h.start()
		got := s.login(ownerEmail).audit("kind=service.started")
		if len(got) != 3 {
			t.Fatalf("the audit log of six starts, of which the last differs, is %v", len(got))
		}
		var data struct {
			Version  string
			Settings map[string]string
			Changes  map[string]map[string]*string
		}
		if err := json.Unmarshal(got[len(got)-1].Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.Settings["JWT_SECRET"] != "[secret]" || data.Settings["REGISTRATION_ENABLED"] != "true" || data.Version == "" || len(data.Changes) != 2 {
			t.Errorf("the event is %s", got[2].Data)
		}
		if c := data.Changes["REGISTRATION_ENABLED"]; c["before"] != nil || *c["after"] != "true" {
			t.Errorf("the event is %s", got[2].Data)
		}
	})
}
