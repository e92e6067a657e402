package agent

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the team and of its runtime.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/agents", actor.Read, "The team", s.handleList,
		web.Describe("Answers while the runtime is away, too, with the agents that it had when it was last asked: in_runtime is null then, and as_of says when that was."))
	web.Get(api, "/agents/{agent_id}", actor.Read, "One member of the team, with all that is known of it", s.handleGet, web.Fails(ErrNotFound),
		web.Describe("What it does, has to do, said, spent, and what went wrong. What only the runtime knows is null while that is away; the rest stands."))
	web.Get(api, "/agentrt/status", actor.Read, "How the connection to the agent runtime is doing", s.handleStatus, web.Quiet())
	web.Get(api, "/agentrt/doctor", actor.ManageRuntime, "What stands between us and the agent runtime", s.handleDoctor,
		web.Waits(gateway.ExamLimit+examRoom),
		web.Describe("Examines the way to the gateway layer by layer, on connections of its own, and stops at the first that does not work, with its cause and what to do. "+
			"It takes some milliseconds to about a minute: in the worst case it waits for an event. One examination goes on at a time; who asks meanwhile, or within ten seconds (thirty after a refused credential), gets the same. "+
			"`wardroom doctor` does the same where the service does not run."))
}

// examRoom is what a request for an examination gets beside the longest one: it
// may have to wait for another's.
const examRoom = 10 * time.Second

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

type getOutput struct{ Body Page }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	p, err := s.Page(ctx, in.AgentID)
	return &getOutput{p}, err
}

type statusOutput struct{ Body gateway.Status }

type doctorOutput struct{ Body gateway.Examination }

func (s *Service) handleDoctor(ctx context.Context, _ *struct{}) (*doctorOutput, error) {
	found, err := s.Examine(ctx)
	return &doctorOutput{found}, err
}

func (s *Service) handleStatus(context.Context, *struct{}) (*statusOutput, error) {
	return &statusOutput{s.Status()}, nil
}
