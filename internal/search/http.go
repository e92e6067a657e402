package search

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/web"
)

// Mount adds the search route.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/search", actor.Read, "Search tasks, comments, reports, and archived sessions", s.handleFind,
		web.Describe("Returns texts that contain all the words, ignoring case, width, and the Unicode form. The last word also matches as a prefix. "+
			"In scripts without spaces between words, such as Chinese, Japanese, and Thai, texts match that contain the characters next to each other, in the same order. "+
			"Matches in a title or task key come first, then the others, newest first. Standup reports and sessions together get up to half of the results, and tasks and comments get the other half. If one half is not full, the other can use the rest. No character has a special meaning."))
}

// Schema implements huma.SchemaProvider.
func (Kind) Schema(huma.Registry) *huma.Schema {
	return enum.Schema([]Kind{OfTask, OfComment, OfReport, OfSession})
}

type findInput struct {
	Text     string `query:"q" required:"true" maxLength:"200" doc:"Words to search for."`
	Archived string `query:"archived" enum:"true,false" doc:"true: only archived texts. false: only texts that are not archived. Default: both."`
	Kinds    []Kind `query:"kind" maxItems:"4" doc:"Kinds of texts, separated by commas. Default: all."`
	Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of results."`
}

func (s *Service) handleFind(ctx context.Context, in *findInput) (*struct{ Body []Result }, error) {
	filter := Filter{Kinds: in.Kinds}
	if in.Archived != "" {
		filter.Archived = new(in.Archived == "true")
	}
	found, err := s.Find(ctx, in.Text, filter, in.Limit)
	return &struct{ Body []Result }{found}, err
}
