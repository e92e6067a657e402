package session

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// ErrReads means that one caller has the runtime asked more than their share.
var ErrReads = fault.New(fault.Throttled, "too_many_session_reads", "You read sessions from the runtime too often.")

// What one caller may have the gateway asked: for messages, and for sessions that
// are in no list. A person who scrolls needs a few in a second.
const (
	readsAtOnce = 8   // that wait for the gateway at one time
	readsBurst  = 100 // after a rest
	readsPause  = 200 * time.Millisecond
)

// allowance counts the readings of each caller: a bucket of readsBurst that fills
// by one in each readsPause. The zero value is ready to use.
type allowance struct {
	mu sync.Mutex
	of map[string]*spent
}

// spent is what a caller has used of their allowance.
type spent struct {
	until time.Time // when the bucket is full again
	going int
}

// ask has the caller of ctx ask the gateway once: it returns what to call when the
// answer is there, or ErrReads. The service itself is not counted.
func (a *allowance) ask(ctx context.Context, now time.Time) (answered func(), err error) {
	caller := actor.From(ctx)
	if caller.Role == "" {
		return func() {}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.of[caller.ID]
	if s == nil {
		a.sweep(now)
		s = &spent{}
		a.of[caller.ID] = s
	}
	if s.until.Before(now) {
		s.until = now
	}
	wait := s.until.Add(readsPause).Sub(now) - readsBurst*readsPause
	if s.going >= readsAtOnce {
		wait = max(wait, time.Second)
	}
	if wait > 0 {
		return nil, ErrReads.With("The runtime is asked for others, too. Try again in %s.", (wait + time.Second - 1).Truncate(time.Second)).After(wait)
	}
	s.until, s.going = s.until.Add(readsPause), s.going+1
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		s.going--
	}, nil
}

// sweep forgets those who have used nothing of late.
func (a *allowance) sweep(now time.Time) {
	if a.of == nil {
		a.of = map[string]*spent{}
	}
	for id, s := range a.of {
		if s.going == 0 && s.until.Before(now) {
			delete(a.of, id)
		}
	}
}
