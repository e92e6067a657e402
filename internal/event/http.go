package event

import (
	"context"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

// Mount adds the routes of the log.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/activity", actor.Read, "What happened, the newest first", s.handleActivity, web.Fails(ErrActor, page.ErrCursor))
}

type activityInput struct {
	SubjectKind string    `query:"subject_kind" enum:"task,standup" doc:"Only of things of this kind."`
	SubjectID   string    `query:"subject_id" maxLength:"64" doc:"Only of the thing with this id."`
	Actor       string    `query:"actor" maxLength:"254" doc:"Only what this one did: a user's id or email, an agent_id, me, or system for the service."`
	Kinds       []string  `query:"kind" maxItems:"20" doc:"Only of these kinds, such as task.created; task.* is all that begin so."`
	Since       time.Time `query:"since" doc:"Only at this time or later."`
	Until       time.Time `query:"until" doc:"Only before this time."`
	page.Query
	page.Total
}

func (s *Service) handleActivity(ctx context.Context, in *activityInput) (*web.List[Event], error) {
	f := Filter{SubjectKind: in.SubjectKind, SubjectID: in.SubjectID, Kinds: in.Kinds, Since: in.Since, Until: in.Until}
	part, err := s.Activity(ctx, f, in.Actor, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}
