package app_test

import (
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/approval"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

// An agent's question reaches a person, and the answer reaches the agent's session and the task once, although the agent
// is held when it is given and Wardroom restarts before the release.
func TestAskHuman(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto", "cmo")
		agent, _ := owner.key("cto@example.com", map[string]any{"name": "ask"})
		key := owner.handed("cto", "Deploy").Key

		body := map[string]any{"question": "Where shall I deploy?", "options": []string{"Staging", "Production"}, "task": key}
		owner.post("/api/v1/questions", body).wantProblem(http.StatusForbidden, "forbidden")
		q := decode[approval.Question](agent.post("/api/v1/questions", body).want(http.StatusCreated))
		if again := decode[approval.Question](agent.post("/api/v1/questions", body).want(http.StatusOK)); again.ID != q.ID {
			t.Errorf("repeated, it is question %s, not %s", again.ID, q.ID)
		}
		agent.post("/api/v1/questions/"+q.ID+"/answer", map[string]any{"shown": q.Shown}).wantProblem(http.StatusForbidden, "forbidden")
		if items := owner.inboxOf(inbox.Question, "open"); len(items) != 1 || items[0].Subject.ID != q.ID || !strings.HasSuffix(items[0].Title, "asks: Where shall I deploy?") {
			t.Errorf("the inbox has %+v", items)
		}
		for _, about := range []string{"task=" + key, "agent_id=cto", "session_key=agent:cto:main"} {
			if list := decode[[]approval.Question](owner.get("/api/v1/questions?" + about).want(http.StatusOK)); len(list) != 1 {
				t.Errorf("%s has %d questions", about, len(list))
			}
		}
		withdrawn := decode[approval.Question](agent.post("/api/v1/questions", map[string]any{"question": "Which port?"}).want(http.StatusCreated))
		agent.post("/api/v1/questions/"+withdrawn.ID+"/withdraw", nil).want(http.StatusOK)
		owner.post("/api/v1/questions/"+withdrawn.ID+"/answer", map[string]any{"shown": withdrawn.Shown}).wantProblem(http.StatusConflict, "approval_decided")

		owner.holdCTO()
		path := "/api/v1/questions/" + q.ID
		answer := map[string]any{"shown": q.Shown, "answers": map[string][]string{"answer": {"Production, but only at night"}}}
		owner.post(path+"/answer", answer).want(http.StatusOK)
		owner.post(path+"/answer", answer).wantProblem(http.StatusConflict, "approval_decided")
		waitFor(t, "the attempt to deliver the answer", func() bool {
			q = decode[approval.Question](owner.get(path).want(http.StatusOK))
			return q.Delivery == approval.Due && strings.Contains(q.DeliveryNote, "held")
		})
		s.stop()
		s = h.start().connected()
		owner = owner.at(s)
		owner.releaseCTO()
		waitFor(t, "the delivery", func() bool {
			return decode[approval.Question](owner.get(path).want(http.StatusOK)).Delivery == approval.Sent
		})
		name := decode[struct{ Name string }](owner.get("/api/v1/auth/me")).Name
		var list []transcript.Message
		waitFor(t, "the agent's turn", func() bool {
			list = owner.messages("agent:cto:main")
			return len(list) == 2
		})
		if text := said(list[0]); !strings.Contains(text, "> Where shall I deploy?") || !strings.Contains(text, name+" answers: Production, but only at night") || textOf(list[0].Sender) != name {
			t.Errorf("the agent reads %q from %q", text, textOf(list[0].Sender))
		}
		comments := decode[[]task.Comment](owner.get("/api/v1/tasks/" + key + "/comments").want(http.StatusOK))
		if len(comments) != 1 || comments[0].AuthorName != name || !strings.HasSuffix(comments[0].Body, "Production, but only at night") {
			t.Errorf("the comments are %+v", comments)
		}
		if got := decode[approval.Question](agent.at(s).post("/api/v1/questions", body).want(http.StatusOK)); got.State != approval.Answered || got.By.Name != name {
			t.Errorf("the agent reads %+v", got)
		}
	})
}
