package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/agent"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/mcp"
	"wardroom/internal/platform/db"
)

const ctoTools = "/api/v1/agents/cto/tools"

// check checks the connection of the CTO and wants the given states of the steps.
func (c caller) check(want ...string) mcp.Check {
	c.house.t.Helper()
	got := decode[mcp.Check](c.post(ctoTools+"/check", nil).want(http.StatusOK))
	states := []string{}
	for _, s := range got.Steps {
		states = append(states, string(s.State))
		if failed := s.State == "failed"; failed != (s.Fix != "") {
			c.house.t.Errorf("the step %+v has a fix without a failure, or none", s)
		}
	}
	if !slices.Equal(states, want) || got.Connected == slices.Contains(states, "failed") {
		c.house.t.Errorf("checked %+v, want %v", got, want)
	}
	return got
}

// A person connects an agent and sees which step fails until it works. Once the agent has used its
// tools, a dispatch tells it to report with them, and only as long as its key is valid.
func TestConnectAgent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto", "cmo")
		owner.get("/api/v1/agents/nobody/tools").wantProblem(http.StatusNotFound, "agent_not_found")
		before := decode[mcp.Connection](owner.get(ctoTools).want(http.StatusOK))
		if before.Key || before.UsedAt != nil || before.UserID == nil || before.Variable != "WARDROOM_KEY_CTO" {
			t.Errorf("before: %+v", before)
		}
		wantConfig(t, before.Config, s.base+"/mcp")
		owner.check("failed", "not_reached", "not_reached", "not_reached", "not_reached")
		cto, key := owner.key("cto@example.com", map[string]any{"name": "mcp"})

		silent := func(demo.Question) string { return "I cannot find it." }
		h.runtime.Answer("cto", silent)
		owner.check("ok", "ok", "failed", "not_reached", "not_reached")
		h.runtime.SetServers("cto", "wr-cto")
		owner.check("ok", "ok", "ok", "ok", "failed")
		if a := decode[agent.Page](owner.get("/api/v1/agents/cto").want(http.StatusOK)); a.ToolsUsedAt != nil {
			t.Errorf("the CTO used its tools at %v", a.ToolsUsedAt)
		}
		h.runtime.Answer("cto", func(demo.Question) string { return cto.tool("whoami", nil) })
		h.runtime.SetServers("cto", "wr-cto", "wr-cmo")
		if got := owner.check("ok", "ok", "ok", "failed", "ok"); !strings.Contains(got.Steps[3].Fix, "wr-cmo__*") {
			t.Errorf("the fix is %q", got.Steps[3].Fix)
		}
		h.runtime.SetServers("cto", "wr-cto")
		if got := owner.check("ok", "ok", "ok", "ok", "ok"); !strings.Contains(got.Steps[1].Saw, "agent_id cto") || !strings.HasPrefix(got.SessionKey, "agent:cto:tools-check:") {
			t.Errorf("connected: %+v", got)
		}
		if a := decode[agent.Page](owner.get("/api/v1/agents/cto").want(http.StatusOK)); a.ToolsUsedAt == nil {
			t.Error("the page of the CTO does not show when it used its tools")
		}

		told := make(chan string, 2)
		h.runtime.Answer("cto", func(q demo.Question) string { told <- q.Message; return "Done." })
		for _, task := range []struct{ key, with, without string }{{"TASK-1", "wr-cto__report", "curl -sS"}, {"TASK-2", "curl -sS", "wr-cto__report"}} {
			owner.post("/api/v1/tasks", map[string]any{"title": "Count the chairs", "assignee_id": "cto"}).want(http.StatusCreated)
			owner.post("/api/v1/tasks/"+task.key+"/dispatch", nil).want(http.StatusAccepted)
			if got := <-told; !strings.Contains(got, task.with) || strings.Contains(got, task.without) {
				t.Errorf("the CTO is told:\n%s", got)
			}
			owner.send(http.MethodDelete, "/api/v1/users/cto@example.com/keys/"+key.ID, nil).want(http.StatusNoContent)
		}
		owner.check("failed", "not_reached", "not_reached", "not_reached", "not_reached")
	})
}

// wantConfig wants the server of the CTO at the URL, and that no agent of the runtime can use
// another's server.
func wantConfig(t *testing.T, config, url string) {
	t.Helper()
	var got struct {
		MCP struct {
			Servers map[string]struct {
				URL     string
				Headers map[string]string
			}
		}
		Agents struct {
			Entries map[string]struct{ Tools struct{ Deny []string } }
		}
	}
	if err := json.Unmarshal([]byte(config), &got); err != nil {
		t.Fatal(err)
	}
	server := got.MCP.Servers["wr-cto"]
	if len(got.MCP.Servers) != 1 || server.URL != url || server.Headers["Authorization"] != "Bearer ${WARDROOM_KEY_CTO}" {
		t.Errorf("the servers are %+v", got.MCP.Servers)
	}
	for id, want := range map[string]string{"cto": "wr-cmo__*", "cmo": "wr-cto__*", "coo": "wr-cmo__* wr-cto__*", "cpo": "wr-cmo__* wr-cto__*"} {
		deny := slices.Sorted(slices.Values(got.Agents.Entries[id].Tools.Deny))
		if strings.Join(deny, " ") != want {
			t.Errorf("%s may not use %v, want %s", id, deny, want)
		}
	}
	if len(got.Agents.Entries) != 4 {
		t.Errorf("the entries are %+v", got.Agents.Entries)
	}
}
