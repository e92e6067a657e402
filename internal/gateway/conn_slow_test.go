package gateway_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// A gateway that is connected but does not answer has a state of its own.
func TestSlow(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for swallowed := 0; ; {
			r := p.read()
			switch {
			case r.Method == "health": // only other requests may end the slow state here
			case swallowed == 0:
				swallowed++
			default:
				p.answer(r, agents.Response)
			}
		}
	})
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	await(t, c)
	_, err := c.Agents(within(t))
	if f := fault.Of(err); !errors.Is(err, link.ErrTimeout) || f.Kind != fault.Timeout {
		t.Errorf("Agents: %v", err)
	}
	s := untilState(t, c, link.Slow)
	if s.ConnectedAt == nil || !strings.Contains(s.LastError, "did not answer agents.list within 3s") {
		t.Errorf("slow, the status is %+v", s)
	}
	// The next request is still sent, and its response ends the slow state.
	if _, err := c.Agents(within(t)); err != nil {
		t.Errorf("Agents: %v", err)
	}
	if s := c.Status(); s.State != link.Connected || s.LastError != "" || g.dials() != 1 {
		t.Errorf("answered, the status is %+v", s)
	}
}

// The client notices by itself that a slow gateway has recovered.
func TestSlowHealsByItself(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1", "operator.read")
		p.expect("agents.list")
		p.expect("health") // not answered either
		p.answer(p.expect("health"), map[string]any{"type": "res", "ok": true, "payload": map[string]any{}})
		p.gone()
	})
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	await(t, c)
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("Agents: %v", err)
	}
	untilState(t, c, link.Slow)
	// The client returns to its previous state.
	if untilState(t, c, link.MissingScopes); g.dials() != 1 {
		t.Error("it took another connection")
	}
	if n := strings.Count(g.logged(), "state=slow"); n != 1 {
		t.Errorf("%d lines tell of one slowness:\n%s", n, g.logged())
	}
}

// A single stuck request, or a slow answer of an agent, does not make the gateway slow.
func TestOneStuckRequestIsNotSlow(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	history := recorded[exchange](t, "history.json")
	waits := recorded[map[string]exchange](t, "wait.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		var waiting, stuck req
		for {
			switch r := p.read(); r.Method {
			case "agent.wait":
				waiting = r
			case "chat.history":
				stuck = r
			case "agents.list":
				p.answer(r, agents.Response)
			case "chat.abort": // the test is over: answer the waiting requests
				p.answer(stuck, history.Response)
				p.answer(waiting, waits["agent.wait ok"].Response)
				p.answer(r, map[string]any{"type": "res", "ok": true, "payload": map[string]any{"aborted": false}})
			}
		}
	})
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	await(t, c)
	waited, stuck := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.Wait(within(t), "run-1", 2*shortTimeout) // longer than the limit for requests
		waited <- err
	}()
	go func() {
		_, err := c.Turns(within(t), "agent:cto:main", 3, 0)
		stuck <- err
	}()
	for done := false; !done; {
		if _, err := c.Agents(within(t)); err != nil {
			t.Fatalf("Agents: %v", err)
		}
		select {
		case err := <-stuck:
			done = true
			if !errors.Is(err, link.ErrTimeout) {
				t.Errorf("Turns: %v", err)
			}
		case <-time.After(5 * time.Millisecond):
		}
	}
	if _, err := c.Stop(within(t), "agent:cto:main", "run-1"); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := <-waited; err != nil {
		t.Errorf("Wait: %v", err)
	}
	if log := g.logged(); strings.Contains(log, "state=slow") {
		t.Errorf("it was called slow:\n%s", log)
	}
}

// A late response does not end the slow state.
func TestLateAnswersDoNotHeal(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	late := make(chan struct{})
	sent := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		r := p.expect("agents.list")
		<-late
		p.answer(r, agents.Response)
		p.send(json.RawMessage(`{"type":"event","event":"tick","seq":1,"payload":{}}`))
		<-sent
		p.gone()
	})
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	await(t, c)
	events, stop := c.Events(10)
	defer stop()
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("Agents: %v", err)
	}
	untilState(t, c, link.Slow)
	close(late)
	for next(t, events).Name != "tick" {
	}
	if s := c.Status(); s.State != link.Slow {
		t.Errorf("after a late answer it is %s", s.State)
	}
	close(sent)
}

// While a handshake hangs, the state is slow and requests fail at once with ErrTimeout.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) { p.gone() })
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	s := untilState(t, c, link.Slow)
	if s.ConnectedAt != nil || !strings.Contains(s.LastError, "did not start the handshake within 3s") {
		t.Errorf("the status is %+v", s)
	}
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("Agents: %v", err)
	}
}
