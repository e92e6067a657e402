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

// Bootstrap makes the owner's account out of BOOTSTRAP_OWNER_EMAIL and
// BOOTSTRAP_OWNER_PASSWORD while there is none. It is called at every start,
// by every replica, and tells whether it was this one that did it. The
// warnings are for the log; an error, which names the setting to mend, is to
// stop the start.
func (s *Service) Bootstrap(ctx context.Context, email, password string) (created bool, warnings []string, err error) {
	if password != "" {
		if problem := checkPassword(password); problem != "" {
			return false, nil, fmt.Errorf("BOOTSTRAP_OWNER_PASSWORD cannot be used: %s", problem)
		}
	}
	exists, err := s.HasOwner(ctx)
	switch {
	case err != nil:
		return false, nil, err
	case exists:
		return false, obsolete(email, password), nil
	case email == "" && password == "":
		return false, nil, nil
	case password == "":
		return false, []string{"BOOTSTRAP_OWNER_EMAIL is ignored: there is no owner yet, and BOOTSTRAP_OWNER_PASSWORD is needed as well to create one"}, nil
	case email == "":
		return false, []string{"BOOTSTRAP_OWNER_PASSWORD is ignored: there is no owner yet, and BOOTSTRAP_OWNER_EMAIL is needed as well to create one"}, nil
	}
	if problem := checkEmail(strings.TrimSpace(email)); problem != "" {
		return false, nil, fmt.Errorf("BOOTSTRAP_OWNER_EMAIL cannot be used: %s", problem)
	}
	u, err := User{}.apply(NewUser{Email: email, Password: password, Role: actor.Admin}.change())
	if err != nil {
		return false, nil, err
	}
	u.ID, u.Role = db.NewID(), actor.Owner // apply lets nobody become that
	_, err = s.add(machine(ctx), u, password, "bootstrap", vacant(ctx))
	switch {
	case errors.Is(err, ErrOneOwner):
		return false, obsolete(email, password), nil // another replica was faster
	case errors.Is(err, ErrEmailTaken):
		return false, nil, errors.New("BOOTSTRAP_OWNER_EMAIL belongs to an account that is not the owner: " +
			"set another address, or make that account the owner with `wardroom user owner`")
	case err != nil:
		return false, nil, err
	}
	return true, nil, nil
}

// obsolete is what to say of settings that have nothing to do any more.
func obsolete(email, password string) []string {
	switch {
	case password != "" && email != "":
		return []string{"BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD are ignored: there is an owner; remove the password from the configuration"}
	case password != "":
		return []string{"BOOTSTRAP_OWNER_PASSWORD is ignored: there is an owner; remove the password from the configuration"}
	case email != "":
		return []string{"BOOTSTRAP_OWNER_EMAIL is ignored: there is an owner; remove it from the configuration"}
	}
	return nil
}

// vacant refuses, as ErrOneOwner, when there is an owner. Until the
// transaction ends nobody else becomes it.
func vacant(ctx context.Context) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		if err := tx.Lock(ctx, serial); err != nil {
			return err
		}
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

// HasOwner reports whether the service has been set up.
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

// HandOver makes the user that ref names the owner, and the owner until now an
// admin. It is for the command on the service's machine and asks for no
// permission. Without an owner it fills the place.
func (s *Service) HandOver(ctx context.Context, ref string) (User, error) {
	ctx = machine(ctx)
	var heir User
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, serial); err != nil {
			return err
		}
		was, err := find(ctx, tx, ref)
		if err != nil {
			return err
		}
		heir = was.User
		switch {
		case was.Role == actor.Owner:
			return nil
		case was.Role == actor.Agent:
			return ErrOneOwner.With("An agent cannot be the owner.")
		case !was.Active:
			return ErrOneOwner.With("%s is deactivated; activate the account first.", was.Name)
		}
		former, err := findOwner(ctx, tx)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		return s.swap(ctx, tx, former, was, &heir)
	})
	if err != nil {
		return User{}, fmt.Errorf("hand the ownership over: %w", err)
	}
	return heir, nil
}

// swap makes the former owner, if any, an admin and was the owner. The index
// allows only one at a time, and the events come last.
func (s *Service) swap(ctx context.Context, tx *db.Tx, former, was row, heir *User) error {
	now := clock.At(s.Now())
	demoted := former.User
	if former.ID != "" {
		demoted.Role, demoted.Version, demoted.UpdatedAt = actor.Admin, former.Version+1, now
		if err := update(ctx, tx, row{demoted, former.hash}); err != nil {
			return err
		}
	}
	heir.Role = actor.Owner
	if err := s.save(ctx, tx, was, heir, ""); err != nil {
		return err
	}
	if former.ID == "" {
		return nil
	}
	return record(ctx, tx, demoted, "user.changed", differences(former.User, demoted))
}
