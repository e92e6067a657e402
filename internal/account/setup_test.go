package account

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// offer creates a setup token.
func offer(t testing.TB, s *Service) string {
	t.Helper()
	token, until, err := s.OfferSetup(t.Context())
	if err != nil || len(token) < 26 || !until.Equal(s.Now().Add(30*time.Minute)) {
		t.Fatalf("OfferSetup() = %d characters, %v, %v", len(token), until, err)
	}
	return token
}

// TestSetup checks that only a valid setup token creates the owner.
func TestSetup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		token := offer(t, s.Service)
		body := func(token string) map[string]string {
			return map[string]string{"token": token, "email": "Ada@example.com", "password": goodPassword}
		}
		setup := func(body any) answer { return s.ask(t, "", "POST", "/auth/setup", body) }
		for name, bad := range map[string]string{
			"another": strings.Repeat("A", 26), "none": "", "a longer one": token + "A", "a part": token[:25], "its digest": setupDigest(token),
		} {
			setup(body(bad)).want(t, name, http.StatusForbidden, "setup_token_invalid")
		}
		for name, b := range map[string]string{
			"a role":           `{"token":"` + token + `","email":"b@example.com","password":"` + goodPassword + `","role":"admin"}`,
			"a short password": `{"token":"` + token + `","email":"b@example.com","password":"eleven char"}`,
			"no email":         `{"token":"` + token + `","email":"b","password":"` + goodPassword + `"}`,
			"no token":         `{"email":"b@example.com","password":"` + goodPassword + `"}`,
		} {
			setup(b).want(t, name, http.StatusUnprocessableEntity, "invalid_input")
		}

		made := setup(body(token))
		user, _ := made.body["user"].(map[string]any)
		if made.status != http.StatusCreated || user["role"] != "owner" || user["name"] != "Ada" || user["last_login_at"] == nil || made.body["expires_at"] == nil {
			t.Fatalf("set up: %d %v", made.status, made.body)
		}
		in, _ := made.body["token"].(string)
		if users := s.ask(t, in, "GET", "/users", nil); users.status != http.StatusOK || len(users.list) != 1 {
			t.Errorf("the owner sees the users: %d %v", users.status, users.list)
		}
		id := fmt.Sprint(user["id"])
		if events := told(t, s.Service, id); len(events) != 2 || !strings.HasPrefix(events[1], id+" user.created ") || !strings.Contains(events[1], `"by":"setup"`) {
			t.Errorf("the audit says %q, want that %s made the owner", events, id)
		}
		setup(body(token)).want(t, "again", http.StatusConflict, "setup_done")
		setup(body("wrong")).want(t, "again with a wrong one", http.StatusConflict, "setup_done")
		if token, _, err := s.OfferSetup(t.Context()); token != "" || err != nil {
			t.Errorf("with an owner it offers %q, %v", token, err)
		}
		if all := s.said.String() + s.log.String(); strings.Contains(all, token) || strings.Contains(all, goodPassword) {
			t.Errorf("an answer or the log shows the token or the password:\n%s", all)
		}
		if !strings.Contains(s.log.String(), "setup refused") {
			t.Error("the log does not say that somebody tried")
		}
	})
}

// TestSetupTokens checks that tokens expire and that the stored digests are not usable as tokens.
func TestSetupTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := monday
		one, two := newService(d), newService(d)
		one.Now = func() time.Time { return now }
		two.Now = one.Now
		count := func() (n int) {
			t.Helper()
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM setup_tokens`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		setup := func(s *Service, token string) string {
			return fmt.Sprint(race(1, func(int) error {
				_, err := s.Setup(t.Context(), Setup{Token: token, Email: "ada@example.com", Password: goodPassword}, netip.Addr{})
				return err
			}))
		}
		old := offer(t, one)
		now = now.Add(SetupLife)
		if got := setup(one, old); got != "map[setup_token_invalid:1]" {
			t.Errorf("an expired token: %s", got)
		}
		first, second := offer(t, one), offer(t, two)
		if n := count(); n != 2 {
			t.Errorf("%d tokens are kept, want the two that work", n)
		}
		var readable int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM setup_tokens WHERE digest IN (?, ?)`, first, second).Scan(&readable); err != nil || readable != 0 {
			t.Errorf("%d can be read in the database, %v", readable, err)
		}
		now = now.Add(SetupLife - time.Millisecond)
		if got := setup(one, second); got != "map[won:1]" {
			t.Errorf("the token of another replica: %s", got)
		}
		if n := count(); n != 0 {
			t.Errorf("%d tokens are left with an owner", n)
		}
	})
}

// TestSetupRace checks that concurrent setups create one owner.
func TestSetupRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		replicas := []*Service{newService(d), newService(d)}
		tokens := []string{offer(t, replicas[0]), offer(t, replicas[1])}
		wantCounts(t, race(8, func(i int) error {
			_, err := replicas[i%2].Setup(t.Context(), Setup{
				Token: tokens[(i+1)%2], Email: fmt.Sprintf("u%d@example.com", i), Password: goodPassword,
			}, netip.Addr{})
			return err
		}), map[string]int{"won": 1, "setup_done": 7})
		if all, err := replicas[0].List(t.Context(), Filter{}, page.Want{Query: page.Query{Limit: 10}}); len(all.Rows) != 1 || err != nil {
			t.Errorf("there are %d accounts, %v", len(all.Rows), err)
		}
	})
}

// TestSetupMeetsHandOver checks a setup during which the command on the server creates the owner.
func TestSetupMeetsHandOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := makeUser(t, s, "ada", actor.Admin)
		k, err := s.hasher()
		if err != nil {
			t.Fatal(err)
		}
		inner := k.generate
		k.generate = func(password []byte, cost int) ([]byte, error) {
			if _, err := s.HandOver(t.Context(), ada.Email); err != nil {
				t.Error(err)
			}
			return inner(password, cost)
		}
		token := offer(t, s)
		wantCounts(t, race(1, func(int) error {
			_, err := s.Setup(t.Context(), Setup{Token: token, Email: "eve@example.com", Password: goodPassword}, netip.Addr{})
			return err
		}), map[string]int{"setup_done": 1})
	})
}

// TestSetupThrottled checks that wrong tokens count as failed logins and do not cause password
// hashing.
func TestSetupThrottled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		k, err := s.hasher()
		if err != nil {
			t.Fatal(err)
		}
		hashed, inner := 0, k.generate
		k.generate = func(password []byte, cost int) ([]byte, error) {
			hashed++
			return inner(password, cost)
		}
		token := offer(t, s.Service)
		setup := func(token string) answer {
			return s.ask(t, "", "POST", "/auth/setup", map[string]string{"token": token, "email": "ada@example.com", "password": goodPassword})
		}
		for range 20 {
			setup("a guess").want(t, "a guess", http.StatusForbidden, "setup_token_invalid")
		}
		wantThrottled(t, "the 21st", setup(token), "30")
		if hashed != 0 {
			t.Errorf("%d passwords were hashed for guesses", hashed)
		}
		s.Now = func() time.Time { return monday.Add(time.Minute) }
		if a := setup(token); a.status != http.StatusCreated {
			t.Errorf("after the pause: %d %v", a.status, a.body)
		}
	})
}

// TestSetupBesideAccounts checks that setup works with existing accounts and rejects their emails.
func TestSetupBesideAccounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeUser(t, s, "ada", actor.Admin)
		token := offer(t, s)
		setup := func(email string) error {
			_, err := s.Setup(context.WithoutCancel(t.Context()), Setup{Token: token, Email: email, Password: goodPassword}, netip.Addr{})
			return err
		}
		wantCounts(t, race(1, func(int) error { return setup("ADA@example.com") }), map[string]int{"email_taken": 1})
		if err := setup("eve@example.com"); err != nil {
			t.Errorf("the token was spent on a refused email: %v", err)
		}
	})
}

// TestPurgeExpired checks that only expired tokens are deleted.
func TestPurgeExpired(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := monday
		s := newService(d)
		s.Now = func() time.Time { return now }
		offer(t, s)
		for _, tt := range []struct {
			after time.Duration
			left  int
		}{{SetupLife - time.Second, 1}, {SetupLife, 0}} {
			now = monday.Add(tt.after)
			if err := s.PurgeExpired(t.Context()); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM setup_tokens`).Scan(&n); err != nil || n != tt.left {
				t.Errorf("after %s %d are left, %v", tt.after, n, err)
			}
		}
	})
}
