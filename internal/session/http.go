package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
	"wardroom/internal/transcript"
)

// errOtherTranscript is the error for a cursor that was issued before the conversation was reset.
var errOtherTranscript = page.ErrCursor.With("The conversation was reset. Start again without a cursor.")

// Mount registers the routes for the runtime's sessions.
func (s *Service) Mount(api *web.API) {
	away := web.Fails(
		link.ErrNotConfigured, link.ErrUnreachable, link.ErrTimeout, link.ErrUnauthorized,
		link.ErrUnpaired, link.ErrUntrusted, link.ErrMissingScope, link.ErrBusy, link.ErrRefused,
	)
	asks := web.Asks(3, s.Patience)
	web.Get(api, "/agentrt/sessions", actor.Read, "List the runtime's sessions", s.handleList, away, asks,
		web.Fails(page.ErrCursor, ErrReads),
		web.Describe("Active sessions come first; within each group, the most recently changed come first. While the runtime is unreachable, the request fails with the reason, so that outdated data never looks live."), web.Quiet())
	web.Get(api, "/agentrt/sessions/{key}", actor.Read, "Get a session", s.handleGet, away, asks,
		web.Fails(ErrNotFound, ErrReads), web.Quiet())
	web.Get(api, "/agentrt/sessions/{key}/messages", actor.Read, "List the messages of a session", s.handleMessages,
		away, asks,
		web.Fails(ErrNotFound, ErrReads, page.ErrCursor), web.Quiet(),
		web.Describe("The first page has the newest messages, newest last; the Link header leads to older pages. A tool result is in the same block as its call. Long texts are truncated, and the response contains the number of omitted characters. The newest page ends with the messages that the agent has not read yet; they have waiting, and no seq. To receive new messages live, use GET /events?session=."))
	web.Post(api, "/agentrt/sessions/{key}/messages", actor.ControlSessions, "Send a message to a session", s.handleSend,
		away, asks, web.Fails(ErrNotFound, ErrReads, hold.ErrHeld),
		web.Status(http.StatusAccepted), web.Once(),
		web.Describe("Responds when the runtime has accepted the message. The agent's answer appears in the session's messages. If an error contains maybe_sent, retry with the same Idempotency-Key; the message is then sent at most once."))
	web.Post(api, "/agents/{agent_id}/messages", actor.ControlSessions, "Send a message to an agent", s.handleSendToAgent,
		away, asks,
		web.Fails(gateway.ErrNoAgent, hold.ErrHeld), web.Status(http.StatusAccepted), web.Once(),
		web.Describe("Starts or continues the agent's main session, agent:<agent_id>:main, which need not exist. Otherwise like POST /agentrt/sessions/{key}/messages."))
	web.Post(api, "/agentrt/sessions/{key}/stop", actor.ControlSessions, "Stop the runs of a session", s.handleStop, away,
		web.Asks(8, s.Patience), web.Fails(ErrNotFound, ErrReads, gateway.ErrForeignRun),
		web.Describe("Stops all active and queued runs and those of sub-agents, or the one with run_id. If that one was started by a channel such as Telegram, all others of the session end with it. If there is nothing to stop, the request succeeds and stopped is false."))
}

type listInput struct {
	AgentID string `query:"agent_id" maxLength:"64" doc:"Only sessions of this agent."`
	Kind    string `query:"kind" maxLength:"64" doc:"Only sessions of this kind."`
	Status  string `query:"status" maxLength:"64" doc:"Only sessions with this status."`
	Active  string `query:"active" enum:"true,false" doc:"Only sessions with a run in progress, or only sessions without one."`
	Key     string `query:"key" maxLength:"512" doc:"Only the session with this key, also if it is too old for the list; other filters are ignored."`
	page.Query
}

type listOutput struct {
	web.List[Session]
	LeftOut int64 `header:"X-Left-Out" doc:"Number of the oldest sessions that are not listed because there are too many; absent if all are listed."`
}

func (s *Service) handleList(ctx context.Context, in *listInput) (*listOutput, error) {
	if in.Key != "" {
		one, err := s.Get(ctx, in.Key)
		if errors.Is(err, ErrNotFound) {
			return &listOutput{List: *web.Page(ctx, []Session{}, "")}, nil
		}
		return &listOutput{List: *web.Page(ctx, []Session{one}, "")}, err
	}
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

// digest returns a short digest of the filter. Each cursor contains it, so that a client
// cannot use a cursor with another filter by mistake. It is not a security measure.
func (f Filter) digest() string {
	active := ""
	if f.Active != nil {
		active = strconv.FormatBool(*f.Active)
	}
	sum := sha256.Sum256([]byte(page.Encode(f.AgentID, f.Kind, f.Status, active)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// cursor returns the parts of a cursor that continues a list after the given session.
func (f Filter) cursor(s Session) []string { return append([]string{f.digest()}, positionOf(s)...) }

// after parses a cursor and rejects one that was issued for a different filter. It returns nil for
// an empty cursor.
func (f Filter) after(cursor string) (*position, error) {
	parts, err := page.Decode(cursor, 4)
	if err != nil || parts == nil {
		return nil, err
	}
	if parts[0] != f.digest() {
		return nil, page.Refused()
	}
	return readPosition(parts[1:])
}

// positionOf returns a session's position in the list, as parts of a cursor.
func positionOf(s Session) []string {
	updated := int64(0)
	if s.UpdatedAt != nil {
		updated = s.UpdatedAt.UnixMilli()
	}
	return []string{strconv.FormatBool(s.Active), strconv.FormatInt(updated, 10), s.Key}
}

// readPosition parses the parts that positionOf returns.
func readPosition(parts []string) (*position, error) {
	active := parts[0] == "true"
	if !active && parts[0] != "false" {
		return nil, page.Refused()
	}
	numbers, err := parseNumbers(parts[1:2])
	if err != nil {
		return nil, err
	}
	return &position{active: active, updated: numbers[0], key: parts[2]}, nil
}

// parseNumbers parses parts of a cursor, each of which must be a non-negative integer.
func parseNumbers(parts []string) ([]int64, error) {
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

// Ref is the path parameter that identifies a session.
type Ref struct {
	Key string `path:"key" maxLength:"512" doc:"The session's key. Encode slashes as %2F; colons need no encoding." example:"agent:cto:main"`
}

type getOutput struct{ Body Session }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*getOutput, error) {
	session, err := s.Get(ctx, in.Key)
	return &getOutput{session}, err
}

// newMessage is the body of a request to send a message.
type newMessage struct {
	Text string `json:"text" minLength:"1" maxLength:"20000" doc:"The message to the agent, in Markdown. It must not start with a slash or be a stop word such as \"stop\", because the runtime treats those as commands. All users with read access can see it, so do not include credentials."`
}

type sendInput struct {
	Ref
	Body newMessage
}

type sendToAgentInput struct {
	AgentID string `path:"agent_id" maxLength:"64" example:"cto"`
	Body    newMessage
}

type sendOutput struct {
	Location string `header:"Location" doc:"The URL of the session's messages."`
	Body     Sent
}

func (s *Service) handleSend(ctx context.Context, in *sendInput) (*sendOutput, error) {
	sent, err := s.Send(ctx, in.Key, in.Body.Text)
	return sentOutput(sent, in.Key), err
}

func (s *Service) handleSendToAgent(ctx context.Context, in *sendToAgentInput) (*sendOutput, error) {
	sent, err := s.SendToAgent(ctx, in.AgentID, in.Body.Text)
	return sentOutput(sent, sent.Key), err
}

func sentOutput(sent Sent, key string) *sendOutput {
	return &sendOutput{Location: web.Prefix + "/agentrt/sessions/" + url.PathEscape(key) + "/messages", Body: sent}
}

type stopInput struct {
	Ref
	Body *struct {
		RunID string `json:"run_id,omitempty" maxLength:"512" doc:"The run to stop. Defaults to all active and queued runs of the session and of its sub-agents."`
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
		n, err := parseNumbers(parts[1:])
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
		next = page.Encode(o.transcript, strconv.FormatInt(o.total, 10), strconv.FormatInt(o.offset, 10),
			strconv.FormatInt(o.seq, 10))
	}
	return web.Page(ctx, m.List, next), nil
}
