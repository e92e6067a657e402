package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// This file is the switch for what the real gateway does with a turn that its
// restart interrupted (its main-session-restart-recovery, OpenClaw 2026.9.6):
// it resumes it by itself, as a run of its own in the same session.

// recovery is what stands in the transcript before a resumed turn, and what
// names its source.
const (
	recoveryText = "[system] Your previous turn was interrupted by a gateway restart. Continue from the existing transcript."
	recoveryTool = "main_session_restart_recovery"
)

// errOvertaken is the end of a question that came to a session in between.
const errOvertaken = `Session %q changed while starting work. Retry. | SESSION_WORK_START_CHANGED`

// Resume makes the runtime resume, from its next restart on, the turns that the
// restart interrupted, each so long after the port is open again; the real one
// was seen to take 3 s. A question that comes to such a session meanwhile is
// accepted and, when the turn is resumed, ends as one that the session changed
// under: nothing of it is in the transcript, and its id is answered with that
// from then on. Zero heals.
func (r *Runtime) Resume(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.resume = max(0, after)
}

// interrupt notes that a restart took a run away that is to be resumed. The
// lock is held.
func (r *Runtime) interrupt(q *run) {
	if r.faults.resume > 0 {
		q.session.interrupted = q
	}
}

// resumeAll sets the clocks of the turns that are to be resumed in this life.
// The lock is held.
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

// resume ends what came to the session in between, and begins the turn anew.
func (r *Runtime) resume(b *boot, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := s.interrupted
	if old == nil || b.draining {
		return // the next life resumes it
	}
	s.interrupted = nil
	for _, q := range slices.Clone(s.queue) {
		r.finish(q, outcome{kind: drained, error: fmt.Sprintf(errOvertaken, s.key)})
	}
	q := &run{
		boot: b, session: s, agent: old.agent, id: uuid.NewString(), message: old.message, resumes: true,
		taskID: uuid.NewString(), createdAt: r.now(),
	}
	b.remember(q, r.clock())
	s.active = q
	r.tellAccepted(q, false)
	r.begin(q)
}

// question is the row of a run's message in the transcript.
func (q *run) question() message {
	m := message{role: "user", text: q.message, key: q.id + ":user", at: q.createdAt, recorded: q.startedAt}
	if q.resumes {
		m.text, m.source = recoveryText, recoveryTool
	}
	if q.polls {
		m.text, m.source, m.hidden = pollText, pollTool, true
	}
	return m
}
