package agent

import (
	"context"

	"wardroom/internal/gateway"
)

// Runtime is the part of the gateway that the roster needs.
type Runtime interface {
	Status() gateway.Status
	Agents(ctx context.Context) ([]gateway.Agent, error)
}

// Service shows the team.
type Service struct {
	Runtime Runtime
	// Members lists the agents that have an active account.
	Members func(ctx context.Context) ([]Member, error)
}

// Status is how the connection to the runtime is doing.
func (s *Service) Status() gateway.Status { return s.Runtime.Status() }

// List returns the team. While the runtime is away it is the accounts alone,
// and says so of each: that must not fail with the runtime.
func (s *Service) List(ctx context.Context) ([]Agent, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return nil, err
	}
	roster, err := s.Runtime.Agents(ctx)
	if err != nil {
		return join(nil, members), nil //nolint:nilerr // the status route says why the runtime is away
	}
	if roster == nil {
		roster = []gateway.Agent{}
	}
	return join(roster, members), nil
}
