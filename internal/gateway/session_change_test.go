package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// idle returns a client that connects to nothing.
func idle(t *testing.T) *gateway.Client {
	t.Helper()
	c, err := gateway.New(link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runOf returns the run that an event starts or ends, or nil.
func runOf(c *gateway.Client, e link.Event) *gateway.RunChange {
	if change := c.Content(e).Change; change != nil {
		return change.Run
	}
	return nil
}

// A missed event leaves old state on the screen; a change for each word of an answer
// would keep the gateway busy.
func TestEventsThatTouchSessions(t *testing.T) {
	t.Parallel()
	want := []struct {
		touches, run, began bool
	}{
		{true, true, true}, {true, true, false}, {true, true, false}, // agent: start, end, error
		{false, false, false}, {false, false, false}, // parts of an answer
		{true, false, false}, {true, false, false}, {true, false, false}, // chat final, task, sessions.changed
		{false, false, false}, {false, false, false}, // tick, session.tool
	}
	c := idle(t)
	events := sessionsRecorded(t).Events
	if len(events) != len(want) {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		ev := link.Event{Name: e.Event, Payload: e.Payload}
		change := c.Content(ev).Change
		run := runOf(c, ev)
		if (change != nil) != want[i].touches || (run != nil) != want[i].run || run != nil && run.Began != want[i].began || change != nil && change.Key == "" {
			t.Errorf("%s %.80s: changes %+v, run %+v", e.Event, e.Payload, change, run)
		}
	}
	run := runOf(c, link.Event{Name: "agent", Payload: events[0].Payload})
	if diff := cmp.Diff(&gateway.RunChange{SessionKey: "agent:cto:main", RunID: "idem-standup-1", Began: true, At: at(1795161590099)}, run); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, payload := range []string{``, `null`, `7`, `{"stream":"lifecycle","runId":7,"sessionKey":"k","data":{"phase":"start"}}`} {
		if run := runOf(c, link.Event{Name: "agent", Payload: json.RawMessage(payload)}); run != nil {
			t.Errorf("%q is a run: %+v", payload, run)
		}
	}
}

// Live updates use the rows in events; a wrong one stays on the screen until the next
// list.
func TestRowsOfEvents(t *testing.T) {
	t.Parallel()
	c := idle(t)
	seen := map[string]int{}
	for _, raw := range recordedEvents(t) {
		var f struct {
			Event   string
			Payload json.RawMessage
		}
		var p struct {
			SessionKey, Reason string
			Session            *struct {
				Key, Status  string
				SnapshotAt   int64
				HasActiveRun *bool
				StartedAt    int64
			}
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		if f.Event != "sessions.changed" && f.Event != "session.message" {
			continue
		}
		if err := json.Unmarshal(f.Payload, &p); err != nil {
			t.Fatal(err)
		}
		got := c.Content(link.Event{Name: f.Event, Payload: f.Payload}).Change
		switch {
		case got == nil:
			t.Errorf("%s %s tells nothing", f.Event, p.Reason)
		case p.Session == nil:
			seen["gone"]++
			if got.Whole || got.Gone != (p.Reason == "delete") || got.Key != p.SessionKey {
				t.Errorf("%s of %q is %+v", p.Reason, p.SessionKey, got)
			}
		default:
			seen["rows"]++
			s := p.Session
			if !got.Whole || got.Gone || got.Key != s.Key || got.Row.Key != s.Key || got.Stamp != s.SnapshotAt || got.Row.Active != *s.HasActiveRun ||
				got.Row.Status != s.Status || s.StartedAt > 0 && !got.Row.StartedAt.Equal(at(s.StartedAt).Time) || got.Reset != (p.Reason == "reset") {
				t.Errorf("%s %s is %+v", f.Event, p.Reason, got)
			}
			if got.Said != "" {
				seen["said"]++
			}
		}
	}
	if seen["rows"] < 15 || seen["gone"] < 1 || seen["said"] < 2 {
		t.Errorf("recorded are only %v", seen)
	}
	row := `{"key":"agent:cto:main","hasActiveRun":true,"snapshotAt":7}`
	for name, tt := range map[string]struct {
		payload string
		want    gateway.SessionChange
	}{
		"a part of a row":      {`{"sessionKey":"k","session":{"key":"k","status":"running"}}`, gateway.SessionChange{Key: "k"}},
		"a row of another":     {`{"sessionKey":"k","session":` + row + `}`, gateway.SessionChange{Key: "k"}},
		"no row":               {`{"sessionKey":"k","reason":"later"}`, gateway.SessionChange{Key: "k"}},
		"nothing":              {`{"reason":"delete"}`, gateway.SessionChange{Gone: true}},
		"no object":            {`7`, gateway.SessionChange{}},
		"members of no use":    {`{"sessionKey":["k"],"session":9,"message":"x"}`, gateway.SessionChange{}},
		"archived":             {`{"sessionKey":"k","session":{"key":"k","archived":true,"hasActiveRun":false}}`, gateway.SessionChange{Key: "k", Gone: true}},
		"a key not to be told": {`{"sessionKey":"k\u0000","reason":"delete"}`, gateway.SessionChange{Gone: true}},
		"a long message": {
			`{"sessionKey":"k","message":{"role":"user","content":"` + strings.Repeat("a\\n", 200) + `"}}`,
			gateway.SessionChange{Key: "k", Said: strings.Repeat("a ", 118) + "a...", SaidBy: "user"},
		},
		"a tool's result": {`{"sessionKey":"k","message":{"role":"toolResult","content":"text"}}`, gateway.SessionChange{Key: "k"}},
	} {
		got := c.Content(link.Event{Name: "sessions.changed", Payload: json.RawMessage(tt.payload)}).Change
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The run of a job is shown, stopped, asked and paid for as the session that lists have, whatever the gateway calls it.
// Old runs are deleted under their own keys, and the job's session must survive that.
func TestEventsOfAJobsRun(t *testing.T) {
	t.Parallel()
	c := idle(t)
	const listed, run = "agent:cto:cron:job-1", "agent:cto:cron:job-1:run:t1"
	content := func(name, payload string) gateway.Content {
		return c.Content(link.Event{Name: name, Payload: json.RawMessage(strings.ReplaceAll(payload, "KEY", run))})
	}
	row := content("sessions.changed", `{"sessionKey":"KEY","session":{"key":"KEY","sessionId":"t1","hasActiveRun":true}}`).Change
	message := content("session.message", `{"sessionKey":"KEY","message":{"role":"assistant","content":"x"}}`)
	began := content("agent", `{"sessionKey":"KEY","runId":"r","stream":"lifecycle","data":{"phase":"start"}}`)
	child := content("sessions.changed", `{"session":{"key":"agent:cto:subagent:1","parentSessionKey":"KEY","hasActiveRun":true}}`).Change
	for what, got := range map[string]string{
		"a row": row.Key, "the key in a row": row.Row.Key, "a message": message.Active, "a message's session": message.Change.Key,
		"a run": began.Active, "a run's session": began.Change.Run.SessionKey, "a parent": child.Row.ParentKey,
		"a chat": content("chat", `{"sessionKey":"KEY","state":"final"}`).Change.Key,
		"a task": content("task", `{"task":{"sessionKey":"KEY"}}`).Change.Key,
	} {
		if got != listed {
			t.Errorf("%s is about %q, want %q", what, got, listed)
		}
	}
	if row.Row.ID != "t1" || !row.Whole || !row.Row.Active {
		t.Errorf("the row is %+v", row)
	}
	for _, payload := range []string{`{"sessionKey":"KEY","reason":"delete"}`, `{"session":{"key":"KEY","archived":true,"hasActiveRun":false}}`} {
		if gone := content("sessions.changed", payload).Change; !gone.Gone || gone.Key != run {
			t.Errorf("an old run that is gone: %+v", gone)
		}
	}
	for _, other := range []string{"agent:cto:cron:job-1", "agent:cto:custom:a:run:b", "agent:cto:cron:job-1:run", "k"} {
		if got := content("chat", `{"sessionKey":"`+other+`","state":"final"}`).Active; got != other {
			t.Errorf("%q is %q", other, got)
		}
	}
}
