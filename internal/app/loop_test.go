package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
)

// A run that repeats a call must reach people once while it goes on, and its item must end with it.
func TestLoopIsRaised(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.post("/api/v1/users", map[string]any{"email": "cto@example.com", "name": "CTO", "password": password, "role": "agent", "agent_id": "cto"}).want(http.StatusCreated)
		h.runtime.StartWork("cto", "main", "", time.Second, demo.Script{Ask: "Deploy it.", Answer: "I give up.", Steps: slices.Repeat([]demo.Step{
			{Tool: "exec", Args: map[string]any{"command": "make deploy"}, Result: "locked", Failed: true},
		}, 200)})
		var items []inbox.Item
		// A slow read delays the next one by 20 times as long, and the run must go on until then.
		waitAtMost(t, 5*time.Minute, "the inbox", func() bool { items = owner.inboxOf(inbox.Loop, "open"); return len(items) == 1 })
		if i := items[0]; i.Subject.ID != cto || i.Run == nil || i.Run.RunID == "" || i.Title != "CTO's run repeats itself" || i.Severity != inbox.Urgent || !strings.Contains(i.Detail, "same call of `exec`") {
			t.Errorf("the inbox has %+v", i)
		}
		tokens := func() (n int64) {
			if err := s.DB.QueryRow(t.Context(), `SELECT CAST(COALESCE(SUM(output), 0) AS BIGINT) FROM usage_going WHERE session_key = ?`, cto).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := tokens()
		waitAtMost(t, 5*time.Minute, "the run to be read again", func() bool { return tokens() > before })
		owner.post("/api/v1/agentrt/sessions/"+cto+"/stop", nil).want(http.StatusOK)
		waitAtMost(t, 5*time.Minute, "the resolved item", func() bool { items = owner.inboxOf(inbox.Loop, "resolved"); return len(items) == 1 })
		if i := items[0]; i.Count != 1 || i.Resolution.Note != "The run has ended." {
			t.Errorf("at the end: count %d, %+v", i.Count, i.Resolution)
		}
	})
}
