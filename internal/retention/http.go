package retention

import (
	"context"
	"net/http"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// longestWait is the longest time that a request can wait for a retention run to end.
const longestWait = 10 * time.Minute

// Mount registers the routes for retention.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/retention", actor.ManageRetention, "Get the retention policies", s.handleOverview)
	web.Get(api, "/retention/preview", actor.ManageRetention, "Preview other days", s.handleDue,
		web.Describe("Counts what a run would archive or delete now if the setting had another number of days, for each policy with the setting. Change the number with PATCH /settings."))
	web.Post(api, "/retention/run", actor.ManageRetention, "Run retention now", s.handleRun,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), web.Waits(longestWait+time.Minute), web.Fails(ErrRunning),
		web.Describe("Starts a run and returns 202. With `Prefer: wait=60` the request waits up to that many seconds (at most 600) and returns 200 if the run has ended by then. Deleted data cannot be restored: use GET /retention to preview a run."))
}

func (s *Service) handleOverview(ctx context.Context, _ *struct{}) (*struct{ Body Overview }, error) {
	o, err := s.Overview(ctx)
	return &struct{ Body Overview }{o}, err
}

type dueInput struct {
	Setting string `query:"setting" required:"true" enum:"ARCHIVE_AFTER_DAYS,ACTIVITY_LOG_RETENTION_DAYS,HISTORY_RETENTION_DAYS,SUBAGENT_RETENTION_DAYS" doc:"The environment variable with the number of days."`
	Days    int    `query:"days" required:"true" minimum:"0" maximum:"36500" doc:"0 keeps the data forever."`
}

func (s *Service) handleDue(ctx context.Context, in *dueInput) (*struct{ Body []Due }, error) {
	due, err := s.Due(ctx, in.Setting, in.Days)
	return &struct{ Body []Due }{due}, err
}

type runInput struct{ web.Prefer }

type runOutput struct {
	Status   int
	Location string `header:"Location" doc:"The URL with the progress of the run."`
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
