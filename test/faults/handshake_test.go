package faults

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// A valid connect gets the same answer as from the real gateway.
func TestConnect(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := dial(t, r, nil)
	sameShape(t, "challenge", recording(t, "responses.json", "connect.challenge"), without(c.event("connect.challenge"), "seq"))
	got := c.call("connect", hello(nil))
	sameShape(t, "hello", recording(t, "responses.json", "hello-ok"), got, "/payload/pluginSurfaceUrls")
	p := must[object](t, got, "payload")
	if v := must[string](t, p, "type"); v != "hello-ok" {
		t.Errorf("type is %q", v)
	}
	if diff := cmp.Diff([]any{scopeRead, scopeWrite}, must[[]any](t, p, "auth", "scopes")); diff != "" {
		t.Errorf("scopes (-asked +granted):\n%s", diff)
	}
	if r.Connections() != 1 || r.Calls("connect") != 1 {
		t.Errorf("%d connections, %d connects", r.Connections(), r.Calls("connect"))
	}
	again := recording(t, "responses.json", "second connect")
	if diff := cmp.Diff(again["error"], c.call("connect", object{})["error"]); diff != "" {
		t.Errorf("second connect (-recorded +got):\n%s", diff)
	}
}

// without returns a copy of o without the given members.
func without(o object, keys ...string) object {
	c := maps.Clone(o)
	for _, k := range keys {
		delete(c, k)
	}
	return c
}

// Each refusal has its own code and close, by which clients tell them apart.
func TestConnectRefusals(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	setClient := func(k string, v any) func(object) {
		return func(p object) { must[object](t, p, "client")[k] = v }
	}
	for name, c := range map[string]struct {
		change   func(object)
		recorded string // recorded error
		message  string // or error text
	}{
		"wrong token":     {func(p object) { p["auth"] = object{"token": "wrong"} }, "connect: wrong token, no device", ""},
		"no auth":         {func(p object) { delete(p, "auth") }, "connect: no auth at all, no device", ""},
		"old protocol":    {func(p object) { p["minProtocol"], p["maxProtocol"] = 1, 3 }, "connect: bad protocol 1..3", ""},
		"unknown client":  {setClient("id", "my-go-service"), "connect: unknown client id", ""},
		"bad role":        {func(p object) { p["role"] = "boss" }, "connect: bad role", ""},
		"unknown mode":    {setClient("mode", "operator"), "", "invalid connect params: at /client/mode: must be equal to one of the allowed values"},
		"extra property":  {func(p object) { p["nope"] = 1 }, "", "invalid connect params: at root: unexpected property 'nope'"},
		"extra in client": {setClient("nope", 1), "", "invalid connect params: at /client: unexpected property 'nope'"},
		"no client":       {func(p object) { delete(p, "client") }, "", "invalid connect params: must have required property 'client'"},
		"protocol no int": {func(p object) { p["minProtocol"] = "4" }, "", "invalid connect params: at /minProtocol: must be integer"},
		"half a device":   {func(p object) { p["device"] = object{"id": "x"} }, "", "invalid connect params: at /device: must have required property 'publicKey'"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, r, nil)
			got := conn.call("connect", hello(c.change))
			code, reason := conn.closed()
			if c.recorded == "" {
				if m := must[string](t, got, "error", "message"); m != c.message || code != 1008 || reason != c.message {
					t.Errorf("answered %q, closed with %d %q", m, code, reason)
				}
				return
			}
			want := recording(t, "responses.json", c.recorded)
			if diff := cmp.Diff(must[object](t, want, "response", "error"), got["error"]); diff != "" {
				t.Errorf("error (-recorded +got):\n%s", diff)
			}
			end := object{"code": float64(code), "reason": reason}
			if diff := cmp.Diff(want["close"], any(end)); diff != "" {
				t.Errorf("close (-recorded +got):\n%s", diff)
			}
		})
	}
	if r.Connections() != 0 {
		t.Errorf("%d refused clients count as connected", r.Connections())
	}
}

// Only backend clients get scopes without a device. Other clients connect without scopes.
func TestScopes(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	for _, c := range []struct {
		id, mode string
		scopes   []string
		granted  bool
	}{
		{"gateway-client", "backend", []string{scopeRead}, true},
		{"cli", "cli", []string{scopeRead}, true},
		{"gateway-client", "ui", []string{scopeRead}, false},
		{"openclaw-probe", "probe", []string{scopeRead}, false},
		{"test", "test", []string{scopeRead}, false},
	} {
		conn := dial(t, r, nil)
		conn.ok("connect", hello(func(p object) {
			client := must[object](t, p, "client")
			client["id"], client["mode"] = c.id, c.mode
			p["minProtocol"], p["maxProtocol"], p["scopes"] = 3, 5, c.scopes
		}))
		got := conn.call("agents.list", object{})
		if got["ok"] != c.granted {
			t.Errorf("%s/%s: agents.list is %v", c.id, c.mode, got)
		}
		want := recording(t, "responses.json", "connect: no scopes")
		if !c.granted {
			if diff := cmp.Diff(must[object](t, want, "response", "error"), got["error"]); diff != "" {
				t.Errorf("missing scope (-recorded +got):\n%s", diff)
			}
		}
		if conn.call("health", object{})["ok"] != true {
			t.Errorf("%s/%s: health needs a scope", c.id, c.mode)
		}
		if got := conn.call("agent", question("cto", "x", "hi")); c.granted {
			if must[string](t, got, "error", "details", "missingScope") != scopeWrite {
				t.Errorf("a reader may ask: %v", got)
			}
		}
	}
}
