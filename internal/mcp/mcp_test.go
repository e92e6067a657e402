package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"wardroom/internal/account"
	"wardroom/internal/approval"
	"wardroom/internal/archive"
	"wardroom/internal/dispatch"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/mcp"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/redact"
	"wardroom/internal/platform/web"
	"wardroom/internal/receipt"
	"wardroom/internal/schedule"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var errKey = fault.New(fault.Unauthenticated, "token_invalid", "The token is not valid.")

// site serves the tools over HTTP. Keys are the names of its accounts: two agents and a person.
type site struct {
	*mcp.Service
	t     *testing.T
	db    *db.DB
	log   strings.Builder
	url   string
	users map[string]actor.Actor
}

func newSite(t *testing.T, d *db.DB) *site {
	t.Helper()
	s := &site{t: t, db: d, users: map[string]actor.Actor{}}
	for _, name := range []string{"cto", "cmo", "owner"} {
		s.addUser(name)
	}
	log, box := slog.New(slog.NewTextHandler(&s.log, nil)), &inbox.Service{DB: d, Now: clock.Now}
	accounts, words := &account.Service{DB: d, Now: clock.Now}, redact.New()
	board := &task.Service{DB: d, Now: clock.Now, Inbox: box, Redact: words}
	receipts := &receipt.Service{DB: d, Now: clock.Now, Tasks: board}
	board.Reported, board.Judged = receipts.Report, receipts.Judge
	s.Service = &mcp.Service{
		DB: d, Tasks: board, Accounts: accounts, Log: log, Version: "test",
		URL: &gateway.AgentURL{Public: "https://ops.example.org"},
		Questions: &approval.Service{
			DB: d, Log: log, Now: clock.Now, Jobs: job.New(d, log, clock.Now), Inbox: box, Tasks: board,
			Redact: words,
		},
		Standups: &standup.Service{
			DB: d, Jobs: job.New(d, log, clock.Now), Log: log, Now: clock.Now, Inbox: box, Redact: words,
			Accounts: accounts, Tasks: board, Usage: &usage.Service{DB: d}, Sessions: noSessions{},
			Schedules: &schedule.Service{DB: d}, Archive: &archive.Service{DB: d},
			Receipts: receipts, Dispatches: &dispatch.Service{DB: d},
			Zone: time.UTC, Facilitator: "cmo", Participants: []string{"cto"},
		},
	}
	api := web.New(web.Options{Title: "Board", Version: "test", Authenticate: func(_ context.Context, key string) (actor.Actor, error) {
		if a, ok := s.users[key]; ok {
			return a, nil
		}
		return actor.Actor{}, errKey
	}})
	s.Mount(api)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	s.url = server.URL + "/mcp"
	return s
}

// noSessions is a runtime without sessions.
type noSessions struct{}

func (noSessions) CountUsed(context.Context, string, time.Time) (int, error) { return 0, nil }

// addUser adds an agent, or the owner.
func (s *site) addUser(name string) {
	s.t.Helper()
	a := actor.Actor{ID: db.NewID(), Name: strings.ToUpper(name), Role: actor.Agent, AgentID: name}
	agentID := &a.AgentID
	if name == "owner" {
		a.Role, a.AgentID, agentID = actor.Owner, "", nil
	}
	email, now := name+"@example.com", time.Now()
	err := s.db.Tx(s.t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(s.t.Context(), `
			INSERT INTO users (id, email, email_key, name, name_key, role, agent_id, active, password_hash, created_at, updated_at, version)
			VALUES (?, ?, ?, ?, ?, ?, ?, TRUE, '', ?, ?, 1)`, a.ID, email, email, a.Name, name, a.Role, agentID, now, now)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.users[name] = a
}

// as returns a context for direct calls of the services.
func (s *site) as(name string) context.Context { return actor.With(s.t.Context(), s.users[name]) }

// add creates a task as the owner.
func (s *site) add(n task.New) task.Task {
	s.t.Helper()
	made, err := s.Tasks.Create(s.as("owner"), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// events returns the number of recorded events, and the kinds of those that the user caused.
func (s *site) events(name string) (total int, kinds string) {
	s.t.Helper()
	err := s.db.QueryRow(s.t.Context(), `SELECT COUNT(*), COALESCE(STRING_AGG(CASE WHEN actor_id = ? THEN kind END, ' '), '') FROM events`,
		s.users[name].ID).Scan(&total, &kinds)
	if err != nil {
		s.t.Fatal(err)
	}
	return total, kinds
}

// client is an agent that is connected with the SDK's client.
type client struct {
	*sdk.ClientSession
	t *testing.T
}

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// runtimeVersion is the version of the protocol that the runtime speaks.
const runtimeVersion = "2025-11-25"

func (s *site) connect(key, version string) client {
	s.t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(s.t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: withKey(key)}, MaxRetries: -1},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = session.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		s.t.Fatalf("the protocol is %s, want %s", got, version)
	}
	return client{session, s.t}
}

// args are the arguments of a call.
type args map[string]any

// try calls a tool.
func (c client) try(tool string, in args) (text string, failed bool, err error) {
	res, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return "", false, err
	}
	if len(res.Content) != 1 || res.StructuredContent != nil {
		return "", false, fmt.Errorf("%d contents and structured content %v, want one text", len(res.Content), res.StructuredContent)
	}
	got, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		return "", false, fmt.Errorf("the content is a %T", res.Content[0])
	}
	return got.Text, res.IsError, nil
}

// call calls a tool and wants an answer with all the given parts.
func (c client) call(tool string, in args, parts ...string) string {
	c.t.Helper()
	return c.want(false, tool, in, parts...)
}

// refused calls a tool and wants an error with all the given parts, which names the next call.
func (c client) refused(tool string, in args, parts ...string) string {
	c.t.Helper()
	return c.want(true, tool, in, append(parts, "Next: ")...)
}

func (c client) want(refused bool, tool string, in args, parts ...string) string {
	c.t.Helper()
	text, failed, err := c.try(tool, in)
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	if failed != refused {
		c.t.Fatalf("%s %v: error %v, want %v: %s", tool, in, failed, refused, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.t.Errorf("%s %v does not say %q:\n%s", tool, in, part, text)
		}
	}
	return text
}

// both runs fn on each engine.
func both(t *testing.T, fn func(t *testing.T, s *site)) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newSite(t, d)) })
}
