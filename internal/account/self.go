package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

// What people do with their own account.

// Registration is what people say of themselves when they register.
type Registration struct {
	Email    string `json:"email" maxLength:"254" example:"ada@example.com"`
	Name     string `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Left out, it is what stands before the @."`
	Password string `json:"password" format:"password" doc:"At least 12 characters; there is no maximum."`
}

// OwnChange is a partial update of one's own account. What it does not name
// stays as it is.
type OwnChange struct {
	Name      *string             `json:"name,omitempty" maxLength:"100"`
	AvatarURL patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
}

// Register makes an account of the role user for whoever asks, and signs them
// in, if that is open. Who asks for an email that is taken is answered so:
// without mail to confirm an address there is no way to hide it. Nobody takes the
// name of another, under which they could speak: ErrNameTaken. Either counts as a
// failed login from that address, so that nobody tries many.
func (s *Service) Register(ctx context.Context, r Registration, from netip.Addr) (_ SignIn, err error) {
	if !s.RegistrationOpen {
		return SignIn{}, ErrRegistration.With("Ask an admin or the owner for an account.")
	}
	u, err := User{}.apply(NewUser{Email: r.Email, Name: r.Name, Password: r.Password, Role: actor.User}.change())
	if err != nil {
		return SignIn{}, err
	}
	try := attempt{address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return SignIn{}, s.unadmitted(ctx, err, "registration", from)
	}
	defer func() { leave(err) }()
	u.ID = db.NewID()
	self := actor.With(ctx, actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
	made, err := s.add(self, u, r.Password, "registration", func(tx *db.Tx) error { return nameFree(ctx, tx, u) })
	switch {
	case errors.Is(err, ErrEmailTaken):
		s.suspect("registration.refused", "taken email", User{}, from)
		return SignIn{}, ErrEmailTaken.With("Log in with it, or take another.") // and not whose it is
	case errors.Is(err, ErrNameTaken):
		s.suspect("registration.refused", "taken name", User{}, from)
		return SignIn{}, err
	case err != nil:
		return SignIn{}, err
	}
	return s.signIn(ctx, made, &try)
}

// nameFree refuses, as ErrNameTaken, a new account whose name another has. Until
// the transaction ends nobody else takes it. Who has an account with that email
// is told so by the caller, and not to take another name.
func nameFree(ctx context.Context, tx *db.Tx, u User) error {
	if err := tx.Lock(ctx, serial); err != nil {
		return err
	}
	switch _, err := find(ctx, tx, u.Email); {
	case err == nil:
		return nil
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return unlessCalled(ctx, tx, u)
}

// unlessCalled refuses, as ErrNameTaken, the name of another account.
func unlessCalled(ctx context.Context, tx *db.Tx, u User) error {
	taken, err := isCalled(ctx, tx, u.Name, u.ID)
	if err == nil && taken {
		err = ErrNameTaken.With("Take another, by which people tell you apart.")
	}
	return err
}

// ChangeOwn changes what everybody may change of their own account. With a
// version it is refused, as ErrStale, when that is no longer the current one. Nobody
// takes the name of another, under which they could speak: ErrNameTaken.
func (s *Service) ChangeOwn(ctx context.Context, c OwnChange, version *int64) (User, error) {
	return s.change(ctx, actor.From(ctx).ID, Change{Name: c.Name, AvatarURL: c.AvatarURL}, version, func(tx *db.Tx, was, is User) error {
		if is.Name == was.Name {
			return nil
		}
		return unlessCalled(ctx, tx, is)
	})
}

// ChangeOwnPassword gives the caller another password, if they know the one
// until now: whoever finds an open screen must not be able to take the account
// over. Wrong ones count as failed logins. Tokens stay valid.
func (s *Service) ChangeOwnPassword(ctx context.Context, current, password string) (User, error) {
	if problem := checkPassword(password); problem != "" {
		var bad fault.Fields
		bad.Add("/new_password", "%s", problem)
		return User{}, bad.Err()
	}
	var u User
	err := s.confirmed(ctx, &current, "change of password", func(p *proof) error {
		hash, err := s.hash(ctx, password)
		if err != nil {
			return err
		}
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			if err := tx.Lock(ctx, serial); err != nil {
				return err
			}
			if err := p.check(ctx, tx); err != nil {
				return err
			}
			is, err := find(ctx, tx, p.caller.ID)
			if err != nil {
				return err
			}
			u = is.User
			return s.save(ctx, tx, is, &u, hash)
		})
	})
	if err != nil {
		return User{}, fmt.Errorf("change a password: %w", err)
	}
	return u, nil
}
