package account

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := makeUser(t, s, "ada", actor.User)
		gone := makeUser(t, s, "gone", actor.User)
		if _, err := s.Change(system(t), gone.ID, Change{Active: new(false)}, nil); err != nil {
			t.Fatal(err)
		}
		for _, email := range []string{"ada@example.com", "ADA@Example.COM", " ada@example.com\n"} {
			in, err := s.Login(t.Context(), email, goodPassword, netip.Addr{})
			if err != nil {
				t.Fatalf("%q: %v", email, err)
			}
			if in.User.ID != ada.ID || !in.ExpiresAt.Equal(monday.Add(time.Hour)) {
				t.Errorf("%q: signed in as %v until %v", email, in.User.ID, in.ExpiresAt)
			}
			caller, err := s.Authenticate(t.Context(), in.Token)
			if err != nil || caller.ID != ada.ID {
				t.Errorf("the token is of %q (%v)", caller.ID, err)
			}
		}
		got, err := s.Get(t.Context(), ada.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.LastLoginAt == nil || !got.LastLoginAt.Equal(monday) || got.Version != 1 {
			t.Errorf("last login %v, version %d; want %v and 1", got.LastLoginAt, got.Version, monday)
		}
		for _, tt := range []struct{ name, email, password string }{
			{"unknown", "bob@example.com", goodPassword},
			{"wrong password", "ada@example.com", goodPassword + "!"},
			{"no password", "ada@example.com", ""},
			{"long password", "ada@example.com", strings.Repeat(goodPassword, 50_000)},
			{"deactivated", "gone@example.com", goodPassword},
			{"nothing", "", ""},
			{"long email", strings.Repeat("a", 1<<20), goodPassword},
			{"NUL", "ada@example.com\x00", "x\x00"},
			{"no text", "\xff@example.com", "\xff"},
			{"an id", ada.ID, goodPassword},
		} {
			in, err := s.Login(t.Context(), tt.email, tt.password, netip.Addr{})
			if !errors.Is(err, ErrLogin) || err.Error() != ErrLogin.Error() || in.Token != "" {
				t.Errorf("%s: %+v, %v; want %v and no more", tt.name, in, err, ErrLogin)
			}
		}
	})
}

// TestLoginOfAnAccountThatChanges checks that a login fails if the account is deactivated or its
// password changes while the password is compared.
func TestLoginOfAnAccountThatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]Change{
		"deactivated":  {Active: new(false)},
		"new password": {Password: new("another good password")},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				s := newService(d)
				makeUser(t, s, "ada", actor.User)
				s.passwords.compare = func(hash, password []byte) error {
					other := newService(d) // has its own slots
					if _, err := other.Change(system(t), "ada@example.com", change, nil); err != nil {
						t.Error(err)
					}
					return bcrypt.CompareHashAndPassword(hash, password)
				}
				if _, err := s.Login(t.Context(), "ada@example.com", goodPassword, netip.Addr{}); !errors.Is(err, ErrLogin) {
					t.Errorf("Login() = %v, want %v", err, ErrLogin)
				}
			})
		})
	}
}

// same compares actors except for the state of the log at which they were read.
func same(got, want actor.Actor) bool {
	got.TaskVersion, got.Device = want.TaskVersion, want.Device
	return got == want
}

// TestAuthenticateAsksTheAccount checks that a demotion or deactivation applies to existing tokens
// at once.
func TestAuthenticateAsksTheAccount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := makeUser(t, s, "ada", actor.Admin)
		in, err := s.Login(t.Context(), ada.Email, goodPassword, netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		step := func(c Change, want actor.Actor, wantErr error) {
			t.Helper()
			if _, err := s.Change(system(t), ada.ID, c, nil); err != nil {
				t.Fatal(err)
			}
			if want.Known() {
				want.Expires = in.ExpiresAt.Time // an open stream ends then
			}
			got, err := s.Authenticate(t.Context(), in.Token)
			if !same(got, want) || !errors.Is(err, wantErr) {
				t.Errorf("Authenticate() = %+v, %v; want %+v, %v", got, err, want, wantErr)
			}
		}
		step(Change{}, actor.Actor{ID: ada.ID, Name: "ada", Role: actor.Admin}, nil)
		step(Change{Role: new(actor.User), Name: new("Ada")}, actor.Actor{ID: ada.ID, Name: "Ada", Role: actor.User}, nil)
		step(Change{Role: new(actor.Agent), AgentID: patch.Set("coo")},
			actor.Actor{ID: ada.ID, Name: "Ada", Role: actor.Agent, AgentID: "coo"}, nil)
		step(Change{Active: new(false)}, actor.Actor{}, ErrDeactivated)
		step(Change{Active: new(true), Password: new("a good new password")},
			actor.Actor{ID: ada.ID, Name: "Ada", Role: actor.Agent, AgentID: "coo"}, nil)
		unknown, _, err := s.issue(User{ID: db.NewID()}, db.NewID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), unknown); !errors.Is(err, ErrToken) {
			t.Errorf("the token of nobody: %v", err)
		}
	})
}

// TestLoginQueue checks that logins fail at once if the queue is full, so that a flood of logins
// does not hold many requests in memory.
func TestLoginQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		email func(i int) string
		width func(k *hasher) int // number of concurrent comparisons
	}{
		{"on many accounts", func(i int) string { return fmt.Sprintf("nobody%d@example.com", i) }, func(k *hasher) int { return cap(k.slots) }},
		{"on one account", func(int) string { return "nobody@example.com" }, func(*hasher) int { return 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(dbtest.New(t))
			k, err := s.hasher()
			if err != nil {
				t.Fatal(err)
			}
			release := make(chan struct{})
			k.compare = func([]byte, []byte) error {
				<-release
				return bcrypt.ErrMismatchedHashAndPassword
			}
			var flood sync.WaitGroup
			for i := range tt.width(k) + maxQueue {
				flood.Go(func() {
					_, err := s.Login(t.Context(), tt.email(i), goodPassword, netip.Addr{})
					if !errors.Is(err, ErrLogin) && !errors.Is(err, ErrThrottled) {
						t.Errorf("Login() = %v, want it refused after its turn", err)
					}
				})
			}
			for end := time.Now().Add(20 * time.Second); queued(s, k) < maxQueue; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatal("the queue does not fill")
				}
			}
			_, err = s.Login(t.Context(), tt.email(1000), goodPassword, netip.Addr{})
			if f := fault.Of(err); !errors.Is(err, ErrBusy) || f.RetryAfter <= 0 {
				t.Errorf("Login() = %v, want %v with a time to try again", err, ErrBusy)
			}
			close(release)
			flood.Wait()
			if n := queued(s, k); n != 0 {
				t.Errorf("%d still wait", n)
			}
		})
	}
}

// queued returns how many logins wait for a core or for others on their account, whichever is
// more. The sum would count a login twice that has just moved from one queue to the other.
func queued(s *Service, k *hasher) int {
	return max(int(k.waiting.Load()), s.attempts.Waiting())
}
