package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// This file signs in the owner of a demo with a one-time link from the terminal.

// SignInLinkLife is how long a sign-in link works.
const SignInLinkLife = 30 * time.Minute

// signInLink is the current sign-in link. It is kept in memory, because it is worthless after
// a restart, which prints a new one.
type signInLink struct {
	mu     sync.Mutex
	digest string // of the token; empty if there is no link or it was used
	email  string
	until  time.Time
}

// OfferSignIn returns a token that signs in the account with the given email, once and until the
// returned time. It replaces an earlier token. Only the demo offers one: its password is printed to
// the same terminal. Without an offer, SignInWithLink refuses every token.
func (s *Service) OfferSignIn(email string) (token string, until time.Time) {
	token = rand.Text() // 130 bits, which cannot be guessed in 30 minutes
	until = clock.At(s.Now().Add(SignInLinkLife)).Time
	l := &s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digest, l.email, l.until = linkDigest(token), email, until
	return token, until
}

// take returns the email that the token signs in, and makes the token invalid.
func (l *signInLink) take(token string, now time.Time) (email string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := subtle.ConstantTimeCompare([]byte(linkDigest(token)), []byte(l.digest)) == 1
	if !same || !now.Before(l.until) {
		return "", false
	}
	l.digest = ""
	return l.email, true
}

// SignInWithLink signs in with a token from OfferSignIn. The token works once, and only for a
// request from this machine, as web.Local reports it. A refused token counts as a failed login from
// the client's address.
func (s *Service) SignInWithLink(ctx context.Context, token string, from netip.Addr, local bool) (_ SignIn, err error) {
	try := attempt{address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return SignIn{}, s.recordThrottled(ctx, err, "login", from)
	}
	defer func() { leave(err) }()
	if !local {
		return SignIn{}, s.refuseLink(ctx, "sign-in link from another machine", from)
	}
	email, ok := s.link.take(token, s.Now())
	if !ok {
		return SignIn{}, s.refuseLink(ctx, "invalid sign-in link", from)
	}
	u, err := findEmail(ctx, s.DB, email)
	switch {
	case fault.Of(err) != nil || err == nil && !u.Active:
		return SignIn{}, s.refuseLink(ctx, "sign-in link of a missing or deactivated account", from)
	case err != nil:
		return SignIn{}, fmt.Errorf("look up the account of a sign-in link: %w", err)
	}
	in, err := s.signIn(ctx, u, &try)
	if errors.Is(err, ErrLogin) {
		return SignIn{}, s.refuseLink(ctx, "account changed during login", from)
	}
	return in, err
}

// refuseLink records the reason for a refused sign-in link in an audit event and in the log, and
// returns ErrSignInLink.
func (s *Service) refuseLink(ctx context.Context, reason string, from netip.Addr) error {
	s.recordFailure(loginFailed, reason, User{}, from)
	if s.Log != nil {
		s.Log.InfoContext(ctx, "login refused", slog.String("reason", reason), slog.Any("address", from))
	}
	return ErrSignInLink.With("Sign in with the email and password from the terminal, or restart the demo for a new link.")
}

func linkDigest(token string) string { return digest("sign-in link", token) }
