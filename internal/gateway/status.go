package gateway

import "wardroom/internal/platform/clock"

// Purpose says what a connection is for.
type Purpose string

// The purposes. A client that does not ask for operator.admin, or is not granted
// it, has one connection, for everything.
const (
	Everything Purpose = "everything"
	StartsRuns Purpose = "start_runs"
	Manages    Purpose = "manage"
)

// Connection is one of the connections to the gateway.
type Connection struct {
	Purpose       Purpose     `json:"purpose" enum:"everything,start_runs,manage" doc:"start_runs: starts the runs of agents, and never holds operator.admin. manage: watches, stops and schedules, with operator.admin. everything: the only connection, where operator.admin is not asked for or not granted."`
	State         State       `json:"state" enum:"connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"How this connection is doing."`
	Since         clock.Time  `json:"since" doc:"When it came into this state."`
	LastError     string      `json:"error" doc:"What is wrong and what to do about it; empty when nothing is."`
	ConnectedAt   *clock.Time `json:"connected_at" doc:"When it was made; null without a connection."`
	LastSeenAt    *clock.Time `json:"last_seen_at" doc:"When the gateway was last heard over it; null before the first time."`
	RetryAt       *clock.Time `json:"retry_at" doc:"When the next attempt is due; null while connected."`
	ScopesAsked   []string    `json:"scopes_asked" nullable:"false" doc:"The scopes that it asks for."`
	ScopesGranted []string    `json:"scopes_granted" nullable:"false" doc:"The scopes that the gateway last granted it."`
}

// as is a connection's part of a status.
func (s Status) as(p Purpose) Connection {
	return Connection{p, s.State, s.Since, s.LastError, s.ConnectedAt, s.LastSeenAt, s.RetryAt, s.ScopesAsked, s.ScopesGranted}
}

// Status tells how the gateway can be used, now. With two connections it is
// connected only when both are: otherwise it is in the state of the one that is
// missing, the first of them when both are. ConnectedAt is null then, but for a
// gateway that refuses operator.admin: all else works without it.
func (c *Client) Status() Status {
	s := c.ownStatus()
	if s.State == NotConfigured {
		s.Connections = []Connection{}
		return s
	}
	c.mu.Lock()
	alone := c.starter == nil || c.conn != nil && !c.conn.admin && c.starting == nil
	narrowed := c.narrowed
	c.mu.Unlock()
	if alone {
		s.Connections = []Connection{s.as(Everything)}
		return s
	}
	runs := c.starter.ownStatus()
	s.Connections = []Connection{runs.as(StartsRuns), s.as(Manages)}
	switch {
	case s.ConnectedAt == nil && narrowed && runs.ConnectedAt != nil:
		s.State, s.ConnectedAt, s.ScopesGranted = MissingScopes, runs.ConnectedAt, runs.ScopesGranted
		s.MissingScopes = missingScopes(s.ScopesAsked, s.ScopesGranted)
		s.LastSeenAt, s.Auth = runs.LastSeenAt, runs.Auth
		s.LastError += " Until then agents are asked and watched without it; only schedules cannot be changed."
	case s.ConnectedAt != nil && (runs.ConnectedAt == nil || s.State == Connected):
		if runs.State == Connected {
			break
		}
		s.State, s.Since, s.LastError, s.Certificate = runs.State, runs.Since, startsNothing(runs.LastError), runs.Certificate
		s.Failures, s.RetryAt, s.ConnectedAt = runs.Failures, runs.RetryAt, runs.ConnectedAt
	}
	return s
}

// startsNothing says what it means that the connection which starts runs is not
// as it should be.
func startsNothing(text string) string {
	if text == "" {
		return ""
	}
	return "The connection that starts runs has a problem. " + text
}

// ownStatus tells how our own connection is doing, without the starter's.
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

// Connections is how many connections have been made since the start.
func (c *Client) Connections() uint64 {
	made := uint64(0)
	for _, one := range c.both() {
		one.mu.Lock()
		made += one.made
		one.mu.Unlock()
	}
	return made
}

// States lists every state that the connection can be in.
func States() []State {
	return []State{NotConfigured, Connecting, Connected, Unauthorized, Unpaired, Untrusted, MissingScopes, Slow, Unreachable}
}
