package demo

import (
	"time"
)

// This file contains the faults for agents and for the whole runtime. The files fault_*.go
// contain the others.

// Question is a message to an agent, as a scripted answer receives it.
type Question struct {
	AgentID    string
	SessionKey string
	RunID      string
	Message    string
	At         time.Time // when the run started
}

// faults are the current faults. In maps by agent, the empty id stands for all agents that
// have no setting of their own; likewise the empty name in maps by method or event.
type faults struct {
	delay  map[string]time.Duration
	silent map[string]bool
	fail   map[string]string
	answer map[string]func(Question) string

	frames       frameFaults
	frozen       chan struct{} // closed when the freeze ends; nil if nothing is frozen
	port         PortMode
	portReleased chan struct{}              // closed when PortSilent ends; nil in other modes
	withheld     []string                   // scopes
	removed      []string                   // methods
	protocol     int                        // replaces the default protocol version unless 0
	skew         time.Duration              // clock offset
	refused      func(scopes []string) bool // matches the scopes of refused clients; nil refuses none
	lockedUntil  time.Time
	resume       time.Duration // delay from a restart until interrupted turns resume; 0 means they don't
	refreshing   int           // calls of sessions.usage left to answer without numbers
	watch        func(Request) bool
	jobsStopped  bool // due jobs don't run
}

func newFaults() faults {
	return faults{
		delay:  map[string]time.Duration{},
		silent: map[string]bool{},
		fail:   map[string]string{},
		answer: map[string]func(Question) string{},
		frames: newFrameFaults(),
	}
}

// set stores v for an agent, or deletes the agent's setting if off.
func set[V any](m map[string]V, agentID string, v V, off bool) {
	if off {
		delete(m, agentID)
		return
	}
	m[agentID] = v
}

// setting returns an agent's own setting, or the one for all agents.
func setting[V any](m map[string]V, agentID string) V {
	if v, ok := m[agentID]; ok {
		return v
	}
	return m[""]
}

// Delay makes an agent think for d longer than Options.Pace, from its next run on. Zero
// turns it off. An empty agentID means all agents without a setting of their own.
func (r *Runtime) Delay(agentID string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.delay, agentID, d, d == 0)
}

// Silence makes an agent's next runs start but never answer: only a timeout, an abort or a
// restart ends them. Turning it off does not affect runs that are already silent.
func (r *Runtime) Silence(agentID string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.silent, agentID, on, !on)
}

// StopJobs stops the job scheduler: due jobs are skipped without an event. Jobs can still
// be run by hand.
func (r *Runtime) StopJobs(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.jobsStopped = on
}

// Fail makes an agent's runs fail as if the model provider refused, with reason as the
// error text. An empty reason turns it off.
func (r *Runtime) Fail(agentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.fail, agentID, reason, reason == "")
}

// Answer makes an agent answer with the result of script; nil turns it off. script may
// return an empty answer but must not block forever. It is called without a lock held.
func (r *Runtime) Answer(agentID string, script func(Question) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.answer, agentID, script, script == nil)
}

// Starting makes the runtime report that it is starting: /startupz and /readyz answer 503,
// and connect requests are refused with a retryable error.
func (r *Runtime) Starting(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = on
}

// Refreshing makes the next calls of sessions.usage answer as the real gateway does before
// it has read its files: zero totals, and null usage for every session. Zero turns it off.
func (r *Runtime) Refreshing(calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.refreshing = max(0, calls)
}

// Drop disconnects all clients without a close frame, like an unplugged cable. Runs
// continue, and the port still accepts connections. It returns when the connections are
// gone.
func (r *Runtime) Drop() {
	for _, c := range r.connections() {
		c.cut()
		<-c.done
	}
}

// Restart simulates a gateway restart at its worst. All clients get a shutdown event and
// are disconnected with close code 1012, and the port refuses connections for the duration
// of down. Then the runtime returns with a new boot id. Transcripts are kept; runs, stored
// idempotency keys and waits are lost. An active run leaves its question in the transcript
// without an answer. A queued run leaves nothing, and its caller gets the error that the
// gateway is draining.
//
// Restart returns when the port is closed or, if down is zero, when it is open again.
func (r *Runtime) Restart(down time.Duration) {
	if !r.stopBoot(object{"reason": "gateway restarting", "restartExpectedMs": 1500}) {
		return
	}
	if down <= 0 {
		r.reopen()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.work.Go(func() {
		if sleep(r.ctx, down) == nil {
			r.reopen()
		}
	})
}

// Asked returns how many runs of an agent have started, each of which would be a model
// call. An empty agentID means all agents.
func (r *Runtime) Asked(agentID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if agentID != "" {
		return r.runsStarted[agentID]
	}
	sum := 0
	for _, n := range r.runsStarted {
		sum += n
	}
	return sum
}

// Calls returns how often a method was called, including refused calls and connects.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Connections returns how many connected clients have completed the handshake.
func (r *Runtime) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for c := range r.conns {
		if c.ready {
			n++
		}
	}
	return n
}
