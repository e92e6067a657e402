package demo

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
)

// A frame at the limit must be taken, one beyond it must not; so both must be
// exactly as large as they say.
func TestBloat(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	r.Bloat("agents.list", maxPayload-1)
	got := c.ok("agents.list", object{})
	if n := len(last(c.wire()).data); n != maxPayload-1 || len(must[[]any](t, got, "agents")) != 4 {
		t.Errorf("the answer has %d bytes, want %d", n, maxPayload-1)
	}
	r.Bloat("agents.list", 0)
	r.Bloat("tick", maxPayload)
	ticks(r, 1)
	c.until("huge event", 0, func(f object) bool { return f["event"] == "tick" && dig[string](f, "payload", "padding") != "" })
	r.Bloat("tick", 0)
	before := len(c.wire())
	if n := len(last(c.wire()).data); n != maxPayload {
		t.Errorf("the event has %d bytes, want %d", n, maxPayload)
	}
	ticks(r, 1)
	c.ok("agents.list", object{})
	for _, p := range c.wire()[before:] {
		if len(p.data) > 1<<20 {
			t.Errorf("healed, a frame has %d bytes", len(p.data))
		}
	}
	r.Bloat("status", maxPayload+1)
	c.ask("status", object{})
	c.closed()
	if !errors.Is(c.err, websocket.ErrMessageTooBig) {
		t.Errorf("a frame over the limit: %v", c.err)
	}
}

// The same answer may come again, and the same event with the same number.
func TestRepeat(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	c.ok("sessions.subscribe", object{})
	r.Repeat("health", 2)
	r.Repeat("sessions.changed", 1)
	first := c.ask("health", object{})
	c.answer(first, 2)
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
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
	c.ok("status", object{})
	if len(c.named(first)) != 3 || len(c.named(last)) != 1 {
		t.Errorf("%d answers while on, %d after", len(c.named(first)), len(c.named(last)))
	}
}

// order are the ids of the answers in which they came.
func (c *client) order() (ids []string) {
	for _, f := range c.seen() {
		if f["type"] == "res" {
			ids = append(ids, only[string](f["id"]))
		}
	}
	return ids
}

// Nothing promises that answers come in the order of the questions.
func TestReverse(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	r.Reverse("", 3)
	for _, method := range []string{"health", "status", "agents.list"} {
		c.ask(method, object{})
	}
	c.answer("r2", 0)
	if diff := cmp.Diff([]string{"r1", "r4", "r3", "r2"}, c.order()); diff != "" {
		t.Errorf("answers:\n%s", diff)
	}
	c.ask("health", object{})
	r.Reverse("", 0)
	c.answer("r5", 0) // what waited is let go
	r.Reverse("agent", 2)
	id := c.ask("agent", question("cto", "run-1", "hi"))
	second := c.answer(id, 1)
	if s := dig[string](c.answer(id, 0), "payload", "summary"); s != "completed" || dig[string](second, "payload", "status") != "accepted" {
		t.Errorf("the first answer says %q, the second %v", s, second)
	}
}

// What a slow gateway does is done at once, only its answer is late, and the
// answers stay in order. Others are not late.
func TestLag(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	const late = 50 * time.Millisecond
	r.Lag("health", late)
	start := time.Now()
	a, b := c.ask("health", object{}), c.ask("health", object{})
	c.ok("status", object{})
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

// A slow handshake must not let events out before its answer.
func TestLagConnect(t *testing.T) {
	t.Parallel()
	r := open(t, Options{}, func(p *timing) { p.tick = time.Millisecond })
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
		t.Errorf("%d frames came to one who was never answered", n-1)
	}
}

// A request that is never answered may have been carried out.
func TestHang(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	r.Hang("agent", true)
	id := c.ask("agent", question("cto", "run-1", "hi"))
	if s := c.wait("run-1")["status"]; s != "ok" {
		t.Errorf("the run ended as %v", s)
	}
	r.Hang("agent", false)
	if s := c.ok("agent", question("cto", "run-1", "hi"))["status"]; s != "ok" {
		t.Errorf("asked again: %v", s)
	}
	if n := len(c.named(id)); n != 0 {
		t.Errorf("%d answers came after all", n)
	}
}

// ticks sends some events at once.
func ticks(r *Runtime, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range n {
		r.tell(audience{}, "tick", object{"ts": r.now()}, nil)
	}
}

// ticking is a runtime that ticks much more often than it announces: nobody waits
// for an event, and one that a busy machine sends late is not missed.
func ticking(t *testing.T, o Options) *Runtime {
	t.Helper()
	r := open(t, o, func(p *timing) { p.tick = 8 * time.Second })
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

// numbers are those of the events, as they came.
func (c *client) numbers() (all []float64) {
	for _, f := range c.seen() {
		if seq, ok := f["seq"].(float64); ok {
			all = append(all, seq)
		}
	}
	return all
}

// Lost events leave a gap, swapped ones go backwards, and what is hushed leaves
// no trace at all.
func TestEventFaults(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	ticks(r, 1) // 1
	r.Lose("tick", true)
	ticks(r, 2)
	r.Lose("tick", false)
	ticks(r, 1) // 4
	r.Lose("", true)
	ticks(r, 1)
	r.Heal()
	r.Swap(true)
	ticks(r, 3) // 7 6, and 8 waits
	r.Swap(false)
	r.Hush(true)
	ticks(r, 2)
	c.ok("health", object{})
	r.Hush(false)
	ticks(r, 1) // 9
	c.until("the last tick", 0, func(f object) bool { return f["seq"] == 9.0 })
	if diff := cmp.Diff([]float64{1, 4, 7, 6, 8, 9}, c.numbers()); diff != "" {
		t.Errorf("events:\n%s", diff)
	}
}

// A half-open connection looks alive and is not. What it owes comes when it
// wakes; and it must not hold up the end of the runtime.
func TestFreeze(t *testing.T) {
	t.Parallel()
	r := open(t, Options{}, func(p *timing) { p.ping, p.pong = time.Millisecond, 20*time.Millisecond })
	c := join(t, r)
	r.Freeze(true)
	if c.pong(30*time.Millisecond) == nil { // the reader stands where it waits for a frame
		t.Error("a frozen peer answers pings")
	}
	id := c.ask("health", object{})
	ticks(r, 1)
	if c.pong(100*time.Millisecond) == nil { // and now behind one
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

// In the frost a new connection is taken and never answered.
func TestFreezeNew(t *testing.T) {
	t.Parallel()
	for name, door := range map[string]func(*Runtime, bool){
		"frozen": (*Runtime).Freeze,
		"mute": func(r *Runtime, on bool) {
			r.Front(map[bool]Door{true: MuteDoor, false: OpenDoor}[on])
		},
	} {
		for _, tls := range []bool{false, true} {
			r := open(t, Options{TLS: tls})
			door(r, true)
			answer := make(chan int, 1)
			go func() {
				status, _ := get(t, r.URL()+"/healthz")
				answer <- status
			}()
			eventually(t, "somebody stands at the door", func() bool { return r.waiting.Load() == 1 })
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

// A connection that breaks inside a frame is none that ends well.
func TestTear(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
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

// The half of the frame is really sent: a reader is in the middle of it when
// the connection goes.
func TestTornFrame(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &connection{socket: ours, stop: func() {}}
	go c.tear([]byte(`{"type":"event"}`))
	got, err := io.ReadAll(theirs)
	if want := "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x10{\"type\":"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// One call heals everything, so that a test can say where the trouble ends.
func TestHeal(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	waiting := c.ask("agent.wait", object{"runId": "x", "timeoutMs": 1})
	c.answer(waiting, 0)
	r.Reverse("status", 5)
	held := c.ask("status", object{})
	eventually(t, "the request arrives", func() bool { return r.Calls("status") == 1 })
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
	r.Lose("", true)
	r.Hush(true)
	r.Swap(true)
	r.Tear("agents.list", true)
	r.Withhold(scopeRead)
	r.Speak(9)
	r.Skew(time.Hour)
	r.LockOut(time.Hour)
	r.Refreshing(9)
	r.Front(BrokenDoor)
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
