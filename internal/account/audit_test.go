package account

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// audit returns the events of some kinds, oldest first, as "kind actor subject address data".
func audit(t testing.TB, s *Service, kinds ...string) []string {
	t.Helper()
	part, err := event.Read(t.Context(), s.DB, event.Filter{Class: event.Audit, Kinds: kinds}, page.Want{Sort: "id", Query: page.Query{Limit: 500}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range part.Rows {
		var data any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Actor.Name, " ", e.Subject.Name, " ", e.From.Via, " ", e.From.Address, " ", asJSON(t, data))))
	}
	return lines
}

// write writes the notes like Run does when it is woken or, with minute, at the end of a minute.
func write(t testing.TB, s *Service, minute bool) {
	t.Helper()
	if err := s.writeEntries(t.Context(), minute); err != nil {
		t.Fatal(err)
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the audit says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLoginsAreAudited checks that audit events record all logins and failures, with their number
// and addresses, but without the typed email.
func TestLoginsAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		ada := makeUser(t, s, "ada", actor.User)
		home, away := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::5")
		login := func(email, password string, from netip.Addr) {
			t.Helper()
			_, _ = s.Login(actor.Through(t.Context(), actor.Origin{Via: actor.ViaAPI, Address: from}), email, password, from)
		}
		login(ada.Email, goodPassword, home)
		login(ada.Email, "wrong", away)
		write(t, s, false)
		login("my secret phrase", "wrong", away)
		write(t, s, false)
		now = now.Add(10 * time.Second)
		login(ada.Email, "wrong", away)
		login(ada.Email, "wrong", home)
		login(ada.Email, goodPassword, home)
		login(ada.Email, goodPassword, home)
		write(t, s, false) // records the failures at the end of the minute
		wantLines(
			t, audit(t, s, "login.*"),
			`login.succeeded ada ada api 192.0.2.7 {}`,
			`login.failed Somebody ada api 2001:db8::5 {"count":1,"reason":"wrong password"}`,
			`login.failed Somebody 2001:db8::/64 api 2001:db8::5 {"count":1,"reason":"unknown email"}`,
			`login.succeeded ada ada api 192.0.2.7 {"addresses":["192.0.2.7"],"count":2,"since":"2026-11-23T09:00:10.000Z"}`,
		)
		write(t, s, true)
		if got := audit(t, s, "login.failed"); got[len(got)-1] !=
			`login.failed Somebody ada api 192.0.2.7 {"addresses":["2001:db8::5","192.0.2.7"],"count":2,"reason":"wrong password","since":"2026-11-23T09:00:10.000Z"}` {
			t.Errorf("after the minute: %q", got)
		}
		write(t, s, true)
		if n := len(s.notes.entries); n != 0 {
			t.Errorf("%d entries are kept for ever", n)
		}
		for range 6 {
			login(ada.Email, "wrong", away)
		}
		write(t, s, false)
		if got := audit(t, s, "login.throttled"); len(got) != 1 || !strings.Contains(got[0], `"reason":"login"`) {
			t.Errorf("the throttle: %q", got)
		}
		if all := strings.Join(audit(t, s), "\n"); strings.Contains(all, "phrase") || strings.Contains(all, goodPassword) {
			t.Errorf("the audit has what was typed:\n%s", all)
		}
	})
}

// TestFloodOfFailures checks that failures from many addresses use bounded memory and disk space.
func TestFloodOfFailures(t *testing.T) {
	t.Parallel()
	s := newService(dbtest.New(t))
	address := netip.MustParseAddr("198.18.0.0")
	for range 20_000 {
		s.recordFailure(loginFailed, "unknown email", User{}, address)
		address = address.Next()
	}
	if n := len(s.notes.entries); n > maxEntries+1 {
		t.Errorf("%d are kept in memory", n)
	}
	write(t, s, true)
	got := audit(t, s, loginFailed)
	if len(got) != maxEntries+1 || !strings.Contains(strings.Join(got, "\n"), fmt.Sprintf(`many others api 198.18.78.31 {"addresses":["198.18.0.60","198.18.0.61","198.18.0.62","198.18.0.63","198.18.0.64","198.18.0.65","198.18.0.66","198.18.0.67","198.18.0.68","198.18.0.69"],"count":%d`, 20_000-maxEntries)) {
		t.Errorf("%d events, the last of which is %s", len(got), got[len(got)-1])
	}
}

// TestRunTellsTheAudit checks that Run records the first failure at once and the remaining ones
// when it ends.
func TestRunTellsTheAudit(t *testing.T) {
	t.Parallel()
	s := newService(dbtest.New(t))
	s.NoteEvery = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	fail := func() { s.recordFailure(loginFailed, "unknown email", User{}, netip.MustParseAddr("192.0.2.7")) }
	fail()
	for end := time.Now().Add(20 * time.Second); len(audit(t, s, loginFailed)) == 0; {
		if time.Now().After(end) {
			t.Fatal("it is not told")
		}
	}
	fail()
	fail()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := audit(t, s, loginFailed); len(got) != 2 || !strings.Contains(got[1], `"count":2`) {
		t.Errorf("in the end: %q", got)
	}
}

// TestChangesAreAudited checks that an audit event records each change to an account, with the
// actor and the origin.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeUser(t, s, "owner", actor.Owner)
		ada := makeUser(t, s, "ada", actor.User)
		command := actor.Through(system(t), actor.Origin{Via: actor.ViaCommand})
		if _, err := s.Change(command, ada.ID, Change{Role: new(actor.Admin), Password: new("another good password")}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.HandOver(command, ada.ID); err != nil {
			t.Fatal(err)
		}
		from := actor.Through(as(t, ada), actor.Origin{Via: actor.ViaAPI, Address: netip.MustParseAddr("192.0.2.7")})
		_, _ = s.ChangeOwnPassword(from, "wrong", "another good password", false)
		write(t, s, true)
		wantLines(
			t, audit(t, s),
			`user.created Wardroom owner service  {"agent_id":null,"by":"bootstrap","email":"owner@example.com","role":"owner"}`,
			`user.created Wardroom ada service  {"agent_id":null,"email":"ada@example.com","role":"user"}`,
			`user.changed Wardroom ada command  {"password":"changed","role":{"after":"admin","before":"user"}}`,
			`user.changed Wardroom ada command  {"role":{"after":"owner","before":"admin"}}`,
			`user.changed Wardroom owner command  {"role":{"after":"admin","before":"owner"}}`,
			`password.refused ada ada api 192.0.2.7 {"count":1,"reason":"wrong current password"}`,
		)
	})
}

// A failed login just before the service stops is in the audit log, and no warning says otherwise.
func TestAuditOfTheLastMoment(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ended, end := context.WithCancel(t.Context())
		end()
		var log bytes.Buffer
		const rounds = 20 // Run chooses at random what it does first
		for range rounds {
			s := newService(d)
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			s.recordFailure(loginFailed, "wrong password", User{}, netip.MustParseAddr("192.0.2.7"))
			if err := s.Run(ended); err != nil {
				t.Fatal(err)
			}
		}
		if kept := len(audit(t, newService(d), loginFailed)); kept != rounds || log.Len() > 0 {
			t.Errorf("%d of %d failures are in the log:\n%s", kept, rounds, &log)
		}
	})
}
