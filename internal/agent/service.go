package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/dispatch"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/receipt"
	"wardroom/internal/schedule"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Status() link.Status
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Examine(ctx context.Context, tell func(link.Step)) (link.Examination, error)
	// Watch calls the function tell after each change of the status until ctx ends.
	Watch(ctx context.Context, tell func(link.Status))
}

// Service lists the agents, with their presence and details. It needs all of its fields.
type Service struct {
	DB      *db.DB
	Log     *slog.Logger
	Runtime Runtime
	Now     func() time.Time

	Accounts  *account.Service
	Holds     *hold.Service
	Tasks     *task.Service
	Usage     *usage.Service
	Sessions  *session.Service
	Schedules *schedule.Service
	Receipts  *receipt.Service
	Dispatch  *dispatch.Service
	Standups  *standup.Service
}

// rosterInterval is how often Run stores the roster. After a failure, it waits at least
// rosterRetry before it tries again.
const (
	rosterInterval = 5 * time.Minute
	rosterRetry    = time.Minute
)

// Status returns the status of the connection to the runtime.
func (s *Service) Status() link.Status { return s.Runtime.Status() }

// Examine diagnoses the connection to the runtime. Concurrent calls share one examination.
func (s *Service) Examine(ctx context.Context) (link.Examination, error) {
	return s.Runtime.Examine(ctx, nil)
}

// List returns all agents. While the runtime is unreachable, it uses the stored roster, so
// that agents do not disappear.
func (s *Service) List(ctx context.Context) ([]Agent, error) {
	users, err := s.Accounts.AgentUsers(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	r, e := s.fetch(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !r.live {
		if r, err = findRoster(ctx, s.DB); err != nil {
			return nil, err
		}
	}
	holds, err := s.Holds.All(ctx)
	if err != nil {
		return nil, err
	}
	used, err := s.Accounts.ToolUses(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	agents, now := join(r, users), s.Now()
	for i := range agents {
		agents[i].ToolsUsedAt = used[agents[i].AgentID]
		if h, held := holds[strings.ToLower(agents[i].AgentID)]; held {
			agents[i].Hold = newHold(h)
		}
		agents[i].Presence = e.presence(agents[i].AgentID, agents[i].Runtime, now)
	}
	return agents, nil
}

// fetch reads the roster and the activities concurrently, because each may have to wait for the
// gateway. If the roster cannot be read, the returned roster's live field is false.
func (s *Service) fetch(ctx context.Context) (roster, evidence) {
	type answer struct {
		agents []gateway.Agent
		err    error
	}
	began, asked := s.Now(), make(chan answer, 1)
	go func() {
		agents, err := s.Runtime.Agents(ctx)
		asked <- answer{agents, err}
	}()
	var e evidence
	e.asOf, e.activities, e.err = s.Sessions.Activities(ctx)
	a := <-asked
	e.status = s.Runtime.Status()
	if a.err != nil {
		e.err = errors.Join(a.err, e.err)
		return roster{}, e
	}
	return roster{agents: a.agents, asOf: clock.At(began), live: true}, e
}

// Run stores the roster whenever the connection's status changes and every rosterInterval,
// until ctx ends. Only Run stores the roster; requests do not.
func (s *Service) Run(ctx context.Context) error {
	come := make(chan struct{}, 1)
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		s.Runtime.Watch(ctx, func(link.Status) {
			select {
			case come <- struct{}{}:
			default:
			}
		})
	})
	again := time.NewTicker(rosterInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-come:
		case <-again.C:
		}
		state := s.Runtime.Status().State
		there := state == link.Connected || state == link.MissingScopes // reading the roster may not need the missing scopes
		if !there || s.storeRoster(ctx) {
			continue
		}
		// If the request itself breaks the connection, retrying at once would break every new connection.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rosterRetry):
		}
	}
}

// storeRoster reads the roster from the runtime and stores it. It reports whether the read
// succeeded.
func (s *Service) storeRoster(ctx context.Context) bool {
	began := s.Now()
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return false // Run retries; the status of the connection has the reason
	}
	r := roster{agents: agents, asOf: clock.At(began)}
	if err := s.DB.Tx(ctx, func(tx *db.Tx) error { return putRoster(ctx, tx, r) }); err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "could not store the roster", "err", fmt.Errorf("store the roster: %w", err))
	}
	return true
}

// Get returns one agent, or ErrNotFound.
func (s *Service) Get(ctx context.Context, agentID string) (Agent, error) {
	agents, err := s.List(ctx)
	if err != nil {
		return Agent{}, err
	}
	for _, a := range agents {
		if a.AgentID == agentID {
			return a, nil
		}
	}
	return Agent{}, ErrNotFound.With("GET /agents lists the available agents.")
}
