package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// How failed logins are slowed down. With these, one account can be tried
// about a hundred times a day, and whoever is kept out by somebody else's
// attempts waits a quarter of an hour at most.
const (
	freeOfAccount = 5  // failures without a pause
	freeOfAddress = 20 // many people may share one
	firstPause    = 30 * time.Second
	longestPause  = 15 * time.Minute
	forgetAfter   = time.Hour // without a failure
	addressWidth  = 4         // attempts at once; far below freeOfAddress, as they count until they are good
)

// tally is what is known of one account's or one address's failures.
type tally struct {
	failures     int
	lastAt       time.Time
	blockedUntil time.Time // zero when it is not
}

// charge counts an attempt as failed before it is known whether it is:
// otherwise any number of them could be on their way at once. With what is
// free used up, it is the last one until the pause has passed.
func (t tally) charge(now time.Time, free int) tally {
	if now.Sub(t.lastAt) >= forgetAfter {
		t.failures = 0
	}
	t = tally{failures: t.failures + 1, lastAt: now}
	if over := t.failures - free; over >= 0 {
		t.blockedUntil = now.Add(pause(over))
	}
	return t
}

// refund takes back a charge that made mine out of before. What others were
// charged in the meantime stays.
func (t tally) refund(before, mine tally, free int) tally {
	if t.failures == mine.failures && t.lastAt.Equal(mine.lastAt) {
		t.lastAt = before.lastAt // else somebody failed since
	}
	t.failures--
	if t.failures < free || t.blockedUntil.Equal(mine.blockedUntil) {
		t.blockedUntil = time.Time{}
	}
	return t
}

// pause is how long to wait after that many failures beyond the free ones.
func pause(over int) time.Duration {
	d := firstPause
	for ; over > 0 && d < longestPause; over-- {
		d *= 2
	}
	return min(d, longestPause)
}

// attempt is a password that somebody wants to have compared.
type attempt struct {
	account string // a subject; empty when only the address counts
	address string // a subject; empty when it is unknown

	charged map[string]charged // by subject
}

// charged is what a tally was before an attempt was counted, and what that made of it.
type charged struct{ before, mine tally }

// subjects are what an attempt is counted for. Always in this order, so that
// no two attempts wait for each other.
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

// accountSubject names an account, or what somebody took for one.
func accountSubject(email string) string {
	return digest("account", strings.ToLower(strings.TrimSpace(email)))
}

// addressSubject names where an attempt comes from. In IPv6 that is the
// network: everybody has as many addresses in theirs as they like.
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

// admit lets an attempt through to the comparison, already counted as failed,
// or refuses it as ErrThrottled. Call leave with how the attempt ended, and
// settle when it was a good one. One that ended with ErrBusy is not counted in
// the end: nothing was learned by it, and whoever waits and tries again as they
// were told is nobody who guesses.
//
// In one process the attempts on an account come one after the other, and few
// of an address at once: else a program that logs in ten times at once, or an
// office in the morning, would be taken for somebody who guesses. Between
// replicas only the count decides.
func (s *Service) admit(ctx context.Context, a *attempt) (leave func(error), err error) {
	account, err := s.lanes.enter(ctx, a.account, 1)
	if err != nil {
		return nil, err
	}
	address, err := s.lanes.enter(ctx, a.address, addressWidth)
	if err != nil {
		account()
		return nil, err
	}
	leave = func(ended error) {
		if errors.Is(ended, ErrBusy) {
			s.giveBack(context.WithoutCancel(ctx), a)
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

func (s *Service) charge(ctx context.Context, a *attempt) error {
	now := clock.At(s.Now()).Time
	// Outside of a transaction first: who is refused is to cost nothing.
	if _, err := s.tallies(ctx, s.DB, a, now); err != nil {
		return err
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, subject := range a.subjects() {
			if err := tx.Lock(ctx, "login/"+subject); err != nil {
				return err
			}
		}
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

// tallies reads what is known of an attempt's subjects, or refuses it when one
// of them is blocked. The answer is the same for both, and for accounts that
// do not exist.
func (s *Service) tallies(ctx context.Context, q db.Queryer, a *attempt, now time.Time) ([]tally, error) {
	var list []tally
	var until time.Time
	for _, subject := range a.subjects() {
		t, err := findTally(ctx, q, subject)
		if err != nil {
			return nil, fmt.Errorf("look up failed logins: %w", err)
		}
		if t.blockedUntil.After(until) {
			until = t.blockedUntil
		}
		list = append(list, t)
	}
	if wait := until.Sub(now); wait > 0 {
		return nil, ErrThrottled.With("Try again in %s.", (wait + time.Second - 1).Truncate(time.Second)).After(wait)
	}
	return list, nil
}

// settle is the first thing in the transaction of a good attempt, before it
// touches the user, so that all take their locks in one order. The account's
// failures are forgotten, and the address is as if there had been no attempt:
// if it were forgotten, an account of one's own would make guesses free.
func (a *attempt) settle(ctx context.Context, tx *db.Tx) error {
	if a.account != "" {
		if err := forgive(ctx, tx, a.account); err != nil {
			return err
		}
	}
	if a.address == "" {
		return nil
	}
	return a.uncharge(ctx, tx, a.address)
}

// uncharge makes a subject as if there had been no attempt.
func (a *attempt) uncharge(ctx context.Context, tx *db.Tx, subject string) error {
	if err := tx.Lock(ctx, "login/"+subject); err != nil {
		return err
	}
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

// giveBack takes an attempt back by which nothing was learned.
func (s *Service) giveBack(ctx context.Context, a *attempt) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, subject := range a.subjects() {
			if err := a.uncharge(ctx, tx, subject); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && s.Log != nil {
		s.Log.WarnContext(ctx, "a login that nobody looked at is counted as failed", "err", err)
	}
}

// forgive forgets the failures of an account. It locks as settle does.
func forgive(ctx context.Context, tx *db.Tx, subject string) error {
	if err := tx.Lock(ctx, "login/"+subject); err != nil {
		return err
	}
	return dropTally(ctx, tx, subject)
}

// unadmitted tells the audit and the operator of an attempt that was refused without a look
// at the password, and returns err.
func (s *Service) unadmitted(ctx context.Context, err error, what string, from netip.Addr) error {
	if errors.Is(err, ErrThrottled) {
		s.suspect(loginThrottled, what, User{}, from)
		if s.Log != nil {
			s.Log.InfoContext(ctx, "throttled", slog.String("what", what), slog.Any("address", from))
		}
	}
	return err
}

// PurgeLoginFailures drops the failures that are forgotten anyhow.
func (s *Service) PurgeLoginFailures(ctx context.Context) error {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error { return purgeTallies(ctx, tx, s.Now().Add(-forgetAfter)) })
	if err != nil {
		return fmt.Errorf("purge failed logins: %w", err)
	}
	return nil
}

// lanes let a few at a time through for each key. The zero lanes are ready.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

type lane struct {
	in    chan struct{} // as many as are in it
	users int           // those in it and those who wait
}

// enter waits for a place in the lane of key, which has that many, or says
// ErrBusy when too many wait; an empty key has no lane.
func (l *lanes) enter(ctx context.Context, key string, width int) (leave func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	l.mu.Lock()
	if l.open == nil {
		l.open = map[string]*lane{}
	}
	one := l.open[key]
	if one == nil {
		one = &lane{in: make(chan struct{}, width)}
		l.open[key] = one
	}
	if one.users >= width+longestQueue {
		l.mu.Unlock()
		return nil, busy()
	}
	one.users++
	l.mu.Unlock()
	select {
	case one.in <- struct{}{}:
		return func() { <-one.in; l.drop(key, one) }, nil
	case <-ctx.Done():
		l.drop(key, one)
		return nil, ctx.Err()
	}
}

// drop forgets the lane that nobody uses any more.
func (l *lanes) drop(key string, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.open, key)
	}
}
