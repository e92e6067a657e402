package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/approval"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
)

// After an answer, the demo's agents do what people decided, and a request without an answer expires with an item.
func TestDemoGoesOnAfterAnswers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 60 s")
	}
	for decision, c := range map[string]struct {
		answers        map[string][]string // none skips the question
		command, asked string              // what the agents say then
	}{
		"allow-once": {map[string][]string{"channel": {"Blog", "The status page"}, "day": {"Today"}}, "I pushed release/2.4.", "Blog, The status page, Today"},
		"deny":       {nil, "because you denied it", "because no one chose a channel"},
	} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			d, err := app.NewDemo(context.Background(), app.DemoOptions{
				Dir: t.TempDir(), Port: "0", Pace: 10 * time.Millisecond, Work: 40 * time.Millisecond,
			}, slog.New(slog.NewTextHandler(t.Output(), nil)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			s, owner := serveDemo(t, d)
			defer s.stop()
			waitFor(t, "the requests", func() bool {
				return len(owner.inboxOf(inbox.Approval, "open")) == 1 && len(owner.inboxOf(inbox.Question, "open")) == 1
			})
			a := decode[[]approval.Approval](owner.get("/api/v1/approvals").want(http.StatusOK))[0]
			owner.post("/api/v1/approvals/"+a.ID+"/answer", map[string]any{"decision": decision, "shown": a.Shown}).want(http.StatusOK)
			q := decode[[]approval.Question](owner.get("/api/v1/questions").want(http.StatusOK))[0]
			answer := map[string]any{"shown": q.Shown}
			if c.answers != nil {
				answer["answers"] = c.answers
			}
			owner.post("/api/v1/questions/"+q.ID+"/answer", answer).want(http.StatusOK)
			d.Runtime.StartWork("cto", "late", "", 0, demo.Script{Ask: "Restart.", Steps: []demo.Step{{
				Tool: "exec",
				Asks: func(_ context.Context, key, runID string) string {
					return d.Runtime.AskApproval(demo.Command{AgentID: "cto", SessionKey: key, RunID: runID, Text: "reboot", Life: 50 * time.Millisecond})
				},
				Then: func(e demo.Ending) (string, demo.Script) {
					return "", demo.Script{Answer: "Decision: " + e.Decision + "."}
				},
			}}})
			for key, want := range map[string]string{"agent:cto:dashboard:release": c.command, "agent:cmo:dashboard:announcement": c.asked, "agent:cto:late": "Decision: ."} {
				waitFor(t, key, func() bool {
					said, err := owner.try(http.MethodGet, "/api/v1/agentrt/sessions/"+key+"/messages", nil)
					return err == nil && strings.Contains(string(said.body), want)
				})
			}
			waitFor(t, "the item of the expired request", func() bool {
				left := owner.inboxOf(inbox.Approval, "open")
				return len(left) == 1 && strings.Contains(left[0].Title, "went on without you")
			})
		})
	}
}
