package archive

import (
	"context"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/transcript"
)

// Mount adds the routes of the archive.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/sessions", actor.Read, "The archive of sessions, the last first", s.handleList, web.Fails(page.ErrCursor), web.Describe(listText))
	web.Get(api, "/sessions/{id}", actor.Read, "One session of the archive", s.handleGet, web.Fails(ErrNotFound))
	web.Get(api, "/sessions/{id}/messages", actor.Read, "What was said in an archived session, the newest last", s.handleMessages,
		web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("The same as in /agentrt/sessions/{key}/messages, as it was when it was archived, with secrets masked. The first page is the newest; the Link header leads to the older ones. Of long messages a page has fewer than the limit."))
}

const listText = `Sessions that ended, rest or are gone from the runtime, with what was said in them; it outlives the runtime's memory. One that goes on is archived anew, in its place.

With last_known=true it lists the sessions that the runtime had when it was last heard, also while it is away: as_of and age_seconds say how old that is.`

type listInput struct {
	AgentID   string    `query:"agent_id" maxLength:"64" doc:"Only of this agent."`
	Kind      string    `query:"kind" maxLength:"64" doc:"Only of this kind, such as subagent."`
	Status    string    `query:"status" maxLength:"64" doc:"Only with this status."`
	From      time.Time `query:"from" doc:"Only where something happened at this time or later."`
	To        time.Time `query:"to" doc:"Only where nothing happened from this time on."`
	Text      string    `query:"q" maxLength:"200" doc:"Only those that have all these words in them, as in /search."`
	LastKnown bool      `query:"last_known" doc:"Instead of the archive, the sessions that the runtime had when it was last heard."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Archived], error) {
	f := Filter{AgentID: in.AgentID, Kind: in.Kind, Status: in.Status, From: in.From, To: in.To, Text: in.Text, LastKnown: in.LastKnown}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// Ref names an archived session in a path.
type Ref struct {
	ID string `path:"id" maxLength:"64" doc:"The id in the archive."`
}

type getOutput struct{ Body Archived }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	a, err := s.Get(ctx, in.ID)
	return &getOutput{a}, err
}

type messagesInput struct {
	Ref
	page.Query
}

func (s *Service) handleMessages(ctx context.Context, in *messagesInput) (*web.List[transcript.Message], error) {
	messages, next, err := s.Messages(ctx, in.ID, in.Cursor, in.Limit)
	return web.Page(ctx, messages, next), err
}
