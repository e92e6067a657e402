package app_test

import (
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/archive"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

const ctoMessages = "/api/v1/agents/cto/messages"

func (c caller) messages(key string) []transcript.Message {
	c.house.t.Helper()
	return decode[[]transcript.Message](c.get("/api/v1/agentrt/sessions/" + key + "/messages").want(http.StatusOK))
}

// eve signs in a user who may only read.
func (s *service) eve(owner caller) caller {
	s.house.t.Helper()
	owner.post("/api/v1/users", map[string]any{"email": "eve@example.com", "name": "Eve", "password": password, "role": "user"}).want(http.StatusCreated)
	return s.login("eve@example.com")
}

func textOf(m *string) string {
	if m == nil {
		return ""
	}
	return *m
}

// A person can talk to an agent that has no session, and everyone sees who said what,
// also later in the archive.
func TestMessageAgent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		eve := s.eve(owner)
		h.runtime.Answer("cto", func(q demo.Question) string { return "Answer to " + q.Message })
		owner.get("/api/v1/agentrt/sessions/"+cto).wantProblem(http.StatusNotFound, "session_not_found")

		a := owner.send(http.MethodPost, ctoMessages, map[string]string{"text": "Hello"}, "Idempotency-Key", "one").want(http.StatusAccepted)
		first := decode[session.Sent](a)
		if first.Key != cto || !strings.HasSuffix(a.header.Get("Location"), "/agentrt/sessions/agent:cto:main/messages") {
			t.Errorf("sent %s to %s", a.body, a.header.Get("Location"))
		}
		s.answered(first.RunID)
		again := owner.send(http.MethodPost, ctoMessages, map[string]string{"text": "Hello"}, "Idempotency-Key", "one").want(http.StatusAccepted)
		if decode[session.Sent](again) != first {
			t.Errorf("repeated: %s", again.body)
		}
		second := decode[session.Sent](owner.post(ctoMessages, map[string]string{"text": "And more"}).want(http.StatusAccepted))
		s.answered(second.RunID)
		if second.Key != first.Key {
			t.Errorf("the second message went to %s", second.Key)
		}

		name := decode[struct{ Name string }](owner.get("/api/v1/auth/me")).Name
		list := eve.messages(cto)
		if len(list) != 4 || said(list[0]) != "Hello" || said(list[3]) != "Answer to And more" {
			t.Fatalf("the session has %+v", list)
		}
		for i, id := range []string{first.RunID, second.RunID} {
			m, answer := list[2*i], list[2*i+1]
			if textOf(m.Sender) != name || textOf(m.RunID) != id || m.Waiting != nil || m.Prompt != nil || answer.Sender != nil || textOf(answer.RunID) != id {
				t.Errorf("message %d is %+v, its answer %+v", i, m, answer)
			}
		}
		kept := owner.archived(cto, func(a archive.Archived) bool { return isWhole(a) && a.Messages == 4 })
		if old := eve.all("/api/v1/sessions/"+kept.ID, 10); len(old) != 4 || textOf(old[0].Sender) != name || textOf(old[2].Sender) != name || old[1].Sender != nil {
			t.Errorf("archived: %+v", old)
		}
		if textOf(kept.Kind) != "main" {
			t.Errorf("the kind is %q", textOf(kept.Kind))
		}
		eve.post(ctoMessages, map[string]string{"text": "Hello"}).wantProblem(http.StatusForbidden, "forbidden")
	})
}

// A message that can't reach an agent is refused with the reason.
func TestMessageAgentRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("former")
	for _, agent := range []string{"nobody", "former"} { // the second has only an account
		p := owner.post("/api/v1/agents/"+agent+"/messages", map[string]string{"text": "Hello"}).wantProblem(http.StatusNotFound, "agent_not_found")
		if !strings.Contains(string(p.body), agent) {
			t.Errorf("the error does not name %s: %s", agent, p.body)
		}
	}
	for _, bad := range []string{"", " ", "/reset", "stop"} {
		owner.post(ctoMessages, map[string]string{"text": bad}).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	}
	if n := h.runtime.Calls("chat.send"); n != 0 {
		t.Errorf("refused messages were sent %d times", n)
	}
	_ = h.runtime.Close()
	waitFor(t, "the loss of the connection", func() bool { return owner.get("/api/v1/agentrt/sessions").status == http.StatusServiceUnavailable })
	owner.post(ctoMessages, map[string]string{"text": "Hello"}).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")

	none := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" })
	none.start().login(ownerEmail).post(ctoMessages, map[string]string{"text": "Hello"}).wantProblem(http.StatusServiceUnavailable, "gateway_not_configured")
}

// A message to a working agent is visible to everyone until the agent reads it.
func TestMessageWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	eve := s.eve(owner)
	done := make(chan struct{})
	h.runtime.Answer("cto", func(q demo.Question) string {
		if q.RunID == "run-1" {
			<-done
		}
		return "Answer to " + q.Message
	})
	s.ask("run-1", cto, "What is next?")
	waitFor(t, "the run", func() bool { return owner.get(ctoPath).status == http.StatusOK && owner.session(cto).Active })
	sent := decode[session.Sent](owner.post(ctoMessages, map[string]string{"text": "One more thing"}).want(http.StatusAccepted))
	list := eve.messages(cto)
	last := list[len(list)-1]
	if len(list) != 2 || said(last) != "One more thing" || textOf(last.Waiting) != "queued" || textOf(last.RunID) != sent.RunID || textOf(last.Sender) == "" || last.Seq != nil || last.At == nil {
		t.Errorf("while it waits: %+v", list)
	}
	close(done)
	s.answered(sent.RunID)
	list = eve.messages(cto)
	if len(list) != 4 || said(list[2]) != "One more thing" || list[2].Waiting != nil || textOf(list[2].Sender) == "" {
		t.Errorf("after it was read: %+v", list)
	}
}

// Readers can tell Wardroom's prompts from people's messages, and a task that is sent again
// continues in its session.
func TestPromptsAreMarked(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		made := owner.handed("cto", "Ship it")
		key := "agent:cto:task:" + strings.ToLower(made.Key)
		for i, note := range []string{"By noon.", "Now the second half."} {
			owner.post("/api/v1/tasks/"+made.Key+"/dispatch", map[string]any{"note": note}).want(http.StatusAccepted)
			waitFor(t, "the end of the dispatch", func() bool {
				d := owner.task(made.Key).Dispatch
				return d != nil && d.State == task.Ended && len(owner.messages(key)) == 2*i+2
			})
		}
		for _, list := range [][]transcript.Message{
			owner.messages(key),
			owner.all("/api/v1/sessions/"+owner.archived(key, func(a archive.Archived) bool { return isWhole(a) && a.Messages == 4 }).ID, 10),
		} {
			if len(list) != 4 || textOf(list[0].Prompt) != "task" || textOf(list[2].Prompt) != "task" || list[1].Prompt != nil || list[0].Sender != nil {
				t.Fatalf("the session has %+v", list)
			}
			if !strings.Contains(said(list[0]), "By noon.") || !strings.Contains(said(list[2]), "Now the second half.") {
				t.Errorf("the notes are missing in %q and %q", said(list[0]), said(list[2]))
			}
		}
		if kind := owner.session(key).Kind; textOf(kind) != "task" {
			t.Errorf("the kind is %q", textOf(kind))
		}
	})
}
