package account

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// What a machine stored while its clock was ten years ahead must not lock people out, or let anyone in, for ten years.
func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		from := netip.MustParseAddr("203.0.113.5")
		makeUser(t, s, "ada", actor.User)
		try := func(password string) error {
			_, err := s.Login(t.Context(), "ada@example.com", password, from)
			return err
		}
		now = monday.AddDate(10, 0, 0)
		in, err := s.Login(t.Context(), "ada@example.com", goodPassword, from)
		if err != nil {
			t.Fatal(err)
		}
		future, _, err := s.OfferSetup(t.Context())
		if err != nil || future == "" {
			t.Fatal(err)
		}
		for range 10 {
			_ = try("wrong")
		}
		if err := try(goodPassword); !errors.Is(err, ErrThrottled) {
			t.Fatalf("ten wrong passwords do not block: %v", err)
		}
		now = monday.Add(time.Minute)
		if err := try(goodPassword); err != nil {
			t.Errorf("the right password after the clock was set back: %v", err)
		}
		if _, err := s.Authenticate(t.Context(), in.Token); !errors.Is(err, ErrToken) {
			t.Errorf("a token from the future: %v", err)
		}
		digests, err := findSetupTokens(t.Context(), d, now)
		if err != nil || len(digests) > 0 {
			t.Errorf("a setup token from the future is valid, %v", err)
		}
		for range 10 {
			_ = try("wrong")
		}
		if err := try(goodPassword); !errors.Is(err, ErrThrottled) {
			t.Errorf("the limit no longer works: %v", err)
		}
		now = monday.AddDate(10, 0, 0)
		for range 10 {
			_ = try("wrong")
		}
		now = monday.Add(2 * time.Hour)
		if err := s.PurgeLoginFailures(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM login_failures`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d tallies are left, %v", left, err)
		}
	})
}
