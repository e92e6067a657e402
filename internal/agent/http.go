package agent

import (
	"context"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount registers the routes for agents and the connection to the runtime.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/agents", actor.Read, "List agents", s.handleList,
		web.Describe("While the runtime is unreachable, the list contains the agents of the last successful read. In that case, in_runtime is null and as_of is the time of the read."))
	web.Get(api, "/agents/{agent_id}", actor.Read, "Get an agent with its current work",
		s.handleGet, web.Fails(ErrNotFound),
		web.Describe("Returns the agent's tasks, standup reports, costs, failures and sessions. Data that only the runtime has is null while the runtime is unreachable."))
	web.Get(api, "/agentrt/status", actor.Read, "Get the status of the connection to the runtime",
		s.handleStatus, web.Quiet())
	web.Get(api, "/agentrt/doctor", actor.ManageRuntime, "Diagnose the connection to the runtime", s.handleDoctor,
		web.Waits(link.ExamLimit+examRoom),
		web.Describe("Checks the connection to the gateway step by step, on separate connections. The check stops at the first failure and returns the cause and what to do about it. "+
			"A check takes between a few milliseconds and about a minute. Checks do not run in parallel: requests during a check, or within 10 seconds after it (30 after a rejected credential), get the same result. "+
			"If Wardroom is not running, use `wardroom doctor`."))
}

// examRoom is added to the time limit of a request to examine the connection, because another examination may have to
// end first.
const examRoom = 10 * time.Second

type listInput struct {
	Summary bool `query:"summary" doc:"Also return what each agent does and did."`
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Agent], error) {
	list := s.List
	if in.Summary {
		list = s.ListSummaries
	}
	agents, err := list(ctx)
	if err != nil {
		return nil, err
	}
	return web.Page(ctx, agents, ""), nil
}

// Ref is the path parameter that identifies an agent.
type Ref struct {
	AgentID string `path:"agent_id" maxLength:"64" example:"cto"`
}

type getOutput struct{ Body Page }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	p, err := s.Page(ctx, in.AgentID)
	return &getOutput{p}, err
}

type statusOutput struct{ Body link.Status }

type doctorOutput struct{ Body link.Examination }

func (s *Service) handleDoctor(ctx context.Context, _ *struct{}) (*doctorOutput, error) {
	found, err := s.Examine(ctx)
	return &doctorOutput{found}, err
}

func (s *Service) handleStatus(context.Context, *struct{}) (*statusOutput, error) {
	return &statusOutput{s.Status()}, nil
}
