package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Bootstrap creates the owner's account from BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD, if
// there is no owner yet, and reports whether it created one. Every replica calls it at startup. The
// caller must log the warnings, and must exit if Bootstrap returns an error. An error about an
// invalid setting names the setting.
func (s *Service) Bootstrap(ctx context.Context, email, password string) (created bool, warnings []string, err error) {
	if password != "" {
		if problem := checkPassword(password); problem != "" {
			return false, nil, fmt.Errorf("BOOTSTRAP_OWNER_PASSWORD is invalid: %s", problem)
		}
	}
	exists, err := s.HasOwner(ctx)
	switch {
	case err != nil:
		return false, nil, err
	case exists:
		return false, ignoredSettings(email, password), nil
	case email == "" && password == "":
		return false, nil, nil
	case password == "":
		return false, []string{
			"BOOTSTRAP_OWNER_EMAIL is ignored: to create the owner, set BOOTSTRAP_OWNER_PASSWORD as well",
		}, nil
	case email == "":
		return false, []string{
			"BOOTSTRAP_OWNER_PASSWORD is ignored: to create the owner, set BOOTSTRAP_OWNER_EMAIL as well",
		}, nil
	}
	if problem := checkEmail(strings.TrimSpace(email)); problem != "" {
		return false, nil, fmt.Errorf("BOOTSTRAP_OWNER_EMAIL is invalid: %s", problem)
	}
	u, err := User{}.apply(NewUser{Email: email, Password: password, Role: actor.Admin}.change())
	if err != nil {
		return false, nil, err
	}
	u.ID, u.Role = db.NewID(), actor.Owner // apply rejects the role owner
	_, err = s.add(asSystem(ctx), u, password, "bootstrap", requireNoOwner(ctx))
	if errors.Is(err, ErrNameTaken) { // the default name, which nobody chose
		u.Name = "Owner"
		_, err = s.add(asSystem(ctx), u, password, "bootstrap", requireNoOwner(ctx))
	}
	switch {
	case errors.Is(err, ErrOneOwner):
		return false, ignoredSettings(email, password), nil // another replica was faster
	case errors.Is(err, ErrEmailTaken):
		return false, nil, errors.New("BOOTSTRAP_OWNER_EMAIL belongs to an account that is not the owner: " +
			"use another address, or make that account the owner with `wardroom user owner`")
	case err != nil:
		return false, nil, err
	}
	return true, nil, nil
}

// ignoredSettings returns a warning if bootstrap settings are present even though an owner already
// exists. Such settings have no effect.
func ignoredSettings(email, password string) []string {
	switch {
	case password != "" && email != "":
		return []string{"BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD are ignored because there is an owner: remove the password from the configuration"}
	case password != "":
		return []string{
			"BOOTSTRAP_OWNER_PASSWORD is ignored because there is an owner: remove the password from the configuration",
		}
	case email != "":
		return []string{"BOOTSTRAP_OWNER_EMAIL is ignored because there is an owner: remove it from the configuration"}
	}
	return nil
}

// requireNoOwner returns a check that fails with ErrOneOwner if there is an owner.
func requireNoOwner(ctx context.Context) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		_, err := findOwner(ctx, tx)
		switch {
		case err == nil:
			return ErrOneOwner
		case errors.Is(err, ErrNotFound):
			return nil
		}
		return err
	}
}

// HasOwner reports whether there is an owner, which means that setup is done.
func (s *Service) HasOwner(ctx context.Context) (bool, error) {
	_, err := findOwner(ctx, s.DB)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrNotFound):
		return false, nil
	}
	return false, fmt.Errorf("look up the owner: %w", err)
}

// HandOver makes the user whose ID or email is ref the owner, and makes the current owner, if any,
// an admin. It does not check permissions, because only a command on the server calls it.
func (s *Service) HandOver(ctx context.Context, ref string) (User, error) {
	ctx = asSystem(ctx)
	var next User
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		was, err := find(ctx, tx, ref)
		if err != nil {
			return err
		}
		next = was.User
		switch {
		case was.Role == actor.Owner:
			return nil
		case was.Role == actor.Agent:
			return ErrOneOwner.With("An agent cannot be the owner.")
		case !was.Active:
			return ErrOneOwner.With("The account of %s is deactivated. Reactivate it first.", was.Name)
		}
		former, err := findOwner(ctx, tx)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		return s.swap(ctx, tx, former, was, &next)
	})
	if err != nil {
		return User{}, fmt.Errorf("transfer ownership: %w", err)
	}
	return next, nil
}

// swap makes next the owner, and makes the current owner, former, an admin. An empty former means
// that there is no owner yet. The was parameter is the new owner's row before the change. swap
// writes former first, because an index allows only one owner.
func (s *Service) swap(ctx context.Context, tx *db.Tx, former, was row, next *User) error {
	now := clock.At(s.Now())
	demoted := former.User
	if former.ID != "" {
		demoted.Role, demoted.Version, demoted.UpdatedAt = actor.Admin, former.Version+1, now
		if err := update(ctx, tx, row{demoted, former.hash}); err != nil {
			return err
		}
	}
	next.Role = actor.Owner
	if err := s.save(ctx, tx, was, next, ""); err != nil {
		return err
	}
	if former.ID == "" {
		return nil
	}
	return record(ctx, tx, demoted, "user.changed", differences(former.User, demoted))
}
