package search

import (
	"context"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount adds the search route.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/search", actor.Read, "Search tasks, comments, reports, and archived sessions", s.handleFind,
		web.Describe("Returns texts that contain all the words, ignoring case. The last word also matches as a prefix. "+
			"Matches in a title or task key come first, then the others, newest first. Standup reports and sessions together get up to half of the results, and tasks and comments get the other half. If one half is not full, the other can use the rest. No character has a special meaning."))
}

type findInput struct {
	Text     string   `query:"q" required:"true" maxLength:"200" doc:"Words to search for."`
	Archived string   `query:"archived" enum:"true,false" doc:"true: only archived texts. false: only texts that are not archived. Default: both."`
	Kinds    []string `query:"kind" enum:"task,comment,report,session" maxItems:"4" doc:"Kinds of texts, separated by commas. Default: all."`
	Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of results."`
}

func (s *Service) handleFind(ctx context.Context, in *findInput) (*struct{ Body []Result }, error) {
	var filter Filter
	if in.Archived != "" {
		filter.Archived = new(in.Archived == "true")
	}
	for _, k := range in.Kinds {
		filter.Kinds = append(filter.Kinds, Kind(k))
	}
	found, err := s.Find(ctx, in.Text, filter, in.Limit)
	return &struct{ Body []Result }{found}, err
}
