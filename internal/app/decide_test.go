package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// A person decides about an escalation, the agent acts, and the person reviews the result. The next
// standup tells of the decision.
func TestFromEscalationToDone(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto")
		agent := s.login("cto@example.com")
		made := owner.handed("cto", "Renew it")
		at := "/api/v1/tasks/" + made.Key
		report := func(kind, text string) {
			agent.post(at+"/reports", map[string]any{"kind": kind, "text": text}).want(http.StatusOK)
		}
		report("blocker", "No card")
		h.runtime.Answer("cto", func(demo.Question) string { return "Yesterday: a\nToday: b\nBlockers: " + made.Key + " has no card" })
		h.runtime.Answer("coo", func(demo.Question) string {
			return `{"summary": "One escalation.", "escalations": [{"title": "Pay the card", "detail": "It expired.", "blocker": 1}]}`
		})
		first := owner.hold(owner.open().ID)
		if items := owner.inboxOf(inbox.Escalation, "open"); len(items) != 1 || items[0].Subject.Name != made.Key {
			t.Fatalf("the inbox has %+v", items)
		}

		told, goOn := make(chan demo.Question, 5), make(chan struct{})
		h.runtime.Answer("cto", func(q demo.Question) string {
			told <- q
			<-goOn
			report("done", "Renewed.")
			return "It is renewed."
		})
		body := map[string]any{"text": "Use the new card.", "dispatch": true}
		for n := range 3 {
			a := owner.send(http.MethodPost, at+"/decide", body, "Idempotency-Key", "k-1").want(http.StatusOK)
			if got := decode[task.Task](a); got.Blocked != nil || got.Dispatch == nil || got.Comments != 1 || a.header.Get("Idempotency-Replayed") != map[bool]string{true: "true"}[n > 0] {
				t.Errorf("request %d: %s %+v", n, a.header.Get("Idempotency-Replayed"), got)
			}
		}
		q := <-told
		if !strings.Contains(q.Message, "who sent you this task, adds:\nUse the new card.\n") || strings.Contains(q.Message, "blocked:") {
			t.Errorf("the agent was told:\n%s", q.Message)
		}
		items := owner.inboxOf(inbox.Escalation, "resolved")
		if len(items) != 1 || items[0].Resolution.Note != "Use the new card." || items[0].Resolution.By.Name != nameOf(owner) {
			t.Errorf("resolved are %+v", items)
		}
		if m := decode[meeting](owner.get("/api/v1/standups/" + first.ID).want(http.StatusOK)); m.Blockers[0].Status != standup.BlockerEnded || *m.Blockers[0].EndedWhy != "decided" {
			t.Errorf("the blocker is %+v", m.Blockers[0])
		}

		// While the agent works, another dispatch is refused with everything else.
		before := owner.task(made.Key)
		owner.post(at+"/decide", body).wantProblem(http.StatusConflict, "already_dispatched")
		if is := owner.task(made.Key); is.Version != before.Version || is.Comments != 1 {
			t.Errorf("the refused decision made %+v", is)
		}
		close(goOn)
		if is := owner.becomes(made.Key, task.Ended); is.Status != task.Review {
			t.Errorf("the agent moved it to %s", is.Status)
		}
		agent.post(at+"/approve", nil).wantProblem(http.StatusForbidden, "forbidden")
		owner.post(at+"/send-back", map[string]any{"text": "Not for the new domain."}).want(http.StatusOK)
		if again := <-told; again.SessionKey != q.SessionKey || again.RunID == q.RunID || !strings.Contains(again.Message, "adds:\nNot for the new domain.\n") {
			t.Errorf("sent back in %s: %s", again.SessionKey, again.Message)
		}
		waitFor(t, "the second report", func() bool { return owner.becomes(made.Key, task.Ended).Status == task.Review })
		if is := decode[task.Task](owner.post(at+"/approve", nil).want(http.StatusOK)); is.Status != task.Done || is.DoneAt == nil {
			t.Errorf("approved: %+v", is)
		}
		owner.post(at+"/approve", nil).wantProblem(http.StatusConflict, "task_not_in_review")

		h.runtime.Answer("cto", func(q demo.Question) string { told <- q; return "Yesterday: a\nToday: b\nBlockers: none" })
		tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
		second := owner.hold(decode[meeting](owner.post("/api/v1/standups", map[string]any{"date": tomorrow}).want(http.StatusCreated)).ID)
		if len(second.Decisions) != 1 || second.Decisions[0].Text != "Use the new card." || second.Decisions[0].By != nameOf(owner) || len(second.Blockers) != 0 {
			t.Errorf("the next standup has %+v and the blockers %+v", second.Decisions, second.Blockers)
		}
		if q := <-told; !strings.Contains(q.Message, "about "+made.Key+" (Renew it), which is unblocked: Use the new card.") {
			t.Errorf("the next standup asks:\n%s", q.Message)
		}
	})
}
