package agent

import (
	"context"
	"errors"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// Runtime is the part of the gateway that the roster needs.
type Runtime interface {
	Status() gateway.Status
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Examine(ctx context.Context, tell func(gateway.Step)) (gateway.Examination, error)
}

// Service shows the team.
type Service struct {
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

// Status is how the connection to the runtime is doing.
func (s *Service) Status() gateway.Status { return s.Runtime.Status() }

// Examine finds out what stands between us and the runtime. Who asks while
// somebody else does gets the same examination.
func (s *Service) Examine(ctx context.Context) (gateway.Examination, error) {
	return s.Runtime.Examine(ctx, nil)
}

// List returns the team. While the runtime is away it is the accounts alone,
// and says so of each: that must not fail with the runtime.
func (s *Service) List(ctx context.Context) ([]Agent, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return nil, err
	}
	roster, e := s.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	agents, now := join(roster, members), s.Now()
	for i := range agents {
		agents[i].Presence = e.presence(agents[i].AgentID, agents[i].Runtime, now)
	}
	return agents, nil
}

// look asks for the roster and for what is going on, both at once, because each
// may take as long as one request to the gateway. Without a roster it is nil.
func (s *Service) look(ctx context.Context) ([]gateway.Agent, evidence) {
	type answer struct {
		roster []gateway.Agent
		err    error
	}
	asked := make(chan answer, 1)
	go func() {
		roster, err := s.Runtime.Agents(ctx)
		asked <- answer{roster, err}
	}()
	var e evidence
	e.asOf, e.activities, e.err = s.Activities(ctx)
	a := <-asked
	if a.err != nil {
		e.err = errors.Join(a.err, e.err)
	} else if a.roster == nil {
		a.roster = []gateway.Agent{}
	}
	e.status = s.Runtime.Status()
	return a.roster, e
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
	return Agent{}, ErrNotFound.With("GET /agents lists those there are; while the runtime is away, only those with an account here.")
}
