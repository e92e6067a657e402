package faults

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// Bloat must produce the exact size, because tests need frames at the limit and just above
// it.
func TestBloat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs much memory")
	}
	r := open(t, demo.Options{})
	c := join(t, r)
	r.Bloat("agents.list", 25<<20-1)
	got := c.ok("agents.list", object{})
	if n := len(last(c.wire()).Data); n != 25<<20-1 || len(must[[]any](t, got, "agents")) != 4 {
		t.Errorf("the answer has %d bytes, want %d", n, 25<<20-1)
	}
	r.Bloat("agents.list", 0)
	r.Bloat("tick", 25<<20)
	ticks(r, 1)
	c.until("huge event", 0, func(f object) bool { return f["event"] == "tick" && dig[string](f, "payload", "padding") != "" })
	r.Bloat("tick", 0)
	before := len(c.wire())
	if n := len(last(c.wire()).Data); n != 25<<20 {
		t.Errorf("the event has %d bytes, want %d", n, 25<<20)
	}
	ticks(r, 1)
	c.ok("agents.list", object{})
	for _, p := range c.wire()[before:] {
		if len(p.Data) > 1<<20 {
			t.Errorf("after Heal, a frame has %d bytes", len(p.Data))
		}
	}
	r.Bloat("models.list", 25<<20+1)
	c.ask("models.list", object{})
	c.closed()
	if !errors.Is(c.err, websocket.ErrMessageTooBig) {
		t.Errorf("a frame over the limit: %v", c.err)
	}
}

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

// With Lag, a request takes effect at once, only its answer is late, and late answers stay
// in order. Other methods are not delayed.
func TestLag(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	const late = 50 * time.Millisecond
	r.Lag("health", late)
	start := time.Now()
	a, b := c.ask("health", object{}), c.ask("health", object{})
	c.ok("models.list", object{})
	c.answer(b, 0)
	if took := time.Since(start); took < late {
		t.Errorf("answered after %s", took)
	}
	if diff := cmp.Diff([]string{"r1", "r4", a, b}, c.order()); diff != "" {
		t.Errorf("answers:\n%s", diff)
	}
	r.Lag("", time.Hour)
	c.ask("agent", question("cto", "run-1", "hi"))
	eventually(t, "the run begins", func() bool { return r.Asked("cto") == 1 })
	if n := len(c.order()); n != 4 {
		t.Errorf("%d answers, want none of the run", n-4)
	}
	r.Lag("health", 0)
	r.Lag("", 0)
	c.answer("r5", 0)
}

// If the handshake is slow, no event may arrive before its answer.
func TestLagConnect(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{}, func(p *demo.Timing) { p.Tick = time.Millisecond })
	r.Lag("connect", 30*time.Millisecond)
	c := dial(t, r, nil)
	c.ok("connect", hello(nil))
	c.event("tick")
	if seen := c.seen(); seen[1]["type"] != "res" {
		t.Errorf("after the challenge came %v", seen[1])
	}
	r.Hang("connect", true)
	silent := dial(t, r, nil)
	silent.ask("connect", hello(nil))
	eventually(t, "the connect arrives", func() bool { return r.Calls("connect") == 2 })
	c.ok("health", object{})
	if n := len(silent.seen()); n > 1 {
		t.Errorf("%d frames arrived, want none", n-1)
	}
}

// A request that is never answered may still have taken effect.
func TestHang(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	r.Hang("agent", true)
	id := c.ask("agent", question("cto", "run-1", "hi"))
	if s := c.wait("run-1")["status"]; s != "ok" {
		t.Errorf("the run ended as %v", s)
	}
	r.Hang("agent", false)
	if s := c.ok("agent", question("cto", "run-1", "hi"))["status"]; s != "ok" {
		t.Errorf("repeated: %v", s)
	}
	if n := len(c.named(id)); n != 0 {
		t.Errorf("%d answers arrived after Heal", n)
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

// A frozen connection looks alive but is half open. It catches up after the freeze, and it
// must not delay the end of the runtime.
func TestFreeze(t *testing.T) {
	r := open(t, demo.Options{}, func(p *demo.Timing) { p.Ping, p.Pong = time.Millisecond, 20*time.Millisecond })
	c := join(t, r)
	r.Freeze(true)
	if c.pong(30*time.Millisecond) == nil { // the reader is waiting for a frame
		t.Error("a frozen peer answers pings")
	}
	id := c.ask("health", object{})
	ticks(r, 1)
	if c.pong(100*time.Millisecond) == nil { // the reader has received a frame
		t.Error("a frozen peer answers pings")
	}
	if n := len(c.named(id)) + len(c.numbers()); n != 0 {
		t.Errorf("%d frames came from a frozen peer", n)
	}
	r.Freeze(false)
	c.answer(id, 0)
	c.event("tick")
	r.Freeze(true)
	c.ask("health", object{})
	start := time.Now()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if code, _ := c.closed(); code != -1 || time.Since(start) > patience/2 {
		t.Errorf("closed with %d after %s", code, time.Since(start))
	}
}

// During a freeze, a new connection is accepted and never answered.
func TestFreezeNew(t *testing.T) {
	t.Parallel()
	for name, door := range map[string]func(*Runtime, bool){
		"frozen": (*Runtime).Freeze,
		"mute": func(r *Runtime, on bool) {
			r.SetPort(map[bool]PortMode{true: PortSilent, false: PortNormal}[on])
		},
	} {
		for _, tls := range []bool{false, true} {
			r := open(t, demo.Options{})
			if tls {
				r = openTLS(t)
			}
			door(r, true)
			answer := make(chan int, 1)
			go func() {
				status, _ := get(t, r.URL()+"/healthz")
				answer <- status
			}()
			eventually(t, "a connection is held", func() bool { return r.heldAtPort.Load() == 1 })
			select {
			case status := <-answer:
				t.Errorf("%s: answered %d", name, status)
			default:
			}
			door(r, false)
			if status := <-answer; status != 200 {
				t.Errorf("%s: then answered %d", name, status)
			}
		}
	}
}

// A connection that breaks inside a frame has no clean end.
func TestTear(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	c.ok("health", object{})
	r.Tear("agents.list", true)
	c.ok("health", object{})
	c.ask("agents.list", object{})
	if code, _ := c.closed(); code != -1 {
		t.Errorf("closed with %d", code)
	}
	if !errors.Is(c.err, syscall.ECONNRESET) && !errors.Is(c.err, io.ErrUnexpectedEOF) {
		t.Errorf("ended with %v", c.err)
	}
	r.Tear("agents.list", false)
	join(t, r).ok("agents.list", object{})
}

// Half of the frame is really sent, so the connection breaks while the client reads it.
func TestTornFrame(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() {
		tear(ours, []byte(`{"type":"event"}`))
		_ = ours.Close()
	}()
	got, err := io.ReadAll(theirs)
	if want := "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x10{\"type\":"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// Heal turns everything off at once.
func TestHeal(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	waiting := c.ask("agent.wait", object{"runId": "x", "timeoutMs": 1})
	c.answer(waiting, 0)
	r.Reverse("models.list", 5)
	held := c.ask("models.list", object{})
	eventually(t, "the request arrives", func() bool { return r.Calls("models.list") == 1 })
	r.Lag("health", time.Hour)
	late := c.ask("health", object{})
	eventually(t, "the request arrives", func() bool { return r.Calls("health") == 1 })
	r.Fail("", "broken")
	r.Silence("", true)
	r.Starting(true)
	c.garbled = true
	r.Garble(NotJSON)
	r.Bloat("", 1<<20)
	r.Repeat("", 3)
	r.LoseEvents("", true)
	r.MuteEvents(true)
	r.SwapEvents(true)
	r.Tear("agents.list", true)
	r.Withhold(scopeRead)
	r.SetProtocol(9)
	r.Skew(time.Hour)
	r.LockOut(time.Hour)
	r.Refreshing(9)
	r.SetPort(PortBadGateway)
	r.Freeze(true)
	r.Heal()
	c.answer(held, 0)
	c.answer(late, 0)
	before := len(c.wire())
	c.ok("agents.list", object{})
	if n := len(c.wire()) - before; n != 1 {
		t.Errorf("%d frames for one answer", n)
	}
	c = join(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	if s := c.wait("run-1")["status"]; s != "ok" {
		t.Errorf("the run ended as %v", s)
	}
	if s := dig[string](c.ok("sessions.usage", object{"agentScope": "all"}), "cacheStatus", "status"); s != "fresh" {
		t.Errorf("usage is %s", s)
	}
	if off := dig[float64](c.event("connect.challenge"), "payload", "ts") - float64(time.Now().UnixMilli()); off > 60_000 {
		t.Errorf("the clock is off by %v ms", off)
	}
	c.numbered()
}
