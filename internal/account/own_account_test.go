package account

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		owner := makeUser(t, s.Service, "owner", actor.Owner)
		register := func(body any) answer { return s.ask(t, "", "POST", "/auth/register", body) }
		body := map[string]string{"email": " Ada@example.com", "password": goodPassword}
		register(body).want(t, "closed", http.StatusForbidden, "registration_disabled")

		s.RegistrationOpen = true
		made := register(body)
		user, _ := made.body["user"].(map[string]any)
		if made.status != http.StatusCreated || user["role"] != "user" || user["name"] != "Ada" || user["email"] != "Ada@example.com" ||
			user["agent_id"] != nil || user["active"] != true || user["last_login_at"] == nil || made.body["expires_at"] == nil {
			t.Fatalf("registered: %d %v", made.status, made.body)
		}
		token, _ := made.body["token"].(string)
		if me := s.ask(t, token, "GET", "/auth/me", nil); me.status != http.StatusOK || me.body["id"] != user["id"] || asJSON(t, me.body) != asJSON(t, user) {
			t.Errorf("me: %d %v, want %v", me.status, me.body, user)
		}
		s.ask(t, token, "GET", "/users", nil).want(t, "as a user", http.StatusForbidden, "forbidden")
		id := fmt.Sprint(user["id"])
		if events := told(t, s.Service, id); len(events) != 2 || !strings.HasPrefix(events[1], id+" user.created ") {
			t.Errorf("the audit says %q, want one that %s did", events, id)
		}

		taken := register(map[string]string{"email": "OWNER@example.com", "password": goodPassword})
		taken.want(t, "taken", http.StatusConflict, "email_taken")
		if text := asJSON(t, taken.body); strings.Contains(text, owner.ID) || strings.Contains(text, owner.Name) || taken.body["holder"] != nil {
			t.Errorf("anybody is told whose it is: %s", text)
		}
		for name, body := range map[string]string{
			"a role":           `{"email":"b@example.com","password":"` + goodPassword + `","role":"admin"}`,
			"an agent":         `{"email":"b@example.com","password":"` + goodPassword + `","agent_id":"coo"}`,
			"a short password": `{"email":"b@example.com","password":"eleven char"}`,
			"no password":      `{"email":"b@example.com"}`,
			"no email":         `{"email":"b","password":"` + goodPassword + `"}`,
			"an empty name":    `{"email":"b@example.com","password":"` + goodPassword + `","name":" "}`,
		} {
			register(body).want(t, name, http.StatusUnprocessableEntity, "invalid_input")
		}
		// Trying many emails is limited like failed logins.
		for range 19 {
			register(body).want(t, "taken", http.StatusConflict, "email_taken")
		}
		body["email"] = "c@example.com"
		wantThrottled(t, "the 21st", register(body), "30")
		wantThrottled(t, "a login", s.try(t, owner.Email, goodPassword), "30")
	})
}

// TestRegisterName checks that a new account cannot take the name of another one, in any case,
// even if that one is deactivated.
func TestRegisterName(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		s.RegistrationOpen = true
		owner := makeUser(t, s.Service, "ada", actor.Owner)
		gone := makeUser(t, s.Service, "bob", actor.User)
		if _, err := s.Change(asSystem(t.Context()), gone.ID, Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		register := func(email, name string) answer {
			body := map[string]string{"email": email, "password": goodPassword}
			if name != "" {
				body["name"] = name
			}
			return s.ask(t, "", "POST", "/auth/register", body)
		}
		for _, name := range []string{owner.Name, strings.ToUpper(owner.Name), " " + owner.Name + " ", gone.Name} {
			refused := register("eve@example.org", name)
			refused.want(t, name, http.StatusConflict, "name_taken")
			if text := asJSON(t, refused.body); strings.Contains(text, owner.ID) || strings.Contains(text, owner.Email) {
				t.Errorf("anybody is told whose it is: %s", text)
			}
		}
		// The same applies to the default name from the email.
		register("ADA@example.org", "").want(t, "left out", http.StatusConflict, "name_taken")
		// A taken email is reported instead of a taken name.
		register(owner.Email, owner.Name).want(t, "their own", http.StatusConflict, "email_taken")
		if made := register("eve@example.org", "Eve"); made.status != http.StatusCreated {
			t.Errorf("another name: %d %v", made.status, made.body)
		}
		var failures int
		if err := d.QueryRow(t.Context(), `SELECT failures FROM login_failures`).Scan(&failures); err != nil || failures != 6 {
			t.Errorf("%d failures are counted (%v), want those 6", failures, err)
		}
		wantCounts(t, race(8, func(i int) error {
			_, err := s.Register(t.Context(), Registration{Email: fmt.Sprintf("zoe%d@example.com", i), Name: "Zoe", Password: goodPassword}, netip.MustParseAddr("192.0.2.7"))
			return err
		}), map[string]int{"won": 1, "name_taken": 7})
	})
}

func TestRegisterRaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		s.RegistrationOpen = true
		from := netip.MustParseAddr("192.0.2.7")
		wantCounts(t, race(8, func(int) error {
			_, err := s.Register(t.Context(), Registration{Email: "ada@example.com", Password: goodPassword}, from)
			return err
		}), map[string]int{"won": 1, "email_taken": 7})
		wantCounts(t, race(15, func(i int) error {
			_, err := s.Register(t.Context(), Registration{Email: fmt.Sprintf("u%d@example.com", i), Password: goodPassword}, from)
			return err
		}), map[string]int{"won": 15})
		var failures int
		if err := d.QueryRow(t.Context(), `SELECT failures FROM login_failures`).Scan(&failures); err != nil || failures != 7 {
			t.Errorf("%d failures are counted (%v), want those 7", failures, err)
		}
	})
}

func TestOwnAccountOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		for _, role := range actor.Roles() {
			u := makeUser(t, s.Service, "the-"+string(role), role)
			token := s.login(t, u)
			me := s.ask(t, token, "GET", "/auth/me", nil)
			tag := me.header.Get("ETag")
			name := "Me, the " + string(role)
			got := s.ask(t, token, "PATCH", "/auth/me", `{"name":"`+name+`","avatar_url":"https://example.com/me.png"}`, "If-Match", tag)
			if got.status != http.StatusOK || got.body["name"] != name || got.body["avatar_url"] != "https://example.com/me.png" ||
				got.body["version"] != 2.0 || got.body["id"] != u.ID || got.header.Get("ETag") == tag {
				t.Errorf("%s: %d %v", role, got.status, got.body)
			}
			stale := s.ask(t, token, "PATCH", "/auth/me", `{"name":"Late"}`, "If-Match", tag)
			stale.want(t, "stale", http.StatusPreconditionFailed, "user_stale")
			if got := s.ask(t, token, "PATCH", "/auth/me", `{"avatar_url":null}`); got.status != http.StatusOK || got.body["avatar_url"] != nil || got.body["name"] != name {
				t.Errorf("%s: %d %v", role, got.status, got.body)
			}
			for _, body := range []string{
				`{"role":"admin"}`, `{"email":"x@example.com"}`, `{"active":false}`, `{"agent_id":"cto"}`, `{"password":"` + goodPassword + `"}`,
				`{"name":null}`, `{"name":" "}`, `{"avatar_url":"javascript:alert(1)"}`,
			} {
				s.ask(t, token, "PATCH", "/auth/me", body).want(t, string(role)+" "+body, http.StatusUnprocessableEntity, "invalid_input")
			}
			if got := s.ask(t, token, "GET", "/auth/me", nil); got.body["version"] != 3.0 {
				t.Errorf("%s: what was refused changed something: %v", role, got.body)
			}
			if events := told(t, s.Service, u.ID); !strings.HasPrefix(events[0], u.ID+" user.changed ") {
				t.Errorf("%s: the audit says %q", role, events[0])
			}
		}
	})
}

// TestOwnNameOverHTTP checks that users cannot take the name of another account.
func TestOwnNameOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		owner := makeUser(t, s.Service, "Ada", actor.Owner)
		bob := makeUser(t, s.Service, "bob", actor.User)
		gone := false
		if _, err := s.Change(asSystem(t.Context()), bob.ID, Change{Active: &gone}, nil); err != nil {
			t.Fatal(err)
		}
		agent := makeUser(t, s.Service, "cto", actor.Agent)
		token := s.login(t, agent)
		rename := func(name string) answer { return s.ask(t, token, "PATCH", "/auth/me", map[string]string{"name": name}) }
		for _, name := range []string{owner.Name, strings.ToUpper(owner.Name), " " + owner.Name + " ", bob.Name} {
			rename(name).want(t, name, http.StatusConflict, "name_taken")
		}
		for _, name := range []string{"The CTO", "THE CTO", "The CTO"} {
			if got := rename(name); got.status != http.StatusOK || got.body["name"] != name {
				t.Errorf("%q: %d %v", name, got.status, got.body)
			}
		}
		if _, err := s.Change(asSystem(t.Context()), agent.ID, Change{Name: &owner.Name}, nil); !errors.Is(err, ErrNameTaken) {
			t.Errorf("by an admin: %v", err)
		}
		if got := s.ask(t, token, "PATCH", "/auth/me", map[string]any{"name": "The CTO", "avatar_url": nil}); got.status != http.StatusOK {
			t.Errorf("the name that it has: %d %v", got.status, got.body)
		}
	})
}

func TestOwnPasswordOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		ada := makeUser(t, s.Service, "ada", actor.User)
		bob := makeUser(t, s.Service, "bob", actor.User)
		now := monday
		s.Now = func() time.Time { return now }
		token := s.login(t, ada)
		const next = "another good password"
		change := func(current, password string) answer {
			return s.ask(t, token, "POST", "/auth/password", map[string]string{"current_password": current, "new_password": password})
		}
		short := change(goodPassword, "eleven char")
		short.want(t, "short", http.StatusUnprocessableEntity, "invalid_input")
		if !strings.Contains(asJSON(t, short.body["errors"]), `"/new_password"`) {
			t.Errorf("the field is not named: %v", short.body)
		}
		change("wrong", next).want(t, "wrong", http.StatusForbidden, "wrong_password")
		got := change(goodPassword, next)
		if got.status != http.StatusOK || got.body["id"] != ada.ID || got.body["version"] != 2.0 || got.header.Get("ETag") == "" {
			t.Fatalf("change: %d %v", got.status, got.body)
		}
		s.try(t, ada.Email, goodPassword).want(t, "the old one", http.StatusUnauthorized, "login_failed")
		if in := s.try(t, ada.Email, next); in.status != http.StatusOK {
			t.Errorf("the new one: %d %v", in.status, in.body)
		}
		s.login(t, bob)
		s.ask(t, token, "GET", "/auth/me", nil).want(t, "the token from before", http.StatusOK, "")
		if events := told(t, s.Service, ada.ID); events[0] != ada.ID+` user.changed {"password":"changed"}` {
			t.Errorf("the audit says %q", events[0])
		}

		// Wrong passwords here and at the login count together.
		compared := counting(s.Service)
		for range 3 {
			change("wrong", next).want(t, "wrong", http.StatusForbidden, "wrong_password")
		}
		for range 2 {
			s.try(t, ada.Email, "wrong").want(t, "wrong", http.StatusUnauthorized, "login_failed")
		}
		wantThrottled(t, "the sixth", change(next, goodPassword), "30")
		wantThrottled(t, "a login", s.try(t, ada.Email, next), "30")
		if compared.Load() != 5 {
			t.Errorf("%d comparisons for 5 guesses and 2 refused ones", compared.Load())
		}
		now = now.Add(30 * time.Second)
		change(next, goodPassword).want(t, "after the pause", http.StatusOK, "")
		s.login(t, ada)
	})
}

// TestOwnPasswordRaces checks that of two concurrent changes one fails, because its current
// password is no longer valid.
func TestOwnPasswordRaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		replicas := []*Service{newService(d), newService(d)}
		ada := makeUser(t, replicas[0], "ada", actor.User)
		wantCounts(t, race(4, func(i int) error {
			_, err := replicas[i%2].ChangeOwnPassword(as(t, ada), goodPassword, fmt.Sprintf("another password %d", i), false)
			return err
		}), map[string]int{"won": 1, "wrong_password": 3})

		s := replicas[1]
		bob := makeUser(t, s, "bob", actor.User)
		inner := s.passwords.compare
		s.passwords.compare = func(hash, password []byte) error {
			if _, err := replicas[0].Change(system(t), bob.ID, Change{Active: new(false)}, nil); err != nil {
				t.Error(err)
			}
			return inner(hash, password)
		}
		_, err := s.ChangeOwnPassword(as(t, bob), goodPassword, "another password", false)
		wantCounts(t, race(1, func(int) error { return err }), map[string]int{"account_deactivated": 1})
		after, err := where(t.Context(), d, `id = ?`, bob.ID)
		if err != nil || bcrypt.CompareHashAndPassword([]byte(after.hash), []byte(goodPassword)) != nil {
			t.Errorf("who was deactivated meanwhile has another password (%v)", err)
		}
	})
}
