package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

const (
	// RetryFirst is the first delay after a failure.
	RetryFirst = time.Second
	// RetryLast is the longest one.
	RetryLast = 30 * time.Second
	// claimedRetry is the delay while another replica holds the claim.
	claimedRetry = 5 * time.Second
)

// Retry returns the delay after the given number of earlier failures in a row. It doubles each
// time.
func Retry(failures int) time.Duration { return min(RetryFirst<<min(failures, 10), RetryLast) }

// Signal wakes one receiver. Several wake-ups before it receives count as one. The zero value is
// ready to use.
type Signal struct {
	once sync.Once
	c    chan struct{}
}

// C returns the channel that receives the wake-ups.
func (s *Signal) C() <-chan struct{} { return s.channel() }

// Wake wakes the receiver. It does not block.
func (s *Signal) Wake() {
	select {
	case s.channel() <- struct{}{}:
	default: // a wake-up is pending
	}
}

func (s *Signal) channel() chan struct{} {
	s.once.Do(func() { s.c = make(chan struct{}, 1) })
	return s.c
}

// Loop calls Pass whenever it is woken, when the next pass is due, and again after a failure.
type Loop struct {
	Name string // what is read, for the log
	DB   *db.DB
	Log  *slog.Logger
	// Pass does the work that is due and returns the time until the next pass.
	Pass func(ctx context.Context) (next time.Duration, err error)
	// Rest is the minimum time between two passes.
	Rest time.Duration
	// Claim, if not nil, is the claim that Pass acquires. It is released at the end.
	Claim *Claim

	failures int
	logged   bool // a failure since the last success has been logged
}

// Run calls Pass until ctx ends. The first pass starts at the first wake-up.
func (l *Loop) Run(ctx context.Context, wake *Signal) {
	if l.Claim != nil {
		defer l.release(ctx)
	}
	again := time.NewTimer(time.Hour) // the first wake-up comes earlier
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake.C():
		case <-again.C:
		}
		next := l.Step(ctx)
		Sleep(ctx, l.Rest)
		again.Reset(next)
	}
}

// Step calls Pass once and returns the time until the next call. It logs the first failure in a
// row, unless the cause is already shown elsewhere: an unreachable gateway or database.
func (l *Loop) Step(ctx context.Context) time.Duration {
	next, err := l.Pass(ctx)
	switch {
	case err == nil:
		l.failures, l.logged = 0, false
		return next
	case errors.Is(err, ErrClaimed):
		return claimedRetry
	case ctx.Err() == nil && !l.logged && !unreachable(err) && !l.away(err):
		l.logged = true
		l.Log.WarnContext(ctx, "a reader of the runtime failed; retrying", "reader", l.Name, "err", err)
	}
	l.failures++
	return Retry(l.failures - 1)
}

func (l *Loop) away(err error) bool { return l.DB.Away(l.Name, err) }

// unreachable reports whether an error means that there is no connection to the gateway.
func unreachable(err error) bool {
	f := fault.Of(err)
	return f != nil && f.Kind == fault.Unavailable && !errors.Is(err, link.ErrBusy)
}

// release gives up the claim.
func (l *Loop) release(ctx context.Context) {
	if err := l.Claim.Release(ctx); err != nil && !l.away(err) {
		l.Log.WarnContext(ctx, "could not release a claim; it will expire", "reader", l.Name, "err", err)
	}
}
