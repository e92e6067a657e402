package link

import "wardroom/internal/platform/clock"

// Purpose says what a connection is used for.
type Purpose string

// Purposes of a connection. A client without operator.admin has only one connection,
// which it uses for everything.
const (
	Everything Purpose = "everything"
	StartsRuns Purpose = "start_runs"
	Manages    Purpose = "manage"
)

// Connection is the status of one of the client's connections to the gateway.
type Connection struct {
	Purpose       Purpose     `json:"purpose" enum:"everything,start_runs,manage" doc:"start_runs: starts runs and never has operator.admin. manage: reads, stops runs and changes schedules, with operator.admin. everything: the only connection, without operator.admin."`
	State         State       `json:"state" enum:"connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"State of this connection."`
	Since         clock.Time  `json:"since" doc:"When this state began."`
	LastError     string      `json:"error" doc:"What is wrong and how to fix it; empty when nothing is wrong."`
	ConnectedAt   *clock.Time `json:"connected_at" doc:"When the connection was made; null while disconnected."`
	LastSeenAt    *clock.Time `json:"last_seen_at" doc:"When the gateway last sent anything over it; null until the first connection."`
	RetryAt       *clock.Time `json:"retry_at" doc:"When Wardroom tries to connect again; null while connected."`
	ScopesAsked   []string    `json:"scopes_asked" nullable:"false" doc:"Scopes that it requests."`
	ScopesGranted []string    `json:"scopes_granted" nullable:"false" doc:"Scopes that the gateway last granted."`
}

// as converts a status to a Connection with the given purpose.
func (s Status) as(p Purpose) Connection {
	return Connection{
		p, s.State, s.Since, s.LastError, s.ConnectedAt, s.LastSeenAt, s.RetryAt, s.ScopesAsked, s.ScopesGranted,
	}
}

// Status returns the current status. With two connections, the state is Connected only if
// both are connected. Otherwise, it is the state of the connection that is down or, if
// both are, of the one with operator.admin. ConnectedAt is also set if the gateway
// rejected only operator.admin, because runs can still be started.
func (c *Client) Status() Status {
	s := c.ownStatus()
	if s.State == NotConfigured {
		s.Connections = []Connection{}
		return s
	}
	c.mu.Lock()
	alone := c.starter == nil || c.conn != nil && !c.conn.admin && c.starting == nil
	scopesRejected := c.scopesRejected
	c.mu.Unlock()
	if alone {
		s.Connections = []Connection{s.as(Everything)}
		return s
	}
	runs := c.starter.ownStatus()
	if runs.State == NotConfigured { // the starter has not followed a change of the endpoint yet
		runs.State, runs.LastError = Connecting, ""
	}
	s.Connections = []Connection{runs.as(StartsRuns), s.as(Manages)}
	switch {
	case s.ConnectedAt == nil && scopesRejected && runs.ConnectedAt != nil:
		s.State, s.ConnectedAt, s.ScopesGranted = MissingScopes, runs.ConnectedAt, runs.ScopesGranted
		s.MissingScopes = missingScopes(s.ScopesAsked, s.ScopesGranted)
		s.LastSeenAt, s.Auth = runs.LastSeenAt, runs.Auth
		s.LastError += " Until then, schedules cannot be changed, and runs of other clients cannot be stopped."
	case s.ConnectedAt != nil && (runs.ConnectedAt == nil || s.State == Connected):
		if runs.State == Connected {
			break
		}
		s.State, s.Since, s.LastError, s.Certificate = runs.State, runs.Since, runsUnavailable(runs.LastError),
			runs.Certificate
		s.Failures, s.RetryAt, s.ConnectedAt = runs.Failures, runs.RetryAt, runs.ConnectedAt
	}
	return s
}

// runsUnavailable returns the error text for a failure of the connection that starts
// runs.
func runsUnavailable(text string) string {
	if text == "" {
		return ""
	}
	return "The connection that starts runs failed. " + text
}

// ownStatus returns the status of the client's own connection. It ignores the second
// connection, which only starts runs.
func (c *Client) ownStatus() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.ScopesAsked = list(s.ScopesAsked)
	s.ScopesGranted = list(s.ScopesGranted)
	s.MissingScopes = list(s.MissingScopes)
	s.Unavailable = append([]Unavailable{}, s.Unavailable...)
	if s.Pairing != nil {
		p := *s.Pairing
		p.Scopes, p.ApprovedScopes = list(p.Scopes), list(p.ApprovedScopes)
		s.Pairing = &p
	}
	if s.Certificate != nil {
		shown := *s.Certificate
		s.Certificate = &shown
	}
	if c.conn != nil {
		s.LastSeenAt = clock.Ptr(c.conn.lastSeen())
	}
	if c.latency > 0 {
		ms := float64(c.latency.Microseconds()) / 1000
		s.LatencyMS = &ms
	}
	return s
}

// Connections returns the number of connections that the client has made so far.
func (c *Client) Connections() uint64 {
	made := uint64(0)
	for _, one := range c.both() {
		one.mu.Lock()
		made += one.made
		one.mu.Unlock()
	}
	return made
}

// States lists all possible states of the connection.
func States() []State {
	return []State{
		NotConfigured, Connecting, Connected, Unauthorized, Unpaired, Untrusted, MissingScopes, Slow, Unreachable,
	}
}
