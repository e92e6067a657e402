package trouble

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Gateway is the part of the gateway's client that is looked at.
type Gateway interface {
	// Status tells how the connection is doing, now.
	Status() gateway.Status
	// Watch tells that, and again after each change of its state, until ctx ends.
	Watch(ctx context.Context, tell func(gateway.Status))
}

// Service looks after the gateway. It does nothing until Run; its exported
// fields are not changed after.
//
// It is no timer of the queue, whose firings one process wins: each process has
// a connection of its own, and looks at that. Whichever is in trouble tells, and
// of several the first. A process takes back what was told when its connection
// comes about, once: one whose connection was there all the time knows nothing
// of another's trouble. Whoever is still trying then stays quiet, as their
// trouble began before it was taken back.
type Service struct {
	DB      *db.DB
	Gateway Gateway
	Log     *slog.Logger
	Now     func() time.Time
	Every   time.Duration // how often it looks
	// Raise brings something to the inbox, and Settle takes it back, both as the
	// last thing of a transaction but for events.
	Raise   func(ctx context.Context, tx *db.Tx, m InboxItem) error
	Resolve func(ctx context.Context, tx *db.Tx, cause, why string) error
	// Away, when not nil, is asked about each failure of the database whether it is
	// an outage that is told of elsewhere.
	Away func(error) bool

	mu      sync.Mutex
	current condition
}

// Run looks after the gateway until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var hearing sync.WaitGroup
	defer hearing.Wait()
	hearing.Go(func() { s.Gateway.Watch(ctx, s.Observe) })
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.Check(ctx); err != nil && ctx.Err() == nil && (s.Away == nil || !s.Away(err)) {
			s.Log.WarnContext(ctx, "how the gateway is doing cannot be brought to the inbox; it is tried again", "err", err)
		}
	}
}

// Hear takes note of how the connection is doing, so that no break between two
// looks is missed.
func (s *Service) Observe(status gateway.Status) {
	doing, known := classify(status)
	if !known {
		return // whether it is a break turns out soon
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.doing != doing {
		s.current = condition{doing: doing, since: clock.At(s.Now())}
	}
	s.current.state, s.current.device, s.current.downOnly = status.State, status.DeviceID, downPurpose(status)
}

// Look tells the inbox of how the connection is doing, if that is due.
func (s *Service) Check(ctx context.Context) error {
	s.Observe(s.Gateway.Status()) // a state can mean another thing without having changed
	s.mu.Lock()
	is := s.current
	s.mu.Unlock()
	if !is.due(s.Now()) {
		return nil
	}
	tell := s.raise
	if is.doing == healthy {
		tell = s.resolve
	}
	if err := tell(ctx, is); err != nil {
		return fmt.Errorf("tell the inbox of the gateway: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.doing == is.doing && s.current.since.Equal(is.since.Time) {
		s.current.reported = true
	}
	return nil
}

// raise brings a spell of trouble to the inbox, unless somebody has, and whatever
// a person made of that. A restart of this service counts from its own start: who
// has resolved the item, and then restarts, hears whether that has helped.
func (s *Service) raise(ctx context.Context, is condition) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, "gateway trouble"); err != nil { // replicas see it together
			return err
		}
		if told, err := alreadyRaised(ctx, tx, is); err != nil || told {
			return err
		}
		return s.Raise(ctx, tx, is.inboxItem())
	})
}

// wasTold reports whether the inbox has, or had, an item of this trouble: one
// that is not resolved, or was only after it had begun.
func alreadyRaised(ctx context.Context, tx *db.Tx, is condition) (bool, error) {
	var resolved *clock.Time
	err := tx.QueryRow(ctx, `SELECT resolved_at FROM inbox_items WHERE cause = ?`, cause(is.doing)).Scan(&resolved)
	if db.IsNotFound(err) {
		return false, nil
	}
	return err == nil && (resolved == nil || resolved.After(is.since.Time)), err
}

// settle takes back what was told. Nothing less than a connection does: a gateway
// that is there again and waits for a person has not come back to us yet.
func (s *Service) resolve(ctx context.Context, is condition) error {
	why := "The gateway is connected."
	if is.state == gateway.NotConfigured {
		why = "No gateway is configured any more."
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, kind := range []string{unusable, pending} {
			if err := s.Resolve(ctx, tx, cause(kind), why); err != nil {
				return err
			}
		}
		return nil
	})
}
