package event

import (
	"context"
	"strconv"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the log.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/activity", actor.Read, "What happened, the newest first", s.handleActivity, web.Fails(page.ErrCursor))
}

type activityInput struct {
	SubjectKind string `query:"subject_kind" enum:"task,standup" doc:"Only of things of this kind."`
	SubjectID   string `query:"subject_id" maxLength:"64" doc:"Only of the thing with this id."`
	page.Query
}

func (s *Service) handleActivity(ctx context.Context, in *activityInput) (*web.List[Event], error) {
	at, err := page.Decode(in.Cursor, 1)
	if err != nil {
		return nil, err
	}
	var before int64
	if at != nil {
		if before, err = strconv.ParseInt(at[0], 10, 64); err != nil || before < 1 {
			return nil, page.Refused()
		}
	}
	events, err := s.Activity(ctx, in.SubjectKind, in.SubjectID, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	events, next := page.Cut(events, in.Limit, func(e Event) []string { return []string{strconv.FormatInt(e.ID, 10)} })
	return web.Page(ctx, events, next), nil
}
