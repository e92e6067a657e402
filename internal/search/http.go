package search

import (
	"context"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the route of the search.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/search", actor.Read, "Find tasks, comments, reports and archived sessions by their words", s.handleFind,
		web.Describe("What has all the words, whatever their case; the last one may be the beginning of a word. "+
			"First what has them in its title, or a task in its key, then what else has them, the newest first. Reports of standups and sessions take at most half of the places where tasks and comments would fill more than the other half, and the other way round. No character means anything special."))
}

type findInput struct {
	Text     string   `query:"q" required:"true" maxLength:"200" doc:"The words to look for."`
	Archived string   `query:"archived" enum:"true,false" doc:"Only what is in the archive, or only what is not; both when left out."`
	Kinds    []string `query:"kind" enum:"task,comment,report,session" maxItems:"4" doc:"Only of these kinds, separated by commas; all when left out."`
	Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"How many to answer at most."`
}

func (s *Service) handleFind(ctx context.Context, in *findInput) (*struct{ Body []Result }, error) {
	var only Only
	if in.Archived != "" {
		only.Archived = new(in.Archived == "true")
	}
	for _, k := range in.Kinds {
		only.Kinds = append(only.Kinds, Kind(k))
	}
	found, err := s.Find(ctx, in.Text, only, in.Limit)
	return &struct{ Body []Result }{found}, err
}
