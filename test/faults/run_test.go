package faults

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

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
