// Package agent serves the list of agents and the status of the connection to the
// runtime. The list combines the runtime's agents with their Wardroom accounts and
// their presence.
package agent

import (
	"fmt"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/session"
)

// ErrNotFound means that neither the runtime nor any account has an agent with the given ID.
var ErrNotFound = gateway.ErrNoAgent

// Agent is an agent that exists in the runtime, has an account, or both.
type Agent struct {
	AgentID string  `json:"agent_id" example:"cto"`
	Name    string  `json:"name" doc:"The name in the runtime, otherwise that of the account."`
	Emoji   *string `json:"emoji"`
	Model   *string `json:"model" doc:"Provider and model; null if unknown."`
	Runtime *bool   `json:"in_runtime" doc:"Whether the runtime has the agent; null while the runtime is unreachable."`
	// AsOf is the time at which Name, Emoji and Model were read from the runtime.
	AsOf    *clock.Time `json:"as_of" doc:"When the agent was last read from the runtime. Null if the runtime did not have it."`
	Account *Account    `json:"account" doc:"Null if the agent has no active account and therefore cannot take part in standups."`
	// Presence is nil if the gateway is connected but Wardroom cannot read the presence, because
	// "offline" would then be a guess.
	Presence *Presence `json:"presence" doc:"Null if the gateway is connected but does not permit reading it."`
	Hold     *Hold     `json:"hold" doc:"Why the agent may not run; null if it is not held."`
	// ToolsUsedAt is nil if the agent is not connected to the tools.
	ToolsUsedAt *clock.Time `json:"tools_used_at" doc:"When the agent last called the tools at /mcp with an API key that is still usable, accurate to about a minute; null if it never did."`
	Summary     *Summary    `json:"summary" doc:"Null unless the list was requested with summary=true."`
}

// Hold is why and since when an agent may not run.
type Hold struct {
	Reason  string     `json:"reason"`
	By      string     `json:"by" doc:"The person who held the agent, or Wardroom."`
	Since   clock.Time `json:"since"`
	State   string     `json:"state" enum:"held,releasing"`
	Runtime string     `json:"runtime" enum:"pending,held,unavailable,restored" doc:"What the runtime does: see POST /agents/{agent_id}/hold."`
	Detail  string     `json:"detail" doc:"Why the runtime's half is pending or unavailable; otherwise empty. Can quote the gateway."`
}

func newHold(h hold.Hold) *Hold {
	return &Hold{
		Reason: h.Reason, By: h.By, Since: h.Since, State: string(h.State), Runtime: string(h.Runtime), Detail: h.Detail,
	}
}

// State is the presence state of an agent.
type State string

// Values of State.
const (
	Active  State = "active"  // a run is in progress
	Idle    State = "idle"    // the runtime has the agent, and no run is in progress
	Offline State = "offline" // the runtime does not have the agent, or is unreachable
)

// Presence says whether an agent is active, idle or offline, and why.
type Presence struct {
	State  State       `json:"state" enum:"active,idle,offline"`
	Reason string      `json:"reason" doc:"The reason as text."`
	Since  *clock.Time `json:"since" doc:"Active: when the run started. Idle: when the last run ended; null if there was none. Offline: when the gateway became unreachable; null if it is connected but does not have the agent."`
	Age    *int64      `json:"age_seconds" doc:"Whole seconds since that time; null if since is null."`
	AsOf   clock.Time  `json:"as_of" doc:"When the presence was determined."`

	Stalled bool        `json:"stalled" doc:"Whether an active run has shown no activity for longer than STALLED_AFTER."`
	Silent  *clock.Time `json:"silent_since" doc:"Last activity of the stalled run; null unless stalled."`
}

// evidence holds the data that determines the presence of all agents.
type evidence struct {
	asOf       clock.Time
	activities map[string]session.Activity // by agent; empty if err is not nil
	err        error                       // why the activities are unknown
	status     link.Status
}

// presence returns the presence of one agent. The inRuntime parameter says whether the runtime has
// the agent; it is nil if the runtime's list of agents could not be read.
func (e evidence) presence(agentID string, inRuntime *bool, now time.Time) *Presence {
	switch f := fault.Of(e.err); {
	case inRuntime != nil && !*inRuntime:
		if e.err != nil {
			e.asOf = clock.At(now)
		}
		return e.newPresence(Offline, "The runtime does not have this agent.", clock.Time{}, now)
	case e.err == nil && inRuntime != nil:
		return e.runtimePresence(e.activities[agentID], now)
	case f != nil && f.Kind == fault.Unavailable && e.status.ConnectedAt != nil:
		return nil // reconnected after the failed request
	case f != nil && (f.Kind == fault.Unavailable || f.Kind == fault.Timeout):
		e.asOf = clock.At(now)
		reason, since := strings.TrimSpace(f.Title+" "+f.Detail), clock.Time{}
		if e.status.ConnectedAt == nil {
			since = e.status.Since
		}
		return e.newPresence(Offline, reason, since, now)
	default:
		return nil
	}
}

// runtimePresence returns the presence of an agent that exists in the runtime.
func (e evidence) runtimePresence(a session.Activity, now time.Time) *Presence {
	if a.Stalled > 0 {
		silent := a.Silent.UTC().Format("15:04:05 UTC")
		reason := fmt.Sprintf("A run is in progress in %s, without activity since %s.", a.Key, silent)
		if a.Active > 1 {
			reason = fmt.Sprintf("Runs are in progress in %d sessions, the first in %s. Stalled: %d, the first at %s.",
				a.Active, a.Key, a.Stalled, silent)
		}
		p := e.newPresence(Active, reason, a.Since, now)
		p.Stalled, p.Silent = true, &a.Silent
		return p
	}
	switch {
	case a.Active > 1:
		reason := fmt.Sprintf("Runs are in progress in %d sessions, the first in %s.", a.Active, a.Key)
		return e.newPresence(Active, reason, a.Since, now)
	case a.Active == 1:
		return e.newPresence(Active, "A run is in progress in "+a.Key+".", a.Since, now)
	case a.Since.IsZero():
		return e.newPresence(Idle, "The agent has not run yet.", a.Since, now)
	default:
		return e.newPresence(Idle, "No run is in progress.", a.Since, now)
	}
}

func (e evidence) newPresence(s State, reason string, since clock.Time, now time.Time) *Presence {
	p := &Presence{State: s, Reason: reason, AsOf: e.asOf}
	if !since.IsZero() {
		age := int64(max(now.Sub(since.Time), 0) / time.Second)
		p.Since, p.Age = &since, &age
	}
	return p
}

// Account is the Wardroom account of an agent.
type Account struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

// join merges the roster, which is the runtime's list of agents, with the accounts. Agents that
// have only an account come last. If r is the stored roster, rather than one just read from the
// runtime, in_runtime is null for all agents.
func join(r roster, users []account.AgentUser) []Agent {
	agents := []Agent{}
	place := map[string]int{}
	for _, one := range r.agents {
		a := Agent{AgentID: one.ID, Name: one.IdentityName, Emoji: strPtr(one.Emoji), Model: strPtr(one.Model), AsOf: &r.asOf}
		if r.live {
			a.Runtime = new(true)
		}
		if a.Name == "" {
			a.Name = one.Name
		}
		place[one.ID] = len(agents)
		agents = append(agents, a)
	}
	for _, u := range users {
		own := &Account{UserID: u.UserID, Name: u.Name}
		if i, ok := place[u.AgentID]; ok {
			agents[i].Account = own
			continue
		}
		a := Agent{AgentID: u.AgentID, Name: u.Name, Account: own}
		if r.live {
			a.Runtime = new(false)
		}
		agents = append(agents, a)
	}
	for i := range agents {
		if agents[i].Name == "" {
			agents[i].Name = agents[i].AgentID
		}
	}
	return agents
}

func strPtr(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
