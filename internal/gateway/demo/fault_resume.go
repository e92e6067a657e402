package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// This file simulates the real gateway's recovery of turns that a restart interrupted
// (main-session-restart-recovery, OpenClaw 2026.9.6): the gateway resumes them by itself,
// as a new run in the same session.

// recoveryText is the message that precedes a resumed turn in the transcript.
// recoveryTool is the tool that the transcript names as the source of that message.
const (
	recoveryText = "[system] Your previous turn was interrupted by a gateway restart. Continue from the existing transcript."
	recoveryTool = "main_session_restart_recovery"
)

// errSessionChanged is the error for a request that arrived before the session's
// interrupted turn was resumed.
const errSessionChanged = `Session %q changed while starting work. Retry. | SESSION_WORK_START_CHANGED`

// Resume sets how long after a restart the runtime resumes interrupted turns, counted from when its port is open
// again. The real gateway took 3 s. Zero turns resuming off.
//
// A request that arrives before that time is accepted, but fails when the turn resumes, because the session has
// changed. It leaves nothing in the transcript, and repeating it with the same idempotency key returns the same
// failure.
func (r *Runtime) Resume(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.resume = max(0, after)
}

// markInterrupted records that a restart interrupted a run, if resuming was turned on
// with Resume. The caller must hold r.mu.
func (r *Runtime) markInterrupted(q *run) {
	if r.faults.resume > 0 {
		q.session.interrupted = q
	}
}

// resumeAll schedules the interrupted turns to resume in b, the new gateway process. The
// caller must hold r.mu.
func (r *Runtime) resumeAll(b *boot) {
	for _, s := range r.sessions {
		if s.interrupted == nil {
			continue
		}
		after := r.faults.resume
		r.work.Go(func() {
			if sleep(b.ctx, after) == nil {
				r.resume(b, s)
			}
		})
	}
}

// resume ends the session's queued requests with an error and restarts its interrupted
// turn.
func (r *Runtime) resume(b *boot, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := s.interrupted
	if old == nil || b.draining {
		return // the next boot resumes it
	}
	s.interrupted = nil
	for _, q := range slices.Clone(s.queue) {
		r.finish(q, outcome{kind: drained, error: fmt.Sprintf(errSessionChanged, s.key)})
	}
	q := &run{
		boot: b, session: s, agent: old.agent, id: uuid.NewString(), message: old.message, resumes: true,
		taskID: uuid.NewString(), createdAt: r.now(),
	}
	b.store(q, r.clock())
	s.active = q
	r.emitAccepted(q, false)
	r.begin(q)
}

// question returns the transcript row for the message that started a run.
func (q *run) question() message {
	m := message{role: "user", text: q.message, key: q.id + ":user", at: q.createdAt, recorded: q.startedAt}
	if q.resumes {
		m.text, m.source = recoveryText, recoveryTool
	}
	if q.heartbeat {
		m.text, m.source, m.hidden = heartbeatText, heartbeatTool, true
	}
	return m
}
