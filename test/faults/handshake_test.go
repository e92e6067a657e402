package faults

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
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

// Any first frame other than connect ends the connection.
func TestFirstFrame(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	for name, c := range map[string]struct {
		kind websocket.MessageType
		data string
		code websocket.StatusCode
	}{
		"another method": {websocket.MessageText, `{"type":"req","id":"1","method":"health"}`, 1008},
		"not JSON":       {websocket.MessageText, `hello`, 1000},
		"binary":         {websocket.MessageBinary, `{"type":"req","id":"1","method":"connect"}`, 1000},
		"too large":      {websocket.MessageText, `{"type":"` + strings.Repeat("x", 64<<10) + `"}`, 1009},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, r, nil)
			conn.send(c.kind, c.data)
			if code, reason := conn.closed(); code != c.code {
				t.Errorf("closed with %d %q, want %d", code, reason, c.code)
			}
		})
	}
	t.Run("nothing at all", func(t *testing.T) {
		slow := open(t, demo.Options{}, func(p *demo.Timing) { p.Handshake = 20 * time.Millisecond })
		if code, _ := dial(t, slow, nil).closed(); code != 1000 {
			t.Errorf("closed with %d, want 1000", code)
		}
	})
	t.Run("from a web page", func(t *testing.T) {
		conn := dial(t, r, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://ops.example.com"}}})
		got := conn.call("connect", hello(nil))
		if v := must[string](t, got, "error", "details", "code"); v != "CONTROL_UI_ORIGIN_NOT_ALLOWED" {
			t.Errorf("refused with %s", v)
		}
	})
}

// While starting, the runtime refuses clients as retryable.
func TestStarting(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Starting(true)
	conn := dial(t, r, nil)
	got := conn.call("connect", hello(nil))
	want := recording(t, "responses.json", "connect: starting")
	if diff := cmp.Diff(must[object](t, want, "response", "error"), got["error"]); diff != "" {
		t.Errorf("error (-recorded +got):\n%s", diff)
	}
	if code, reason := conn.closed(); code != 1013 || reason != "gateway starting" {
		t.Errorf("closed with %d %q", code, reason)
	}
	if status, body := get(t, r.URL()+"/startupz"); status != 503 || body["pendingReason"] != "startup-sidecars" {
		t.Errorf("startupz is %d %v", status, body)
	}
	if status, body := get(t, r.URL()+"/readyz"); status != 503 || body["ready"] != false {
		t.Errorf("readyz is %d %v", status, body)
	}
	r.Starting(false)
	join(t, r)
}

// Probes need no token; other paths are not found.
func TestProbes(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	for path, want := range map[string]object{
		"/health":   {"ok": true, "status": "live"},
		"/healthz":  {"ok": true, "status": "live"},
		"/startupz": {"ok": true, "status": "started", "version": demo.Version, "uptimeMs": nil},
		"/readyz":   {"ready": true, "uptimeMs": nil},
	} {
		status, body := get(t, r.URL()+path)
		for k, v := range want {
			if _, ok := body[k]; !ok || v != nil && cmp.Diff(v, body[k]) != "" {
				t.Errorf("%s: %s is %v, want %v", path, k, body[k], v)
			}
		}
		if status != 200 || len(body) != len(want) {
			t.Errorf("%s is %d %v", path, status, body)
		}
	}
	if status, _ := get(t, r.URL()+"/"); status != 404 {
		t.Errorf("/ is %d", status)
	}
}

// A peer that answers pings stays connected.
func TestPing(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{}, func(p *demo.Timing) { p.Ping = time.Millisecond })
	pings := make(chan struct{})
	c := dial(t, r, &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
		select {
		case pings <- struct{}{}:
		case <-t.Context().Done():
		}
		return true
	}})
	c.ask("connect", hello(nil))
	for range 5 {
		<-pings // the next ping follows only after the answer to this one
	}
	go func() { // accept the remaining pings
		for range pings {
		}
	}()
	defer close(pings)
	c.ok("health", object{})
	_ = c.ws.CloseNow()
	<-c.end
}

// A peer that doesn't answer pings is disconnected.
func TestNoPong(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{}, func(p *demo.Timing) { p.Ping, p.Pong = 5*time.Millisecond, time.Second })
	deaf, resp, err := websocket.Dial(t.Context(), r.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.CloseNow()
	if resp.Body != nil {
		defer resp.Body.Close()
	}
	connect := object{"type": "req", "id": "1", "method": "connect", "params": hello(nil)}
	if err := deaf.Write(t.Context(), websocket.MessageText, demo.Encode(connect)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() bool { return r.Calls("connect") == 1 && r.Connections() == 0 })
}
