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

// This file creates the first owner with a token from the server's terminal.

// SetupLife is the lifetime of a setup token. It is long enough to fill in a form, but so short
// that a token left in an old terminal is useless.
const SetupLife = 30 * time.Minute

// Setup is the input for creating the first owner.
type Setup struct {
	Token    string `json:"token" format:"password" doc:"The setup token that Wardroom printed to its terminal."`
	Email    string `json:"email" maxLength:"254" example:"ada@example.com"`
	Name     string `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Defaults to the part of the email before the @."`
	Password string `json:"password" format:"password" doc:"At least 12 characters. No maximum."`
}

// OfferSetup creates a setup token, which can be used once to create the owner, and returns it with
// its expiry time. The token is empty if there already is an owner. Each replica may create its own
// token, and every replica accepts all of them. Only a digest is stored. Print the token to a
// terminal, never to a log.
func (s *Service) OfferSetup(ctx context.Context) (token string, until time.Time, err error) {
	// 26 characters of base32 have 130 bits, which cannot be guessed in 30 minutes.
	token = rand.Text()
	until = clock.At(s.Now().Add(SetupLife)).Time
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := purgeSetupTokens(ctx, tx, s.Now()); err != nil {
			return err
		}
		if err := requireNoOwner(ctx)(tx); err != nil {
			return err
		}
		return putSetupToken(ctx, tx, setupDigest(token), until)
	})
	switch {
	case errors.Is(err, ErrOneOwner):
		return "", time.Time{}, nil
	case err != nil:
		return "", time.Time{}, fmt.Errorf("create a setup token: %w", err)
	}
	return token, until, nil
}

// Setup uses a token from OfferSetup to create the owner's account, and signs the owner in. It
// invalidates all setup tokens. A wrong token counts as a failed login from the client's address.
// If there already is an owner, Setup returns ErrSetupDone for any token. This reveals nothing new,
// because /config also shows that setup is done.
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
		return SignIn{}, s.recordThrottled(ctx, err, "setup", from)
	}
	defer func() { leave(err) }()
	// Check the token before hashing the password, so that only someone with a valid token can
	// cause that work.
	if err := s.checkSetupToken(ctx, s.DB, in.Token); err != nil {
		return SignIn{}, s.refuseSetup(ctx, err, from)
	}
	u.ID, u.Role = db.NewID(), actor.Owner // apply rejects the role owner
	self := actor.With(ctx, actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
	made, err := s.add(self, u, in.Password, "setup", func(tx *db.Tx) error {
		if err := requireNoOwner(ctx)(tx); err != nil {
			return err
		}
		if err := s.checkSetupToken(ctx, tx, in.Token); err != nil {
			return err
		}
		return dropSetupTokens(ctx, tx)
	})
	switch {
	case errors.Is(err, ErrOneOwner):
		return SignIn{}, setupDone() // another request was faster
	case errors.Is(err, ErrEmailTaken):
		return SignIn{}, ErrEmailTaken.With(
			"Use a different email. To make the existing account the owner, run `wardroom user owner` on the server.",
		)
	case err != nil:
		return SignIn{}, s.refuseSetup(ctx, err, from)
	}
	return s.signIn(ctx, made, &try)
}

func setupDone() error {
	return ErrSetupDone.With("Log in, or ask the owner or an admin to create an account for you.")
}

// refuseSetup returns the error for a failed setup. If the token was wrong and an owner already
// exists, it returns ErrSetupDone. It records any other wrong token in an audit event and the log.
// Errors other than ErrSetupToken are returned unchanged.
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
	s.recordFailure("setup.refused", "wrong or expired token", User{}, from)
	if s.Log != nil {
		s.Log.WarnContext(ctx, "setup refused", slog.String("reason", "wrong or expired token"), slog.Any("address", from))
	}
	return err
}

// checkSetupToken returns ErrSetupToken unless the token is valid. It compares the
// token with all stored digests in constant time.
func (s *Service) checkSetupToken(ctx context.Context, q db.Queryer, token string) error {
	valid, err := findSetupTokens(ctx, q, s.Now())
	if err != nil {
		return fmt.Errorf("look up setup tokens: %w", err)
	}
	given, found := []byte(setupDigest(token)), 0
	for _, v := range valid {
		found |= subtle.ConstantTimeCompare(given, []byte(v))
	}
	if found == 0 {
		return ErrSetupToken.With("Copy the current token from the server's terminal. Wardroom prints a new token at each start and every %d minutes. "+
			"Or run `wardroom user` on the server, which does not need the token.", int(SetupLife.Minutes()))
	}
	return nil
}

func setupDigest(token string) string { return digest("setup", token) }

// PurgeExpired deletes expired setup tokens and sign-ins.
func (s *Service) PurgeExpired(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := purgeSetupTokens(ctx, tx, s.Now()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM sign_ins WHERE expires_at <= ?`, s.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("purge expired tokens: %w", err)
	}
	return nil
}
