package account

import (
	"context"
	"errors"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Changes to accounts that can manage other accounts require the caller's current password, so that
// nobody can take over Wardroom with only a stolen token.

// managesAccounts reports whether a role can manage other users' accounts.
func managesAccounts(r actor.Role) bool { return r.May(actor.ManageAccounts) }

// needsPassword reports whether a change grants or removes the permission to manage accounts, or
// changes how an account with that permission signs in. If password is true, the change sets a new
// password.
func needsPassword(was, is User, password bool) bool {
	return (managesAccounts(was.Role) || managesAccounts(is.Role)) &&
		(password || was.Email != is.Email || was.Role != is.Role || was.Active != is.Active)
}

// proof is evidence that the caller has sent their current password. A nil proof means that they
// have not.
type proof struct {
	caller row
	try    *attempt
}

// check marks the password attempt as successful in tx, the same transaction that makes the confirmed change. It fails
// if, since the proof was created, the caller's account was deactivated or its password changed.
func (p *proof) check(ctx context.Context, tx *db.Tx) error {
	if err := p.try.succeed(ctx, tx); err != nil {
		return err
	}
	is, err := find(ctx, tx, p.caller.ID)
	switch {
	case err != nil:
		return err
	case !is.Active:
		return ErrDeactivated.With("Ask an admin or the owner to reactivate the account.")
	case is.hash != p.caller.hash:
		return ErrPassword.With("The password was changed a moment ago.")
	}
	return nil
}

// allow checks the proof. If the proof is nil and the change requires the caller's password, it
// returns ErrConfirm. Commands on the server run without an account, so they need no proof.
func (p *proof) allow(ctx context.Context, tx *db.Tx, was, is User, password bool) error {
	switch {
	case p != nil:
		return p.check(ctx, tx)
	case needsPassword(was, is, password) && actor.From(ctx).Role != "":
		return ErrConfirm.With(
			"This change affects an account that can manage other accounts. Send your password as current_password.",
		)
	}
	return nil
}

// Confirm checks that the given password is the caller's current one, for a change of another
// feature, and calls the function do. It passes do a function to call in the transaction that makes
// the change. That function returns an error if the caller's account has changed meanwhile. The
// text what names the change in the audit log. If the password is missing, Confirm returns
// ErrConfirm; if it is wrong, Confirm counts a failed login and returns ErrPassword.
func (s *Service) Confirm(
	ctx context.Context, password *string, what string, do func(check func(context.Context, *db.Tx) error) error,
) error {
	if password == nil {
		return ErrConfirm.With("Send your password as current_password.")
	}
	return s.confirmed(ctx, password, what, func(p *proof) error { return do(p.check) })
}

// ConfirmFaults returns the errors of Confirm.
func ConfirmFaults() []*fault.Error {
	return []*fault.Error{ErrConfirm, ErrPassword, ErrThrottled, ErrDeactivated, ErrBusy}
}

// confirmed checks that the given password is the caller's current one. It then calls the function
// do, passing it a proof of the check, or nil if no password is given. If the password is wrong, it
// counts a failed login and returns ErrPassword.
func (s *Service) confirmed(ctx context.Context, password *string, what string, do func(*proof) error) (err error) {
	if password == nil {
		return do(nil)
	}
	was, err := find(ctx, s.DB, actor.From(ctx).ID)
	if err != nil {
		return fmt.Errorf("look up the caller: %w", err)
	}
	k, err := s.hasher()
	if err != nil {
		return err
	}
	from := actor.OriginOf(ctx).Address
	try := attempt{account: accountSubject(was.Email), address: addressSubject(from)}
	leave, err := s.admit(ctx, &try)
	if err != nil {
		return s.recordThrottled(ctx, err, what, from)
	}
	defer func() { leave(err) }()
	switch matches, err := k.matches(ctx, was.hash, *password); {
	case err != nil:
		return err
	case !matches:
		self := actor.Actor{ID: was.ID, Name: was.Name}
		about := event.Subject{Kind: "user", ID: was.ID, Name: was.Name}
		s.notes.note(auditEntry{kind: "password.refused", about: about, by: self, reason: "wrong current password"}, from,
			s.Now())
		return ErrPassword
	}
	if err = do(&proof{was, &try}); err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrPassword) {
		s.refundAttempt(context.WithoutCancel(ctx), &try) // the password was right
	}
	return err
}
