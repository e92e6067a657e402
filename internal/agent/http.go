package agent

import (
	"context"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the team and of its runtime.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/agents", actor.Read, "The team", s.handleList,
		web.Describe("Answers while the runtime is away, too; in_runtime is null and everybody is offline then."))
	web.Get(api, "/agents/{agent_id}", actor.Read, "One member of the team", s.handleGet, web.Fails(ErrNotFound))
	web.Get(api, "/agentrt/status", actor.Read, "How the connection to the agent runtime is doing", s.handleStatus, web.Quiet())
}

func (s *Service) handleList(ctx context.Context, _ *struct{}) (*web.List[Agent], error) {
	agents, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	return web.Page(ctx, agents, ""), nil
}

// Ref names an agent in a path.
type Ref struct {
	AgentID string `path:"agent_id" maxLength:"64" example:"cto"`
}

type getOutput struct{ Body Agent }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	a, err := s.Get(ctx, in.AgentID)
	return &getOutput{a}, err
}

type statusOutput struct{ Body gateway.Status }

func (s *Service) handleStatus(context.Context, *struct{}) (*statusOutput, error) {
	return &statusOutput{s.Status()}, nil
}
