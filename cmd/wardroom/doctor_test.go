package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/test/faults"
)

// gatewayToken is unlikely to appear in other output.
const gatewayToken = "gateway-token-of-the-doctor-4711"

// runtimeOf starts a runtime that sends an event every few milliseconds.
func runtimeOf(t *testing.T) *faults.Runtime {
	t.Helper()
	r, err := faults.Start(t.Context(), demo.Options{Token: gatewayToken})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var talking sync.WaitGroup
	talking.Go(func() { // the runtime's own ticks are 30 s apart
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
				r.Inject([]byte(`{"type":"event","event":"tick","payload":{"ts":1}}`), false)
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		talking.Wait()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// The doctor helps when the service does not start. It must need only the connection
// settings, and scripts rely on its exit status.
func TestDoctor(t *testing.T) {
	r := runtimeOf(t)
	doctor := func(t *testing.T, settings map[string]string, args ...string) outcome {
		t.Helper()
		machine(t)
		for name, value := range settings {
			t.Setenv(name, value)
		}
		o := command(t, "", append([]string{"doctor"}, args...)...)
		if strings.Contains(o.out+o.err, gatewayToken) {
			t.Errorf("the output contains the token:\n%s%s", o.out, o.err)
		}
		return o
	}
	with := func(token string) map[string]string {
		return map[string]string{"AGENTRT_GATEWAY_URL": r.URL(), "AGENTRT_GATEWAY_TOKEN": token}
	}
	t.Run("exits with 0 if all checks pass", func(t *testing.T) {
		o := doctor(t, with(gatewayToken))
		o.ends(0, "All checks passed for ws://127.", "methods    ok", "tls        skipped", "events     ok")
		if n := strings.Count(o.out, "\n"); n != len(link.Layers())+2 {
			t.Errorf("the output has %d lines:\n%s", n, o.out)
		}
	})
	t.Run("names the first failure and the fix and exits with 1", func(t *testing.T) {
		o := doctor(t, with("another-token"))
		o.ends(1, "auth       failed", "Failed at auth: The gateway rejected the shared token.", "Fix: Set AGENTRT_GATEWAY_TOKEN",
			"\nNot reached: pairing, scopes, protocol, methods, events.\n")
		if n := strings.Count(strings.ToLower(o.out), "not reached"); n != 1 {
			t.Errorf("the layers above take %d lines:\n%s", n, o.out)
		}
	})
	t.Run("names the missing settings and exits with 1", func(t *testing.T) {
		o := doctor(t, nil)
		o.ends(1, "AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN")
		if !strings.HasPrefix(o.out, "No gateway is configured") || strings.Contains(o.out, "reached") {
			t.Errorf("the cause does not come first, or not alone:\n%s", o.out)
		}
	})
	t.Run("rejects invalid settings with status 2", func(t *testing.T) {
		doctor(t, map[string]string{"AGENTRT_GATEWAY_URL": "gopher://x"}).ends(2, "AGENTRT_GATEWAY_URL is not a valid URL")
	})
	t.Run("warns that it cannot read the stored device and runs the checks", func(t *testing.T) {
		settings := with(gatewayToken)
		settings["DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none?sslmode=disable"
		doctor(t, settings).ends(0, "events     ok", "Warning (pairing): Could not read what Wardroom has stored about the gateway", "ENCRYPTION_KEY")
	})
	t.Run("ignores invalid settings that do not concern the connection", func(t *testing.T) {
		settings := with(gatewayToken)
		settings["ENCRYPTION_KEY"] = "short"
		doctor(t, settings).ends(0, "events     ok", "Note: the stored device was not checked", "ENCRYPTION_KEY has 5 characters")
	})
	t.Run("prints the same JSON as the API", func(t *testing.T) {
		o := doctor(t, with("another-token"), "--json")
		o.ends(1)
		var found link.Examination
		d := json.NewDecoder(strings.NewReader(o.out))
		d.DisallowUnknownFields()
		if err := d.Decode(&found); err != nil || d.More() {
			t.Fatalf("%v:\n%s", err, o.out)
		}
		if found.Healthy || found.Failure == nil || found.Failure.Layer != link.LayerAuth || len(found.Steps) != len(link.Layers()) {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("stops when its context ends", func(t *testing.T) {
		machine(t)
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		t.Setenv("AGENTRT_GATEWAY_URL", "ws://"+ln.Addr().String())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		var out, errs output
		go func() {
			ended <- run(ctx, []string{"doctor"}, terminal{in: strings.NewReader(""), out: &out, err: &errs})
		}()
		c, err := ln.Accept() // the check waits for an answer
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		stop()
		if code := <-ended; code != exitFailed {
			t.Errorf("exit status %d", code)
		}
	})
}
