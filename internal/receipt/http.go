package receipt

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/web"
	"wardroom/internal/task"
)

// Mount adds the route for receipts.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/tasks/{id}/receipt", actor.Read, "Get the receipt of a task", s.handleGet,
		web.Also(http.StatusNoContent), web.Fails(task.ErrNotFound),
		web.Describe("Compares the agent's last report that the task is done with what the runtime recorded. No model is asked, and nothing that the agent says "+
			"can raise the grade. The receipt is made again until the transcripts of the runs are complete, which takes about a minute after the run ends. Returns 204 if no agent has reported the task as done."))
}

// Schema implements huma.SchemaProvider.
func (Grade) Schema(huma.Registry) *huma.Schema { return enum.Schema(Grades()) }

// Schema implements huma.SchemaProvider.
func (GapKind) Schema(huma.Registry) *huma.Schema { return enum.Schema(GapKinds()) }

// Ref is the path parameter that identifies a task.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The task's ID or key." example:"TASK-12"`
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Receipt], error) {
	r, ok, err := s.Get(ctx, in.ID)
	if err != nil || ok {
		return web.Tag(r, 0), err
	}
	return web.Tag(r, 0).As(http.StatusNoContent), nil
}
