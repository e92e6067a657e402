package standup

import (
	"context"
	"net/http"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// longestWait is how long a request may ask to wait for the end of a meeting.
const longestWait = 10 * time.Minute

// Mount adds the routes of standups.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/standups", actor.Read, "List standups, the latest day first unless sort says otherwise", s.handleList, web.Fails(page.ErrCursor))
	web.Post(api, "/standups", actor.HoldStandups, "Open the standup of a day", s.handleOpen,
		web.Status(http.StatusCreated), web.Also(http.StatusOK), web.Once(),
		web.Describe("Answers 201, or 200 with the standup that the day already has."))
	web.Get(api, "/standups/latest", actor.Read, "The standup of the latest day", s.handleLatest, web.Fails(ErrNotFound))
	web.Get(api, "/standups/{id}", actor.Read, "One standup with all that was said", s.handleGet, web.Fails(ErrNotFound))
	web.Text(api, "/standups/{id}/transcript", actor.Read, "Follow the meeting as plain text", s.handleTranscript,
		web.Waits(s.Deadline+time.Minute), web.Fails(ErrNotFound, ErrWaiting),
		web.Describe("Reads like minutes. While the meeting goes on, it stays and adds each line as it is said: `curl -N`."))
	web.Delete(api, "/standups/{id}", actor.ManageStandups, "Delete a standup", s.handleDelete, web.Fails(ErrNotFound, ErrRunning, ErrStale))
	web.Post(api, "/standups/{id}/run", actor.HoldStandups, "Run the standup, or retry it", s.handleRun,
		web.Status(http.StatusAccepted), web.Also(http.StatusOK), web.Waits(longestWait+time.Minute),
		web.Fails(ErrNotFound, ErrRunning, ErrCompleted, ErrWaiting),
		web.Describe("Answers 202 while the meeting goes on. With `Prefer: wait=60` it waits up to so many seconds, 600 at most, and answers 200 when the meeting has ended by then."))
	web.Post(api, "/standups/{id}/cancel", actor.ManageStandups, "Cancel a standup", s.handleCancel, web.Fails(ErrNotFound, ErrIdle))
}

// Ref names a standup in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64"`
}

func location(m Standup) string { return web.Prefix + "/standups/" + m.ID }

type listInput struct {
	Status []Status `query:"status" enum:"running,completed,error" doc:"Only in one of these states."`
	From   string   `query:"from" maxLength:"10" doc:"Only of this day, such as 2026-11-20, or later."`
	To     string   `query:"to" maxLength:"10" doc:"Only of this day or earlier."`
	Sort   string   `query:"sort" enum:"date,-date" default:"-date" doc:"The order; a minus turns it round."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Brief], error) {
	f := Filter{Statuses: in.Status, From: in.From, To: in.To}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Sort: in.Sort, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

type openInput struct {
	Body *New `required:"false"`
}

func (s *Service) handleOpen(ctx context.Context, in *openInput) (*web.Tagged[Standup], error) {
	var n New
	if in.Body != nil {
		n = *in.Body
	}
	m, created, err := s.Open(ctx, n)
	out := web.Tag(m, m.Version).At(location(m))
	if !created {
		out = out.As(http.StatusOK)
	}
	return out, err
}

func (s *Service) handleLatest(ctx context.Context, _ *struct{}) (*web.Tagged[Standup], error) {
	m, err := s.Latest(ctx)
	return web.Tag(m, m.Version), err
}

func (s *Service) handleGet(ctx context.Context, in *Ref) (*web.Tagged[Standup], error) {
	m, err := s.Get(ctx, in.ID)
	return web.Tag(m, m.Version), err
}

type deleteInput struct {
	Ref
	web.IfMatch
}

func (s *Service) handleDelete(ctx context.Context, in *deleteInput) (*struct{}, error) {
	version, err := in.Version()
	if err != nil {
		return nil, err
	}
	return nil, s.Delete(ctx, in.ID, version)
}

type runInput struct {
	Ref
	web.Prefer
	Body *struct {
		Again bool `json:"again,omitempty" doc:"Hold a completed standup once more, from the start."`
	} `required:"false"`
}

func (s *Service) handleRun(ctx context.Context, in *runInput) (*web.Tagged[Standup], error) {
	wait := in.Wait(longestWait)
	if wait > 0 { // before anything is begun
		leave, err := s.place(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	m, err := s.Run(ctx, in.ID, in.Body != nil && in.Body.Again)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if m, err = s.AwaitEnd(ctx, in.ID, wait, web.Stopping(ctx)); err != nil {
			return nil, err
		}
	}
	out := web.Tag(m, m.Version).At(location(m))
	if m.Status != Running {
		out = out.As(http.StatusOK)
	}
	return out, nil
}

func (s *Service) handleCancel(ctx context.Context, in *Ref) (*web.Tagged[Standup], error) {
	m, err := s.Cancel(ctx, in.ID)
	return web.Tag(m, m.Version), err
}

// handleTranscript writes the transcript as plain text, for a terminal. While
// the meeting goes on it stays and adds each line as it is said.
func (s *Service) handleTranscript(ctx context.Context, in *Ref) (web.Writing, error) {
	m, err := s.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	leave := func() {}
	if m.goesOn() {
		if leave, err = s.place(ctx); err != nil {
			return nil, err
		}
	}
	return func(say func(string) error) {
		defer leave()
		s.write(ctx, m, web.Stopping(ctx), say)
	}, nil
}
