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
		web.Describe("Answers while the runtime is away, too; in_runtime is null then."))
	web.Get(api, "/agentrt/status", actor.Read, "How the connection to the agent runtime is doing", s.handleStatus, web.Quiet())
}

func (s *Service) handleList(ctx context.Context, _ *struct{}) (*web.List[Agent], error) {
	agents, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	return web.Page(ctx, agents, ""), nil
}

type statusOutput struct{ Body gateway.Status }

func (s *Service) handleStatus(context.Context, *struct{}) (*statusOutput, error) {
	return &statusOutput{s.Status()}, nil
}
