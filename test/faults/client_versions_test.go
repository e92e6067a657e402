package faults

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// Tests with gateways that lack methods, connections that keep breaking, and slow readers.

// lacks returns the methods that the status reports as missing.
func lacks(c *gateway.Client) (methods []string) {
	for _, u := range c.Status().Unavailable {
		methods = append(methods, u.Method)
	}
	return methods
}

// A missing method disables only what needs it, and the status reports it.
func TestClientWithoutMethod(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RemoveMethods("sessions.describe", "sessions.usage")
	c := connected(t, r)
	if got := lacks(c); !slices.Equal(got, []string{"sessions.describe"}) {
		t.Errorf("the status lists %v", got)
	}
	_, _, err := c.Session(t.Context(), "agent:cto:main")
	if f := fault.Of(err); !errors.Is(err, link.ErrRefused) || !strings.Contains(f.Detail, "sessions.describe") || !strings.Contains(f.Detail, "Update the gateway") {
		t.Errorf("what needs it: %v", err)
	}
	changed := make(chan link.Status, 8)
	go c.Watch(t.Context(), func(s link.Status) { changed <- s })
	<-changed
	// No gateway lists this method, so only a call shows that it is missing.
	if _, err := c.Usage(t.Context()); !errors.Is(err, link.ErrRefused) {
		t.Errorf("what needs the hidden one: %v", err)
	}
	if s := <-changed; len(s.Unavailable) != 2 || s.Unavailable[1].Method != "sessions.usage" || s.State != link.Connected {
		t.Errorf("who watches is told %+v", s.Unavailable)
	}
	works(t, c, "run-1")
	r.RemoveMethods()
	r.Drop()
	eventually(t, "the gateway has everything again", func() bool { return c.Connections() == 2 && len(lacks(c)) == 0 })
	if _, err := c.Usage(t.Context()); err != nil {
		t.Errorf("with the method: %v", err)
	}
}

// If a gateway doesn't list its methods, none is reported as missing.
func TestClientWithoutFeatures(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Garble(MissingMembers)
	c := connected(t, r)
	if got := lacks(c); len(got) != 0 {
		t.Errorf("the status lists %v", got)
	}
	works(t, c, "run-1")
}

// Every connection is cut right after it opens, while runs and events are in progress. In
// the end everything works and no connection is left over.
func TestClientReconnectStorm(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	events, stop := c.Events(10_000)
	defer stop()
	var asking sync.WaitGroup
	over := make(chan struct{})
	for range 8 {
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
				if _, err := c.Agents(t.Context()); err != nil && !errors.Is(err, link.ErrUnreachable) {
					t.Errorf("in the storm: %v", err)
				}
			}
		})
	}
	const cuts = 100
	for n := uint64(1); n <= cuts; n++ {
		eventually(t, "the next connection", func() bool { return c.Connections() >= n && r.Connections() > 0 })
		r.Drop()
	}
	close(over)
	asking.Wait()
	eventually(t, "the connection that stays", func() bool { return c.Connections() > cuts })
	in(t, c, link.Connected)
	works(t, c, "run-1")
	if n := r.Connections(); n != 1 {
		t.Errorf("%d connections are left", n)
	}
	// A subscriber is told of every connection and its end, in turn.
	stop()
	made, lost := 0, 0
	for e := range events {
		switch e.Name {
		case link.EventConnected:
			made++
		case link.EventDisconnected:
			lost++
		}
		if made-lost != 0 && made-lost != 1 {
			t.Fatalf("%d connections and %d ends", made, lost)
		}
	}
	if lost < cuts {
		t.Errorf("%d ends were told of %d", lost, cuts)
	}
}

// A gateway that accepts connections and closes them at once is retried with growing
// pauses, and the failures are counted.
func TestClientIsNotTheStorm(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := impatient(t, r, func(o *link.Options) {
		o.Backoff = link.Backoff{Min: 20 * time.Millisecond, Max: 10 * time.Second, Quick: 10 * time.Second, Jitter: func() float64 { return 1 }}
	})
	begin := time.Now()
	for c.Connections() < 5 {
		if r.Connections() > 0 {
			r.Drop()
		}
		<-time.After(time.Millisecond)
	}
	// 20 + 40 + 80 + 160 ms lie between five attempts.
	if took := time.Since(begin); took < 250*time.Millisecond {
		t.Errorf("five connections were made within %s", took)
	}
}

// A subscriber that never reads must not block the client's reader, because the gateway
// disconnects clients that don't answer pings.
func TestClientSlowReader(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{}, func(p *demo.Timing) { p.Ping, p.Pong = 20*time.Millisecond, 5*time.Second })
	c := connected(t, r)
	lazy, stopLazy := c.Events(1)
	defer stopLazy()
	const many = 5000
	keen, stopKeen := c.Events(many + 10)
	defer stopKeen()
	ticks(r, many)
	for seen := 0; seen < many; {
		e, ok := <-keen
		switch {
		case !ok:
			t.Fatalf("the keen one was dropped after %d events", seen)
		case e.Name == link.EventGap:
			t.Fatalf("an event is missing after %d", seen)
		case e.Name == "tick":
			seen++
		}
	}
	left := 0
	for range lazy {
		left++
	}
	if left > 1 {
		t.Errorf("the lazy one was kept %d events", left)
	}
	works(t, c, "run-1")
	if n := c.Connections(); n != 1 {
		t.Errorf("connected %d times", n)
	}
}

// A 25 MiB event does not close the connection, and a 25 MiB answer arrives while other
// requests are in progress.
func TestClientHugeEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("needs much memory")
	}
	r := open(t, demo.Options{})
	c := connected(t, r, func(o *link.Options) { o.Timeout = patience })
	events, stop := c.Events(100)
	defer stop()
	<-events // connected
	r.Bloat("tick", 25<<20)
	for n := int64(1); n <= 3; n++ {
		ticks(r, 1)
		e := <-events
		for e.Name == "health" { // sent after a minute, on a busy machine
			e = <-events
		}
		if e.Name != "tick" || e.Seq < n || len(e.Payload) < 25<<20-1000 {
			t.Fatalf("%s %d has %d bytes, want number %d", e.Name, e.Seq, len(e.Payload), n)
		}
	}
	r.Bloat("tick", 0)
	works(t, c, "run-1")
	if n := c.Connections(); n != 1 {
		t.Errorf("connected %d times", n)
	}
}

// With repeated and reversed answers, swapped events and unknown members all at once, every
// answer still reaches its caller.
func TestClientDisorder(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	r.Repeat("", 1)
	r.SwapEvents(true)
	r.Reverse("agents.list", 2)
	r.Garble(ExtraMembers, UnknownEvent, StrayAnswer)
	var asking sync.WaitGroup
	for range 40 { // an even number, because the last event of a pair waits for the other
		asking.Go(func() {
			if agents, err := c.Agents(t.Context()); err != nil || len(agents) != 4 {
				t.Errorf("agents: %v, %v", agents, err)
			}
		})
	}
	asking.Wait()
	r.Heal()
	works(t, c, "run-1")
	if n := c.Connections(); n != 1 {
		t.Errorf("connected %d times", n)
	}
}
