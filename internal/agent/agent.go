// Package agent shows who works in the team: the roster of the agent runtime
// joined with the accounts that the agents have here, and how the connection to
// the runtime is doing.
package agent

import (
	"fmt"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// ErrNotFound means that neither the runtime nor an account has that agent.
var ErrNotFound = fault.New(fault.NotFound, "agent_not_found", "There is no such agent.")

// Agent is one worker, as the runtime and the accounts know it.
type Agent struct {
	AgentID string  `json:"agent_id" example:"cto"`
	Name    string  `json:"name" doc:"As the runtime has it, else as the account has it."`
	Emoji   *string `json:"emoji"`
	Model   *string `json:"model" doc:"Provider and model; null when the runtime does not say."`
	Runtime *bool   `json:"in_runtime" doc:"Whether the runtime knows the agent; null while the runtime is away and nobody can say."`
	// AsOf tells how old the name, the emoji and the model are.
	AsOf    *clock.Time `json:"as_of" doc:"When the runtime last had the agent in its list: now, or while it is away when it was last asked. Null for one that it did not have."`
	Account *Account    `json:"account" doc:"Null when the agent has no active account, and so takes no part in standups."`
	// Presence is null when the gateway is there and will not say: then offline
	// would be a guess.
	Presence *Presence `json:"presence" doc:"Null when the gateway is there and does not let us see."`
}

// State says how present an agent is.
type State string

// The states of presence.
const (
	Active  State = "active"  // a run is going
	Idle    State = "idle"    // the runtime knows the agent, and nothing is running
	Offline State = "offline" // the runtime does not know the agent, or cannot be reached
)

// Presence is how present an agent is, and how we know.
type Presence struct {
	State  State       `json:"state" enum:"active,idle,offline"`
	Reason string      `json:"reason" doc:"Why, in words."`
	Since  *clock.Time `json:"since" doc:"Active: when the run began. Idle: when the last one ended, null when there was none. Offline: since when the gateway is away, null when it is there and does not know the agent."`
	Age    *int64      `json:"age_seconds" doc:"Whole seconds since then; null like since."`
	AsOf   clock.Time  `json:"as_of" doc:"Of when the evidence is."`

	Stalled bool        `json:"stalled" doc:"Active: whether one of the runs has told nothing of itself for longer than STALLED_AFTER."`
	Silent  *clock.Time `json:"silent_since" doc:"Since when that one has; null unless stalled."`
}

// Activity is what the runtime's sessions tell of an agent.
type Activity struct {
	Active  int        // sessions with a run that is going
	Session string     // the key of the first of them
	Since   clock.Time // when that run began; without one, when the last ended; zero when nobody says
	Stalled int        // of the active ones, those whose run has stopped telling of itself
	Silent  clock.Time // since when the first of those has
}

// evidence is what presences are read from.
type evidence struct {
	asOf       clock.Time
	activities map[string]Activity // by agent; none where err is not nil
	err        error               // why nobody can say
	status     gateway.Status
}

// presence reads the evidence on one agent; inRuntime is null when the roster
// could not be read.
func (e evidence) presence(agentID string, inRuntime *bool, now time.Time) *Presence {
	switch f := fault.Of(e.err); {
	case inRuntime != nil && !*inRuntime:
		if e.err != nil {
			e.asOf = clock.At(now)
		}
		return e.as(Offline, "The runtime does not know this agent.", clock.Time{}, now)
	case e.err == nil && inRuntime != nil:
		return e.known(e.activities[agentID], now)
	case f != nil && f.Kind == fault.Unavailable && e.status.ConnectedAt != nil:
		return nil // it has just come back, and was asked before
	case f != nil && (f.Kind == fault.Unavailable || f.Kind == fault.Timeout):
		e.asOf = clock.At(now)
		reason, since := strings.TrimSpace(f.Title+" "+f.Detail), clock.Time{}
		if e.status.ConnectedAt == nil {
			since = e.status.Since
		}
		return e.as(Offline, reason, since, now)
	default:
		return nil
	}
}

// known is the presence of an agent of the runtime.
func (e evidence) known(a Activity, now time.Time) *Presence {
	if a.Stalled > 0 {
		p := e.as(Active, fmt.Sprintf("A run is going in %s. It has told nothing since %s.", a.Session, a.Silent.UTC().Format("15:04:05 UTC")), a.Since, now)
		if a.Active > 1 {
			p.Reason = fmt.Sprintf("Runs are going in %d sessions, the first in %s. Of them %d have stopped telling of themselves, the first at %s.",
				a.Active, a.Session, a.Stalled, a.Silent.UTC().Format("15:04:05 UTC"))
		}
		p.Stalled, p.Silent = true, &a.Silent
		return p
	}
	switch {
	case a.Active > 1:
		return e.as(Active, fmt.Sprintf("Runs are going in %d sessions, the first in %s.", a.Active, a.Session), a.Since, now)
	case a.Active == 1:
		return e.as(Active, "A run is going in "+a.Session+".", a.Since, now)
	case a.Since.IsZero():
		return e.as(Idle, "The runtime is connected, and the agent has not run yet.", a.Since, now)
	default:
		return e.as(Idle, "The runtime is connected, and no run is going.", a.Since, now)
	}
}

func (e evidence) as(s State, reason string, since clock.Time, now time.Time) *Presence {
	p := &Presence{State: s, Reason: reason, AsOf: e.asOf}
	if !since.IsZero() {
		age := int64(max(now.Sub(since.Time), 0) / time.Second)
		p.Since, p.Age = &since, &age
	}
	return p
}

// Account is the agent user of an agent.
type Account struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

// Member is an agent with an active account.
type Member struct{ UserID, AgentID, Name string }

// join puts the roster and the accounts together, in the order of the roster
// and then of the accounts. Of one that is not live nobody can say whether the
// runtime still has its agents.
func join(r roster, members []Member) []Agent {
	agents := []Agent{}
	place := map[string]int{}
	for _, one := range r.agents {
		a := Agent{AgentID: one.ID, Name: one.IdentityName, Emoji: given(one.Emoji), Model: given(one.Model), AsOf: &r.asOf}
		if r.live {
			a.Runtime = new(true)
		}
		if a.Name == "" {
			a.Name = one.Name
		}
		place[one.ID] = len(agents)
		agents = append(agents, a)
	}
	for _, m := range members {
		account := &Account{UserID: m.UserID, Name: m.Name}
		if i, ok := place[m.AgentID]; ok {
			agents[i].Account = account
			continue
		}
		a := Agent{AgentID: m.AgentID, Name: m.Name, Account: account}
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

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
