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

// This file contains the operations that users perform on their own account.

// Registration is the input for registering an account.
type Registration struct {
	Email    string `json:"email" maxLength:"254" example:"ada@example.com"`
	Name     string `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Defaults to the part of the email before the @."`
	Password string `json:"password" format:"password" doc:"At least 12 characters. No maximum."`
}

// OwnChange is a partial update of the caller's account. Omitted fields keep their
// values.
type OwnChange struct {
	Name      *string             `json:"name,omitempty" maxLength:"100"`
	AvatarURL patch.Field[string] `json:"avatar_url,omitzero" maxLength:"2000"`
}

// Register creates an account with the role user and signs the user in, if registration is open. It
// returns ErrEmailTaken if the email is taken. It cannot hide this, because it sends no
// confirmation email. It returns ErrNameTaken if the name is taken, so that users cannot
// impersonate each other. Both errors count as failed logins from the client's IP address, to limit
// how many emails and names a client can try.
func (s *Service) Register(ctx context.Context, r Registration, from netip.Addr) (_ SignIn, err error) {
	if !s.RegistrationOpen {
		return SignIn{}, ErrRegistration.With("Ask an admin or the owner to create an account for you.")
	}
	u, err := User{}.apply(NewUser{Email: r.Email, Name: r.Name, Password: r.Password, Role: actor.User}.change())
	if err != nil {
		return SignIn{}, err
	}
	try := attempt{address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return SignIn{}, s.recordThrottled(ctx, err, "registration", from)
	}
	defer func() { leave(err) }()
	u.ID = db.NewID()
	self := actor.With(ctx, actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
	made, err := s.add(self, u, r.Password, "registration", nil)
	switch {
	case errors.Is(err, ErrEmailTaken):
		s.recordFailure("registration.refused", "taken email", User{}, from)
		return SignIn{}, ErrEmailTaken.With("Log in with this email, or use a different one.") // does not reveal the holder
	case errors.Is(err, ErrNameTaken):
		s.recordFailure("registration.refused", "taken name", User{}, from)
		return SignIn{}, err
	case err != nil:
		return SignIn{}, err
	}
	return s.signIn(ctx, made, &try)
}

// requireFreeName returns ErrNameTaken if another account has the name of u.
func requireFreeName(ctx context.Context, tx *db.Tx, u User) error {
	taken, err := nameTaken(ctx, tx, u)
	if err == nil && taken {
		err = ErrNameTaken.With("Choose a different name, so that people can tell the accounts apart.")
	}
	return err
}

// ChangeOwn changes the caller's account. It returns ErrStale if version is given and is not the
// current one, and ErrNameTaken if another account has the new name.
func (s *Service) ChangeOwn(ctx context.Context, c OwnChange, version *int64) (User, error) {
	return s.change(ctx, actor.From(ctx).ID, Change{Name: c.Name, AvatarURL: c.AvatarURL}, version,
		func(*db.Tx, User, User) error { return nil })
}

// ChangeOwnPassword changes the caller's password. It requires the current password, so that an
// unattended screen is not enough to take over the account. A wrong password counts as a failed
// login. If signOutOthers is true, it also signs out the caller's other devices; otherwise their tokens
// are valid until they expire.
func (s *Service) ChangeOwnPassword(ctx context.Context, current, password string, signOutOthers bool) (User, error) {
	if problem := checkPassword(password); problem != "" {
		var bad fault.Fields
		bad.Add("/new_password", "%s", problem)
		return User{}, bad.Err()
	}
	var u User
	err := s.confirmed(ctx, &current, "password change", func(p *proof) error {
		hash, err := s.hash(ctx, password)
		if err != nil {
			return err
		}
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			if err := p.check(ctx, tx); err != nil {
				return err
			}
			is, err := find(ctx, tx, p.caller.ID)
			if err != nil {
				return err
			}
			u = is.User
			if err := s.save(ctx, tx, is, &u, hash); err != nil || !signOutOthers {
				return err
			}
			return s.signOutAll(ctx, tx, actor.From(ctx).Device)
		})
	})
	if err != nil {
		return User{}, fmt.Errorf("change a password: %w", err)
	}
	return u, nil
}
