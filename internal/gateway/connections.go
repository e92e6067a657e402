package gateway

import (
	"context"
	"slices"

	"wardroom/internal/platform/fault"
)

// A run inherits the scopes of the connection that starts it, and one that is
// started with operator.admin is offered the gateway's owner tools, with which an
// agent can change the gateway's configuration. So a client that asks for
// operator.admin holds two connections, as one and the same device:
//
//   - its own asks for every scope that is configured. It watches, stops and
//     schedules, and it connects first: an unpaired device asks for one approval,
//     for everything.
//   - the starter's asks for all but operator.admin, and starts every run. It
//     connects only after the first is in, so that a gateway that is away or
//     refuses us is not called twice.
//
// Nothing falls back to the first connection: without the second, no run starts.
// While the first is down, the second watches in its place.

// The scopes that are asked for by name.
const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
	scopeAdmin = "operator.admin"
)

// lane says which connection carries a method. Each method has its own in needs.
type lane uint8

const (
	unclassified lane = iota // goes over runsLane
	runsLane                 // the connection without operator.admin: whatever starts a run, or may
	watchLane                // the one with operator.admin while it is up, else the other
	adminLane                // the one with operator.admin alone
)

// laneOf is the lane of a method.
func laneOf(method string) lane {
	for _, n := range needs() {
		if n.method == method && n.over != unclassified {
			return n.over
		}
	}
	return runsLane
}

// connection returns the connection that carries a method, or the fault of those
// who find none.
func (c *Client) connection(method string) (*conn, error) {
	c.mu.Lock()
	own, starts, watches := c.conn, c.startsRuns(), c.watching
	c.mu.Unlock()
	switch laneOf(method) {
	case adminLane:
		if own == nil {
			return nil, c.adminFault()
		}
		return own, nil
	case watchLane:
		if watches == nil {
			return nil, c.fault()
		}
		return watches, nil
	case unclassified, runsLane:
	}
	if starts == nil {
		return nil, c.startFault()
	}
	return starts, nil
}

// startsRuns is the connection over which runs are started; nil while there is
// none. It never holds operator.admin. The caller holds the lock.
func (c *Client) startsRuns() *conn {
	switch {
	case c.starting != nil:
		return c.starting
	case c.conn != nil && !c.conn.admin:
		return c.conn
	}
	return nil
}

// holdsAdmin reports whether a connection that was granted these scopes must not
// start runs. A gateway that says nothing of what it granted may have granted all
// that was asked for.
func (c *Client) holdsAdmin(granted []string) bool {
	return Covered(granted, scopeAdmin) || len(granted) == 0 && slices.Contains(c.opt.Scopes, scopeAdmin)
}

// startFault is the failure of whoever finds no connection that starts runs.
func (c *Client) startFault() *fault.Error {
	c.mu.Lock()
	waits := c.conn == nil && !c.narrowed
	c.mu.Unlock()
	switch {
	case waits:
		return c.fault()
	case c.starter == nil:
		return ErrRefused.With("%s", unasked().words())
	}
	return c.starter.fault()
}

// adminFault is the failure of whoever finds no connection with operator.admin.
func (c *Client) adminFault() *fault.Error {
	c.mu.Lock()
	narrowed := c.narrowed && c.starting != nil
	c.mu.Unlock()
	if narrowed {
		return c.scopeFault(scopeAdmin)
	}
	return c.fault()
}

// unasked is why a connection is not used that holds operator.admin without
// having asked for it.
func unasked() *failure {
	return (&failure{
		state: Unreachable, pace: slow, layer: LayerScopes,
		text: "The gateway granted operator.admin to a connection that did not ask for it. No run is started over such a connection, because the agent would be offered the gateway's owner tools.",
	}).
		mend("Update the gateway: this service is tested with version %s.", Tested)
}

// newStarter makes the client that holds the connection which starts runs. It
// shares what the two must agree on: the secrets and the runs.
func (c *Client) newStarter() *Client {
	s := c.twinAs(nil, wallet{})
	s.leader, s.secrets, s.runs, s.opt.Log = c, c.secrets, c.runs, c.opt.Log.With("connection", string(StartsRuns))
	s.opt.Scopes = runScopes(c.opt.Scopes)
	s.status = c.status
	s.status.ScopesAsked = list(s.opt.Scopes)
	return s
}

// runScopes are the scopes of the connection that starts runs: those that are
// asked for but operator.admin, and what asking agents needs.
func runScopes(asked []string) []string {
	scopes := []string{}
	for _, scope := range append([]string{scopeRead, scopeWrite}, asked...) {
		if scope != scopeAdmin && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// both are the client, and its starter when it has one.
func (c *Client) both() []*Client {
	if c.starter == nil {
		return []*Client{c}
	}
	return []*Client{c, c.starter}
}

// follow waits until a starter may connect, and takes its leader's device and
// credentials over; false when ctx ended first. It may while the leader's
// connection holds operator.admin, and when the gateway refused the leader for
// its scopes alone. Otherwise it would ask for a second approval, or show a wrong
// token twice as often.
func (c *Client) follow(ctx context.Context) bool {
	l := c.leader
	for {
		l.mu.Lock()
		may := (l.conn != nil && l.conn.admin || l.narrowed) && !l.outdated()
		device, has := l.credentials()
		state, text, changed := l.status.State, l.status.LastError, l.changed
		if l.conn != nil {
			state, text = Connecting, ""
		}
		l.mu.Unlock()
		if may {
			c.device = device
			c.secrets.add(has.issued) // the leader may not have come to it yet
			if has != c.copied {      // else the wallet may know that a token in it was refused
				c.wallet, c.copied = has, has
			}
			return true
		}
		c.fail(&failure{state: state, text: text, quiet: true}, 0, 0)
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// takeStarter makes k the connection that starts runs; false when we are to be
// another device by now.
func (c *Client) takeStarter(k *conn, as *device, version string, h hello) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is, _ := c.credentials(); idOf(is) != idOf(as) {
		return false
	}
	c.starting = k
	c.status.GatewayVersion, c.status.Protocol, c.status.BootID = version, int(protocol), k.bootID
	if c.conn == nil {
		c.status.Unavailable = lacking(h.Features.Methods)
	}
	c.elect()
	return true
}

// dropStarter notes that the connection that started runs has ended.
func (c *Client) dropStarter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = nil
	c.elect()
}

// bump wakes those who wait for a change of state, the leader's among them; the
// caller holds the lock.
func (c *Client) bump() {
	close(c.changed)
	c.changed = make(chan struct{})
	if c.leader != nil {
		c.leader.mu.Lock()
		defer c.leader.mu.Unlock()
		c.leader.bump()
	}
}

// elect chooses the connection whose events are passed on, after one of them came
// or went, and tells the subscribers when it is another one. It is done under the
// lock, which the caller holds, so that a subscriber that arrives meanwhile hears
// of a connection exactly once. A starter passes nothing on by itself.
func (c *Client) elect() {
	c.bump()
	k := c.conn
	if k == nil {
		k = c.starting
	}
	if c.leader != nil || k == c.watching {
		return
	}
	if c.watching != nil {
		c.events.publish(Event{Name: EventDisconnected, BootID: c.watching.bootID})
	}
	if c.watching = k; k == nil {
		return
	}
	restarted := c.heard != "" && c.heard != k.bootID
	c.heard = k.bootID
	c.events.publish(Event{Name: EventConnected, BootID: k.bootID, Resync: true, Restarted: restarted})
}

// publish passes an event on that came over k. The gateway sends each one over
// both connections, so that those of the connection that does not watch are left
// out.
func (c *Client) publish(k *conn, e Event) {
	to := c
	if c.leader != nil {
		to = c.leader
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.watching == k {
		to.events.publish(e)
	}
}
