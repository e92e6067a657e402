package demo

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// No goroutine may outlive Close.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event. Passing tests never wait that
// long.
const patience = time.Minute

// open starts a runtime that closes when the test ends. Its seconds are 10 ms long.
func open(t *testing.T, o Options) *Runtime {
	t.Helper()
	o.Token, o.Timing = "demo-test-token", realTiming
	o.Timing.Second, o.Timing.Cron = 10*time.Millisecond, 5*time.Millisecond
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// connected returns a client that is connected to a runtime.
func connected(t *testing.T, r *Runtime) *gateway.Client {
	t.Helper()
	c, err := gateway.New(link.Options{URL: r.URL(), Token: r.options.Token, Scopes: []string{scopeRead, scopeWrite}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for late := time.Now().Add(patience); c.Status().State != link.Connected; <-time.After(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("is %s", c.Status().State)
		}
	}
	return c
}

// While the gateway shuts down, every request on an open connection is refused as
// retryable.
func TestDraining(t *testing.T) {
	t.Parallel()
	r := &Runtime{options: Options{Behavior: Standard{}}}
	r.methods = r.methodTable()
	c := call{conn: &Conn{boot: &boot{draining: true}, scopes: []string{scopeRead}}}
	want := &Failure{
		Code: "UNAVAILABLE", Message: "sessions.list unavailable during gateway restart", Retryable: true, RetryAfterMs: 1000,
		Details: object{"method": "sessions.list", "reason": "gateway-restarting", "phase": "accepting"},
	}
	if diff := cmp.Diff(want, r.checkAllowed(c, "sessions.list")); diff != "" {
		t.Errorf("(-recorded +got):\n%s", diff)
	}
}
