// Package demo is a small simulated agent runtime: four agents read the task board, pause
// to think, answer like colleagues, and spend imaginary tokens at real prices. `wardroom
// demo` runs it so that people can try Wardroom without a real runtime. The tests run it
// too, with the faults of the package test/faults.
//
// It speaks the protocol of the real gateway (OpenClaw 2026.9.6) over a loopback socket.
// For the methods that it serves, it sends the same frames, errors and close codes as the
// real gateway, and sends events in the same order. Tests compare its frames with
// recordings in testdata. Scheduled jobs run on time. No model is ever called and nothing
// leaves the machine: besides answering, an agent can only run a standup and report on its
// task over HTTP, at a loopback address that it finds in a message.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Version is the OpenClaw version whose protocol the demo runtime speaks.
const Version = "2026.9.6"

// protocol is the protocol version that the handshake announces.
const protocol = 4

// Agent is an agent that the runtime simulates.
type Agent struct {
	ID    string // such as "coo"; part of every session key
	Name  string // display name, such as "COO"
	Title string // role, such as "Operations"; the agent introduces itself with it
	Emoji string
	Model string // "provider/model"; models other than the demo's two cost as much as the larger one
}

// Task contains what an agent knows about a task on the board.
type Task struct {
	Key         string // such as "TASK-12"
	Title       string
	Status      string // backlog, todo, in_progress, review or done
	Priority    string // low, medium, high or urgent
	Blocked     string // why the task is blocked; empty if it isn't
	BlockedDays int    // how long it has been blocked, in whole days
	UpdatedAt   time.Time
	DoneAt      *time.Time
}

// Options configure a runtime. Only Token is required.
type Options struct {
	Addr   string  // address to listen on; defaults to a free port of ownLoopback
	Token  string  // shared token that clients must present
	Agents []Agent // defaults to DefaultAgents; the first is the default agent
	// Board returns the tasks that an agent talks about. It is called during a run, while
	// no lock is held. If Board is nil, the board is empty.
	Board func(ctx context.Context, agentID string) ([]Task, error)
	// LastStandup returns the time at which an agent last answered in a standup, or the zero time
	// if it never did. It ignores the current standup, which has the given name (for example,
	// standup:2026-11-20). It is called during a run, while no lock is held. If LastStandup is
	// nil, no agent has ever answered.
	LastStandup func(ctx context.Context, agentID, name string) (time.Time, error)
	// Env returns the value of an environment variable as an agent's tools see it, or an empty
	// string if the variable is not set. Agents get credentials this way, because messages contain
	// only the variable's name. Runs call Env without holding a lock. If Env is nil, the
	// environment is empty.
	Env func(agentID, name string) string
	// Script returns how an agent works on a message, or false if it only answers. again is whether it
	// has reported the task of the session as done. Script is called while a lock is held. If it is
	// nil, agents only answer.
	Script func(q Question, again bool) (Script, bool)
	// Writes limits how many times per minute a client may call each method that changes
	// jobs. Zero means 30, the real gateway's limit.
	Writes int
	Pace   time.Duration    // how long an agent thinks before it answers
	Work   time.Duration    // how long an agent works on a task with eight steps
	Log    *slog.Logger     // defaults to a silent logger; message text is never logged
	Now    func() time.Time // clock for timestamps and for expiring idempotency keys; timers use the real clock
	Timing Timing           // defaults to the real gateway's
	// Behavior changes how the runtime behaves. Only tests set it, with the package test/faults.
	Behavior Behavior
}

// ErrNoToken is returned by Start if Options.Token is empty. A runtime that accepted
// every client would hide client bugs.
var ErrNoToken = errors.New("demo: a token is required")

// DefaultAgents returns the four agents of the demo team.
func DefaultAgents() []Agent {
	return []Agent{
		{ID: "coo", Name: "COO", Title: "Operations", Emoji: "🧭", Model: "demo/demo-1"},
		{ID: "cto", Name: "CTO", Title: "Technology", Emoji: "🛠️", Model: "demo/demo-1"},
		{ID: "cpo", Name: "CPO", Title: "Product", Emoji: "🎯", Model: "demo/demo-1"},
		{ID: "cmo", Name: "CMO", Title: "Marketing", Emoji: "📣", Model: "demo/demo-2"},
	}
}

// ownLoopback returns a loopback address that no other program is likely to use, so
// that none can take the runtime's port during a restart. On systems other than Linux,
// it returns 127.0.0.1, because the other loopback addresses may not work there.
func ownLoopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254)) //nolint:gosec // G404: a choice, not a secret
}

// withDefaults fills in missing options and rejects invalid ones.
func (o Options) withDefaults() (Options, error) {
	if o.Token == "" {
		return o, ErrNoToken
	}
	if o.Addr == "" {
		o.Addr = ownLoopback() + ":0"
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
	if o.LastStandup == nil {
		o.LastStandup = func(context.Context, string, string) (time.Time, error) { return time.Time{}, nil }
	}
	if o.Script == nil {
		o.Script = func(Question, bool) (Script, bool) { return Script{}, false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timing == (Timing{}) {
		o.Timing = realTiming
	}
	if o.Behavior == nil {
		o.Behavior = Standard{Token: o.Token}
	}
	return o, nil
}

// Timing holds intervals and timeouts. Tests use shorter ones than the real gateway's.
type Timing struct {
	Handshake time.Duration // from the upgrade to a completed connect
	Ping      time.Duration
	Pong      time.Duration // how long a peer may take to answer a ping before it is disconnected
	Tick      time.Duration
	Health    time.Duration
	Second    time.Duration // length of one second of a run's `timeout`
	Linger    time.Duration // how long a peer may take to answer a close frame
	Cron      time.Duration // between checks for due jobs
}

var realTiming = Timing{
	Handshake: 15 * time.Second,
	Ping:      25 * time.Second,
	Pong:      25 * time.Second,
	Tick:      30 * time.Second,
	Health:    60 * time.Second,
	Second:    time.Second,
	Linger:    time.Second,
	Cron:      time.Second,
}
