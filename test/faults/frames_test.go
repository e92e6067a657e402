package faults

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// Repeat sends the same answer, or the same event with the same number, again.
func TestRepeat(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	r.Repeat("health", 2)
	r.Repeat("sessions.changed", 1)
	first := c.ask("health", object{})
	c.answer(first, 2)
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	c.ok("models.list", object{}) // its answer comes after the last repeated event
	events := map[any]int{}
	for _, f := range c.seen() {
		if f["event"] == "sessions.changed" {
			events[f["seq"]]++
		} else if f["event"] != nil {
			events[f["seq"]]--
		}
	}
	for seq, n := range events {
		if n != 2 && n != -1 {
			t.Errorf("event %v came %d times", seq, n)
		}
	}
	r.Repeat("health", 0)
	last := c.ask("health", object{})
	c.ok("models.list", object{})
	if len(c.named(first)) != 3 || len(c.named(last)) != 1 {
		t.Errorf("%d answers while on, %d after", len(c.named(first)), len(c.named(last)))
	}
}

// order returns the ids of the answers in order of arrival.
func (c *client) order() (ids []string) {
	for _, f := range c.seen() {
		if f["type"] == "res" {
			ids = append(ids, as[string](f["id"]))
		}
	}
	return ids
}

// Answers can arrive in a different order from their requests.
func TestReverse(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	r.Reverse("", 3)
	for _, method := range []string{"health", "models.list", "agents.list"} {
		c.ask(method, object{})
	}
	c.answer("r2", 0)
	if diff := cmp.Diff([]string{"r1", "r4", "r3", "r2"}, c.order()); diff != "" {
		t.Errorf("answers:\n%s", diff)
	}
	c.ask("health", object{})
	r.Reverse("", 0)
	c.answer("r5", 0) // the held answers are sent
	r.Reverse("agent", 2)
	id := c.ask("agent", question("cto", "run-1", "hi"))
	second := c.answer(id, 1)
	if s := dig[string](c.answer(id, 0), "payload", "summary"); s != "completed" || dig[string](second, "payload", "status") != "accepted" {
		t.Errorf("the first answer says %q, the second %v", s, second)
	}
}

// ticks broadcasts n events.
func ticks(r *Runtime, n int) {
	r.mu.Lock()
	now := r.now().UnixMilli()
	r.mu.Unlock()
	r.Do(func() {
		for range n {
			for _, c := range r.connected(func(c *connection) bool { return c.ready }) {
				c.conn.Event("tick", object{"ts": now})
			}
		}
	})
}

// ticking returns a runtime that sends ticks far more often than it announces, so that
// tests don't wait for one and a client on a busy machine doesn't miss one.
func ticking(t *testing.T, secure bool) *Runtime {
	t.Helper()
	slow := func(p *demo.Timing) { p.Tick = 8 * time.Second }
	var r *Runtime
	if secure {
		r = openTLS(t, slow)
	} else {
		r = open(t, demo.Options{}, slow)
	}
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(20 * time.Millisecond)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				ticks(r, 1)
			case <-over:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		beating.Wait()
	})
	return r
}

// numbers returns the sequence numbers of the events in order of arrival.
func (c *client) numbers() (all []float64) {
	for _, f := range c.seen() {
		if seq, ok := f["seq"].(float64); ok {
			all = append(all, seq)
		}
	}
	return all
}

// Lost events leave a gap, swapped events arrive in reverse, and muted events leave no
// trace.
func TestEventFaults(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	ticks(r, 1) // 1
	r.LoseEvents("tick", true)
	ticks(r, 2)
	r.LoseEvents("tick", false)
	ticks(r, 1) // 4
	r.LoseEvents("", true)
	ticks(r, 1)
	r.Heal()
	r.SwapEvents(true)
	ticks(r, 3) // 7 6, and 8 waits
	r.SwapEvents(false)
	r.MuteEvents(true)
	ticks(r, 2)
	c.ok("health", object{})
	r.MuteEvents(false)
	ticks(r, 1) // 9
	c.until("the last tick", 0, func(f object) bool { return f["seq"] == 9.0 })
	if diff := cmp.Diff([]float64{1, 4, 7, 6, 8, 9}, c.numbers()); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
}
