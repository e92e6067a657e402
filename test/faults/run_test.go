package faults

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// A wait that is too short and a wait for an unknown run give the same result: a timeout
// without an end. The run continues.
func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	for run, rec := range map[string]string{"run-1": "agent.wait timeout", "no-such-run": "agent.wait unknown run"} {
		got := c.call("agent.wait", object{"runId": run, "timeoutMs": 5})
		want := must[object](t, recording(t, "responses.json", rec), "payload")
		want["runId"] = run
		if diff := cmp.Diff(want, got["payload"]); diff != "" {
			t.Errorf("%s (-recorded +got):\n%s", rec, diff)
		}
	}
	row := must[object](t, must[[]any](t, c.ok("sessions.list", object{}), "sessions")[0])
	if row["hasActiveRun"] != true || row["status"] != "running" {
		t.Errorf("the row says %v %v", row["hasActiveRun"], row["status"])
	}
	// While a run is active, its id is not in the row, so clients must not rely on it.
	sameShape(t, "row", must[[]any](t, recording(t, "responses.json", "sessions.list while running"), "payload", "sessions")[0], row, "/lastActivityAt")
	if id := must[string](t, c.ok("chat.history", object{"sessionKey": "agent:cto:test"}), "inFlightRun", "runId"); id != "run-1" {
		t.Errorf("in flight is %s", id)
	}
}

// A wait that starts before its run is answered when the run ends.
func TestWaitBefore(t *testing.T) {
	t.Parallel()
	c := join(t, open(t, demo.Options{}))
	id := c.ask("agent.wait", object{"runId": "run-1", "timeoutMs": patience.Milliseconds()})
	c.ok("agent", question("cto", "run-1", "hi"))
	if s := must[string](t, c.answer(id, 0), "payload", "status"); s != "ok" {
		t.Errorf("status is %s", s)
	}
}

// A repeated idempotency key never starts a second run: it answers in_flight while the run
// is active, then the same result for five minutes.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).UnixMilli())
	r := open(t, demo.Options{Now: func() time.Time { return time.UnixMilli(now.Load()) }})
	release := make(chan struct{})
	r.Answer("cto", func(demo.Question) string { <-release; return "done" })
	c := join(t, r)
	first := c.ask("agent", question("cto", "run-1", "Daily standup please"))
	c.answer(first, 0)
	sameShape(t, "duplicate", recording(t, "responses.json", "agent duplicate idempotencyKey"), c.call("agent", question("cto", "run-1", "other text")))
	close(release)
	want := c.answer(first, 1)
	got := c.call("agent", question("cto", "run-1", "other text"))
	if diff := cmp.Diff(want["payload"], got["payload"]); diff != "" {
		t.Errorf("the repeated answer differs (-first +again):\n%s", diff)
	}
	now.Add((5 * time.Minute).Milliseconds())
	if s := must[string](t, c.call("agent", question("cto", "run-1", "x")), "payload", "status"); s != "ok" {
		t.Errorf("after exactly five minutes: %s", s)
	}
	now.Add(1)
	if s := c.ok("agent.wait", object{"runId": "run-1", "timeoutMs": 1})["status"]; s != "timeout" {
		t.Errorf("a wait for an expired run: %v", s)
	}
	if s := must[string](t, c.call("agent", question("cto", "run-1", "x")), "payload", "status"); s != "accepted" {
		t.Errorf("after five minutes: %s", s)
	}
	eventually(t, "two runs", func() bool { return r.Asked("cto") == 2 })
}

// A failure is kept like an answer.
func TestIdempotentFailure(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Fail("", "LLM request failed.")
	c := join(t, r)
	id := c.ask("agent", question("cto", "run-1", "hi"))
	first := c.answer(id, 1)
	r.Fail("", "")
	again := c.call("agent", question("cto", "run-1", "hi"))
	if diff := cmp.Diff(without(first, "id"), without(again, "id")); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	if must[string](t, c.wait("run-1"), "status") != "error" || r.Asked("") != 1 {
		t.Errorf("asked %d times", r.Asked(""))
	}
}

// A session answers one question at a time, independently of other sessions.
func TestQueue(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	step := make(chan struct{})
	r.Answer("cto", func(q demo.Question) string { <-step; return "to " + q.Message })
	c := join(t, r)
	for i := range 3 {
		c.ok("agent", question("cto", fmt.Sprintf("run-%d", i), fmt.Sprintf("question %d", i)))
	}
	c.ok("agent", question("cpo", "other", "hi"))
	c.wait("other")
	if r.Asked("cto") != 1 {
		t.Fatalf("%d runs of one session at once", r.Asked("cto"))
	}
	for i := range 3 {
		step <- struct{}{}
		got := must[string](t, c.wait(fmt.Sprintf("run-%d", i)), "terminalReply", "text")
		if want := fmt.Sprintf("to question %d", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	rows := must[[]any](t, c.ok("chat.history", object{"sessionKey": "agent:cto:test"}), "messages")
	order := []string{}
	for _, row := range rows {
		order = append(order, must[string](t, row, "role"))
	}
	if diff := cmp.Diff([]string{"user", "assistant", "user", "assistant", "user", "assistant"}, order); diff != "" {
		t.Errorf("transcript:\n%s", diff)
	}
}

// Only the owner of a run or an admin may abort it. The task ledger lists it for all
// clients unless it was started with chat.send.
func TestAbortOfOthers(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	c := join(t, r)
	for i := range 3 {
		c.ok("agent", question("cto", fmt.Sprintf("run-%d", i), "hi"))
	}
	c.ok("chat.send", object{"sessionKey": "agent:cto:test", "message": "hi", "idempotencyKey": "sent"})
	other := join(t, r)
	for _, params := range []object{{"sessionKey": "agent:cto:test"}, {"sessionKey": "agent:cto:test", "runId": "run-1"}} {
		want := map[string]any{"code": "INVALID_REQUEST", "message": "unauthorized"}
		if diff := cmp.Diff(want, other.call("chat.abort", params)["error"]); diff != "" {
			t.Errorf("aborted other clients' runs:\n%s", diff)
		}
	}
	ids := func() (runs, tasks []string) {
		for _, task := range must[[]any](t, other.ok("tasks.list", object{"sessionKey": "agent:cto:test", "status": []string{"queued", "running"}}), "tasks") {
			runs, tasks = append(runs, must[string](t, task, "runId")), append(tasks, must[string](t, task, "taskId"))
		}
		return runs, tasks
	}
	runs, tasks := ids()
	slices.Sort(runs)
	if diff := cmp.Diff([]string{"run-0", "run-1", "run-2"}, runs); diff != "" {
		t.Errorf("the ledger:\n%s", diff)
	}
	for _, id := range tasks {
		if got := other.ok("tasks.cancel", object{"taskId": id}); got["cancelled"] != true || must[string](t, got, "task", "status") != "cancelled" {
			t.Errorf("cancelled: %v", got)
		}
	}
	if w := other.wait("run-1"); w["status"] != "error" || w["stopReason"] != "rpc" {
		t.Errorf("the run ended as %v", w)
	}
	if got := other.ok("tasks.cancel", object{"taskId": tasks[0]}); got["found"] != false {
		t.Errorf("cancelled twice: %v", got)
	}
	if got := c.ok("chat.abort", object{"sessionKey": "agent:cto:test"}); got["aborted"] != true {
		t.Errorf("the message was not aborted: %v", got)
	}
}

// Aborting a session stops its active and queued runs, and no queued run starts.
func TestAbortQueue(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	c := join(t, r)
	for i := range 3 {
		c.ok("agent", question("cto", fmt.Sprintf("run-%d", i), "hi"))
	}
	one := c.ok("chat.abort", object{"sessionKey": "agent:cto:test", "runId": "run-1"})
	if diff := cmp.Diff([]any{"run-1"}, one["runIds"]); diff != "" {
		t.Errorf("aborted:\n%s", diff)
	}
	if w := c.wait("run-1"); w["status"] != "error" || w["stopReason"] != "rpc" || w["startedAt"] != nil {
		t.Errorf("the queued run ended as %v", w)
	}
	all := c.ok("chat.abort", object{"sessionKey": "agent:cto:test"})
	if diff := cmp.Diff([]any{"run-0", "run-2"}, all["runIds"]); diff != "" {
		t.Errorf("aborted:\n%s", diff)
	}
	sameShape(t, "nothing", recording(t, "responses.json", "chat.abort nothing"), c.call("chat.abort", object{"sessionKey": "agent:cto:test"}))
	if c.ok("chat.abort", object{"sessionKey": "agent:nobody:x"})["aborted"] != false {
		t.Error("aborted in an unknown session")
	}
	if r.Asked("cto") != 1 {
		t.Errorf("%d runs were started", r.Asked("cto"))
	}
}

// sessions.abort stops a session's active and queued runs and those of its sub-agents, and names
// the active one.
func TestAbortSession(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	c, other := join(t, r), join(t, r)
	abort := func() map[string]any {
		return c.ok("sessions.abort", object{"key": "agent:CTO:test", "clearQueued": true})
	}
	for i := range 2 {
		c.ok("agent", question("cto", fmt.Sprintf("run-%d", i), "hi"))
	}
	if got := other.call("sessions.abort", object{"key": "agent:cto:test"}); must[string](t, got, "error", "message") != "unauthorized" {
		t.Errorf("another client: %v", got)
	}
	child := demo.Prompt{SessionKey: "agent:cto:subagent:1", Parent: "agent:cto:test", RunID: "child", Message: "hi"}
	for _, want := range []object{{"ok": true, "abortedRunId": "run-0", "status": "aborted"}, {"ok": true, "abortedRunId": nil, "status": "aborted"}} {
		if err := r.Prompt(child); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, abort()); diff != "" {
			t.Errorf("aborted (-want +got):\n%s", diff)
		}
		child.RunID += "-2"
	}
	if got := abort(); got["status"] != "no-active-run" {
		t.Errorf("with nothing to stop: %v", got)
	}
	if tasks := must[[]any](t, other.ok("tasks.list", object{"status": []string{"queued", "running"}}), "tasks"); len(tasks) > 0 {
		t.Errorf("still running: %v", tasks)
	}
}

// Every token is counted, and prices are exact: per message, per run, per session and in
// total.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Answer("", func(demo.Question) string { return strings.Repeat("word", 10) }) // 10 tokens
	c := join(t, r)
	ask := func(agent, run string) object {
		id := c.ask("agent", question(agent, run, "What is new?")) // 3 tokens
		return c.answer(id, 1)
	}
	// A context of 7000 is written to the cache: 7000×3.75 + 3×3 + 10×15 = 26409 millionths
	// of a dollar.
	first := must[object](t, ask("cto", "1"), "payload", "result", "meta", "agentMeta")
	if v := must[float64](t, first, "costUsd"); v != 0.026409 {
		t.Errorf("the first run cost %v", v)
	}
	// Then it is read from the cache: 7000×0.3 + 13×3.75 + 9 + 150 = 2307.75.
	second := must[object](t, ask("cto", "2"), "payload", "result", "meta", "agentMeta")
	if diff := cmp.Diff(object{
		"input": 3.0, "output": 10.0, "cacheRead": 7000.0, "cacheWrite": 13.0, "total": 7026.0, "cost": object{"total": 0.00230775},
	}, second["usage"]); diff != "" {
		t.Errorf("the second run (-want +got):\n%s", diff)
	}
	ask("cmo", "3") // at a third of the price: 0.008803
	r.Fail("cto", "no")
	ask("cto", "4") // free
	rows := must[[]any](t, c.ok("chat.history", object{"sessionKey": "agent:cto:test"}), "messages")
	if v := must[float64](t, rows[1], "usage", "cost", "total"); v != 0.026409 {
		t.Errorf("the message cost %v", v)
	}
	if k := must[string](t, rows[2], "idempotencyKey"); k != "2:user" {
		t.Errorf("the question's key is %s", k)
	}
	if id := must[string](t, rows[3], "__openclaw", "runId"); id != "2" {
		t.Errorf("the answer is of run %s", id)
	}
	all := c.ok("sessions.usage", object{"agentScope": "all", "mode": "utc"})
	total := 0.0
	for _, row := range must[[]any](t, all, "sessions") {
		total += must[float64](t, row, "usage", "totalCost")
	}
	if math.Abs(total-0.03751975) > 1e-12 {
		t.Errorf("in all: %v", total)
	}
	if n := len(must[[]any](t, c.ok("sessions.usage", object{}), "sessions")); n != 0 {
		t.Errorf("the default agent has %d sessions", n)
	}
}

// If the board can't be read, the run fails.
func TestBoardError(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{Board: func(context.Context, string) ([]demo.Task, error) { return nil, context.DeadlineExceeded }})
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "standup"))
	if got := c.wait("run-1"); got["status"] != "error" || !strings.Contains(must[string](t, got, "error"), "board") {
		t.Errorf("ended as %v", got)
	}
}

// An answer can be empty.
func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Answer("cto", func(demo.Question) string { return "" })
	c := join(t, r)
	id := c.ask("agent", question("cto", "run-1", "standup"))
	if n := len(must[[]any](t, c.answer(id, 1), "payload", "result", "payloads")); n != 0 {
		t.Errorf("%d payloads", n)
	}
	if got := c.wait("run-1"); must[string](t, got, "terminalReply", "disposition") != "empty" || got["status"] != "ok" {
		t.Errorf("ended as %v", got)
	}
}
