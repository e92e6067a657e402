package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/transcript"
)

const ctoPath = "/api/v1/agentrt/sessions/" + cto

// atWork keeps the CTO busy until the test ends.
func (s *service) atWork() {
	s.house.t.Helper()
	s.house.runtime.Silence("cto", true)
	s.ask("run-1", cto, "What is next?")
	owner := s.login(ownerEmail)
	waitFor(s.house.t, "the run", func() bool { return owner.get(ctoPath).status == http.StatusOK && owner.session(cto).Active })
}

// A message must be delivered exactly once: an agent that gets it twice works twice.
func TestSendToSession(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		s.ask("run-1", cto, "What is next?")
		s.answered("run-1")
		send := func(text string, headers ...string) answer {
			return owner.send(http.MethodPost, ctoPath+"/messages", map[string]string{"text": text}, headers...)
		}
		asked := h.runtime.Asked("cto")
		first := send("Please go on.", "Idempotency-Key", "one").want(http.StatusAccepted)
		sent := decode[session.Sent](first)
		s.answered(sent.RunID)
		again := send("Please go on.", "Idempotency-Key", "one").want(http.StatusAccepted)
		if again.header.Get("Idempotency-Replayed") != "true" || decode[session.Sent](again) != sent || h.runtime.Asked("cto") != asked+1 {
			t.Errorf("repeated: %s; the agent was asked %d times", again.body, h.runtime.Asked("cto")-asked)
		}
		send("Something else.", "Idempotency-Key", "one").wantProblem(http.StatusConflict, "idempotency_conflict")
		for _, text := range []string{"  ", "/reset", " /new", "\ufeff/reset", "\u200b \u0001/new", "\u200b", "Stop.", "please  STOP!"} {
			send(text).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
		}
		owner.post("/api/v1/agentrt/sessions/agent:cto:nobody/messages", map[string]string{"text": "Hello"}).wantProblem(http.StatusNotFound, "session_not_found")
		if n := h.runtime.Asked("cto"); n != asked+1 {
			t.Errorf("refused messages were sent %d times", n-asked-1)
		}
		newest := decode[[]transcript.Message](owner.get(ctoPath + "/messages?limit=2").want(http.StatusOK))
		if len(newest) != 2 || said(newest[0]) != "Please go on." || newest[1].RunID == nil || *newest[1].RunID != sent.RunID || *newest[1].StopReason != "stop" {
			t.Errorf("the session has %s", first.body)
		}
		told := decode[[]event.Event](owner.get("/api/v1/activity?subject_kind=session&subject_id=" + cto).want(http.StatusOK))
		if len(told) != 1 || told[0].Kind != "session.message_sent" || told[0].Actor.Name == "" || !strings.Contains(string(told[0].Data), sent.RunID) || strings.Contains(string(told[0].Data), "Please") {
			t.Errorf("the event is %+v", told)
		}
	})
}

// If it is unknown whether a message arrived, the error says so and how to send it safely
// again.
func TestSendInDoubt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayTimeoutMS = "5000" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.ask("run-1", cto, "What is next?")
	s.answered("run-1")
	send := func() answer {
		return owner.send(http.MethodPost, ctoPath+"/messages", map[string]string{"text": "Go on."}, "Idempotency-Key", "one")
	}
	waitFor(t, "the session", func() bool { return owner.get(ctoPath).status == http.StatusOK })
	asked := h.runtime.Asked("cto")
	h.runtime.Hang("chat.send", true)
	doubt := decode[struct {
		MaybeSent bool   `json:"maybe_sent"`
		RunID     string `json:"run_id"`
		Detail    string
	}](send().wantProblem(http.StatusGatewayTimeout, "gateway_timeout"))
	if !doubt.MaybeSent || doubt.RunID == "" || !strings.Contains(doubt.Detail, "Idempotency-Key") {
		t.Errorf("the error is %+v", doubt)
	}
	h.runtime.Hang("chat.send", false)
	waitFor(t, "the connection", func() bool { return owner.get(ctoPath).status == http.StatusOK })
	if got := decode[session.Sent](send().want(http.StatusAccepted)); got.RunID != doubt.RunID || h.runtime.Asked("cto") != asked+1 {
		t.Errorf("%+v, and the agent was asked %d times", got, h.runtime.Asked("cto")-asked)
	}
	h.runtime.Hang("sessions.abort", true)
	stopped := decode[struct {
		Maybe bool `json:"maybe_stopped"`
	}](owner.post(ctoPath+"/stop", nil).wantProblem(http.StatusGatewayTimeout, "gateway_timeout"))
	h.runtime.Hang("sessions.abort", false)
	told := string(owner.get("/api/v1/audit?kind=session.*").want(http.StatusOK).body)
	if !stopped.Maybe || strings.Count(told, `"confirmed":false`) != 2 || strings.Count(told, `"confirmed":true`) != 1 {
		t.Errorf("the audit log has %s", told)
	}
	_ = h.runtime.Close()
	waitFor(t, "the loss of the connection", func() bool { return owner.get(ctoPath).status == http.StatusServiceUnavailable })
	owner.post(ctoPath+"/messages", map[string]string{"text": "Hello"}).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")
	owner.post(ctoPath+"/stop", nil).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")
}

// The audit log has who sent a message to an agent, even if the client disconnected
// before the answer.
func TestSendAndLeave(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.ask("run-1", cto, "What is next?")
	s.answered("run-1")
	waitFor(t, "the session", func() bool { return owner.get(ctoPath).status == http.StatusOK })
	for _, method := range []string{"chat.send", "sessions.abort"} {
		h.runtime.Hang(method, true)
		calls := h.runtime.Calls(method)
		ctx, leave := context.WithCancel(actor.With(t.Context(), actor.System))
		left := make(chan error, 1)
		go func() {
			var err error
			if method == "chat.send" {
				_, err = s.Sessions.Send(ctx, cto, "Go on.")
			} else {
				_, err = s.Sessions.Stop(ctx, cto, "")
			}
			left <- err
		}()
		waitFor(t, "the request at the runtime", func() bool { return h.runtime.Calls(method) > calls })
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", method, err)
		}
		h.runtime.Hang(method, false)
	}
	told := string(owner.get("/api/v1/audit?kind=session.*").want(http.StatusOK).body)
	if strings.Count(told, `"confirmed":false`) != 2 || !strings.Contains(told, "session.message_sent") || !strings.Contains(told, "session.stopped") {
		t.Errorf("the audit log has %s", told)
	}
}

// The runtime forgets its messages when it restarts. A repeated message must still be
// delivered only once.
func TestSendInDoubtAcrossARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayTimeoutMS = "5000" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.ask("run-1", cto, "What is next?")
	s.answered("run-1")
	waitFor(t, "the session", func() bool { return owner.get(ctoPath).status == http.StatusOK })
	send := func() answer {
		return owner.send(http.MethodPost, ctoPath+"/messages", map[string]string{"text": "Pay them."}, "Idempotency-Key", "one")
	}
	h.runtime.Hang("chat.send", true)
	doubt := decode[struct {
		RunID string `json:"run_id"`
	}](send().wantProblem(http.StatusGatewayTimeout, "gateway_timeout"))
	said := func() (n int) {
		for _, m := range decode[[]transcript.Message](owner.get(ctoPath + "/messages").want(http.StatusOK)) {
			if said(m) == "Pay them." {
				n++
			}
		}
		return n
	}
	waitFor(t, "the message", func() bool { return said() == 1 })
	h.runtime.Hang("chat.send", false)
	life := s.Gateway.Status().BootID
	h.runtime.Restart(0)
	waitFor(t, "the end of the restart", func() bool {
		is := s.Gateway.Status()
		return is.State == link.Connected && is.BootID != life && owner.get(ctoPath).status == http.StatusOK
	})
	if got := decode[session.Sent](send().want(http.StatusAccepted)); got.RunID != doubt.RunID {
		t.Errorf("sent %+v", got)
	}
	if n := said(); n != 1 {
		t.Errorf("the agent got the message %d times", n)
	}
}

// A user can stop an agent's run and sees whether it stopped.
func TestStopSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.atWork()
	s.ask("run-2", cto, "And then?")
	stop := func(body any) session.Stopped {
		return decode[session.Stopped](owner.post(ctoPath+"/stop", body).want(http.StatusOK))
	}
	if got := stop(map[string]string{"run_id": "another"}); got.Stopped || len(got.RunIDs) > 0 {
		t.Errorf("stopping an unknown run: %+v", got)
	}
	if got := stop(nil); !got.Stopped || fmt.Sprint(got.RunIDs) != "[run-1]" {
		t.Errorf("stopped %+v", got)
	}
	waitFor(t, "the end of the run", func() bool { return !owner.session(cto).Active })
	if got := stop(nil); got.Stopped {
		t.Errorf("stopping without a run returned %+v", got)
	}
	told := decode[[]event.Event](owner.get("/api/v1/activity?kind=session.stopped").want(http.StatusOK))
	if len(told) != 1 || told[0].Subject.ID != cto {
		t.Errorf("the event is %+v", told)
	}
}

// Clients that follow a session receive its messages, other clients do not, and following
// costs the gateway no extra requests.
func TestSessionTail(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.ask("run-1", cto, "What is next?")
	s.answered("run-1")
	waitFor(t, "the sessions", func() bool { return owner.get(ctoPath).status == http.StatusOK })
	// The key in the case in which the keys of task sessions are listed.
	live, other := owner.follow("/api/v1/events?session="+strings.ToUpper(cto)), owner.follow("/api/v1/events")
	live.until("agentrt.status", "connected")
	other.until("agentrt.status", "connected")
	calls := h.runtime.Calls("chat.history")
	if err := h.runtime.AppendLines(cto, demo.Line{Role: "user", Text: "Look."},
		demo.Line{Role: "assistant", Thinking: "Where?", Call: "c1", Tool: "ls", Args: map[string]any{"path": "."}},
		demo.Line{Role: "toolResult", Call: "c1", Tool: "ls", Text: strings.Repeat("file ", 9000)}, demo.Line{Role: "assistant", Text: "Seen."}); err != nil {
		t.Fatal(err)
	}
	var got []transcript.Message
	for len(got) < 4 {
		var n session.News
		if err := json.Unmarshal([]byte(live.until("session.message", cto)["data"]), &n); err != nil || n.Missed || n.Message == nil {
			t.Fatalf("%+v, %v", n, err)
		}
		if len(got) > 0 || said(*n.Message) == "Look." { // on a busy machine, the answer before may come first
			got = append(got, *n.Message)
		}
	}
	call, result := got[1].Blocks[1].Tool, got[2].Blocks[0].Tool
	if said(got[0]) != "Look." || *got[1].Blocks[0].Text != "Where?" || call.Status != "pending" || *call.Arguments != `{"path":"."}` || got[2].Role != "tool" ||
		*result.ID != *call.ID || result.ResultCut != 37_000 || said(got[3]) != "Seen." || got[3].CostUSD == nil || *got[3].Seq != *got[0].Seq+3 {
		t.Errorf("received %+v", got)
	}
	t.Run("too many messages at once are reported as missed", func(t *testing.T) {
		lines := make([]demo.Line, 200)
		for i := range lines {
			lines[i] = demo.Line{Role: "assistant", Text: fmt.Sprint("Line ", i)}
		}
		if err := h.runtime.AppendLines(cto, lines...); err != nil {
			t.Fatal(err)
		}
		live.until("session.message", `"missed":true`)
	})
	t.Run("so is a broken connection", func(*testing.T) {
		time.AfterFunc(0, h.runtime.Drop)
		live.until("session.message", `"missed":true`)
	})
	owner.post("/api/v1/tasks", map[string]string{"title": "Last"}).want(http.StatusCreated)
	for f := range other.frames {
		if f["event"] == "session.message" {
			t.Fatalf("a client that does not follow the session received %v", f)
		}
		if f["event"] == "task.created" {
			break
		}
	}
	if n := h.runtime.Calls("chat.history") - calls; n > 8 {
		t.Errorf("following cost %d reads of the session list", n)
	}
}
