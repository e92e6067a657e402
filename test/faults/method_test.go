package faults

import (
	"testing"
	"time"

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
		"invalid agent params: at /timeout: must be integer":                                  {"agent", object{"message": "m", "idempotencyKey": "k", "timeout": "9"}},
		"invalid agent.wait params: must be object":                                           {"agent.wait", []string{"x"}},
		"invalid chat.history params: at /limit: must be <= 1000":                             {"chat.history", object{"sessionKey": "x", "limit": 5000}},
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

// Ticks and health events reach all clients without a subscription.
func TestTickAndHealth(t *testing.T) {
	t.Parallel()
	c := join(t, open(t, demo.Options{}, func(p *demo.Timing) { p.Tick, p.Health = 5*time.Millisecond, 5*time.Millisecond }))
	sameShape(t, "tick", recording(t, "events.json", "tick"), c.event("tick"))
	sameShape(t, "health", recording(t, "events.json", "health"), c.event("health"))
}
