package demo

import (
	"time"
)

// This file contains the faults for agents and for the whole runtime. The files fault_*.go
// contain the others.

// Question is a message to an agent. It is passed to the function that scripts the
// answer.
type Question struct {
	AgentID    string
	SessionKey string
	RunID      string
	Message    string
	At         time.Time // when the run started
}

// faults holds the faults that are currently set. In maps keyed by agent, the entry with
// the empty id applies to all agents without an entry of their own. Maps keyed by method
// or event use the empty name in the same way.
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

// set stores the value v for an agent, or deletes the agent's setting if off is true.
func set[V any](m map[string]V, agentID string, v V, off bool) {
	if off {
		delete(m, agentID)
		return
	}
	m[agentID] = v
}

// setting returns an agent's own setting, or the setting for all agents if it has none.
func setting[V any](m map[string]V, agentID string) V {
	if v, ok := m[agentID]; ok {
		return v
	}
	return m[""]
}

// Delay makes an agent think for the duration d in addition to Options.Pace. It applies
// from the agent's next run onward. Zero turns the fault off. An empty agentID means all
// agents without a setting of their own.
func (r *Runtime) Delay(agentID string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.delay, agentID, d, d == 0)
}

// Silence makes an agent's future runs start but never answer: only a timeout, an abort
// or a restart ends them. Turning the fault off does not affect runs that have already
// started.
func (r *Runtime) Silence(agentID string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.silent, agentID, on, !on)
}

// StopJobs stops the job scheduler: jobs that come due are skipped, and no event is sent.
// Jobs can still be started manually.
func (r *Runtime) StopJobs(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.jobsStopped = on
}

// Fail makes an agent's runs fail as if the model provider had refused the request. The given
// reason becomes the runs' error text. An empty reason turns the fault off.
func (r *Runtime) Fail(agentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.fail, agentID, reason, reason == "")
}

// Answer makes an agent answer every question with the text that script returns. A nil script
// turns this off. The script may return an empty answer but must not block forever. No lock is
// held while the script runs.
func (r *Runtime) Answer(agentID string, script func(Question) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.answer, agentID, script, script == nil)
}

// Starting turns the simulation of a starting gateway on or off. While it is on, /startupz and
// /readyz respond with status 503, and connect requests are refused with a retryable error.
func (r *Runtime) Starting(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = on
}

// Refreshing simulates a gateway that has not read its files yet: the next calls to sessions.usage
// return zero totals, and null usage for every session. The calls parameter is the number of
// affected calls; 0 turns the fault off.
func (r *Runtime) Refreshing(calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.refreshing = max(0, calls)
}

// Drop disconnects all clients without a close frame, as if a cable had been unplugged.
// Runs continue, and the port still accepts connections. Drop returns when the
// connections are gone.
func (r *Runtime) Drop() {
	for _, c := range r.connections() {
		c.cut()
		<-c.done
	}
}

// Restart simulates a worst-case gateway restart. All clients get a shutdown event and are
// disconnected with close code 1012. The port refuses connections for the duration down. Then the
// runtime starts again with a new boot id. Transcripts are kept, but runs, stored idempotency keys
// and pending agent.wait requests are lost. An active run leaves an unanswered question in the
// transcript. A queued run leaves nothing, and its caller gets an error saying that the gateway is
// draining.
//
// Restart returns when the port is closed or, if down is zero, when the port is open again.
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

// Asked returns the number of an agent's runs that have started. With a real gateway,
// each of them would call a model. An empty agentID means all agents.
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

// Calls returns the number of times that a method was called. Refused calls count too,
// and so do connect requests.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Connections returns the number of connected clients that have completed the handshake.
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
