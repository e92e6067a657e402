package account

import (
	"context"
	"errors"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// Changes that decide who leads need the caller's current password beside the
// token, so that a token that somebody found is not enough for them.

// leads reports whether an account of that role manages the accounts of others.
func leads(r actor.Role) bool { return r.May(actor.ManageAccounts) }

// decides reports whether a change makes or unmakes somebody who leads, or
// changes how they sign in.
func decides(was, is User, password bool) bool {
	return (leads(was.Role) || leads(is.Role)) &&
		(password || was.Email != is.Email || was.Role != is.Role || was.Active != is.Active)
}

// proof says that the caller knows their current password. A nil one says nothing.
type proof struct {
	caller row
	try    *attempt
}

// check settles the attempt in the transaction of what it was made for, and
// refuses when the caller's account is another one by now.
func (p *proof) check(ctx context.Context, tx *db.Tx) error {
	if err := p.try.settle(ctx, tx); err != nil {
		return err
	}
	is, err := find(ctx, tx, p.caller.ID)
	switch {
	case err != nil:
		return err
	case !is.Active:
		return ErrDeactivated.With("Ask an admin or the owner to activate it again.")
	case is.hash != p.caller.hash:
		return ErrPassword.With("It was changed just now.")
	}
	return nil
}

// allow refuses a change that decides who leads without a proof. The commands on
// the service's machine, which nobody signs in for, need none.
func (p *proof) allow(ctx context.Context, tx *db.Tx, was, is User, password bool) error {
	switch {
	case p != nil:
		return p.check(ctx, tx)
	case decides(was, is, password) && actor.From(ctx).Role != "":
		return ErrConfirm.With("Send it as current_password: the change concerns somebody who manages accounts.")
	}
	return nil
}

// confirmed runs do with the proof that password is the caller's current one, or
// with none when it is nil. A wrong one counts as a failed login, and is ErrPassword.
func (s *Service) confirmed(ctx context.Context, password *string, what string, do func(*proof) error) (err error) {
	if password == nil {
		return do(nil)
	}
	was, err := find(ctx, s.DB, actor.From(ctx).ID)
	if err != nil {
		return fmt.Errorf("look up the caller: %w", err)
	}
	k, err := s.keeper()
	if err != nil {
		return err
	}
	from := actor.OriginOf(ctx).Address
	try := attempt{account: accountSubject(was.Email), address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return s.unadmitted(ctx, err, what, from)
	}
	defer func() { leave(err) }()
	switch matches, err := k.matches(ctx, was.hash, *password); {
	case err != nil:
		return err
	case !matches:
		self := actor.Actor{ID: was.ID, Name: was.Name}
		about := event.Subject{Kind: "user", ID: was.ID, Name: was.Name}
		s.notes.sight(sight{kind: "password.refused", about: about, by: self, reason: "wrong current password"}, from, s.Now())
		return ErrPassword
	}
	if err = do(&proof{was, &try}); err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrPassword) {
		s.giveBack(context.WithoutCancel(ctx), &try) // the password was right
	}
	return err
}
