package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/transcript"
)

// errOtherTranscript refuses a cursor of a conversation that was begun anew.
var errOtherTranscript = page.ErrCursor.With("The conversation has been begun anew since. Start again without a cursor.")

// Mount adds the routes of the runtime's sessions.
func (s *Service) Mount(api *web.API) {
	away := web.Fails(
		gateway.ErrNotConfigured, gateway.ErrUnreachable, gateway.ErrTimeout, gateway.ErrUnauthorized,
		gateway.ErrUnpaired, gateway.ErrUntrusted, gateway.ErrMissingScope, gateway.ErrBusy, gateway.ErrRefused,
	)
	asks := web.Asks(3, s.Patience)
	web.Get(api, "/agentrt/sessions", actor.Read, "The runtime's sessions, active ones first", s.handleList, away, asks, web.Fails(page.ErrCursor),
		web.Describe("Running or ended, the last changed first within each. While the runtime is away there is no list, only the reason: nothing old is shown as if it were live."), web.Quiet())
	web.Get(api, "/agentrt/sessions/{key}", actor.Read, "One session", s.handleGet, away, asks, web.Fails(ErrNotFound, ErrReads), web.Quiet())
	web.Get(api, "/agentrt/sessions/{key}/messages", actor.Read, "What was said in a session, the newest last", s.handleMessages, away, asks,
		web.Fails(ErrNotFound, ErrReads, page.ErrCursor), web.Quiet(),
		web.Describe("The first page is the newest; the Link header leads to the older ones. The result of a tool is with its call. What is too long is cut, and says by how much. To hear of further ones as they come, follow the session with GET /events?session=."))
	web.Post(api, "/agentrt/sessions/{key}/messages", actor.ControlSessions, "Send a message to a session", s.handleSend, away, asks, web.Fails(ErrNotFound, ErrReads),
		web.Status(http.StatusAccepted), web.Once(),
		web.Describe("Answers when the runtime has taken it; what the agent says to it is in the session's messages. A failure whose maybe_sent is true leaves open whether it was: send it again with the same Idempotency-Key."))
	web.Post(api, "/agentrt/sessions/{key}/stop", actor.ControlSessions, "End the runs of a session", s.handleStop, away, web.Asks(8, s.Patience), web.Fails(ErrNotFound, ErrReads, gateway.ErrForeignRun),
		web.Describe("Ends what is going and what waits there, or the one run that is named. When nothing is going, nothing is stopped and nothing is wrong."))
}

type listInput struct {
	AgentID string `query:"agent_id" maxLength:"64" doc:"Only of this agent."`
	Kind    string `query:"kind" maxLength:"64" doc:"Only of this kind."`
	Status  string `query:"status" maxLength:"64" doc:"Only with this status."`
	Active  string `query:"active" enum:"true,false" doc:"Only those with a run that is going, or only those without."`
	page.Query
}

type listOutput struct {
	web.List[Session]
	LeftOut int64 `header:"X-Left-Out" doc:"How many sessions the runtime has that are in no page, because there are too many; absent when there are none."`
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*listOutput, error) {
	f := Filter{AgentID: in.AgentID, Kind: in.Kind, Status: in.Status}
	if in.Active != "" {
		active := in.Active == "true"
		f.Active = &active
	}
	after, err := f.after(in.Cursor)
	if err != nil {
		return nil, err
	}
	sessions, left, err := s.List(ctx, f, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	sessions, next := page.Cut(sessions, in.Limit, f.cursor)
	return &listOutput{List: *web.Page(ctx, sessions, next), LeftOut: int64(left)}, nil
}

// bound is a short digest of the filters, for the cursors of their list. It keeps
// people from errors; it is no secret and guards nothing.
func (f Filter) bound() string {
	active := ""
	if f.Active != nil {
		active = strconv.FormatBool(*f.Active)
	}
	sum := sha256.Sum256([]byte(page.Encode(f.AgentID, f.Kind, f.Status, active)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// cursor is what the cursor behind a session says.
func (f Filter) cursor(s Session) []string { return append([]string{f.bound()}, positionOf(s)...) }

// after reads a cursor of the list with these filters, and refuses any other;
// nil is the beginning.
func (f Filter) after(cursor string) (*position, error) {
	parts, err := page.Decode(cursor, 4)
	if err != nil || parts == nil {
		return nil, err
	}
	if parts[0] != f.bound() {
		return nil, page.Refused()
	}
	return readPosition(parts[1:])
}

// positionOf is where a session stands in lists, for a cursor.
func positionOf(s Session) []string {
	updated := int64(0)
	if s.UpdatedAt != nil {
		updated = s.UpdatedAt.UnixMilli()
	}
	return []string{strconv.FormatBool(s.Active), strconv.FormatInt(updated, 10), s.Key}
}

// readPosition reads what positionOf wrote, and nothing else.
func readPosition(parts []string) (*position, error) {
	active := parts[0] == "true"
	if !active && parts[0] != "false" {
		return nil, page.Refused()
	}
	numbers, err := naturals(parts[1:2])
	if err != nil {
		return nil, err
	}
	return &position{active: active, updated: numbers[0], key: parts[2]}, nil
}

// naturals reads the numbers of a cursor.
func naturals(parts []string) ([]int64, error) {
	numbers := make([]int64, len(parts))
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt32*1000_000 || strconv.FormatInt(n, 10) != p {
			return nil, page.Refused()
		}
		numbers[i] = n
	}
	return numbers, nil
}

// Ref names a session in a path.
type Ref struct {
	Key string `path:"key" maxLength:"512" doc:"The session's key. A slash in it is written %2F; colons may stay." example:"agent:cto:main"`
}

type getOutput struct{ Body Session }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	session, err := s.Get(ctx, in.Key)
	return &getOutput{session}, err
}

type sendInput struct {
	Ref
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"20000" doc:"What to say to the agent: Markdown. It must not begin with a slash, which the runtime takes for a command, nor be one of the words by which it stops, such as stop. Everybody who may read sees it: no credentials."`
	}
}

type sendOutput struct {
	Location string `header:"Location" doc:"Where the session's messages are."`
	Body     Sent
}

func (s *Service) handleSend(ctx context.Context, in *sendInput) (*sendOutput, error) {
	sent, err := s.Send(ctx, in.Key, in.Body.Text)
	return &sendOutput{Location: web.Prefix + "/agentrt/sessions/" + url.PathEscape(in.Key) + "/messages", Body: sent}, err
}

type stopInput struct {
	Ref
	Body *struct {
		RunID string `json:"run_id,omitempty" maxLength:"512" doc:"Only this run. Default: all that are going or wait in the session."`
	}
}

type stopOutput struct{ Body Stopped }

func (s *Service) handleStop(ctx context.Context, in *stopInput) (*stopOutput, error) {
	runID := ""
	if in.Body != nil {
		runID = in.Body.RunID
	}
	stopped, err := s.Stop(ctx, in.Key, runID)
	return &stopOutput{stopped}, err
}

type messagesInput struct {
	Ref
	page.Query
}

func (s *Service) handleMessages(ctx context.Context, in *messagesInput) (*web.List[transcript.Message], error) {
	parts, err := page.Decode(in.Cursor, 4)
	if err != nil {
		return nil, err
	}
	var before *older
	if parts != nil {
		n, err := naturals(parts[1:])
		if err != nil {
			return nil, err
		}
		before = &older{transcript: parts[0], total: n[0], offset: n[1], seq: n[2]}
	}
	m, err := s.Messages(ctx, in.Key, in.Limit, before)
	if err != nil {
		return nil, err
	}
	next := ""
	if o := m.older; o != nil {
		next = page.Encode(o.transcript, strconv.FormatInt(o.total, 10), strconv.FormatInt(o.offset, 10), strconv.FormatInt(o.seq, 10))
	}
	return web.Page(ctx, m.List, next), nil
}
