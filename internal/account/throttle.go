package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/limiter"
	"wardroom/internal/platform/plaintext"
)

// Limits on failed logins. They allow about 100 guesses per day for an account. Someone who tries
// to guess a user's password can block that user for at most 15 minutes at a time.
const (
	freeOfAccount = 5  // the failure of an account that starts the first pause
	freeOfAddress = 20 // the same for an address, which many people can share
	firstPause    = 30 * time.Second
	longestPause  = 15 * time.Minute
	forgetAfter   = time.Hour // time without a failure that resets the count
	// concurrent attempts per address; far below freeOfAddress, because each counts as failed until it succeeds
	addressWidth = 4
)

// tally counts the failed logins for one account or one IP address.
type tally struct {
	failures     int
	lastAt       time.Time
	blockedUntil time.Time // zero if not blocked
}

// charge counts an attempt as failed before it is checked, so that concurrent attempts
// cannot exceed the limit. After free-1 failures, each further failure blocks new
// attempts for a while.
func (t tally) charge(now time.Time, free int) tally {
	if now.Sub(t.lastAt) >= forgetAfter || t.lastAt.Sub(now) > forgetAfter {
		t.failures = 0
	}
	t = tally{failures: t.failures + 1, lastAt: now}
	if over := t.failures - free; over >= 0 {
		t.blockedUntil = now.Add(pause(over))
	}
	return t
}

// refund undoes one charge and keeps later charges by other attempts. The tallies before and mine
// are from just before and just after that charge.
func (t tally) refund(before, mine tally, free int) tally {
	if t.failures == mine.failures && t.lastAt.Equal(mine.lastAt) {
		t.lastAt = before.lastAt // no other attempt since
	}
	t.failures--
	if t.failures < free || t.blockedUntil.Equal(mine.blockedUntil) {
		t.blockedUntil = time.Time{}
	}
	return t
}

// pause returns how long to block further attempts: firstPause if over is 0, and twice as long for
// each increase by 1, up to longestPause.
func pause(over int) time.Duration {
	d := firstPause
	for ; over > 0 && d < longestPause; over-- {
		d *= 2
	}
	return min(d, longestPause)
}

// attempt is one check of a password or setup token. A failure counts against both of its subjects:
// the account and the client's IP address.
type attempt struct {
	account string // a subject; empty if only the address counts
	address string // a subject; empty if unknown

	charged map[string]charged // by subject
}

// charged holds a tally before and after an attempt was charged to it.
type charged struct{ before, mine tally }

// subjects returns the account and the IP address that a login attempt counts against.
func (a *attempt) subjects() []string {
	var list []string
	for _, s := range []string{a.account, a.address} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (a *attempt) free(subject string) int {
	if subject == a.account {
		return freeOfAccount
	}
	return freeOfAddress
}

// accountSubject returns the key under which failed logins with an email are counted, whether or
// not an account has that email.
func accountSubject(email string) string {
	return digest("account", plaintext.Fold(email))
}

// addressSubject returns the key under which failed logins from a client address are counted. IPv6
// addresses share the key of their network, because one client can use all addresses of its
// network.
func addressSubject(from netip.Addr) string {
	if !from.IsValid() {
		return ""
	}
	return digest("address", addressName(from))
}

func digest(kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + text))
	return hex.EncodeToString(sum[:])
}

// admit returns ErrThrottled if the caller must reject a login attempt without checking the
// password. Otherwise it counts the attempt as failed in advance, and the caller must check the
// password. If the password is correct, the caller calls succeed. In any case, the caller then
// passes the result of the check to leave. If the result is ErrBusy, the password was not checked,
// so leave no longer counts the attempt as failed.
//
// Within a process, admit allows only one attempt per account and a few per IP address at a time.
// Without this limit, ten correct logins at once would look like guessing. Across replicas, only
// the count of failures limits attempts.
func (s *Service) admit(ctx context.Context, a *attempt) (leave func(error), err error) {
	account, err := s.attempts.Enter(ctx, a.account, 1, maxQueue)
	if err != nil {
		return nil, busyIfFull(err)
	}
	address, err := s.attempts.Enter(ctx, a.address, addressWidth, maxQueue)
	if err != nil {
		account()
		return nil, busyIfFull(err)
	}
	leave = func(ended error) {
		if errors.Is(ended, ErrBusy) {
			s.refundAttempt(context.WithoutCancel(ctx), a)
		}
		address()
		account()
	}
	if err := s.charge(ctx, a); err != nil {
		leave(nil)
		return nil, err
	}
	return leave, nil
}

func busyIfFull(err error) error {
	if errors.Is(err, limiter.ErrFull) {
		return busy()
	}
	return err
}

func (s *Service) charge(ctx context.Context, a *attempt) error {
	now := clock.At(s.Now()).Time
	// Check outside of a transaction first, so that rejecting an attempt is cheap.
	if _, err := s.tallies(ctx, s.DB, a, now); err != nil {
		return err
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		known, err := s.tallies(ctx, tx, a, now)
		if err != nil {
			return err
		}
		a.charged = map[string]charged{}
		for i, subject := range a.subjects() {
			is := known[i].charge(now, a.free(subject))
			a.charged[subject] = charged{before: known[i], mine: is}
			if err := putTally(ctx, tx, subject, is); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count a login: %w", err)
	}
	return nil
}

// tallies returns the tallies of an attempt's subjects, or ErrThrottled if one of them is blocked.
// The error does not reveal which subject is blocked, or whether the account exists.
func (s *Service) tallies(ctx context.Context, q db.Queryer, a *attempt, now time.Time) ([]tally, error) {
	var list []tally
	var until time.Time
	for _, subject := range a.subjects() {
		t, err := findTally(ctx, q, subject)
		if err != nil {
			return nil, fmt.Errorf("look up failed logins: %w", err)
		}
		if t.blockedUntil.After(until) && clock.Holds(t.blockedUntil, now, longestPause) {
			until = t.blockedUntil
		}
		list = append(list, t)
	}
	if wait := min(until.Sub(now), longestPause); wait > 0 {
		return nil, ErrThrottled.With("Try again in %s.", (wait + time.Second - 1).Truncate(time.Second)).After(wait)
	}
	return list, nil
}

// succeed deletes the account's failures after a correct attempt, and no longer counts this attempt
// as a failure for the IP address. It keeps the IP address's other failures; otherwise, an attacker
// could reset them by logging in to an account of their own.
func (a *attempt) succeed(ctx context.Context, tx *db.Tx) error {
	if a.account != "" {
		if err := clearFailures(ctx, tx, a.account); err != nil {
			return err
		}
	}
	if a.address == "" {
		return nil
	}
	return a.uncharge(ctx, tx, a.address)
}

// uncharge undoes the attempt's charge against a subject: its account or its IP address.
func (a *attempt) uncharge(ctx context.Context, tx *db.Tx, subject string) error {
	t, err := findTally(ctx, tx, subject)
	if err != nil {
		return err
	}
	c := a.charged[subject]
	if t = t.refund(c.before, c.mine, a.free(subject)); t.failures <= 0 {
		return dropTally(ctx, tx, subject)
	}
	return putTally(ctx, tx, subject, t)
}

// refundAttempt undoes all charges that an attempt made.
func (s *Service) refundAttempt(ctx context.Context, a *attempt) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, subject := range a.subjects() {
			if err := a.uncharge(ctx, tx, subject); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && s.Log != nil {
		s.Log.WarnContext(ctx, "could not refund a login attempt; it counts as failed", "err", err)
	}
}

// clearFailures deletes the failed logins counted against an account.
func clearFailures(ctx context.Context, tx *db.Tx, subject string) error {
	return dropTally(ctx, tx, subject)
}

// recordThrottled returns err. If err is ErrThrottled, it first writes an audit event and a log
// message about the blocked action.
func (s *Service) recordThrottled(ctx context.Context, err error, what string, from netip.Addr) error {
	if errors.Is(err, ErrThrottled) {
		s.recordFailure(loginThrottled, what, User{}, from)
		if s.Log != nil {
			s.Log.InfoContext(ctx, "throttled", slog.String("what", what), slog.Any("address", from))
		}
	}
	return err
}

// PurgeLoginFailures deletes failed logins that are too old to count toward the limits, or that a wrong clock dated.
func (s *Service) PurgeLoginFailures(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return purgeTallies(ctx, tx, s.Now()) })
	if err != nil {
		return fmt.Errorf("purge failed logins: %w", err)
	}
	return nil
}
