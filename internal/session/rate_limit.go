package session

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// ErrReads means that a caller has exceeded the rate limit for reads from the runtime.
var ErrReads = fault.New(fault.Throttled, "too_many_session_reads",
	"Too many requests to read sessions from the runtime.")

// Rate limits, per caller, for reading messages and for reading single sessions that the session
// list does not contain. A person who scrolls needs a few reads per second.
const (
	maxConcurrentReads = 8
	readBurst          = 100
	readInterval       = 200 * time.Millisecond
)

// rateLimiter limits each caller's reads with a token bucket that holds readBurst tokens and gains
// one every readInterval. The zero value is ready to use.
type rateLimiter struct {
	mu sync.Mutex
	of map[string]*callerReads
}

// callerReads is the rate limiter's state for one caller.
type callerReads struct {
	until time.Time // when the bucket is full again
	going int
}

// acquire returns ErrReads if the caller in ctx has reached the limit. Otherwise the
// caller may start a read, and must call answered when the read has ended. Wardroom's own
// reads are not limited.
func (a *rateLimiter) acquire(ctx context.Context, now time.Time) (answered func(), err error) {
	caller := actor.From(ctx)
	if caller.Role == "" {
		return func() {}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.of[caller.ID]
	if s == nil {
		a.prune(now)
		s = &callerReads{}
		a.of[caller.ID] = s
	}
	if s.until.Before(now) {
		s.until = now
	}
	wait := s.until.Add(readInterval).Sub(now) - readBurst*readInterval
	if s.going >= maxConcurrentReads {
		wait = max(wait, time.Second)
	}
	if wait > 0 {
		return nil, ErrReads.With("Try again in %s.", (wait + time.Second - 1).Truncate(time.Second)).After(wait)
	}
	s.until, s.going = s.until.Add(readInterval), s.going+1
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		s.going--
	}, nil
}

// prune removes callers that have no recent reads.
func (a *rateLimiter) prune(now time.Time) {
	if a.of == nil {
		a.of = map[string]*callerReads{}
	}
	for id, s := range a.of {
		if s.going == 0 && s.until.Before(now) {
			delete(a.of, id)
		}
	}
}
