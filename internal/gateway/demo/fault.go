package demo

import (
	"time"
)

// This file is the switches for agents and for the whole runtime; those for the
// wire are in switches.go, access.go and door.go.

// Question is what reached an agent, for a scripted answer.
type Question struct {
	AgentID    string
	SessionKey string
	RunID      string
	Message    string
	At         time.Time // when the run began
}

// faults are the switches that tests turn. The empty agent id stands for every
// agent; what is set for one agent wins over it. Likewise the empty name of a
// method or event.
type faults struct {
	delay  map[string]time.Duration
	silent map[string]bool
	fail   map[string]string
	answer map[string]func(Question) string

	wire        wireFaults
	ice         chan struct{} // closed at the thaw; nil when nothing is frozen
	door        Door
	bell        chan struct{}              // closed when a mute door opens; nil without one
	withheld    []string                   // scopes
	without     []string                   // methods
	protocol    int                        // spoken instead of ours
	skew        time.Duration              // of the clock
	barred      func(scopes []string) bool // who is not let in; nil lets everybody in
	lockedUntil time.Time
	resume      time.Duration // after a restart, until interrupted turns go on; 0: they do not
	refreshing  int           // calls of sessions.usage that have no numbers yet
	watch       func(Request) bool
	stopped     bool // the clockwork of jobs
}

func newFaults() faults {
	return faults{
		delay:  map[string]time.Duration{},
		silent: map[string]bool{},
		fail:   map[string]string{},
		answer: map[string]func(Question) string{},
		wire:   newWireFaults(),
	}
}

// set stores v for an agent, or removes it when it is the zero value's.
func set[V any](m map[string]V, agentID string, v V, off bool) {
	if off {
		delete(m, agentID)
		return
	}
	m[agentID] = v
}

// of is what holds for an agent: its own setting, or everyone's.
func of[V any](m map[string]V, agentID string) V {
	if v, ok := m[agentID]; ok {
		return v
	}
	return m[""]
}

// Delay makes an agent think for d longer than Options.Pace, from its next run
// on. Zero heals. An empty agentID means every agent without a setting of its own.
func (r *Runtime) Delay(agentID string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.delay, agentID, d, d == 0)
}

// Silence makes an agent's next runs begin and never end by themselves: only
// their own timeout, an abort or a restart ends them. A run that is already
// silent stays so when the switch is turned off.
func (r *Runtime) Silence(agentID string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.silent, agentID, on, !on)
}

// StopJobs makes the jobs' clockwork stand still: what is due passes without a
// run and without a word. What is run by hand runs.
func (r *Runtime) StopJobs(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.stopped = on
}

// Fail makes an agent's runs end as when the model provider refuses, with
// reason as the error's text. An empty reason heals.
func (r *Runtime) Fail(agentID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.fail, agentID, reason, reason == "")
}

// Answer gives an agent a script instead of its voice; nil takes it away. The
// script may answer with no text at all, must return, and is called without a
// lock held.
func (r *Runtime) Answer(agentID string, script func(Question) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(r.faults.answer, agentID, script, script == nil)
}

// Starting makes the runtime say that it is not ready yet: /startupz and
// /readyz answer 503, and a connect is refused as retryable.
func (r *Runtime) Starting(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = on
}

// Refreshing makes the next so many calls of sessions.usage answer as the real
// gateway does before it has read its files: zero totals, and null for every
// session's usage. Zero heals.
func (r *Runtime) Refreshing(calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.refreshing = max(0, calls)
}

// Drop cuts every connection without a close frame, as when the cable is
// pulled. Runs go on, and the port still answers. It returns when the runtime
// has forgotten the connections.
func (r *Runtime) Drop() {
	for _, c := range r.connections() {
		c.cut()
		<-c.done
	}
}

// Restart is the gateway's own restart, taken at its worst: everyone is told,
// closed with 1012, and the port refuses connections for `down`. Then it is
// back under a new boot id. Transcripts are kept. Runs, the answers kept for
// repeated idempotency keys, and whoever waited are lost: a run that had begun
// leaves its question in the transcript without an answer; one that still
// queued leaves nothing, and whoever waits for it is told that the gateway is
// draining.
//
// Restart returns when the port is closed; when down is zero, when it is open again.
func (r *Runtime) Restart(down time.Duration) {
	if !r.shut(object{"reason": "gateway restarting", "restartExpectedMs": 1500}) {
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

// Asked is how many runs of an agent were really begun: what would have been
// model calls. An empty agentID counts them all.
func (r *Runtime) Asked(agentID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if agentID != "" {
		return r.asked[agentID]
	}
	sum := 0
	for _, n := range r.asked {
		sum += n
	}
	return sum
}

// Calls is how often a method was called, refused calls and connects included.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Connections is how many clients have completed the handshake and are still there.
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
