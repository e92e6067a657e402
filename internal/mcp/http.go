package mcp

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// Mount registers the route of the tools.
func (s *Service) Mount(api *web.API) {
	api.Raw("POST /mcp", actor.UseTools, s.handler())
	web.Get(api, "/agents/{agent_id}/tools", actor.ManageAccounts, "Get how an agent is connected to the tools",
		s.handleGet, web.Fails(gateway.ErrNoAgent),
		web.Describe("Returns the configuration for the agent runtime that gives the agent the tools at /mcp, and when the agent last used them."))
	web.Post(api, "/agents/{agent_id}/tools/check", actor.ManageAccounts,
		"Check the connection of an agent to the tools", s.handleCheck,
		web.Status(http.StatusOK), web.Waits(checkTime+checkRoom), web.Fails(gateway.ErrNoAgent, hold.ErrHeld),
		web.Describe("Starts a turn of the agent in a new session, in which it calls whoami. Responds when the turn has ended, at the latest after about 2 minutes. The turn costs tokens."))
}

// checkRoom is added to the time limit of a check, for the requests to the gateway before and after the turn.
const checkRoom = time.Minute

// Ref is the path parameter that identifies an agent.
type Ref struct {
	AgentID string `path:"agent_id" maxLength:"64" example:"cto"`
}

type connectionOutput struct{ Body Connection }

func (s *Service) handleGet(ctx context.Context, in *Ref) (*connectionOutput, error) {
	c, err := s.Connection(ctx, in.AgentID)
	return &connectionOutput{c}, err
}

type checkOutput struct{ Body Check }

func (s *Service) handleCheck(ctx context.Context, in *Ref) (*checkOutput, error) {
	c, err := s.Check(ctx, in.AgentID)
	return &checkOutput{c}, err
}

// handler serves the protocol without sessions: each request is complete in itself, so any replica
// can answer it and a restart loses nothing.
func (s *Service) handler() http.Handler {
	server := s.server()
	protocol := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler),
		// It would refuse requests that a proxy on the same machine forwards. servesHost replaces it.
		DisableLocalhostProtection: true,
	})
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case origin.Check(r) != nil:
			web.Fail(w, r, errOrigin.With("Call them from the agent runtime."))
		case !s.servesHost(r.Host):
			web.Fail(w, r, errHost.With("Call Wardroom by its IP address, or set PUBLIC_URL to the address that agents use."))
		default:
			s.noteUse(r.Context(), false)
			protocol.ServeHTTP(w, r)
		}
	})
}

// noteUse notes that the caller used the tools. If that fails, the call goes on, because only the time
// of the last use is lost.
func (s *Service) noteUse(ctx context.Context, now bool) {
	if err := s.Accounts.NoteTools(ctx, now); err != nil && !s.DB.Away("tools of agents", err) {
		s.Log.WarnContext(ctx, "could not note the use of the tools", slog.Any("err", err))
	}
}

// servesHost reports whether a request may have this Host header: an IP address, a name without
// dots such as localhost, or the host of PUBLIC_URL. A website can point only its own name, which
// has dots, to Wardroom's address (DNS rebinding).
func (s *Service) servesHost(host string) bool {
	name := hostname(host)
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return true
	}
	u, err := url.Parse(s.URL.Public)
	return err == nil && strings.EqualFold(name, u.Hostname())
}

// hostname returns a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
