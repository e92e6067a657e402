package archive

import (
	"context"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/transcript"
)

// Mount adds the routes for the archive.
func (s *Service) Mount(api *web.API) {
	web.Get(api, "/sessions", actor.Read, "List archived sessions, most recent first", s.handleList,
		web.Fails(page.ErrCursor), web.Describe(listText))
	web.Get(api, "/sessions/{id}", actor.Read, "Get an archived session", s.handleGet, web.Fails(ErrNotFound))
	web.Get(api, "/sessions/{id}/messages", actor.Read, "List the messages of an archived session", s.handleMessages,
		web.Fails(ErrNotFound, page.ErrCursor),
		web.Describe("The same format as /agentrt/sessions/{key}/messages. The messages are as they were when archived, with secrets redacted. Messages are in chronological order. The first page has the newest ones; the Link header leads to older pages. If the messages are long, a page may have fewer messages than the limit."))
}

const listText = `Lists sessions that have ended, are idle, or were deleted in the runtime. They remain in the archive after the runtime deletes them. If an archived session continues, its entry is updated.

With last_known=true, the list contains the sessions that the runtime had when Wardroom last read it, even while the gateway is unavailable. as_of and age_seconds say when Wardroom last read the runtime.`

type listInput struct {
	AgentID   string    `query:"agent_id" maxLength:"64" doc:"Sessions of this agent."`
	Kind      string    `query:"kind" maxLength:"64" doc:"Sessions of this kind, such as subagent."`
	Status    string    `query:"status" maxLength:"64" doc:"Sessions with this status."`
	From      time.Time `query:"from" doc:"Sessions whose last activity is at or after this time."`
	To        time.Time `query:"to" doc:"Sessions whose last activity is before this time."`
	Text      string    `query:"q" maxLength:"200" doc:"Sessions that contain all these words, as in /search."`
	LastKnown bool      `query:"last_known" doc:"List the sessions that the runtime had when Wardroom last read it, instead of the archive."`
	page.Query
	page.Total
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*web.List[Archived], error) {
	f := Filter{
		AgentID: in.AgentID, Kind: in.Kind, Status: in.Status, From: in.From, To: in.To, Text: in.Text,
		LastKnown: in.LastKnown,
	}
	part, err := s.List(ctx, f, page.Want{Query: in.Query, Total: in.Total.Total})
	return web.Part(ctx, part), err
}

// Ref is the path parameter that identifies an archived session.
type Ref struct {
	ID string `path:"id" maxLength:"512" doc:"The session's ID in the archive, or the session_key of a job's run."`
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
