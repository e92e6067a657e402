package retention

import (
	"context"
	"net/http"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// longestWait is how long a request may ask to wait for the end of a run.
const longestWait = 10 * time.Minute

// Mount adds the routes of retention.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/retention", actor.ManageRetention, "What goes when it is old, and what would go now", s.handleOverview)
	web.Post(api, "/retention/run", actor.ManageRetention, "Let go now what is due, instead of in the night", s.handleRun,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), web.Waits(longestWait+time.Minute), web.Fails(ErrRunning),
		web.Describe("Answers 202 while it goes on. With `Prefer: wait=60` it waits up to so many seconds, 600 at most, and answers 200 when the run has ended by then. What went does not come back; GET /retention shows before what would go."))
}

func (s *Service) handleOverview(ctx context.Context, _ *struct{}) (*struct{ Body Overview }, error) {
	o, err := s.Overview(ctx)
	return &struct{ Body Overview }{o}, err
}

type runInput struct{ web.Prefer }

type runOutput struct {
	Status   int
	Location string `header:"Location" doc:"Where the run can be followed."`
	Body     Run
}

func (s *Service) handleRun(ctx context.Context, in *runInput) (*runOutput, error) {
	r, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	if wait := in.Wait(longestWait); wait > 0 {
		if r, err = s.AwaitEnd(ctx, r.ID, wait, web.Stopping(ctx)); err != nil {
			return nil, err
		}
	}
	out := &runOutput{Location: web.Prefix + "/retention", Body: r}
	if r.Status != Running {
		out.Status = http.StatusOK
	}
	return out, nil
}
