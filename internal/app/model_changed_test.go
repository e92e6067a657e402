package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
)

// People must learn at the first model call that an agent uses another model than configured, and what that costs.
func TestModelChanged(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto", "cpo")
		configure := func(agentID, model string) {
			is, err := s.Gateway.AgentModel(t.Context(), agentID)
			if err == nil {
				err = s.Gateway.PatchAgentModel(t.Context(), agentID, is, gateway.ModelPatch{Model: json.RawMessage(model)}, "")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		price := map[string]any{"provider": "demo", "model": "demo-2", "from": "2026-01-01", "input": "1", "output": "5", "cache_read": "0.1", "cache_write": "1.25", "other": "0"}
		owner.send(http.MethodPut, "/api/v1/prices", map[string]any{"prices": []any{price}}).want(http.StatusOK)
		configure("cto", `{"primary":"demo/demo-2","fallbacks":["demo/demo-1"]}`) // the demo's CTO and CPO use demo-1
		configure("cpo", `"demo/demo-2"`)
		owner.post(ctoMessages, map[string]string{"text": "Hello"}).want(http.StatusAccepted)
		owner.post("/api/v1/agents/cpo/messages", map[string]string{"text": "Hello"}).want(http.StatusAccepted)
		owner.post("/api/v1/agents/cmo/messages", map[string]string{"text": "Hello"}).want(http.StatusAccepted)
		var items []inbox.Item
		waitFor(t, "the items", func() bool { items = owner.inboxOf(inbox.ModelChanged, "open"); return len(items) == 2 })
		for _, i := range items {
			reason := map[string]string{"cto": "is a configured fallback, but costs more than 2 times", "cpo": "none of its fallbacks"}[i.Subject.ID]
			if reason == "" || !strings.Contains(i.Detail, reason) || !strings.Contains(i.Detail, " A model call cost $0.0") || i.Severity != inbox.High ||
				i.Title != strings.ToUpper(i.Subject.ID)+" uses demo/demo-1 instead of demo/demo-2" || i.Run == nil || i.Run.RunID == "" || i.Count != 1 {
				t.Errorf("the inbox has %+v", i)
			}
		}
	})
}
