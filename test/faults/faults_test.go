package faults

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

func sameJSON(t *testing.T, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
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
