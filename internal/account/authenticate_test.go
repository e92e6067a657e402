package account

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestCallerOfAnotherProcess checks that a change to an account by another process takes effect at
// once, despite the cache.
func TestCallerOfAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := dbtest.URL(t, engine)
			s := newService(dbtest.Open(t, url))
			beside, err := db.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := beside.Close(); err != nil {
					t.Error(err)
				}
			})
			other := newService(beside)
			ada := makeUser(t, s, "ada", actor.Admin)
			in, err := s.Login(t.Context(), ada.Email, goodPassword, netip.Addr{})
			if err != nil {
				t.Fatal(err)
			}
			_, key := makeAgentKey(t, s, "coo")
			last := ""
			for i, role := range []actor.Role{actor.User, actor.Admin, actor.User, actor.Admin} {
				for range 2 { // the second time from the cache
					if got, err := s.Authenticate(t.Context(), in.Token); err != nil || got.Role == role {
						t.Fatalf("before change %d: %+v, %v", i, got, err)
					}
				}
				if _, err := other.Change(system(t), ada.ID, Change{Role: &role}, nil); err != nil {
					t.Fatal(err)
				}
				got, err := s.Authenticate(t.Context(), in.Token)
				if err != nil || got.Role != role || got.TaskVersion == last {
					t.Errorf("change %d to %s: %+v, %v", i, role, got, err)
				}
				last = got.TaskVersion
			}
			if _, err := other.Change(system(t), ada.ID, Change{Active: new(false)}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Authenticate(t.Context(), in.Token); !errors.Is(err, ErrDeactivated) {
				t.Errorf("after the end of the account: %v", err)
			}
			for range 2 {
				if _, err := s.Authenticate(t.Context(), key.Secret); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.RevokeKey(system(t), "coo@example.com", key.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Authenticate(t.Context(), key.Secret); !errors.Is(err, ErrToken) {
				t.Errorf("after the end of the key: %v", err)
			}
		})
	}
}

// TestTokensRemembered checks that cached tokens expire and that the cache is bounded.
func TestTokensRemembered(t *testing.T) {
	t.Parallel()
	s := newService(dbtest.New(t))
	ada := makeUser(t, s, "ada", actor.Admin)
	at := s.Now()
	s.Now = func() time.Time { return at }
	in, err := s.Login(t.Context(), ada.Email, goodPassword, netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	token, expires := in.Token, in.ExpiresAt
	ask := func() error { _, err := s.Authenticate(t.Context(), token); return err }
	if err := errors.Join(ask(), ask()); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.tokens.find(token); !ok {
		t.Error("it is not remembered")
	}
	at = expires.Time
	if err := ask(); !errors.Is(err, ErrToken) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := s.Authenticate(t.Context(), token[:len(token)-2]); !errors.Is(err, ErrToken) {
		t.Errorf("with another signature: %v", err)
	}
	for i := range 3 * maxTokens {
		s.tokens.keep(fmt.Sprint(i), cachedToken{ada.ID, ada.ID, at})
	}
	if n := len(s.tokens.known); n > maxTokens {
		t.Errorf("%d are remembered", n)
	}
}
