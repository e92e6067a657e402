// Package demo is a small agent runtime of our own: four agents who know the
// board, think for a moment, answer like colleagues, and spend imaginary
// tokens at real prices. `wardroom demo` runs it, so that the first five
// minutes need nothing else; the tests run it too, and break it on purpose.
//
// It speaks the protocol of the real gateway (OpenClaw 2026.9.6) on a real
// loopback socket: the same frames, the same order of events, the same errors
// and close codes, for the methods it serves. Its frames are held against
// recorded ones in testdata. Its timed jobs run at their times. Nothing in it
// leaves the machine, and no model is ever called: the one thing that an agent
// does beside talking is to open and run the standup when a message says so,
// over HTTP, at an address of this machine.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Version is the version of the real gateway whose protocol is spoken.
const Version = "2026.9.6"

// buildID tells anyone who looks that this is not the real gateway.
const buildID = Version + "-wardroom-demo"

// protocol is the version of the wire protocol in the handshake.
const protocol = 4

// Agent is one of the runtime's workers.
type Agent struct {
	ID    string // "coo"; part of every session key
	Name  string // "COO", as shown in lists
	Title string // "Operations"; how the agent introduces itself
	Emoji string
	Model string // "provider/model"; its price is known for the two models of the demo, any other is priced like the larger
}

// Task is what an agent sees of one task on the board.
type Task struct {
	Key         string // "TASK-12"
	Title       string
	Status      string // backlog, todo, in_progress, review or done
	Priority    string // low, medium, high or urgent
	Blocked     string // the reason; empty when nothing is in the way
	BlockedDays int    // how long it has been blocked, in whole days
	UpdatedAt   time.Time
	DoneAt      *time.Time
}

// Options say how a runtime starts. Only Token is required.
type Options struct {
	Addr   string  // where to listen; default 127.0.0.1 and any free port
	Token  string  // what a client must present
	TLS    bool    // serve with a certificate of our own making, which names nobody; see Fingerprint
	Agents []Agent // default: DefaultAgents; the first is the default agent
	// Board is what the agents talk about; nil is an empty board. It is called
	// while a run is going, never with a lock held.
	Board func(ctx context.Context, agentID string) ([]Task, error)
	// Stood is when an agent last answered in a standup other than the one that is
	// held in sessions of this name, such as standup:2026-11-20; the zero time when
	// it never has. It is called as Board is; nil knows of none.
	Stood func(ctx context.Context, agentID, name string) (time.Time, error)
	// Env is the environment that the agents' tools run in: the value of a
	// variable, empty when it is not set. What an agent is told to send a
	// credential for, it finds there, and never in a message. It is called
	// while a run is going, never with a lock held; nil is an empty environment.
	Env func(name string) string
	// Writes is how often in a minute a client may call each method that changes
	// jobs; 0 is 30, as on the real gateway.
	Writes int
	Pace   time.Duration    // how long an agent thinks before it answers
	Log    *slog.Logger     // default: silent. Never told of a message's text
	Now    func() time.Time // the clock of time stamps and of the five minutes of idempotency; timers use the real one
}

// ErrNoToken is returned by Start without a token: a runtime that lets anyone
// in would hide the mistakes of a client.
var ErrNoToken = errors.New("demo: a token is required")

// DefaultAgents returns the four agents of the default team.
func DefaultAgents() []Agent {
	return []Agent{
		{ID: "coo", Name: "COO", Title: "Operations", Emoji: "🧭", Model: "demo/demo-1"},
		{ID: "cto", Name: "CTO", Title: "Technology", Emoji: "🛠️", Model: "demo/demo-1"},
		{ID: "cpo", Name: "CPO", Title: "Product", Emoji: "🎯", Model: "demo/demo-1"},
		{ID: "cmo", Name: "CMO", Title: "Marketing", Emoji: "📣", Model: "demo/demo-2"},
	}
}

// withDefaults fills what the caller left out and refuses what cannot work.
func (o Options) withDefaults() (Options, error) {
	if o.Token == "" {
		return o, ErrNoToken
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if len(o.Agents) == 0 {
		o.Agents = DefaultAgents()
	}
	o.Agents = slices.Clone(o.Agents)
	seen := map[string]bool{}
	for i, a := range o.Agents {
		if a.ID == "" || strings.ContainsAny(a.ID, ": ") || seen[a.ID] {
			return o, fmt.Errorf("demo: agent id %q is empty, repeated, or has a colon or a space", a.ID)
		}
		seen[a.ID] = true
		if a.Name == "" {
			o.Agents[i].Name = a.ID
		}
		if a.Model == "" {
			o.Agents[i].Model = "demo/demo-1"
		}
	}
	if o.Writes == 0 {
		o.Writes = cronWrites
	}
	if o.Board == nil {
		o.Board = func(context.Context, string) ([]Task, error) { return nil, nil }
	}
	if o.Stood == nil {
		o.Stood = func(context.Context, string, string) (time.Time, error) { return time.Time{}, nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// timing is how long things take on the real gateway. Tests shorten it.
type timing struct {
	handshake time.Duration // from the upgrade to a complete connect
	ping      time.Duration // between pings
	pong      time.Duration // how long a peer may take to answer one before it is dropped
	tick      time.Duration // between tick events
	health    time.Duration // between health events
	second    time.Duration // what one second of a run's `timeout` lasts
	linger    time.Duration // how long a peer may take to answer a close
	cron      time.Duration // between looks at the timed jobs
}

var recorded = timing{
	handshake: 15 * time.Second,
	ping:      25 * time.Second,
	pong:      25 * time.Second,
	tick:      30 * time.Second,
	health:    60 * time.Second,
	second:    time.Second,
	linger:    time.Second,
	cron:      time.Second,
}
