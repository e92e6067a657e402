package app_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wardroom/internal/platform/db"
)

// tool calls a tool at /mcp, without a session. It returns the text of the answer.
func (c caller) tool(name string, args map[string]any) string {
	c.house.t.Helper()
	body := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}}
	got := decode[struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}](c.send(http.MethodPost, "/mcp", body, "Accept", "application/json, text/event-stream").want(http.StatusOK))
	if got.Result.IsError || len(got.Result.Content) != 1 {
		c.house.t.Fatalf("%s %v: %+v", name, args, got)
	}
	return got.Result.Content[0].Text
}

// withBearer sends a token with each request.
type withBearer string

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Two agents work through the tools, each with its own API key and in its own name. People cannot
// use the tools, and a revoked key ends their use at once.
func TestToolsOfAgents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		owner := s.login(ownerEmail)
		owner.hire("cto", "cmo")
		cto, k := owner.key("cto@example.com", map[string]any{"name": "mcp"})
		cmo, _ := owner.key("cmo@example.com", map[string]any{"name": "mcp"})
		for _, agent := range []string{"cto", "cmo"} {
			owner.post("/api/v1/tasks", map[string]any{"title": "Count the chairs", "assignee_id": agent}).want(http.StatusCreated)
		}
		client := &http.Client{Transport: withBearer(cto.token)}
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: s.base + "/mcp", HTTPClient: client}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 8 {
			t.Errorf("the tools are %v, %v", list, err)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
		for c, want := range map[caller]string{cto: "TASK-1 ", cmo: "TASK-2 "} {
			if got := c.tool("next_task", nil); !strings.HasPrefix(got, want) {
				t.Errorf("the next task is %q, want %s", got, want)
			}
		}
		cmo.tool("report", map[string]any{"task": "TASK-2", "kind": "done", "text": "9 chairs", "checked": "twice", "not_checked": "nothing"})
		history := string(owner.get("/api/v1/tasks/TASK-2/history").want(http.StatusOK).body)
		if !strings.Contains(history, `"kind":"task.reported"`) || strings.Contains(history, "CTO") || !strings.Contains(history, "CMO") {
			t.Errorf("the history is %s", history)
		}
		owner.post("/mcp", nil).wantProblem(http.StatusForbidden, "forbidden")
		owner.send(http.MethodDelete, "/api/v1/users/cto@example.com/keys/"+k.ID, nil).want(http.StatusNoContent)
		cto.post("/mcp", nil).wantProblem(http.StatusUnauthorized, "token_invalid")
	})
}
