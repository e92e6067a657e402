package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// How the first owner is made by whoever sees the service's terminal.

// SetupLife is how long a set-up token works. It is long enough to fill in a
// form and short enough that one in an old terminal opens nothing.
const SetupLife = 30 * time.Minute

// Setup is what the first owner says of themselves.
type Setup struct {
	Token    string `json:"token" format:"password" doc:"The one that the service printed to its terminal when it started."`
	Email    string `json:"email" maxLength:"254" example:"ada@example.com"`
	Name     string `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Left out, it is what stands before the @."`
	Password string `json:"password" format:"password" doc:"At least 12 characters; there is no maximum."`
}

// OfferSetup makes a token with which whoever knows it becomes the owner, once,
// until the time that it returns. The token is empty when there is an owner.
// Each replica may offer its own; all of them take it. Only a digest is stored,
// and the token belongs on a terminal: never into a log.
func (s *Service) OfferSetup(ctx context.Context) (token string, until time.Time, err error) {
	// 26 characters of base32, 130 bits: nobody guesses it in half an hour.
	token = rand.Text()
	until = clock.At(s.Now().Add(SetupLife)).Time
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := purgeSetupTokens(ctx, tx, s.Now()); err != nil {
			return err
		}
		if err := vacant(ctx)(tx); err != nil {
			return err
		}
		return putSetupToken(ctx, tx, setupDigest(token), until)
	})
	switch {
	case errors.Is(err, ErrOneOwner):
		return "", time.Time{}, nil
	case err != nil:
		return "", time.Time{}, fmt.Errorf("offer a set-up token: %w", err)
	}
	return token, until, nil
}

// Setup makes the owner's account and signs them in, while there is none and
// with a token of OfferSetup, all of which are void from then on. A wrong token
// counts as a failed login from that address. With an owner it answers
// ErrSetupDone whatever the token, which /config tells everybody anyhow.
func (s *Service) Setup(ctx context.Context, in Setup, from netip.Addr) (_ SignIn, err error) {
	switch exists, err := s.HasOwner(ctx); {
	case err != nil:
		return SignIn{}, err
	case exists:
		return SignIn{}, setupDone()
	}
	u, err := User{}.apply(NewUser{Email: in.Email, Name: in.Name, Password: in.Password, Role: actor.Admin}.change())
	if err != nil {
		return SignIn{}, err
	}
	try := attempt{address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return SignIn{}, s.unadmitted(ctx, err, "set-up", from)
	}
	defer func() { leave(err) }()
	// Before the password is hashed, which is work that a stranger cannot ask for.
	if err := s.checkSetupToken(ctx, s.DB, in.Token); err != nil {
		return SignIn{}, s.refuseSetup(ctx, err, from)
	}
	u.ID, u.Role = db.NewID(), actor.Owner // apply lets nobody become that
	self := actor.With(ctx, actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
	made, err := s.add(self, u, in.Password, "setup", func(tx *db.Tx) error {
		if err := vacant(ctx)(tx); err != nil {
			return err
		}
		if err := s.checkSetupToken(ctx, tx, in.Token); err != nil {
			return err
		}
		return dropSetupTokens(ctx, tx)
	})
	switch {
	case errors.Is(err, ErrOneOwner):
		return SignIn{}, setupDone() // another was faster
	case errors.Is(err, ErrEmailTaken):
		return SignIn{}, ErrEmailTaken.With("Take another. On the service's machine, `wardroom user owner` makes that account the owner.")
	case err != nil:
		return SignIn{}, s.refuseSetup(ctx, err, from)
	}
	return s.signIn(ctx, made, &try)
}

func setupDone() error {
	return ErrSetupDone.With("Log in, or ask the owner or an admin for an account.")
}

// refuseSetup tells the audit and the operator of a wrong token, and returns err; or that the
// set-up is done, when that is why the token is void since a moment ago.
func (s *Service) refuseSetup(ctx context.Context, err error, from netip.Addr) error {
	if !errors.Is(err, ErrSetupToken) {
		return err
	}
	switch exists, lookErr := s.HasOwner(ctx); {
	case lookErr != nil:
		return lookErr
	case exists:
		return setupDone()
	}
	s.suspect("setup.refused", "wrong or expired token", User{}, from)
	if s.Log != nil {
		s.Log.WarnContext(ctx, "set-up refused", slog.String("reason", "wrong or expired token"), slog.Any("address", from))
	}
	return err
}

// checkSetupToken answers ErrSetupToken unless the token is one that works now.
// It is compared with each, so that the time tells nothing of any.
func (s *Service) checkSetupToken(ctx context.Context, q db.Queryer, token string) error {
	valid, err := findSetupTokens(ctx, q, s.Now())
	if err != nil {
		return fmt.Errorf("look up set-up tokens: %w", err)
	}
	given, found := []byte(setupDigest(token)), 0
	for _, v := range valid {
		found |= subtle.ConstantTimeCompare(given, []byte(v))
	}
	if found == 0 {
		return ErrSetupToken.With("Copy it again from the service's terminal. It works for %d minutes; "+
			"a new one is printed there when it ends, and at each start. `wardroom user` on the service's machine does without it.", int(SetupLife.Minutes()))
	}
	return nil
}

func setupDigest(token string) string { return digest("setup", token) }

// PurgeSetupTokens drops those that no longer work.
func (s *Service) PurgeSetupTokens(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return purgeSetupTokens(ctx, tx, s.Now()) })
	if err != nil {
		return fmt.Errorf("purge set-up tokens: %w", err)
	}
	return nil
}
