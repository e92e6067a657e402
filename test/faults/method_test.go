package faults

import (
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

func under(prefix string, paths ...string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = prefix + p
	}
	return out
}

// Every method must answer in the recorded shape. Otherwise a client that works here could
// fail at a real gateway.
func TestMethods(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("agent", question("cto", "run-1", "Daily standup please"))
	c.wait("run-1")
	r.EndLogin("cto", time.Now().Add(3*time.Hour))
	r.SetFile("cpo", "SOUL.md", "You are the CPO.")
	r.SetServers("cto", "wardroom")
	for method, test := range map[string]struct {
		params   object
		recorded string
		except   []string
	}{
		"health":             {object{}, "health", nil},
		"agents.list":        {object{}, "agents.list", nil},
		"agents.files.list":  {object{"agentId": "cto"}, "agents.files.list", nil},
		"agents.files.get":   {object{"agentId": "cpo", "name": "SOUL.md"}, "agents.files.get", nil},
		"tools.effective":    {object{"sessionKey": "agent:cto:test"}, "tools.effective", nil},
		"models.list":        {object{}, "models.list", nil},
		"models.authStatus":  {object{"agentId": "cto"}, "models.authStatus", nil},
		"cron.list":          {object{"includeDisabled": true}, "cron.list", nil},
		"sessions.subscribe": {object{}, "sessions.subscribe", nil},
		"sessions.list": {
			object{"includeLastMessage": true, "limit": 20},
			"sessions.list",
			[]string{"/payload/sessions[]/displayName", "/payload/nextOffset"},
		},
		"sessions.describe": {
			object{"key": "agent:cto:test", "includeLastMessage": true},
			"sessions.describe",
			[]string{"/payload/session/displayName"},
		},
		"chat.history": {
			object{"sessionKey": "agent:cto:test", "limit": 1},
			"chat.history",
			[]string{"/payload/sessionInfo/displayName"},
		},
		"sessions.usage": {
			object{"agentScope": "all"},
			"sessions.usage",
			[]string{"/payload/totals", "/payload/aggregates"},
		},
	} {
		t.Run(method, func(t *testing.T) {
			sameShape(t, method, recording(t, "responses.json", test.recorded), c.call(method, test.params), test.except...)
			if r.Calls(method) != 1 {
				t.Errorf("counted %d calls", r.Calls(method))
			}
		})
	}
}

// Requests that the gateway refuses must be refused here with the same error.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	for _, test := range []struct {
		method, recorded string
		params           object
	}{
		{"nope.method", "nope.method", object{}},
		{"agent", "agent unknown agent", object{"message": "hi", "agentId": "nobody", "idempotencyKey": "x"}},
		{"agent", "agent invalid params", object{"message": "hi"}},
		{"agent", "agent key mismatch", object{"message": "hi", "agentId": "cto", "sessionKey": "agent:cpo:main", "idempotencyKey": "x"}},
		{"agent.wait", "agent.wait invalid", object{}},
	} {
		got := c.call(test.method, test.params)
		want := recording(t, "responses.json", test.recorded)
		if diff := cmp.Diff(want["error"], got["error"]); diff != "" || got["ok"] != false {
			t.Errorf("%s (-recorded +got):\n%s", test.recorded, diff)
		}
	}
	for message, ask := range map[string]struct {
		method string
		params any
	}{
		"invalid agent params: at root: unexpected property 'nope'":                           {"agent", object{"message": "m", "idempotencyKey": "k", "nope": 1}},
		"invalid agent params: at /message: must NOT have fewer than 1 characters":            {"agent", object{"message": "", "idempotencyKey": "k"}},
		"invalid agent params: at /timeout: must be integer":                                  {"agent", object{"message": "m", "idempotencyKey": "k", "timeout": "9"}},
		"invalid agent.wait params: must be object":                                           {"agent.wait", []string{"x"}},
		"invalid chat.history params: at /limit: must be <= 1000":                             {"chat.history", object{"sessionKey": "x", "limit": 5000}},
		"invalid chat.history params: at /offset: must be >= 0":                               {"chat.history", object{"sessionKey": "x", "offset": -1}},
		"invalid sessions.list params: at /limit: must be >= 1":                               {"sessions.list", object{"limit": 0}},
		"invalid sessions.list params: at /offset: must be >= 0":                              {"sessions.list", object{"offset": -1}},
		"invalid sessions.usage params: at /limit: must be >= 1":                              {"sessions.usage", object{"limit": -1}},
		"invalid agent params: at /timeout: must be >= 0":                                     {"agent", object{"message": "m", "idempotencyKey": "k", "timeout": -1}},
		"invalid agent.wait params: at /timeoutMs: must be >= 0":                              {"agent.wait", object{"runId": "x", "timeoutMs": -1}},
		"invalid sessions.list params: at /includeLastMessage: must be boolean":               {"sessions.list", object{"includeLastMessage": 1}},
		"invalid health params: at root: unexpected property 'nope'":                          {"health", object{"nope": 1}},
		"invalid cron.list params: at root: unexpected property 'nope'":                       {"cron.list", object{"nope": 1}},
		"missing scope: operator.admin":                                                       {"agent", object{"message": "m", "idempotencyKey": "k", "model": "other/model"}},
		"Multiple agents are configured, but session agent resolution has no explicit owner.": {"agent", object{"message": "m", "idempotencyKey": "k", "sessionKey": "main"}},
	} {
		if got := must[string](t, c.call(ask.method, ask.params), "error", "message"); got != message {
			t.Errorf("%s: %q, want %q", ask.method, got, message)
		}
	}
	if r.Asked("") != 0 {
		t.Errorf("%d refused questions were asked", r.Asked(""))
	}
}

// After the handshake, the gateway ignores frames that it can't read.
func TestGarbage(t *testing.T) {
	t.Parallel()
	c := join(t, open(t, demo.Options{}))
	c.send(websocket.MessageText, "not JSON")
	c.send(websocket.MessageText, `{"type":"res","id":"r1","ok":true}`)
	c.send(websocket.MessageBinary, "\x00\x01")
	c.ok("health", object{})
}

// A request without a session uses the agent's main session, and one without an agent uses
// the default agent.
func TestTarget(t *testing.T) {
	t.Parallel()
	c := join(t, open(t, demo.Options{}))
	got := c.call("agent", object{"message": "hi", "agentId": "cmo", "idempotencyKey": "a"})
	sameShape(t, "agentId only", recording(t, "responses.json", "agent agentId only"), got)
	if k := must[string](t, got, "payload", "sessionKey"); k != "agent:cmo:main" {
		t.Errorf("went to %s", k)
	}
	got = c.call("agent", object{"message": "hi", "idempotencyKey": "b"})
	sameShape(t, "no target", recording(t, "responses.json", "agent no target"), got)
	if a := must[string](t, got, "payload", "agentId"); a != "coo" {
		t.Errorf("went to %s", a)
	}
	got = c.call("agent", object{"message": "hi", "sessionKey": "agent:cpo:standup:2026-11-20", "idempotencyKey": "c"})
	if a := must[string](t, got, "payload", "agentId"); a != "cpo" {
		t.Errorf("went to %s", a)
	}
}

// The session list supports paging and a total count.
func TestSessionsList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	clock := &now
	r := open(t, demo.Options{Now: func() time.Time { return *clock }})
	c := join(t, r)
	for _, q := range []struct{ agent, run string }{{"cto", "1"}, {"cpo", "2"}, {"cto", "3"}} {
		p := question(q.agent, q.run, "hi")
		p["sessionKey"] = "agent:" + q.agent + ":s" + q.run
		c.ok("agent", p)
		c.wait(q.run)
	}
	keys := func(p object) (out []string) {
		for _, row := range must[[]any](t, p, "sessions") {
			out = append(out, must[string](t, row, "key"))
		}
		return out
	}
	first := c.ok("sessions.list", object{"limit": 2})
	if first["totalCount"] != 3.0 || first["hasMore"] != true || first["nextOffset"] != 2.0 || len(keys(first)) != 2 {
		t.Errorf("first page: %v", without(first, "sessions"))
	}
	rest := c.ok("sessions.list", object{"limit": 2, "offset": 2})
	if rest["hasMore"] != false || rest["nextOffset"] != nil || len(keys(rest)) != 1 {
		t.Errorf("second page: %v", without(rest, "sessions"))
	}
	if c.ok("sessions.describe", object{"key": "agent:cto:nope"})["session"] != nil {
		t.Error("describes a session that is not there")
	}
}

// Ticks and health events reach all clients without a subscription.
func TestTickAndHealth(t *testing.T) {
	t.Parallel()
	c := join(t, open(t, demo.Options{}, func(p *demo.Timing) { p.Tick, p.Health = 5*time.Millisecond, 5*time.Millisecond }))
	sameShape(t, "tick", recording(t, "events.json", "tick"), c.event("tick"))
	sameShape(t, "health", recording(t, "events.json", "health"), c.event("health"))
}
