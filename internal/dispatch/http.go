package dispatch

import (
	"context"
	"net/http"
	"slices"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of handing tasks over.
func (s *Service) Mount(api *web.API) {
	refused := slices.Concat([]*fault.Error{ErrGoing, gateway.ErrNotConfigured}, s.Refusals)
	web.Post(api, "/tasks/{id}/dispatch", actor.DispatchTasks, "Hand a task to its agent", s.handleHand,
		web.Status(http.StatusAccepted), web.Once(), web.Fails(refused...),
		web.Describe("The agent is asked once, in a session of the task's own, as soon as the runtime and the agent are there. "+
			"The task shows in `dispatch` how it goes, and its history tells of it. It is neither claimed nor moved by this: that is the agent's report to do.\n\n"+
			"What is assigned to another while the agent works stays with the agent until it ends, or is taken back; what has not begun is not begun then."))
	web.Delete(api, "/tasks/{id}/dispatch", actor.DispatchTasks, "Take a task back from its agent", s.handleCancel, web.Status(http.StatusOK),
		web.Fails(slices.Concat([]*fault.Error{ErrNotGoing}, s.Refusals)...),
		web.Describe("The run is stopped in the runtime, as soon as that is there. What the agent has done and reported stays."))
}

// Ref names a task in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's id or key." example:"TASK-12"`
}

type handInput struct {
	Ref
	Body *New `required:"false"`
}

type output struct{ Body Dispatch }

func (s *Service) handleHand(ctx context.Context, in *handInput) (*output, error) {
	var n New
	if in.Body != nil {
		n = *in.Body
	}
	d, err := s.Hand(ctx, in.ID, n)
	return &output{d}, err
}

func (s *Service) handleCancel(ctx context.Context, in *Ref) (*output, error) {
	d, err := s.Cancel(ctx, in.ID)
	return &output{d}, err
}
