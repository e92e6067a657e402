package faults

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// refusedConnect expects a refused connect, and returns the error and the close.
func refusedConnect(t *testing.T, r *Runtime, params object) (failure object, end object) {
	t.Helper()
	c := dial(t, r, nil)
	got := c.call("connect", params)
	code, reason := c.closed()
	return must[object](t, got, "error"), object{"code": float64(code), "reason": reason}
}

// A client that gets fewer scopes than it asked for is connected and sees which.
func TestWithhold(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	before := join(t, r)
	r.Withhold(scopeWrite)
	c := dial(t, r, nil)
	got := c.ok("connect", hello(nil))
	if diff := cmp.Diff([]any{scopeRead}, must[[]any](t, got, "auth", "scopes")); diff != "" {
		t.Errorf("granted:\n%s", diff)
	}
	c.ok("agents.list", object{})
	want := object{"code": "FORBIDDEN", "message": "missing scope: operator.write", "details": object{
		"code": "MISSING_SCOPE", "missingScope": scopeWrite, "requiredScopes": []any{scopeWrite},
	}}
	if diff := cmp.Diff(any(want), c.call("agent", question("cto", "run-1", "hi"))["error"]); diff != "" {
		t.Errorf("error:\n%s", diff)
	}
	before.ok("agent", question("cto", "run-2", "hi"))
	r.Withhold()
	join(t, r).ok("agent", question("cto", "run-3", "hi"))
}

// Another protocol version is refused with both version ranges.
func TestSetProtocol(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	for _, v := range []float64{5, 3} {
		r.SetProtocol(int(v))
		got, end := refusedConnect(t, r, hello(nil))
		want := object{"code": "INVALID_REQUEST", "message": "protocol mismatch", "details": object{
			"code": "PROTOCOL_MISMATCH", "clientMinProtocol": 4.0, "clientMaxProtocol": 4.0, "expectedProtocol": v, "minimumProbeProtocol": 3.0,
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("error:\n%s", diff)
		}
		if end["code"] != 1002.0 || end["reason"] != "protocol mismatch" {
			t.Errorf("ended as %v", end)
		}
		c := dial(t, r, nil)
		if p := c.ok("connect", hello(func(p object) { p["minProtocol"], p["maxProtocol"] = 3, 5 }))["protocol"]; p != v {
			t.Errorf("a client with this protocol got %v", p)
		}
	}
	r.SetProtocol(0)
	join(t, r)
}

// After the token changes, clients with the old token are disconnected and refused.
func TestChangeToken(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	r.ChangeToken("another-token")
	if code, _ := c.closed(); code != 4001 {
		t.Errorf("closed with %d", code)
	}
	got, end := refusedConnect(t, r, hello(nil))
	if diff := cmp.Diff(recording(t, "responses.json", "connect: wrong token, no device")["close"], any(end)); diff != "" {
		t.Errorf("close:\n%s", diff)
	}
	if code := dig[string](got, "details", "code"); code != "AUTH_TOKEN_MISMATCH" {
		t.Errorf("refused with %s", code)
	}
	r.Heal() // Heal does not restore the token
	c = dial(t, r, nil)
	c.ok("connect", hello(func(p object) { p["auth"] = object{"token": "another-token"} }))
	r.ChangeToken("another-token")
	r.ChangeToken("")
	c.ok("health", object{})
}

// A locked-out client is told how long to wait, even with the right token.
func TestLockOut(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	r.LockOut(5 * time.Minute)
	got, end := refusedConnect(t, r, hello(nil))
	if dig[string](got, "details", "code") != "AUTH_RATE_LIMITED" || end["code"] != 1008.0 {
		t.Errorf("refused with %v, ended as %v", got, end)
	}
	if ms := must[float64](t, got, "retryAfterMs"); ms < 290_000 || ms > 300_000 {
		t.Errorf("retry after %v ms", ms)
	}
	c.ok("health", object{})
	r.LockOut(0)
	join(t, r)
}

// The clock offset shows in every timestamp.
func TestSkew(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	off := func(ms float64) time.Duration {
		return (time.Duration(ms) * time.Millisecond).Round(time.Minute) - time.Duration(time.Now().UnixMilli()*int64(time.Millisecond)).Round(time.Minute)
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if (got - want).Abs() > 2*time.Minute {
			t.Errorf("%s is off by %s, want %s", what, got, want)
		}
	}
	r.Skew(time.Hour)
	c := join(t, r)
	near("the challenge", off(must[float64](t, c.event("connect.challenge"), "payload", "ts")), time.Hour)
	ticks(r, 1)
	near("a tick", off(must[float64](t, c.event("tick"), "payload", "ts")), time.Hour)
	near("a run", off(must[float64](t, c.ok("agent", question("cto", "run-1", "hi")), "acceptedAt")), time.Hour)
	c.wait("run-1")
	row := as[object](must[[]any](t, c.ok("sessions.list", object{}), "sessions")[0])
	near("a session", off(must[float64](t, row, "updatedAt")), time.Hour)
	r.Skew(-time.Hour)
	near("the clock", off(must[float64](t, c.ok("health", object{}), "ts")), -time.Hour)
	r.Skew(0)
	near("the healed clock", off(must[float64](t, c.ok("health", object{}), "ts")), 0)
}
