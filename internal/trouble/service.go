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

// Gateway is the part of the gateway client that is monitored.
type Gateway interface {
	// Status returns the current state of the connections.
	Status() gateway.Status
	// Watch calls tell with the current status and after every state change, until ctx ends.
	Watch(ctx context.Context, tell func(gateway.Status))
}

// Service monitors the gateway connection of this process. It does nothing before Run,
// and its exported fields must not change after that.
//
// Every replica monitors its own connection, so this cannot be a timer of the job queue,
// which would run on only one replica. The first replica in trouble raises the item. A
// replica resolves the item when its own connection is established; a replica that was
// connected all the time does not. A replica that is still in trouble at that moment does
// not raise the item again, because its trouble began before the resolution.
type Service struct {
	DB      *db.DB
	Gateway Gateway
	Log     *slog.Logger
	Now     func() time.Time
	Every   time.Duration // interval of the checks
	// Raise adds an item to the inbox, and Resolve resolves the item with the given
	// cause. Only events may follow them in the transaction.
	Raise   func(ctx context.Context, tx *db.Tx, m InboxItem) error
	Resolve func(ctx context.Context, tx *db.Tx, cause, why string) error
	// Away, if not nil, reports whether an error is due to a database outage that is
	// already logged elsewhere.
	Away func(error) bool

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
		if err := s.Check(ctx); err != nil && ctx.Err() == nil && (s.Away == nil || !s.Away(err)) {
			s.Log.WarnContext(ctx, "cannot report the gateway's state to the inbox; retrying", "err", err)
		}
	}
}

// Observe records the state of the connection, so that changes between two checks are
// not missed.
func (s *Service) Observe(status gateway.Status) {
	doing, known := classify(status)
	if !known {
		return // connecting: wait for the result
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.doing != doing {
		s.current = condition{doing: doing, since: clock.At(s.Now())}
	}
	s.current.state, s.current.device, s.current.downOnly = status.State, status.DeviceID, downPurpose(status)
}

// Check raises or resolves the inbox item for the connection's condition, if due.
func (s *Service) Check(ctx context.Context) error {
	s.Observe(s.Gateway.Status()) // the condition can change even if the state does not
	s.mu.Lock()
	is := s.current
	s.mu.Unlock()
	if !is.due(s.Now()) {
		return nil
	}
	report := s.raise
	if is.doing == healthy {
		report = s.resolve
	}
	if err := report(ctx, is); err != nil {
		return fmt.Errorf("report the gateway's state to the inbox: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.doing == is.doing && s.current.since.Equal(is.since.Time) {
		s.current.reported = true
	}
	return nil
}

// raise adds an inbox item for the condition, unless it was already raised. It does not
// raise the condition again after a person resolves the item. After a restart of
// Wardroom, a persisting condition counts as new: it is raised again if its item was
// resolved before.
func (s *Service) raise(ctx context.Context, is condition) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, "gateway trouble"); err != nil { // replicas may raise it at the same time
			return err
		}
		if raised, err := alreadyRaised(ctx, tx, is); err != nil || raised {
			return err
		}
		return s.Raise(ctx, tx, is.inboxItem())
	})
}

// alreadyRaised reports whether the inbox has an item for this condition that is
// unresolved, or was resolved after the condition began.
func alreadyRaised(ctx context.Context, tx *db.Tx, is condition) (bool, error) {
	var resolved *clock.Time
	err := tx.QueryRow(ctx, `SELECT resolved_at FROM inbox_items WHERE cause = ?`, cause(is.doing)).Scan(&resolved)
	if db.IsNotFound(err) {
		return false, nil
	}
	return err == nil && (resolved == nil || resolved.After(is.since.Time)), err
}

// resolve resolves the inbox items of this package. Only a connection, or the removal of
// the gateway from the configuration, resolves them.
func (s *Service) resolve(ctx context.Context, is condition) error {
	why := "The gateway is connected."
	if is.state == gateway.NotConfigured {
		why = "No gateway is configured anymore."
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
