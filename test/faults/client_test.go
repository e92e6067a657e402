package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// These tests run the gateway client against every fault: the client must report the
// problem and recover afterwards.

// impatient returns a client with short pauses, to keep tests fast. Its request timeout is
// long enough for a busy machine; tests of unanswered requests set a shorter one.
func impatient(t *testing.T, r *Runtime, change ...func(*link.Options)) *gateway.Client {
	t.Helper()
	o := link.Options{
		URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite}, Timeout: patience,
		Backoff: link.Backoff{Min: 2 * time.Millisecond, Max: 20 * time.Millisecond, Quick: 10 * time.Millisecond},
	}
	for _, c := range change {
		c(&o)
	}
	c, err := gateway.New(o)
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
	return c
}

// connected returns an impatient client that is connected.
func connected(t *testing.T, r *Runtime, change ...func(*link.Options)) *gateway.Client {
	t.Helper()
	c := impatient(t, r, change...)
	in(t, c, link.Connected)
	return c
}

// in waits for a state and returns the status.
func in(t *testing.T, c *gateway.Client, state link.State) link.Status {
	t.Helper()
	var s link.Status
	late := time.Now().Add(patience)
	for s = c.Status(); s.State != state; s = c.Status() {
		if time.Now().After(late) {
			t.Fatalf("is %s (%s), want %s", s.State, s.LastError, state)
		}
		<-time.After(time.Millisecond)
	}
	return s
}

// works lists the agents and runs a question, as a standup does.
func works(t *testing.T, c *gateway.Client, runID string) {
	t.Helper()
	agents, err := c.Agents(t.Context())
	if err != nil || len(agents) != 4 {
		t.Errorf("agents: %v, %v", agents, err)
	}
	if _, err := c.Start(t.Context(), gateway.Question{RunID: runID, AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}); err != nil {
		t.Fatalf("ask: %v", err)
	}
	a, err := c.Wait(t.Context(), runID, patience)
	if err != nil || a.Outcome != gateway.Finished || a.Text == "" {
		t.Errorf("answer: %+v, %v", a, err)
	}
}

// Garbage between frames has no effect and does not close the connection.
func TestClientGarbage(t *testing.T) {
	t.Parallel()
	for _, kind := range []Garbage{NotJSON, WrongShape, BinaryFrame, InvalidUTF8, StrayAnswer, UnknownEvent, ExtraMembers, MissingMembers, ControlCharacters} {
		t.Run(string(kind), func(t *testing.T) {
			r := open(t, demo.Options{})
			c := connected(t, r)
			r.Garble(kind)
			works(t, c, "run-1")
			if agents, err := c.Agents(t.Context()); err == nil && strings.Contains(agents[0].Name+agents[0].IdentityName, "\x00") {
				t.Errorf("a name that no database takes: %q", agents[0].Name)
			}
			late := impatient(t, r)
			in(t, late, link.Connected)
			r.Garble()
			works(t, c, "run-2")
			if n := r.Calls("connect"); n != 2 {
				t.Errorf("connected %d times, want 2", n)
			}
		})
	}
}

// Nonsensical answers are errors, not empty results, and the client recovers.
func TestClientWrongTypes(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	r.Garble(WrongTypes)
	if agents, err := c.Agents(t.Context()); err == nil {
		t.Errorf("agents: %+v", agents)
	}
	if s, err := c.Start(t.Context(), gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}); err == nil {
		t.Errorf("asked: %+v", s)
	}
	if a, err := c.Wait(t.Context(), "run-1", time.Millisecond); err == nil && a.Outcome != gateway.Running {
		t.Errorf("waited: %+v", a)
	}
	late := impatient(t, r)
	in(t, late, link.Unreachable)
	r.Garble()
	works(t, c, "run-2")
	in(t, late, link.Connected)
	works(t, late, "run-3")
}

// Repeated and reordered answers reach the right callers.
func TestClientOrder(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	r.Repeat("", 2)
	works(t, c, "run-1")
	r.Repeat("", 0)
	// A wait that its answer overtook may still be in flight; once this call returns, it
	// isn't.
	if _, err := c.Agents(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Reverse("", 2)
	type got struct {
		n   int
		err error
	}
	first, second := make(chan got, 1), make(chan got, 1)
	go func() {
		agents, err := c.Agents(t.Context())
		first <- got{len(agents), err}
	}()
	go func() {
		a, err := c.Wait(t.Context(), "nobody", time.Millisecond)
		second <- got{len(a.Outcome), err}
	}()
	if g := <-first; g.n != 4 || g.err != nil {
		t.Errorf("agents: %+v", g)
	}
	if g := <-second; g.n != len(gateway.Running) || g.err != nil {
		t.Errorf("wait: %+v", g)
	}
	r.Reverse("", 0)
	r.Reverse("agent", 2)
	s, err := c.Start(t.Context(), gateway.Question{RunID: "run-2", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"})
	if err != nil || s.Answer == nil || s.Answer.Text == "" {
		t.Errorf("the result before the word that it was accepted: %+v, %v", s, err)
	}
	r.Reverse("agent", 0)
	works(t, c, "run-3")
}

// A slow answer fails only its own request, and a late answer reaches no other caller.
func TestClientSlow(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, func(o *link.Options) { o.Timeout = shortTimeout })
	r.Hang("agents.list", true)
	if _, err := c.Agents(t.Context()); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("never answered: %v", err)
	}
	r.Lag("agents.list", shortTimeout+time.Second)
	if _, err := c.Agents(t.Context()); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("answered late: %v", err)
	}
	r.Heal()
	works(t, c, "run-1")
	r.Hang("agent", true)
	question := gateway.Question{RunID: "run-2", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}
	if _, err := c.Start(t.Context(), question); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("asked without an answer: %v", err)
	}
	if a, err := c.Wait(t.Context(), "run-2", patience); err != nil || a.Text == "" {
		t.Errorf("the answer of a question that was never confirmed: %+v, %v", a, err)
	}
	r.Heal()
	if s, err := c.Start(t.Context(), question); err != nil || s.Answer == nil || r.Asked("cto") != 2 {
		t.Errorf("asked again: %+v, %v; the agent was asked %d times", s, err, r.Asked("cto"))
	}
	r.Hang("connect", true)
	late := impatient(t, r, func(o *link.Options) { o.Timeout = shortTimeout })
	if s := in(t, late, link.Slow); !strings.Contains(s.LastError, "did not complete the handshake") {
		t.Errorf("says %q", s.LastError)
	}
	r.Heal()
	in(t, late, link.Connected)
}

// A broken connection is replaced, and the requests on it fail with an error.
func TestClientBroken(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*Runtime){
		"torn":   func(r *Runtime) { r.Tear("agents.list", true) },
		"frozen": func(r *Runtime) { r.Freeze(true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{}, func(p *demo.Timing) { p.Ping = 50 * time.Millisecond })
			c := connected(t, r, func(o *link.Options) { o.Silence = 4 * time.Second })
			fault(r)
			if _, err := c.Agents(t.Context()); !errors.Is(err, link.ErrUnreachable) {
				t.Errorf("asked: %v", err)
			}
			r.Heal()
			in(t, c, link.Connected)
			works(t, c, "run-1")
		})
	}
}

// Each way to be refused has its own state and message.
func TestClientAccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(*Runtime)
		state link.State
		says  string
	}{
		"other protocol": {func(r *Runtime) { r.SetProtocol(5) }, link.Unreachable, "uses protocol 5"},
		"older protocol": {func(r *Runtime) { r.SetProtocol(3) }, link.Unreachable, "uses protocol 3"},
		"fewer scopes":   {func(r *Runtime) { r.Withhold(scopeWrite) }, link.MissingScopes, "operator.write"},
		"locked out":     {func(r *Runtime) { r.LockOut(time.Minute) }, link.Unauthorized, "has locked out this address"},
		"starting":       {func(r *Runtime) { r.Starting(true) }, link.Unreachable, "starting"},
		"web page":       {func(r *Runtime) { r.SetPort(PortWebPage) }, link.Unreachable, "HTTP 200"},
		"bad gateway":    {func(r *Runtime) { r.SetPort(PortBadGateway) }, link.Unreachable, "HTTP 502"},
		"busy":           {func(r *Runtime) { r.SetPort(PortUnavailable) }, link.Unreachable, "503"},
		"moved":          {func(r *Runtime) { r.SetPort(PortRedirect) }, link.Unreachable, "redirects"},
		"proxy":          {func(r *Runtime) { r.SetPort(PortProxyRefused) }, link.Unreachable, "Proxy client attribution"},
		"reset":          {func(r *Runtime) { r.SetPort(PortReset) }, link.Unreachable, "closed the connection"},
		"mute":           {func(r *Runtime) { r.SetPort(PortSilent) }, link.Slow, "did not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{})
			c.fault(r)
			client := impatient(t, r, func(o *link.Options) {
				if c.state == link.Slow {
					o.Timeout = shortTimeout
				}
			})
			s := in(t, client, c.state)
			if !strings.Contains(s.LastError, c.says) {
				t.Errorf("says %q, want %q", s.LastError, c.says)
			}
			r.Heal()
			if c.state == link.MissingScopes {
				r.Drop() // scopes are fixed when connecting
			}
			if name == "locked out" {
				if at := s.RetryAt; at == nil || time.Until(at.Time) < 50*time.Second {
					t.Errorf("comes back at %v, although it was asked to stay away for a minute", at)
				}
				return
			}
			in(t, client, link.Connected)
		})
	}
}

// A token that changes while connected is reported as such and is not retried.
func TestClientTokenChanged(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	r.ChangeToken("another")
	in(t, c, link.Unauthorized)
	r.ChangeToken(token)
	in(t, c, link.Connected)
}

// An unpaired client is refused, and its state says so.
func TestClientUnpaired(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	c := impatient(t, r)
	in(t, c, link.Unpaired)
	r.RequirePairing(false)
	in(t, c, link.Connected)
}
