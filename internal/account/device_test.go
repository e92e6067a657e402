package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"

// signedIn logs in with a browser and returns the token and a context of its requests.
func signedIn(t *testing.T, s *Service, u User, userAgent string) (string, context.Context) {
	t.Helper()
	from := actor.Through(t.Context(), actor.Origin{Via: actor.ViaAPI, UserAgent: userAgent})
	in, err := s.Login(from, u.Email, goodPassword, netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.Authenticate(t.Context(), in.Token)
	if err != nil {
		t.Fatal(err)
	}
	return in.Token, actor.With(t.Context(), who)
}

// devicesOf returns the devices that the caller in ctx sees.
func devicesOf(ctx context.Context, t *testing.T, s *Service) []Device {
	t.Helper()
	part, err := s.Devices(ctx, page.Want{Query: page.Query{Limit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	return part.Rows
}

// A lost laptop must be able to be signed out, and nobody may sign out somebody else's.
func TestSignOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada, bob := makeUser(t, s, "ada", actor.Admin), makeUser(t, s, "bob", actor.User)
		here, mine := signedIn(t, s, ada, firefox)
		lost, _ := signedIn(t, s, ada, "curl/8.5.0 "+strings.Repeat("é", maxUserAgent))
		bobs, his := signedIn(t, s, bob, "")
		works := func(token string, want bool) {
			t.Helper()
			if _, err := s.Authenticate(t.Context(), token); (err == nil) != want || err != nil && !errors.Is(err, ErrToken) {
				t.Errorf("Authenticate() = %v, want it to work: %v", err, want)
			}
		}
		all := devicesOf(mine, t, s)
		if len(all) != 2 || all[0].Name != "curl" || all[1].Name != "Firefox on Linux" || all[0].Current || !all[1].Current || len(all[0].UserAgent) > maxUserAgent {
			t.Fatalf("devices: %+v", all)
		}
		for _, id := range []string{devicesOf(his, t, s)[0].ID, "nothing", "\x00", ""} {
			if err := s.SignOut(mine, id); !errors.Is(err, ErrDevice) {
				t.Errorf("SignOut(%q) = %v", id, err)
			}
		}
		if err := s.SignOut(mine, all[0].ID); err != nil {
			t.Fatal(err)
		}
		works(lost, false)
		works(here, true)
		works(bobs, true)
		third, _ := signedIn(t, s, ada, firefox)
		if err := s.SignOutAll(mine, false); err != nil {
			t.Fatal(err)
		}
		works(third, false)
		works(here, true)
		if err := s.SignOut(mine, "current"); err != nil {
			t.Fatal(err)
		}
		works(here, false)
		again, mine := signedIn(t, s, ada, firefox)
		if err := s.SignOutAll(mine, true); err != nil {
			t.Fatal(err)
		}
		works(again, false)
		works(bobs, true)
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE kind = ?`, loginEnded).Scan(&n); err != nil || n != 4 {
			t.Errorf("%d audit events, want 4 (%v)", n, err)
		}
	})
}

// A token is valid until it expires, unless the owner of the account signs the device out, as when
// changing the password.
func TestNewPasswordSignsOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := makeUser(t, s, "ada", actor.Admin)
		here, mine := signedIn(t, s, ada, firefox)
		thief, _ := signedIn(t, s, ada, firefox)
		if _, err := s.ChangeOwnPassword(mine, goodPassword, goodPassword+"2", false); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), thief); err != nil {
			t.Errorf("another device, not signed out: %v", err)
		}
		if _, err := s.ChangeOwnPassword(mine, goodPassword+"2", goodPassword+"3", true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), here); err != nil {
			t.Errorf("the device that changed it: %v", err)
		}
		if _, err := s.Authenticate(t.Context(), thief); !errors.Is(err, ErrToken) {
			t.Errorf("another device: %v", err)
		}
		if err := s.SetPassword(system(t), ada.ID, goodPassword); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), here); err != nil {
			t.Errorf("after somebody else set it: %v", err)
		}
	})
}

// The last use must be visible without a write per request, and ended sign-ins must not pile up.
func TestDeviceLastUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		now := monday
		s.Now = func() time.Time { return now }
		s.TokenLife = 3 * time.Hour
		ada := makeUser(t, s, "ada", actor.Admin)
		token, mine := signedIn(t, s, ada, firefox)
		for _, at := range []time.Duration{time.Minute, 59 * time.Minute, 61 * time.Minute, 70 * time.Minute} {
			now = monday.Add(at)
			if _, err := s.Authenticate(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			if err := s.writeUses(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := devicesOf(mine, t, s)[0].LastUsedAt; !got.Equal(monday.Add(61 * time.Minute)) {
			t.Errorf("last used at %v", got)
		}
		now = monday.Add(3 * time.Hour)
		if left := devicesOf(mine, t, s); len(left) != 0 {
			t.Errorf("expired, but listed: %+v", left)
		}
		if err := s.PurgeExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM sign_ins`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows left, %v", n, err)
		}
	})
}

// People recognize their devices by these words.
func TestDeviceName(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		firefox: "Firefox on Linux",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15":            "Safari on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Mobile Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0":    "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36":                  "Chrome on Android",
		"Go-http-client/1.1": "Go program",
		"curl/8.5.0":         "curl",
		"node":               "Node.js program",
		"":                   "Unknown device",
		"<b>me</b>":          "Unknown device",
	} {
		if got := deviceName(agent); got != want {
			t.Errorf("%s: %q, want %q", agent, got, want)
		}
	}
}
