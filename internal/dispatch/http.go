package dispatch

import (
	"context"
	"net/http"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the routes for dispatches.
func (s *Service) Mount(api *web.API) {
	web.Post(api, "/tasks/{id}/dispatch", actor.DispatchTasks, "Dispatch a task to its agent", s.handleCreate,
		web.Status(http.StatusAccepted), web.Once(), web.Fails(Refusals()...),
		web.Describe("Sends the task to its agent once, in a session of its own, as soon as the gateway and the agent are available. "+
			"The task's `dispatch` and its history show the progress. A dispatch neither claims nor moves the task: the agent's reports do.\n\n"+
			"If the task is reassigned before the agent starts, the dispatch fails; if the agent has started, it continues until it ends or is canceled."))
	web.Delete(api, "/tasks/{id}/dispatch", actor.DispatchTasks, "Cancel the dispatch of a task", s.handleCancel,
		web.Status(http.StatusOK),
		web.Fails(ErrNotDispatched), web.Fails(taskRefusals()...),
		web.Describe("Stops the agent's run as soon as the gateway is reachable. The agent's work and reports are kept."))
}

// Ref is the path parameter that identifies a task.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's ID or key." example:"TASK-12"`
}

type createInput struct {
	Ref
	Body *New `required:"false"`
}

type output struct{ Body Dispatch }

func (s *Service) handleCreate(ctx context.Context, in *createInput) (*output, error) {
	var n New
	if in.Body != nil {
		n = *in.Body
	}
	d, err := s.Create(ctx, in.ID, n)
	return &output{d}, err
}

func (s *Service) handleCancel(ctx context.Context, in *Ref) (*output, error) {
	d, err := s.Cancel(ctx, in.ID)
	return &output{d}, err
}
