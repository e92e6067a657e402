package account

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A sign-in link works once, until it expires, and only directly from this machine: otherwise
// whoever finds it in a terminal or a log could become the owner.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		now := monday
		s.Now = func() time.Time { return now }
		try := func(token string, headers ...string) answer {
			return s.ask(t, "", "POST", "/auth/link", map[string]string{"token": token}, headers...)
		}
		const invalid = "sign_in_link_invalid"
		try("").want(t, "an empty token without an offer", http.StatusForbidden, invalid)
		if _, _, err := s.Bootstrap(t.Context(), "ada@example.com", goodPassword); err != nil {
			t.Fatal(err)
		}
		token, until := s.OfferSignIn("ada@example.com")
		if len(token) < 26 || !until.Equal(now.Add(30*time.Minute)) {
			t.Fatalf("a token of %d characters, until %s", len(token), until)
		}
		try(token[:25]).want(t, "a part", http.StatusForbidden, invalid)
		try(linkDigest(token)).want(t, "its digest", http.StatusForbidden, invalid)
		try(token, "X-Forwarded-For", "127.0.0.1").want(t, "through a proxy", http.StatusForbidden, invalid)
		try(token, "Origin", "https://wardroom.example", "Content-Type", "application/json").want(t, "from another site", http.StatusForbidden, invalid)
		s.ask(t, "", "GET", "/auth/link?token="+token, nil).want(t, "as a GET", http.StatusMethodNotAllowed, "method_not_allowed")
		use := func(token string) map[string]int {
			return race(6, func(int) error {
				in, err := s.SignInWithLink(t.Context(), token, netip.Addr{}, true)
				if err == nil && (in.User.Role != actor.Owner || in.Token == "") {
					t.Errorf("signed in as %+v", in.User)
				}
				return err
			})
		}
		if got := use(token); got["won"] != 1 || got[invalid] != 5 {
			t.Errorf("six uses at once: %v", got)
		}
		old, _ := s.OfferSignIn("ada@example.com")
		newest, _ := s.OfferSignIn("ada@example.com")
		if got := use(old); got["won"] != 0 {
			t.Errorf("a replaced link: %v", got)
		}
		now = now.Add(SignInLinkLife)
		if got := use(newest); got["won"] != 0 {
			t.Errorf("an expired link: %v", got)
		}
		if all := s.said.String() + s.log.String(); strings.Contains(all, token) {
			t.Errorf("an answer or the log shows the token:\n%s", all)
		}
	})
}
