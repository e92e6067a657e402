package hold

import (
	"context"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// Mount registers the routes that hold and release agents.
func (s *Service) Mount(api *web.API) {
	web.Post(api, "/agents/{agent_id}/hold", actor.ControlSessions, "Hold an agent", s.handleHold,
		web.Fails(gateway.ErrNoAgent, fault.ErrInvalid),
		web.Describe("Wardroom starts no run of the agent until it is released: dispatches, messages and runs of its jobs are refused with agent_held, and standups go on without it. "+
			"If the settings allow it, Wardroom also holds the agent in the runtime: it stops what runs, disables the agent's jobs, and sets a model that does not exist. The agent's hold shows the progress. "+
			"If the agent is held already, the request replaces the reason."))
	web.Post(api, "/agents/{agent_id}/release", actor.ControlSessions, "Release an agent",
		s.handleRelease, web.Fails(ErrNotHeld),
		web.Describe("Restores the agent's model and jobs as they were before the hold, except what someone has changed since. The agent is released when that is done; until then, its hold has the state releasing."))
}

// Ref is the path parameter that identifies an agent.
type Ref struct {
	AgentID string `path:"agent_id" maxLength:"64" example:"cto"`
}

type holdInput struct {
	Ref
	Body struct {
		Reason string `json:"reason" maxLength:"300" doc:"Why the agent must not run. Shown wherever the agent is, and to everyone who tries to start it."`
	}
}

type output struct{ Body Hold }

func (s *Service) handleHold(ctx context.Context, in *holdInput) (*output, error) {
	h, err := s.Hold(ctx, in.AgentID, in.Body.Reason)
	return &output{h}, err
}

func (s *Service) handleRelease(ctx context.Context, in *Ref) (*output, error) {
	h, err := s.Release(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	return &output{*h}, nil
}
