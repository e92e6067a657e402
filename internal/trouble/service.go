package trouble

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Gateway is the part of the gateway client that is needed to monitor the connection.
type Gateway interface {
	// Status returns the current state of the connections.
	Status() link.Status
	// Watch calls the function tell with the current status, and again after
	// every state change, until ctx ends.
	Watch(ctx context.Context, tell func(link.Status))
}

// Service monitors the gateway connection of this process. It does nothing until Run is
// called. Its exported fields must not be changed after that.
//
// Every replica monitors its own connection. A timer in the job queue would not work,
// because it runs on only one replica. The first replica that has a problem raises the
// inbox item. A replica resolves the item when its connection becomes healthy; a replica
// whose connection was healthy all along does not. Other replicas that still have the
// problem do not raise the item again, because their problem began before the item was
// resolved.
type Service struct {
	DB      *db.DB
	Gateway Gateway
	Log     *slog.Logger
	Now     func() time.Time
	Inbox   *inbox.Service
	Every   time.Duration // interval of the checks

	mu      sync.Mutex
	current condition
}

// Run monitors the gateway until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.Gateway.Watch(ctx, s.Observe) })
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.Check(ctx); err != nil && ctx.Err() == nil && !s.DB.Away("state of the gateway", err) {
			s.Log.WarnContext(ctx, "cannot report the gateway's state to the inbox; retrying", "err", err)
		}
	}
}

// Observe records the state of the connection. It is called on every state change, so
// that changes between two calls to Check are not missed.
func (s *Service) Observe(status link.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe(status)
}

func (s *Service) observe(status link.Status) {
	doing, known := classify(status)
	if !known {
		return // connecting: wait for the result
	}
	if s.current.doing != doing {
		s.current = condition{doing: doing, since: clock.At(s.Now())}
	}
	s.current.state, s.current.device, s.current.downOnly = status.State, status.DeviceID, downPurpose(status)
}

// Check raises an inbox item if a problem with the gateway connection has lasted longer than
// its grace period. If the connection is healthy, Check resolves such items.
func (s *Service) Check(ctx context.Context) error {
	s.mu.Lock()
	// the condition can change even if the state does not; read under the lock, or it may be older than what was
	// observed
	s.observe(s.Gateway.Status())
	is := s.current
	s.mu.Unlock()
	if !is.due(s.Now()) {
		return nil
	}
	report := s.raise
	if is.doing == healthy {
		report = s.resolve
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if !s.lasts(is) {
			return nil // a wait for the database outlasted it
		}
		return report(ctx, tx, is)
	})
	if err != nil {
		return fmt.Errorf("report the gateway's state to the inbox: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.same(is) {
		s.current.reported = true
	}
	return nil
}

// lasts reports whether the connection is still in the condition.
func (s *Service) lasts(is condition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.same(is)
}

// raise adds an inbox item for the condition, unless one was already raised. If a person
// resolves the item while the condition lasts, raise does not add it again. After a
// restart of Wardroom, however, the condition is treated as new, and an item that was
// resolved before the restart is raised again.
func (s *Service) raise(ctx context.Context, tx *db.Tx, is condition) error {
	if raised, err := alreadyRaised(ctx, tx, is, s.Now()); err != nil || raised {
		return err
	}
	return s.Inbox.Raise(ctx, tx, is.inboxItem())
}

// alreadyRaised reports whether the inbox already has an item for this condition. An item
// counts if it is unresolved or was resolved after the condition began.
func alreadyRaised(ctx context.Context, tx *db.Tx, is condition, now time.Time) (bool, error) {
	var resolved *clock.Time
	err := tx.QueryRow(ctx, `SELECT resolved_at FROM inbox_items WHERE cause = ?`, cause(is.doing)).Scan(&resolved)
	if db.IsNotFound(err) {
		return false, nil
	}
	return err == nil && (resolved == nil || resolved.After(is.since.Time) && !resolved.After(now.Add(clock.Skew))), err
}

// resolve resolves all inbox items that this package raised. It is called when the gateway
// is connected, or when no gateway is configured.
func (s *Service) resolve(ctx context.Context, tx *db.Tx, is condition) error {
	why := "The gateway is connected."
	if is.state == link.NotConfigured {
		why = "No gateway is configured anymore."
	}
	for _, kind := range []string{unusable, pending} {
		if err := s.Inbox.ResolveCause(ctx, tx, cause(kind), why); err != nil {
			return err
		}
	}
	return nil
}
