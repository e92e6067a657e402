package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
)

// TestPauses checks the documented pauses.
func TestPauses(t *testing.T) {
	t.Parallel()
	now := monday
	var tl tally
	step := func(want time.Duration) {
		t.Helper()
		tl = tl.charge(now, 5)
		var got time.Duration
		if !tl.blockedUntil.IsZero() {
			got = tl.blockedUntil.Sub(now)
		}
		if got != want {
			t.Errorf("after %d failures: a pause of %v, want %v", tl.failures, got, want)
		}
		now = now.Add(got)
	}
	for range 4 {
		step(0)
	}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		step(want)
	}
	for range 1000 {
		tl = tl.charge(now, 5)
	}
	if got := tl.blockedUntil.Sub(now); got != 15*time.Minute {
		t.Errorf("after 1000 more: a pause of %v", got)
	}
	now = tl.lastAt.Add(time.Hour - time.Millisecond)
	if again := tl.charge(now, 5); again.failures != tl.failures+1 {
		t.Errorf("forgotten before the hour is over: %+v", again)
	}
	now = tl.lastAt.Add(time.Hour)
	if again := tl.charge(now, 5); again.failures != 1 || !again.blockedUntil.IsZero() {
		t.Errorf("not forgotten after an hour: %+v", again)
	}
}

// TestRefund checks that a successful attempt restores the count of its address, whatever happened
// in between.
func TestRefund(t *testing.T) {
	t.Parallel()
	later := monday.Add(time.Second)
	for name, tt := range map[string]struct{ before, since, want tally }{
		"the first":                  {tally{}, tally{}, tally{}},
		"the last free":              {tally{failures: 19, lastAt: monday}, tally{}, tally{failures: 19, lastAt: monday}},
		"after a pause":              {tally{failures: 23, lastAt: monday}, tally{}, tally{failures: 23, lastAt: monday}},
		"another's failed":           {tally{failures: 3, lastAt: monday}, tally{failures: 5, lastAt: later.Add(1)}, tally{failures: 4, lastAt: later.Add(1)}},
		"another's at the same time": {tally{}, tally{failures: 2, lastAt: later}, tally{failures: 1, lastAt: later}},
		"another's blocked": {
			tally{failures: 20, lastAt: monday},
			tally{failures: 22, lastAt: later.Add(1), blockedUntil: later.Add(time.Hour)},
			tally{failures: 21, lastAt: later.Add(1), blockedUntil: later.Add(time.Hour)},
		},
	} {
		mine := tt.before.charge(later, 20)
		is := mine
		if tt.since != (tally{}) {
			is = tt.since
		}
		if got := is.refund(tt.before, mine, 20); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestAddressSubject(t *testing.T) {
	t.Parallel()
	subject := func(s string) string { return addressSubject(netip.MustParseAddr(s)) }
	for a, b := range map[string]string{
		"192.0.2.1": "::ffff:192.0.2.1", "2001:db8:1:2::1": "2001:db8:1:2:ffff:ffff:ffff:ffff", "fe80::1%eth0": "fe80::1%eth1",
	} {
		if subject(a) != subject(b) {
			t.Errorf("%s and %s are counted apart", a, b)
		}
	}
	for a, b := range map[string]string{"192.0.2.1": "192.0.2.2", "2001:db8:1:2::1": "2001:db8:1:3::1"} {
		if subject(a) == subject(b) {
			t.Errorf("%s and %s are counted together", a, b)
		}
	}
	if addressSubject(netip.Addr{}) != "" {
		t.Error("no address is counted")
	}
}

// counting counts the calls of bcrypt.
func counting(s *Service) *atomic.Int64 {
	n := &atomic.Int64{}
	inner := s.passwords.compare
	s.passwords.compare = func(hash, password []byte) error {
		n.Add(1)
		return inner(hash, password)
	}
	return n
}

func (s *site) try(t *testing.T, email, password string) answer {
	t.Helper()
	return s.ask(t, "", "POST", "/auth/login", map[string]string{"email": email, "password": password})
}

func wantThrottled(t *testing.T, what string, a answer, after string) {
	t.Helper()
	a.want(t, what, http.StatusTooManyRequests, "too_many_logins")
	if got := a.header.Get("Retry-After"); got != after {
		t.Errorf("%s: Retry-After is %q, want %q", what, got, after)
	}
}

// TestBusyIsNoFailure checks that attempts rejected with ErrBusy do not count as failed logins.
func TestBusyIsNoFailure(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		ada := makeUser(t, s.Service, "ada", actor.User)
		s.try(t, ada.Email, "wrong").want(t, "a guess", http.StatusUnauthorized, "login_failed")
		s.passwords.waiting.Add(maxQueue)
		for range freeOfAddress + 2 {
			s.try(t, ada.Email, goodPassword).want(t, "too many wait", http.StatusTooManyRequests, "passwords_busy")
		}
		s.passwords.waiting.Add(-maxQueue)
		rows, err := d.Query(t.Context(), `SELECT failures FROM login_failures`)
		failures, err := db.All(rows, err, func(row db.Row) (n int, err error) { return n, row.Scan(&n) })
		if err != nil || !slices.Equal(failures, []int{1, 1}) {
			t.Errorf("%v failures are counted for the account and the address (%v), want the guess", failures, err)
		}
		s.try(t, ada.Email, goodPassword).want(t, "in the end", http.StatusOK, "")
	})
}

func TestThrottledAccount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		ada := makeUser(t, s.Service, "ada", actor.User)
		compared := counting(s.Service)
		now := monday
		s.Now = func() time.Time { return now }
		bodies := map[string]string{}
		for _, email := range []string{ada.Email, "nobody@example.com"} {
			compared.Store(0)
			for i := range 5 {
				s.try(t, []string{email, strings.ToUpper(email), " " + email}[i%3], "wrong").want(t, email, http.StatusUnauthorized, "login_failed")
			}
			refused := s.try(t, email, goodPassword)
			wantThrottled(t, email, refused, "30")
			if compared.Load() != 5 {
				t.Errorf("%s: %d comparisons for 5 logins and a refused one", email, compared.Load())
			}
			delete(refused.body, "request_id")
			bodies[email] = asJSON(t, refused.body)
		}
		if bodies[ada.Email] != bodies["nobody@example.com"] {
			t.Errorf("the answers tell who has an account: %v", bodies)
		}
		now = now.Add(29 * time.Second)
		wantThrottled(t, "a second early", s.try(t, ada.Email, goodPassword), "1")
		now = now.Add(time.Second)
		s.try(t, ada.Email, "wrong").want(t, "after the pause", http.StatusUnauthorized, "login_failed")
		wantThrottled(t, "the next", s.try(t, ada.Email, goodPassword), "60")
		now = now.Add(time.Minute)
		s.login(t, ada)
		for range 5 {
			s.try(t, ada.Email, "wrong").want(t, "free again", http.StatusUnauthorized, "login_failed")
		}
		wantThrottled(t, "again", s.try(t, ada.Email, goodPassword), "30")
		if err := s.SetPassword(t.Context(), ada.ID, goodPassword); err != nil {
			t.Fatal(err)
		}
		s.login(t, ada) // a new password unblocks its owner at once
		log := s.log.String()
		if !strings.Contains(log, "msg=throttled what=login address=127.0.0.1") || strings.Contains(log, ada.Email) {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestThrottledAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		ada := makeUser(t, s.Service, "ada", actor.User)
		now := monday
		s.Now = func() time.Time { return now }
		for i := range 20 {
			s.try(t, fmt.Sprintf("nobody%d@example.com", i), "wrong").want(t, "failed", http.StatusUnauthorized, "login_failed")
			if i < 19 {
				s.login(t, ada) // a successful login with another account does not reset the address
			}
		}
		wantThrottled(t, "the 21st", s.try(t, ada.Email, goodPassword), "30")
		if _, err := s.Login(t.Context(), ada.Email, goodPassword, netip.MustParseAddr("192.0.2.7")); err != nil {
			t.Errorf("another address: %v", err)
		}
		now = now.Add(30 * time.Second)
		s.login(t, ada)
		s.login(t, ada) // a successful login is not delayed again
		s.try(t, "nobody@example.com", "wrong").want(t, "failed again", http.StatusUnauthorized, "login_failed")
		wantThrottled(t, "the 22nd", s.try(t, ada.Email, goodPassword), "60")
	})
}

// TestThrottleRaces checks that concurrent attempts on several replicas cannot exceed the limit.
func TestThrottleRaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		replicas := []*Service{newService(d), newService(d), newService(d)}
		ada := makeUser(t, replicas[0], "ada", actor.User)
		wantCounts(t, race(30, func(i int) error {
			_, err := replicas[i%3].Login(t.Context(), ada.Email, "wrong", netip.Addr{})
			return err
		}), map[string]int{"login_failed": 5, "too_many_logins": 25})
		from := netip.MustParseAddr("2001:db8::1")
		wantCounts(t, race(40, func(i int) error {
			_, err := replicas[i%3].Login(t.Context(), fmt.Sprintf("nobody%d@example.com", i), "wrong", from)
			return err
		}), map[string]int{"login_failed": 20, "too_many_logins": 20})
		bob := makeUser(t, replicas[0], "bob", actor.User)
		wantCounts(t, race(15, func(int) error {
			_, err := replicas[0].Login(t.Context(), bob.Email, goodPassword, netip.Addr{})
			return err
		}), map[string]int{"won": 15})
		for i := range 25 {
			makeUser(t, replicas[0], fmt.Sprintf("early%d", i), actor.User)
		}
		office := netip.MustParseAddr("192.0.2.7") // where many people log in at the same time
		wantCounts(t, race(25, func(i int) error {
			_, err := replicas[0].Login(t.Context(), fmt.Sprintf("early%d@example.com", i), goodPassword, office)
			return err
		}), map[string]int{"won": 25})
		if n := replicas[0].attempts.Keys(); n != 0 {
			t.Errorf("%d attempts are left", n)
		}
	})
}

func TestPurgeLoginFailures(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		from := netip.MustParseAddr("192.0.2.7")
		rows := func() (n int) {
			t.Helper()
			if err := s.PurgeLoginFailures(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM login_failures`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if _, err := s.Login(t.Context(), goodPassword, goodPassword, from); !errors.Is(err, ErrLogin) {
			t.Fatal(err)
		}
		now = now.Add(time.Hour - time.Millisecond)
		if n := rows(); n != 2 {
			t.Errorf("%d rows within the hour, want 2", n)
		}
		var readable int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM login_failures WHERE subject LIKE '%correct%' OR subject LIKE '%192%.%'`).Scan(&readable); err != nil || readable != 0 {
			t.Errorf("%d rows say what was typed (%v)", readable, err)
		}
		now = now.Add(time.Millisecond)
		if n := rows(); n != 0 {
			t.Errorf("%d rows after the hour", n)
		}
	})
}

// TestLoginOfACallerWhoLeft checks that a canceled login is neither an error nor a failed login.
func TestLoginOfACallerWhoLeft(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s := newService(d)
	makeUser(t, s, "ada", actor.User)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Login(ctx, "ada@example.com", goodPassword, netip.Addr{}); err == nil || fault.Of(err) != nil {
		t.Errorf("Login() = %v", err)
	}
}
