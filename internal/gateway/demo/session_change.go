package demo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// This file changes sessions in the ways that no client method does: as the gateway itself,
// its dashboard and its agents' tools do. Tests use it.

// ErrNoSession is returned if no session has the given key.
var ErrNoSession = errors.New("demo: no such session")

// Prompt is a message with which the gateway itself starts a run.
type Prompt struct {
	RunID      string
	SessionKey string // the session is created if it does not exist
	Message    string
	Shown      string // the message as the transcript has it; defaults to Message
	Tool       string // gateway tool that wrote the message; may be empty
	Hidden     bool   // chat.history omits the message and the answer, and no event tells about them
	Channel    bool   // comes from a channel such as Telegram: chat.abort has no effect, and the run has no task
	Parent     string // key of the session that spawns this one; empty if none does
	Label      string // title of a spawned session
	// if set, the session's queued runs end with this error, and the run starts even if the session is held
	Instead string
}

// Run is a run that a restart interrupted.
type Run struct {
	SessionKey string
	Message    string
}

// Prompt starts a run and sends the usual events.
func (r *Runtime) Prompt(in Prompt) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, key, f := r.target(agentRequest{SessionKey: in.SessionKey})
	switch {
	case f != nil:
		return fmt.Errorf("demo: prompt: %s", f.Message)
	case r.boot == nil:
		return errors.New("demo: prompt: the gateway is stopped")
	case in.Parent != "" && r.sessions[canonical(in.Parent)] == nil:
		return fmt.Errorf("%w: %s", ErrNoSession, in.Parent)
	}
	s, created := r.sessionOf(key, a)
	if in.Parent != "" {
		s.parent, s.label = in.Parent, in.Label
	}
	if in.Instead != "" {
		for _, q := range slices.Clone(s.queue) {
			r.finish(q, outcome{kind: drained, error: in.Instead})
		}
	}
	q := &run{
		boot: r.boot, session: s, agent: a, id: in.RunID, message: in.Message, prompt: in, taskID: uuid.NewString(),
		createdAt: r.now(), viaChatSend: in.Channel,
	}
	if p := r.sessions[canonical(in.Parent)]; p != nil && p.active != nil {
		q.owner = p.active.owner
	}
	r.enqueue(q, created)
	return nil
}

// ChooseModel makes a session use a model of its own, as users do with /model.
func (r *Runtime) ChooseModel(sessionKey, model string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[canonical(sessionKey)]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNoSession, sessionKey)
	}
	s.model = model
	return nil
}

// Label sets a session's title, as users do in the gateway's dashboard. An empty label
// removes it.
func (r *Runtime) Label(sessionKey, label string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[canonical(sessionKey)]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNoSession, sessionKey)
	}
	s.label = label
	r.emitSession(s, object{"reason": "patch"})
	return nil
}

// Busy returns the number of active and queued runs.
func (r *Runtime) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		n += len(s.runIDs())
	}
	return n
}

// Do calls f with the runtime's lock held.
func (r *Runtime) Do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// AppendLines appends messages to a session without starting a run. It creates the session if
// necessary. Each assistant message gets token usage, as if a model had written it.
func (r *Runtime) AppendLines(sessionKey string, lines ...Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, key, f := r.target(agentRequest{SessionKey: sessionKey})
	if f != nil {
		return fmt.Errorf("demo: append lines: %s", f.Message)
	}
	s, created := r.sessionOf(key, a)
	if s.active != nil {
		return errors.New("demo: append lines: the session has an active run")
	}
	runID := uuid.NewString()
	for _, l := range lines {
		m := message{role: l.Role, text: l.Text, at: r.now(), line: &l, spent: &spent{model: modelOf(a)}}
		switch l.Role {
		case "user":
			m.line, m.key, m.spent = nil, runID+":user", nil
		case "assistant":
			u := spend(modelOf(a), s.context, s.cached, "", l.Text)
			m.spent, m.runID, m.stop = &u, runID, "stop"
			if l.Call != "" {
				m.stop = "toolUse"
			}
		default:
			m.spent, m.runID = nil, runID
		}
		m, seq := s.append(m)
		r.emitMessage(s, m, seq)
	}
	s.ranBefore, s.status, s.lastRun = true, "done", runID
	s.startedAt, s.endedAt, s.updatedAt, s.activeAt = r.now(), r.now(), r.now(), r.now()
	reason := "patch"
	if created {
		reason = "create"
	}
	r.emitSession(s, object{"reason": reason})
	return nil
}

// Delete deletes a session and aborts its runs.
func (r *Runtime) Delete(sessionKey string) error {
	return r.endSession(sessionKey, "delete", func(*session) { delete(r.sessions, sessionKey) })
}

// Reset aborts a session's runs and replaces the session with a new one under the same
// key.
func (r *Runtime) Reset(sessionKey string) error {
	return r.endSession(sessionKey, "reset", func(s *session) {
		delete(r.sessions, sessionKey)
		replacement, _ := r.sessionOf(sessionKey, s.agent)
		replacement.parent, replacement.label = s.parent, s.label
	})
}

func (r *Runtime) endSession(sessionKey, reason string, how func(*session)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[sessionKey]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNoSession, sessionKey)
	}
	for _, q := range slices.Concat(slices.Clone(s.queue), []*run{s.active}) {
		if q != nil {
			r.finish(q, outcome{kind: aborted})
		}
	}
	how(s)
	if is := r.sessions[sessionKey]; is != nil {
		s = is
	}
	r.emitSession(s, object{"reason": reason})
	return nil
}
