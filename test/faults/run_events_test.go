package faults

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// label returns a short name of an event, to compare sequences of events.
func label(f object) string {
	p := dig[object](f, "payload")
	switch name := dig[string](f, "event"); name {
	case "agent":
		return strings.TrimSpace("agent " + dig[string](p, "stream") + " " + dig[string](p, "data", "phase"))
	case "chat":
		return "chat " + dig[string](p, "state")
	case "task":
		return "task " + dig[string](p, "task", "status")
	case "sessions.changed":
		return "sessions " + dig[string](p, "reason") + dig[string](p, "phase")
	case "session.message":
		return "message " + dig[string](p, "message", "role")
	default:
		return name
	}
}

// eventLabels returns the labels of the events so far.
func (c *client) eventLabels() (out []string) {
	for _, f := range c.seen() {
		if f["type"] == "event" && f["event"] != "connect.challenge" {
			out = append(out, label(f))
		}
	}
	return out
}

// settled waits for the last event of n runs.
func (c *client) settled(n int) {
	c.t.Helper()
	c.until("the end of the run", n-1, func(f object) bool {
		return f["event"] == "sessions.changed" && label(f) == "sessions agent.input.settled"
	})
}

var begin = []string{
	"sessions create", "task running", "sessions send", "task running",
	"sessions agent.run.started", "agent lifecycle start", "task running", "message user", "sessions start",
}

// An answered run has two responses, and its events have the recorded order and shapes.
func TestAnswered(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	id := c.ask("agent", question("cto", "run-1", "Daily standup please"))
	sameShape(t, "accepted", recording(t, "responses.json", "agent start"), c.answer(id, 0))
	sameShape(t, "wait", recording(t, "responses.json", "agent.wait ok"), c.call("agent.wait", object{"runId": "run-1", "timeoutMs": 30000}))
	second := c.answer(id, 1)
	sameShape(t, "second response", recording(t, "responses.json", "agent cached"), second)
	sameShape(t, "wait again", recording(t, "responses.json", "agent.wait ok"), c.call("agent.wait", object{"runId": "run-1"}))
	c.settled(1)
	want := slices.Concat(begin, []string{
		"agent lifecycle model", "agent assistant", "chat delta", "sessions model", "task running", "agent assistant",
		"message assistant", "agent lifecycle finishing", "task running", "agent lifecycle model",
		"task running", "agent lifecycle end", "chat delta", "chat final", "sessions model", "sessions end",
		"task completed", "sessions agent.input.settled",
	})
	if diff := cmp.Diff(want, c.eventLabels()); diff != "" {
		t.Errorf("order of the events (-recorded +got):\n%s", diff)
	}
	for name, l := range map[string]string{
		"agent.lifecycle.start": "agent lifecycle start", "agent.lifecycle.model": "agent lifecycle model",
		"agent.assistant": "agent assistant", "finishing ok": "agent lifecycle finishing",
		"end ok": "agent lifecycle end", "chat.delta": "chat delta", "chat.final": "chat final",
		"task.cli.running": "task running", "task.cli.completed": "task completed",
	} {
		sameShape(t, name, recording(t, "events.json", name), c.until(l, 0, func(f object) bool { return label(f) == l }))
	}
	for name, l := range map[string]string{
		"session.message.user": "message user", "session.message.assistant": "message assistant",
		"sessions.changed.send": "sessions send", "sessions.changed.start": "sessions start", "sessions.changed.end": "sessions end",
	} {
		got := c.until(l, 0, func(f object) bool { return label(f) == l })
		want := recording(t, "events.json", name)
		// The recorded events repeat the session's members here, where the client does not read them.
		maps.DeleteFunc(must[object](t, want, "payload"), func(k string, _ any) bool { return !slices.Contains(ofEvent, k) })
		if dig[object](want, "payload", "session") == nil {
			delete(must[object](t, got, "payload"), "session") // compared elsewhere
		}
		sameShape(t, name, want, got, newSession...)
	}
	text := must[string](t, second, "payload", "result", "meta", "finalAssistantVisibleText")
	if !strings.Contains(text, "## Yesterday") || r.Asked("cto") != 1 || r.Asked("") != 1 {
		t.Errorf("asked %d times, answered %q", r.Asked("cto"), text)
	}
}

// newSession are the paths that differ because the recorded session had run before.
var newSession = under("/payload/session", "/displayName", "/inputTokens", "/outputTokens", "/totalTokens", "/estimatedCostUsd",
	"/lastActivityAt", "/endedAt", "/startedAt", "/lastMessagePreview", "/activeRunIds")

// ofEvent are the members of an event about a session that are not the session's.
var ofEvent = strings.Fields("sessionKey agentId reason phase runId ts session message messageId messageSeq")

// endingTest is a way in which a run ends without an answer.
type endingTest struct {
	prepare func(*Runtime)
	timeout int
	wait    string // recordings
	both    string
	status  string // of the session
	story   []string
	events  map[string]string
	row     string // of the transcript
}

// endings contains these ways, with the recorded order of the events after the start.
var endings = map[string]endingTest{
	"failed": {
		prepare: func(r *Runtime) { r.Fail("cpo", "LLM request failed: provider rejected the request.") },
		wait:    "agent.wait model error", both: "agent failing: both res", status: "failed", row: "session.message failed",
		story: []string{
			"task running", "agent lifecycle model", "agent lifecycle finishing", "agent lifecycle model",
			"task running", "agent lifecycle error", "chat error", "message assistant", "sessions model",
			"sessions model", "sessions error", "task failed", "sessions agent.input.settled",
		},
		events: map[string]string{
			"finishing failed": "agent lifecycle finishing", "error failed": "agent lifecycle error",
			"chat failed": "chat error", "task.cli.failed": "task failed",
		},
	},
	"timed out": {
		prepare: func(r *Runtime) { r.Silence("cpo", true) }, timeout: 2,
		wait: "agent.wait run timed out", both: "agent run timeout: both res", status: "timeout", row: "session.message timeout",
		story: []string{
			"task running", "agent lifecycle model", "message assistant", "sessions model", "agent lifecycle model",
			"agent lifecycle finishing", "task running", "agent lifecycle error", "chat error",
			"task running", "sessions model", "sessions error", "task timed_out", "sessions agent.input.settled",
		},
		events: map[string]string{
			"finishing timeout": "agent lifecycle finishing", "error timeout": "agent lifecycle error",
			"chat timeout": "chat error", "task.cli.timed_out": "task timed_out",
		},
	},
	"aborted": {
		prepare: func(r *Runtime) { r.Silence("", true) },
		wait:    "agent.wait aborted", both: "agent aborted: both res", status: "killed",
		story: []string{
			"chat aborted", "task running", "agent lifecycle end", "task running", "agent lifecycle error",
			"task running", "sessions end", "sessions error", "task cancelled", "sessions agent.input.settled",
		},
		events: map[string]string{
			"chat.aborted": "chat aborted", "end aborted": "agent lifecycle end", "error aborted": "agent lifecycle error",
			"task.cli.cancelled": "task cancelled",
		},
	},
}

// A failed, a timed-out and an aborted run differ as recorded, so that clients can tell
// them apart.
func TestEndings(t *testing.T) {
	t.Parallel()
	for name, test := range endings {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{})
			test.prepare(r)
			c := join(t, r)
			c.ok("sessions.subscribe", object{})
			p := question("cpo", "run-1", "Daily standup please")
			if test.timeout > 0 {
				p["timeout"] = test.timeout
			}
			id := c.ask("agent", p)
			c.answer(id, 0)
			if name == "aborted" {
				got := c.call("chat.abort", object{"sessionKey": "agent:cpo:test", "runId": "run-1"})
				sameShape(t, "abort", recording(t, "responses.json", "chat.abort"), got)
				if ids := must[[]any](t, got, "payload", "runIds"); len(ids) != 1 || ids[0] != "run-1" {
					t.Errorf("aborted %v", ids)
				}
			}
			c.settled(1)
			wait := c.call("agent.wait", object{"runId": "run-1", "timeoutMs": 60000})
			sameShape(t, "wait", recording(t, "responses.json", test.wait), wait)
			if w := recording(t, "responses.json", test.wait); dig[string](w, "payload", "status") != dig[string](wait, "payload", "status") {
				t.Errorf("status is %v", wait["payload"])
			}
			var both []any
			sameJSON(t, recordings(t, "responses.json")[test.both], &both)
			sameShape(t, "second response", both[1], c.answer(id, 1))
			if diff := cmp.Diff(slices.Concat(begin, test.story), c.eventLabels()); diff != "" {
				t.Errorf("order of the events (-recorded +got):\n%s", diff)
			}
			for rec, l := range test.events {
				sameShape(t, rec, recording(t, "events.json", rec), c.until(l, 0, func(f object) bool { return label(f) == l }))
			}
			c.checkAfter(test.status, test.row)
		})
	}
}

// checkAfter checks what a run without an answer leaves in its session.
func (c *client) checkAfter(status, row string) {
	c.t.Helper()
	h := c.ok("chat.history", object{"sessionKey": "agent:cpo:test"})
	if got := must[string](c.t, h, "sessionInfo", "status"); got != status {
		c.t.Errorf("the session is %s, want %s", got, status)
	}
	rows := must[[]any](c.t, h, "messages")
	if row == "" {
		if len(rows) != 1 {
			c.t.Errorf("the transcript has %d rows, want the question alone", len(rows))
		}
		return
	}
	want := must[object](c.t, recording(c.t, "events.json", row), "payload", "message")
	sameShape(c.t, "row", want, rows[len(rows)-1])
	if a, b := dig[string](want, "stopReason"), dig[string](rows[len(rows)-1], "stopReason"); a != b {
		c.t.Errorf("stopReason is %v, recorded %v", b, a)
	}
}
