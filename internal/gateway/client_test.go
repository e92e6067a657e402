package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// Invalid settings are reported at startup, without quoting a possible password.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"127.0.0.1:18789", "ftp://127.0.0.1", "ws://", "ws://:18789", "http://user:" + token + "@host",
		"ws://host/?token=" + token, "ws://host/#" + token, "ws://[" + token, "://" + token,
	} {
		_, err := gateway.New(link.Options{URL: bad})
		if err == nil {
			t.Errorf("%q is accepted", bad)
			continue
		}
		if strings.Contains(err.Error(), token) {
			t.Errorf("the error shows the address: %v", err)
		}
	}
	for given, shown := range map[string]string{
		"http://127.0.0.1:18789":   "ws://127.0.0.1:18789/",
		"https://gateway.test":     "wss://gateway.test/",
		"ws://gateway.test/openai": "ws://gateway.test/openai",
		"":                         "",
	} {
		c, err := gateway.New(link.Options{URL: given})
		if err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		if s := c.Status(); s.URL != shown {
			t.Errorf("%q is shown as %q, want %q", given, s.URL, shown)
		}
	}
}

// Without a gateway, requests fail with the settings to change.
func TestNotConfigured(t *testing.T) {
	t.Parallel()
	c := client(t, link.Options{})
	if s := c.Status(); s.State != link.NotConfigured || !strings.Contains(s.LastError, "AGENTRT_GATEWAY_URL") {
		t.Errorf("status = %+v", s)
	}
	if _, err := c.Await(t.Context()); !errors.Is(err, link.ErrNotConfigured) {
		t.Errorf("Await: %v", err)
	}
	if _, err := c.Agents(t.Context()); !errors.Is(err, link.ErrNotConfigured) {
		t.Errorf("Agents: %v", err)
	}
}

// No list in the status may be null, because the API returns it unchanged.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	c, err := gateway.New(link.Options{URL: "ws://gateway.test", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c.Status())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"state":"connecting"`, `"scopes_asked":[]`, `"scopes_granted":[]`, `"scopes_missing":[]`, `"latency_ms":null`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s lacks %s", data, part)
		}
	}
}

// A recorded restart: a shutdown event, rejected connections, "starting", and a new
// boot id. The state stays the same throughout.
func TestRestart(t *testing.T) {
	t.Parallel()
	h := recorded[handshakes](t, "handshake.json")
	starting := h.Refused["gateway starting"]
	leave := make(chan struct{})
	g := replay(t, func(n int, p *peer) {
		switch {
		case n == 1:
			p.greet("boot-1")
			<-leave
			p.send(with(t, h.Restarting, "seq", 1))
			p.close(h.CloseRestarting.Code, h.CloseRestarting.Reason)
		case n < 6:
			p.send(h.Challenge)
			p.answer(p.expect("connect"), with(t, starting.Response, "error.retryAfterMs", 1))
			p.close(starting.Close.Code, starting.Close.Reason)
		default:
			p.greet("boot-2")
			p.gone()
		}
	})
	c := client(t, g.options())
	events, stop := c.Events(10)
	defer stop()
	if boot := await(t, c); boot != "boot-1" {
		t.Errorf("boot id = %q", boot)
	}
	close(leave)

	var names []string
	for {
		e := next(t, events)
		names = append(names, e.Name)
		if e.Name == link.EventConnected && (!e.Resync || e.Restarted != (e.BootID == "boot-2")) {
			t.Errorf("on %s: resync %t, restarted %t", e.BootID, e.Resync, e.Restarted)
		}
		if e.BootID == "boot-2" {
			break
		}
	}
	if got, want := strings.Join(names, " "), "connected shutdown disconnected connected"; got != want {
		t.Errorf("events = %s, want %s", got, want)
	}
	if s := c.Status(); s.State != link.Connected || s.BootID != "boot-2" || s.Failures != 0 {
		t.Errorf("status = %+v", s)
	}
	log := g.logged()
	if n := strings.Count(log, "state=unreachable"); n != 1 {
		t.Errorf("%d lines tell of one absence:\n%s", n, log)
	}
	if strings.Contains(log, "state=connecting") {
		t.Errorf("it flapped:\n%s", log)
	}
}

// A stopped gateway is reported differently from a restarting one.
func TestStoppedGateway(t *testing.T) {
	t.Parallel()
	h := recorded[handshakes](t, "handshake.json")
	g := replay(t, func(n int, p *peer) {
		if n > 1 {
			p.gone() // a connection without a handshake
		}
		p.greet("boot-1")
		p.send(h.Stopping)
		p.close(1012, "service restart")
	})
	c := client(t, g.options())
	until(t, c, "the farewell", func(s link.Status) bool { return strings.Contains(s.LastError, "was stopped") })
}

// While the client retries, the state stays unreachable and since does not change, so
// that it shows how long the gateway has been unreachable.
func TestNoFlapping(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) { p.close(1000, "") })
	c := client(t, g.options())
	since := untilState(t, c, link.Unreachable).Since
	s := until(t, c, "the tenth failure", func(s link.Status) bool {
		if s.State != link.Unreachable || !s.Since.Equal(since.Time) {
			t.Fatalf("it flapped to %s since %s", s.State, s.Since)
		}
		return s.Failures >= 10
	})
	if s.ConnectedAt != nil {
		t.Error("it claims a connection")
	}
}

// A caller of Await shortens the delay between attempts: a standup waits at most a
// minute.
func TestAwaitWakes(t *testing.T) {
	t.Parallel()
	g := replay(t, func(n int, p *peer) {
		if n == 1 {
			return
		}
		p.greet("boot-1")
		p.gone()
	})
	opt := g.options()
	opt.Backoff = link.Backoff{Min: time.Hour, Max: time.Hour, Quick: time.Millisecond}
	c := client(t, opt)
	untilState(t, c, link.Unreachable)
	await(t, c)
}

// Await returns the reason for the missing connection when its context ends.
func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	refused := recorded[handshakes](t, "handshake.json").Refused["wrong token, no device"]
	g := replay(t, func(_ int, p *peer) {
		p.send(recorded[handshakes](t, "handshake.json").Challenge)
		p.answer(p.expect("connect"), refused.Response)
	})
	c := client(t, g.options())
	untilState(t, c, link.Unauthorized)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Await(ctx); !errors.Is(err, link.ErrUnauthorized) || !strings.Contains(err.Error(), "AGENTRT_GATEWAY_TOKEN") {
		t.Errorf("Await: %v", err)
	}
}

// A connection without any traffic is closed after a while.
func TestSilence(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.gone()
	})
	opt := g.options()
	opt.Silence = 50 * time.Millisecond
	c := client(t, opt)
	await(t, c)
	until(t, c, "noticing the silence", func(s link.Status) bool { return strings.Contains(s.LastError, "sent nothing for") })
	await(t, c)
	if g.dials() < 2 {
		t.Error("it did not connect again")
	}
}

// Pings keep an otherwise silent connection open.
func TestPingsAreLife(t *testing.T) {
	t.Parallel()
	pinged := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		reading := p.ws.CloseRead(context.Background())
		beat := time.NewTicker(50 * time.Millisecond)
		defer beat.Stop()
		for range 100 {
			<-beat.C
			if err := p.ws.Ping(reading); err != nil {
				t.Errorf("ping: %v", err)
			}
		}
		close(pinged)
		<-reading.Done()
	})
	opt := g.options()
	opt.Silence = 4 * time.Second // the pings last 5 s
	c := client(t, opt)
	await(t, c)
	<-pinged
	if s := c.Status(); s.State != link.Connected || g.dials() != 1 {
		t.Errorf("after the pings: %s (%s), %d connections", s.State, s.LastError, g.dials())
	}
}

// A frame of 2 MB is accepted if the gateway announced 3 MB, and ends the connection if
// it announced 1 MB.
func TestHugeFrame(t *testing.T) {
	t.Parallel()
	h := recorded[handshakes](t, "handshake.json")
	huge := map[string]any{"type": "event", "event": "tick", "seq": 1, "payload": strings.Repeat("x", 2<<20)}
	greet := func(p *peer, limit int) {
		p.send(h.Challenge)
		hello := with(t, h.Hello, "payload.policy.maxPayload", limit)
		p.answer(p.expect("connect"), hello)
		p.send(huge)
		p.gone()
	}
	t.Run("within the limit", func(t *testing.T) {
		c := client(t, replay(t, func(_ int, p *peer) { greet(p, 3<<20) }).options())
		events, stop := c.Events(10)
		defer stop()
		for next(t, events).Name != "tick" {
		}
	})
	t.Run("beyond it", func(t *testing.T) {
		g := replay(t, func(_ int, p *peer) { greet(p, 1<<20) })
		c := client(t, g.options())
		until(t, c, "refusing it", func(s link.Status) bool { return strings.Contains(s.LastError, "too large") })
	})
}

// Malformed frames neither end the connection nor fill the log.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		r := p.expect("agents.list")
		for _, bad := range []string{"", "{", "null", "[]", `{"type":"res"}`, `{"type":"event"}`, `{"type":"req","id":"1"}`, `{"type":"res","id":7}`, "\xff\xfe"} {
			p.write([]byte(bad))
		}
		p.answer(r, with(p.t, agents.Response, "somethingNew", true))
		p.gone()
	})
	c := g.connected(t)
	if _, err := c.Agents(within(t)); err != nil {
		t.Errorf("Agents: %v", err)
	}
	if n := strings.Count(g.logged(), "malformed frame"); n != 1 {
		t.Errorf("%d log lines, want 1:\n%s", n, g.logged())
	}
}

// Responses may arrive in any order and repeatedly; each goes to its own request.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	history := recorded[exchange](t, "history.json")
	agents := recorded[exchange](t, "agents.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		asked := map[string]req{}
		for range 2 {
			r := p.read()
			asked[r.Method] = r
		}
		p.answer(req{ID: "never-asked"}, agents.Response)
		for range 2 {
			p.answer(asked["chat.history"], history.Response)
		}
		for range 2 {
			p.answer(asked["agents.list"], agents.Response)
		}
		p.answer(p.expect("agents.list"), agents.Response)
		p.gone()
	})
	c := g.connected(t)
	var both sync.WaitGroup
	both.Go(func() {
		if list, err := c.Agents(within(t)); err != nil || len(list) == 0 {
			t.Errorf("Agents: %d, %v", len(list), err)
		}
	})
	both.Go(func() {
		if page, err := c.Turns(within(t), "agent:cto:main", 3, 0); err != nil || len(page.Turns) != 3 {
			t.Errorf("Turns: %d, %v", len(page.Turns), err)
		}
	})
	both.Wait()
	if _, err := c.Agents(within(t)); err != nil {
		t.Errorf("Agents after the duplicates: %v", err)
	}
}

// A request fails at once with the reason when its connection is lost.
func TestDropInFlight(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.expect("agents.list")
		p.close(1012, "service restart")
	})
	c := g.connected(t)
	_, err := c.Agents(within(t))
	if !errors.Is(err, link.ErrUnreachable) || !strings.Contains(err.Error(), "before the gateway answered") {
		t.Errorf("Agents: %v, want unreachable", err)
	}
}

// A request without a response times out.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.gone()
	})
	opt := g.options()
	opt.Timeout = shortTimeout
	c := client(t, opt)
	await(t, c)
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("Agents: %v, want a timeout", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Agents(ctx); !errors.Is(err, link.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Agents with a deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := c.Agents(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Agents for somebody who left: %v", err)
	}
	if s := c.Status(); s.ConnectedAt == nil || g.dials() != 1 {
		t.Errorf("a caller's patience ended the connection: %s", s.LastError)
	}
}

// Each recorded error maps to the matching error of this package, with its retry delay.
func TestErrors(t *testing.T) {
	t.Parallel()
	errs := recorded[map[string]json.RawMessage](t, "errors.json")
	for name, want := range map[string]struct {
		err   error
		says  string
		after time.Duration
	}{
		"rate limit":     {link.ErrBusy, "rate limit exceeded", 59436 * time.Millisecond},
		"restarting":     {link.ErrUnreachable, "restarting", time.Second},
		"unknown method": {link.ErrRefused, "unknown method: nope.method", 0},
		"missing scope":  {link.ErrMissingScope, "operator.read", 0},
		"a leak":         {link.ErrRefused, "[token] is wrong", 0},
		"no reason":      {link.ErrRefused, "no reason", 0},
	} {
		t.Run(name, func(t *testing.T) {
			response := any(errs[name])
			switch name {
			case "a leak":
				response = with(t, errs["unknown method"], "error.message", token+" is wrong")
			case "no reason":
				response = map[string]any{"type": "res", "ok": false}
			}
			g := replay(t, func(_ int, p *peer) {
				p.greet("boot-1")
				p.answer(p.expect("agents.list"), response)
				p.gone()
			})
			_, err := g.connected(t).Agents(within(t))
			f := fault.Of(err)
			if !errors.Is(err, want.err) || !strings.Contains(f.Detail, want.says) || f.RetryAfter != want.after {
				t.Errorf("Agents: %v, again in %s; want %v with %q, again in %s", err, f.RetryAfter, want.err, want.says, want.after)
			}
			if strings.Contains(err.Error(), token) {
				t.Error("the error shows the token")
			}
		})
	}
}

// An agent may repeat a token that it read in a file; it is redacted in answers and
// events. A short token is redacted only in errors.
func TestTokenInFrames(t *testing.T) {
	t.Parallel()
	waits := recorded[map[string]exchange](t, "wait.json")
	errs := recorded[map[string]json.RawMessage](t, "errors.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		r := p.expect("agent.wait")
		p.send(map[string]any{"type": "event", "event": "chat", "seq": 1, "payload": map[string]any{"text": "It is " + token}})
		p.answer(r, with(t, waits["agent.wait ok"].Response, "payload.terminalReply.text", "It is "+token))
		p.answer(p.expect("agent.wait"), with(t, errs["unknown method"], "error.message", "no brief-word here"))
		p.gone()
	})
	c := g.connected(t)
	events, stop := c.Events(10)
	defer stop()
	a, err := c.Wait(within(t), "q-1", time.Minute)
	if err != nil || a.Text != "It is [token]" {
		t.Errorf("Wait: %q, %v", a.Text, err)
	}
	next(t, events) // connected
	if e := next(t, events); string(e.Payload) != `{"text":"It is [token]"}` {
		t.Errorf("event = %s", e.Payload)
	}

	opt := g.options()
	opt.Token = "brief-word"
	c = client(t, opt)
	await(t, c)
	if _, err := c.Wait(within(t), "q-2", 0); err != nil {
		t.Error(err)
	}
	if _, err := c.Wait(within(t), "q-3", 0); err == nil || strings.Contains(err.Error(), "brief-word") {
		t.Errorf("Wait: %v", err)
	}
}

// Rejected connections during a restart must not slow down the retries.
func TestRestartIsFollowedClosely(t *testing.T) {
	t.Parallel()
	leave := make(chan struct{})
	g := replay(t, func(n int, p *peer) {
		switch n {
		case 1:
			p.greet("boot-1")
			<-leave
			p.close(1012, "service restart")
		case 2, 3, 4:
			p.close(1000, "")
		default:
			p.greet("boot-2")
			p.gone()
		}
	})
	opt := g.options()
	opt.Backoff = link.Backoff{Min: time.Hour, Max: time.Hour, Quick: time.Millisecond}
	c := client(t, opt)
	await(t, c)
	close(leave)
	until(t, c, "the new start", func(s link.Status) bool { return s.BootID == "boot-2" })
}
