package link

import (
	"context"
	"slices"
	"time"

	"wardroom/internal/platform/fault"
)

// A run inherits the scopes of the connection that starts it. A run with
// operator.admin gets the gateway's owner tools, with which an agent can change the
// gateway's configuration. Therefore a client that requests operator.admin holds two
// connections with the same device:
//
//   - The client's own connection requests all configured scopes. It reads, receives
//     events, stops runs and manages scheduled jobs. It connects first, so that an unpaired
//     device asks for a single approval of all scopes.
//   - The starter's connection requests all scopes except operator.admin, and without a paired
//     device operator.approvals and operator.questions, and starts every run. It connects only
//     after the first, so that Wardroom does not dial an unreachable gateway twice.
//
// There is no fallback: without the second connection, no run starts. While the first
// is down, the second receives the events instead.

// Gateway scopes that this package refers to by name.
const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
	scopeAdmin = "operator.admin"

	// For the runtime's requests to people. operator.admin includes both.
	scopeApprovals = "operator.approvals"
	scopeQuestions = "operator.questions"
)

// lane selects the connection over which a gateway method is called. needs() lists each method's lane.
type lane uint8

const (
	unclassified lane = iota // treated as runsLane
	runsLane                 // the connection without operator.admin, for everything that may start a run
	watchLane                // the client's own connection, or the starter's while that is down
	adminLane                // only the client's own connection, for methods that require operator.admin
)

// laneOf returns the lane that needs() lists for a method, or runsLane if it lists none.
func laneOf(method string) lane {
	for _, n := range needs() {
		if n.method == method && n.over != unclassified {
			return n.over
		}
	}
	return runsLane
}

// ConnFor returns the connection over which to call a method, or an error that
// explains why there is none.
func (c *Client) ConnFor(method string) (*Conn, error) {
	c.mu.Lock()
	own, starts, watches := c.conn, c.runConn(), c.watching
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
		return nil, c.runFault()
	}
	return starts, nil
}

// WatchesAsAdmin reports whether the connection that stops runs has the scope operator.admin.
func (c *Client) WatchesAsAdmin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watching != nil && c.watching.admin
}

// ClockAhead returns how far the gateway's clock is ahead of Wardroom's, or zero if that is unknown.
func (c *Client) ClockAhead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching == nil {
		return 0
	}
	return c.watching.ahead
}

// runConn returns the connection over which runs are started, or nil if runs can't be
// started now. A connection with the scope operator.admin is never used for this. The
// caller must hold the lock.
func (c *Client) runConn() *Conn {
	switch {
	case c.starting != nil:
		return c.starting
	case c.conn != nil && !c.conn.admin:
		return c.conn
	}
	return nil
}

// holdsAdmin reports whether the granted scopes include operator.admin. A connection with
// this scope must not start runs. If the gateway does not report the granted scopes,
// holdsAdmin assumes that all requested ones were granted.
func (c *Client) holdsAdmin(granted []string) bool {
	return Covered(granted, scopeAdmin) || len(granted) == 0 && slices.Contains(c.opt.Scopes, scopeAdmin)
}

// runFault returns an error that explains why there is no connection for starting runs.
func (c *Client) runFault() *fault.Error {
	c.mu.Lock()
	waits := c.conn == nil && !c.scopesRejected
	c.mu.Unlock()
	switch {
	case waits:
		return c.fault()
	case c.starter == nil:
		return ErrRefused.With("%s", c.latestEndpoint().message(unrequestedAdmin()))
	}
	return c.starter.fault()
}

// adminFault returns an error that explains why there is no connection with operator.admin.
func (c *Client) adminFault() *fault.Error {
	c.mu.Lock()
	scopesRejected := c.scopesRejected && c.starting != nil
	c.mu.Unlock()
	if scopesRejected {
		return c.scopeFault(scopeAdmin)
	}
	return c.fault()
}

// unrequestedAdmin returns the failure for a connection to which the gateway granted
// operator.admin although Wardroom did not request it.
func unrequestedAdmin() *failure {
	return (&failure{
		state: Unreachable, pace: slow, layer: LayerScopes,
		text: "The gateway granted operator.admin to a connection that did not request it. Wardroom starts no runs on it, because agents would get the gateway's owner tools.",
	}).
		withFix("Update the gateway: Wardroom is tested with version %s.", Tested)
}

// newStarter returns a second client, which makes the connection for starting runs. It
// shares c's secrets.
func (c *Client) newStarter() *Client {
	s := c.cloneAs(c.at, nil, wallet{})
	s.leader, s.secrets, s.opt.Log = c, c.secrets, c.opt.Log.With("connection", string(StartsRuns))
	s.opt.Scopes = runScopes(c.opt.Scopes, false)
	s.status = c.status
	s.status.ScopesAsked = list(s.opt.Scopes)
	return s
}

// runScopes returns the scopes to request for the connection that starts runs: those in asked except
// operator.admin, plus those that a run needs to use its session. Without a paired device these
// include operator.approvals and operator.questions, without which a run cannot run a command that
// needs an approval, and cannot ask a question. A paired device requests them only if they are in
// asked, because the gateway refuses scopes for which a device is not approved.
func runScopes(asked []string, paired bool) []string {
	needed := []string{scopeRead, scopeWrite}
	if !paired {
		needed = append(needed, scopeApprovals, scopeQuestions)
	}
	scopes := []string{}
	for _, scope := range append(needed, asked...) {
		if scope != scopeAdmin && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// both returns c and its starter, the client for starting runs. If c has no starter, it returns
// only c.
func (c *Client) both() []*Client {
	if c.starter == nil {
		return []*Client{c}
	}
	return []*Client{c, c.starter}
}

// awaitLeader waits until c, the client for starting runs, may connect: either the main client, c.leader, has a
// connection with operator.admin, or the gateway rejected only the scopes that it requested. It then copies the main
// client's device and credentials to c. It returns false if ctx ends first. Without this wait, c could cause a second
// pairing request or present a wrong token again.
func (c *Client) awaitLeader(ctx context.Context) bool {
	l := c.leader
	for {
		l.mu.Lock()
		may := (l.conn != nil && l.conn.admin || l.scopesRejected) && !l.outdated()
		at, device, has := l.credentials()
		state, text, changed := l.status.State, l.status.LastError, l.changed
		if l.conn != nil {
			state, text = Connecting, ""
		}
		l.mu.Unlock()
		if may {
			c.mu.Lock()
			c.opt.Scopes = runScopes(l.opt.Scopes, device != nil)
			c.status.ScopesAsked = list(c.opt.Scopes)
			c.mu.Unlock()
			c.at, c.device = at, device
			c.secrets.Add(has.issued) // the leader may not have added it yet
			if has != c.copied {      // otherwise keep the wallet, in which a token may be marked as rejected
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

// setStarting makes k the connection over which runs are started. It returns false if the
// client's endpoint or identity changed while k was connecting.
func (c *Client) setStarting(k *Conn, version string, h hello) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, is, _ := c.credentials(); at != k.owner.at || idOf(is) != idOf(k.owner.device) {
		return false
	}
	c.starting = k
	c.status.GatewayVersion, c.status.Protocol, c.status.BootID = version, int(protocol), k.bootID
	if c.conn == nil {
		c.status.Unavailable = missingFeatures(h.Features.Methods)
	}
	c.chooseEventSource()
	return true
}

// clearStarting records that the connection for starting runs has ended.
func (c *Client) clearStarting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = nil
	c.chooseEventSource()
}

// notifyChange wakes the goroutines that wait for the status of c to change. If c only
// starts runs, goroutines that wait for the status of the main client, c.leader, wake up
// too. The caller must hold the lock.
func (c *Client) notifyChange() {
	close(c.changed)
	c.changed = make(chan struct{})
	if c.leader != nil {
		c.leader.mu.Lock()
		defer c.leader.mu.Unlock()
		c.leader.notifyChange()
	}
}

// chooseEventSource selects the connection whose events are published, and publishes EventConnected or
// EventDisconnected if the selection changes. It is called whenever a connection is made or lost. The caller must hold
// the lock, so that a new subscriber is notified of each connection exactly once. A client that only starts runs
// publishes no events.
func (c *Client) chooseEventSource() {
	c.notifyChange()
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
	restarted := c.lastBootID != "" && c.lastBootID != k.bootID
	c.lastBootID = k.bootID
	c.events.publish(Event{Name: EventConnected, BootID: k.bootID, Resync: true, Restarted: restarted})
}

// publish passes on an event that arrived over the connection k, if chooseEventSource has selected
// that connection. Without this check, subscribers would get each event twice, because the gateway
// sends it over both connections.
func (c *Client) publish(k *Conn, e Event) {
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
