package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Runtime is the part of the gateway that the roster needs.
type Runtime interface {
	Status() gateway.Status
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Examine(ctx context.Context, tell func(gateway.Step)) (gateway.Examination, error)
	// Watch tells of each change of the status until ctx ends.
	Watch(ctx context.Context, tell func(gateway.Status))
}

// Service shows the team.
type Service struct {
	DB      *db.DB
	Log     *slog.Logger
	Runtime Runtime
	// Members lists the agents that have an active account.
	Members func(ctx context.Context) ([]Member, error)
	// Activities is what the runtime's sessions tell of each agent that has any,
	// and of when that is. It fails while nobody can say.
	Activities func(ctx context.Context) (asOf clock.Time, byAgent map[string]Activity, err error)
	// Sessions are the last sessions of an agent in the runtime, those with a run
	// first. It fails while nobody can say.
	Sessions func(ctx context.Context, agentID string, most int) ([]Session, error)
	Records  Records
	Now      func() time.Time
}

// keepAgain is after how long the roster is kept again, and keepPause for how long
// the runtime is left alone when it has not told it.
const (
	keepAgain = 5 * time.Minute
	keepPause = time.Minute
)

// Status is how the connection to the runtime is doing.
func (s *Service) Status() gateway.Status { return s.Runtime.Status() }

// Examine finds out what stands between us and the runtime. Who asks while
// somebody else does gets the same examination.
func (s *Service) Examine(ctx context.Context) (gateway.Examination, error) {
	return s.Runtime.Examine(ctx, nil)
}

// List returns the team. While the runtime is away it is those whom it had when
// it was last there, and the accounts: that must not fail with the runtime, and
// nobody is gone because nobody can be asked.
func (s *Service) List(ctx context.Context) ([]Agent, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return nil, err
	}
	r, e := s.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !r.live {
		if r, err = findRoster(ctx, s.DB); err != nil {
			return nil, err
		}
	}
	agents, now := join(r, members), s.Now()
	for i := range agents {
		agents[i].Presence = e.presence(agents[i].AgentID, agents[i].Runtime, now)
	}
	return agents, nil
}

// look asks for the roster and for what is going on, both at once, because each
// may take as long as one request to the gateway. Without an answer the roster
// is not live.
func (s *Service) look(ctx context.Context) (roster, evidence) {
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
	e.asOf, e.activities, e.err = s.Activities(ctx)
	a := <-asked
	e.status = s.Runtime.Status()
	if a.err != nil {
		e.err = errors.Join(a.err, e.err)
		return roster{}, e
	}
	return roster{agents: a.agents, asOf: clock.At(began), live: true}, e
}

// Run keeps what the runtime says of its agents, whenever it comes and every few
// minutes, until ctx ends. Those who look write nothing.
func (s *Service) Run(ctx context.Context) error {
	come := make(chan struct{}, 1)
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		s.Runtime.Watch(ctx, func(gateway.Status) {
			select {
			case come <- struct{}{}:
			default:
			}
		})
	})
	again := time.NewTicker(keepAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-come:
		case <-again.C:
		}
		state := s.Runtime.Status().State
		there := state == gateway.Connected || state == gateway.MissingScopes // of which the roster may need none
		if !there || s.keep(ctx) {
			continue
		}
		// Where the question itself breaks the connection, to ask again with each new one would break them all.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(keepPause):
		}
	}
}

// keep writes down what the runtime says of its agents, and reports whether it
// said anything.
func (s *Service) keep(ctx context.Context) bool {
	began := s.Now()
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return false // the connection tells why, and it is tried again
	}
	r := roster{agents: agents, asOf: clock.At(began)}
	if err := s.DB.Tx(ctx, func(tx *db.Tx) error { return putRoster(ctx, tx, r) }); err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the roster could not be kept", "err", fmt.Errorf("keep the roster: %w", err))
	}
	return true
}

// Get returns one member of the team.
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
	return Agent{}, ErrNotFound.With("GET /agents lists those there are; while the runtime is away, those that were known before.")
}
