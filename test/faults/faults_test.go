package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

func sameJSON(t *testing.T, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

// A slow agent doesn't answer before its delay has passed.
func TestDelay(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{Pace: 10 * time.Millisecond})
	r.Delay("cto", 40*time.Millisecond)
	c := join(t, r)
	for agent, least := range map[string]time.Duration{"cto": 50 * time.Millisecond, "cpo": 10 * time.Millisecond} {
		start := time.Now()
		c.ok("agent", question(agent, "run-"+agent, "hi"))
		c.wait("run-" + agent)
		if took := time.Since(start); took < least {
			t.Errorf("%s answered after %s, want at least %s", agent, took, least)
		}
	}
	r.Delay("", time.Hour)
	r.Delay("cto", time.Millisecond) // the agent's own setting wins
	c.ok("agent", question("cto", "again", "hi"))
	c.wait("again")
	r.Delay("", 0)
	c.ok("agent", question("cpo", "healed", "hi"))
	c.wait("healed")
}

// An abort ends a silent run, and turning Silence off affects only the next run.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("", true)
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	// The run becomes silent soon after it was accepted.
	for _, silent := range []bool{true, false} {
		r.Silence("", silent)
		if s := c.ok("agent.wait", object{"runId": "run-1", "timeoutMs": 100})["status"]; s != "timeout" {
			t.Fatalf("a silent agent answered: %v", s)
		}
	}
	c.ok("chat.abort", object{"sessionKey": "agent:cto:test"})
	c.ok("agent", question("cto", "run-2", "hi"))
	if s := c.wait("run-2")["status"]; s != "ok" {
		t.Errorf("after Silence was turned off: %v", s)
	}
}

// A failed run reports its reason, and other agents are not affected.
func TestFail(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Fail("cto", "out of credit")
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	if got := c.wait("run-1"); got["status"] != "error" || got["error"] != "out of credit" {
		t.Errorf("ended as %v", got)
	}
	c.ok("agent", question("cpo", "run-2", "hi"))
	if got := c.wait("run-2"); got["status"] != "ok" {
		t.Errorf("the other ended as %v", got)
	}
	r.Fail("cto", "")
	c.ok("agent", question("cto", "run-3", "hi"))
	if got := c.wait("run-3"); got["status"] != "ok" {
		t.Errorf("after Fail was turned off, it ended as %v", got)
	}
}

// A script receives the message to the agent.
func TestAnswer(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	asked := make(chan demo.Question, 1)
	r.Answer("cto", func(q demo.Question) string { asked <- q; return "Yesterday: x\nToday: y\nBlockers: None" })
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "What is new?"))
	if text := must[string](t, c.wait("run-1"), "terminalReply", "text"); !strings.HasPrefix(text, "Yesterday: x") {
		t.Errorf("answered %q", text)
	}
	got := <-asked
	if got.At.IsZero() {
		t.Error("the question has no time")
	}
	got.At = time.Time{}
	if diff := cmp.Diff(demo.Question{AgentID: "cto", SessionKey: "agent:cto:test", RunID: "run-1", Message: "What is new?"}, got); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
	r.Answer("cto", nil)
	c.ok("agent", question("cto", "run-2", "What is new?"))
	if text := must[string](t, c.wait("run-2"), "terminalReply", "text"); strings.HasPrefix(text, "Yesterday: x") {
		t.Errorf("without a script: %q", text)
	}
}

// A dropped connection ends without a close frame. Its run continues, and a new connection
// gets the answer.
func TestDrop(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	release := make(chan struct{})
	r.Answer("cto", func(demo.Question) string { <-release; return "still here" })
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	c.ask("agent.wait", object{"runId": "run-1", "timeoutMs": patience.Milliseconds()})
	boot := bootID(t, r)
	r.Drop()
	if code, _ := c.closed(); code != -1 {
		t.Errorf("closed with %d", code)
	}
	if r.Connections() != 0 {
		t.Errorf("%d connections are left", r.Connections())
	}
	close(release)
	if bootID(t, r) != boot {
		t.Error("dropping connections changed the boot id")
	}
	if text := must[string](t, join(t, r).wait("run-1"), "terminalReply", "text"); text != "still here" {
		t.Errorf("answered %q", text)
	}
}

// bootID connects again and returns the current boot id.
func bootID(t *testing.T, r *Runtime) string {
	t.Helper()
	c := dial(t, r, nil)
	return must[string](t, c.ok("connect", hello(nil)), "server", "bootId")
}

// A restart changes the boot id, discards runs and idempotency keys, and keeps transcripts.
// The question of an active run stays unanswered. A queued run leaves nothing, and its
// caller is told.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	before := bootID(t, r)
	c := join(t, r)
	c.ok("agent", question("cto", "done", "hi"))
	c.wait("done")
	r.Silence("cto", true)
	lost := c.ask("agent", question("cto", "lost", "hi"))
	c.answer(lost, 0)
	queued := c.ask("agent", question("cto", "queued", "hi"))
	c.answer(queued, 0)
	waiting := c.ask("agent.wait", object{"runId": "queued", "timeoutMs": patience.Milliseconds()})
	c.ok("health", object{}) // the wait has been registered
	r.Restart(0)
	if code, reason := c.closed(); code != 1012 || reason != "service restart" {
		t.Errorf("closed with %d %q", code, reason)
	}
	sameShape(t, "shutdown", recording(t, "responses.json", "shutdown restarting"), last(c.seen()))
	drained := c.answered(waiting)
	sameShape(t, "draining", recording(t, "responses.json", "agent.wait draining"), drained)
	if must[string](t, drained, "payload", "error") != "Gateway is draining; new tasks are not accepted" {
		t.Errorf("the queued run ended as %v", drained)
	}
	if second := c.answered(lost); must[string](t, second, "payload", "status") != "accepted" {
		t.Errorf("the lost run was answered: %v", second)
	}
	r.Silence("cto", false)
	if bootID(t, r) == before {
		t.Error("the boot id is the same")
	}
	c = join(t, r)
	h := c.ok("chat.history", object{"sessionKey": "agent:cto:test"})
	keys := []string{}
	for _, row := range must[[]any](t, h, "messages") {
		keys = append(keys, dig[string](row, "idempotencyKey"))
	}
	if diff := cmp.Diff([]string{"done:user", "", "lost:user"}, keys); diff != "" {
		t.Errorf("transcript:\n%s", diff)
	}
	if must[bool](t, h, "sessionInfo", "hasActiveRun") || h["inFlightRun"] != nil {
		t.Error("an interrupted run is still listed as active")
	}
	for _, run := range []string{"done", "lost", "queued"} {
		if s := c.ok("agent.wait", object{"runId": run, "timeoutMs": 1})["status"]; s != "timeout" {
			t.Errorf("run %s is still stored: %v", run, s)
		}
	}
	if s := c.ok("agent", question("cto", "lost", "hi"))["status"]; s != "accepted" {
		t.Errorf("the idempotency key is still stored: %v", s)
	}
	if s := c.wait("lost")["status"]; s != "ok" {
		t.Errorf("repeated: %v", s)
	}
}

func last[T any](list []T) T { return list[len(list)-1] }

// answered returns the last response to a request among the frames so far, without waiting.
func (c *client) answered(id string) object {
	c.t.Helper()
	for i := len(c.seen()) - 1; i >= 0; i-- {
		if f := c.seen()[i]; f["type"] == "res" && f["id"] == id {
			return f
		}
	}
	c.t.Fatalf("%s was never answered", id)
	return nil
}

// No client can connect during a restart.
func TestRestartDown(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	r.Restart(time.Hour)
	if code, _ := c.closed(); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL(), "http://"))
	if err == nil {
		_ = conn.Close()
		t.Error("the port answers during the restart")
	}
	r.Restart(0) // the port is already closed
}

// After a restart, clients can connect at the same address.
func TestRestartUp(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Restart(5 * time.Millisecond)
	eventually(t, "the port answers", func() bool {
		ws, resp, err := websocket.Dial(t.Context(), r.URL(), nil)
		if err != nil {
			return false
		}
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		_ = ws.CloseNow()
		return true
	})
	join(t, r)
}

// Close notifies the clients and leaves nothing behind, even while the port is down, while
// agents think, or when called twice.
func TestClose(t *testing.T) {
	t.Parallel()
	t.Run("with clients and runs", func(t *testing.T) {
		r := open(t, demo.Options{Pace: time.Hour})
		c := join(t, r)
		c.ok("agent", question("cto", "run-1", "hi"))
		c.ask("agent.wait", object{"runId": "run-1", "timeoutMs": time.Hour.Milliseconds()})
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		if code, reason := c.closed(); code != 1012 || reason != "service restart" {
			t.Errorf("closed with %d %q", code, reason)
		}
		sameShape(t, "shutdown", recording(t, "responses.json", "shutdown stopping"), last(c.seen()))
		r.Restart(0)
		r.Drop()
	})
	t.Run("during a restart", func(t *testing.T) {
		r := open(t, demo.Options{})
		r.Restart(time.Hour)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := Start(ctx, demo.Options{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		c := join(t, r)
		cancel()
		if code, _ := c.closed(); code != 1012 {
			t.Errorf("closed with %d", code)
		}
		_ = r.Close() // waits for the shutdown that the context started
	})
	t.Run("with a peer that does not read", func(t *testing.T) {
		r := open(t, demo.Options{}, func(p *demo.Timing) { p.Linger = 20 * time.Millisecond })
		ws, resp, err := websocket.Dial(t.Context(), r.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body != nil {
			defer resp.Body.Close()
		}
		defer ws.CloseNow()
		start := time.Now()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("closing took %s", took)
		}
	})
}

// Invalid options are refused at the start.
func TestOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]demo.Options{
		"no token":       {},
		"repeated agent": {Token: token, Agents: []demo.Agent{{ID: "a"}, {ID: "a"}}},
		"colon in an id": {Token: token, Agents: []demo.Agent{{ID: "a:b"}}},
		"no address":     {Token: token, Addr: "127.0.0.1:-1"},
	} {
		if r, err := Start(t.Context(), o); err == nil {
			_ = r.Close()
			t.Errorf("%s: started", name)
		}
	}
	mine := []demo.Agent{{ID: "solo"}}
	r := open(t, demo.Options{Agents: mine})
	if mine[0].Name != "" {
		t.Error("Start changed the caller's agents")
	}
	row := must[object](t, must[[]any](t, join(t, r).ok("agents.list", object{}), "agents")[0])
	if row["name"] != "solo" {
		t.Errorf("the agent is called %v", row["name"])
	}
}

// Concurrent clients, faults and runs must not race.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{Pace: time.Millisecond})
	type asked struct {
		c  *client
		id string
	}
	var all []asked
	for _, agent := range []string{"coo", "cto", "cpo", "cmo"} {
		c := join(t, r)
		c.ok("sessions.subscribe", object{})
		for i := range 5 {
			all = append(all, asked{c, c.ask("agent", question(agent, fmt.Sprintf("%s-%d", agent, i), "Daily standup, please."))})
		}
	}
	for i := range 50 {
		agent := []string{"", "coo", "cto"}[i%3]
		r.Delay(agent, time.Duration(i%3)*time.Millisecond)
		r.Fail(agent, strings.Repeat("x", i%2))
		_, _, _ = r.Asked(""), r.Calls("agent"), r.Connections()
	}
	for _, a := range all {
		a.c.answer(a.id, 1)
	}
	if r.Asked("") != len(all) {
		t.Errorf("%d asked, want %d", r.Asked(""), len(all))
	}
}
