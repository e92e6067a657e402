package demo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

var sendParams = params{
	required: words("sessionKey message idempotencyKey"),
	optional: words(`agentId sessionId intent thinking fastMode fastAutoOnSeconds queueMode deliver originatingChannel originatingTo
		originatingAccountId originatingThreadId replyToId attachments toolBindings timeoutMs systemInputProvenance
		systemProvenanceReceipt suppressCommandInterpretation expectedLeafEntryId expectedSessionRoutingContract
		expectedPermissionMode expectedToolOverrides`),
}

// handleSend starts a run for a message. If the session is busy, the message gets its own
// run after the active one. The real gateway handles this case differently.
func (r *Runtime) handleSend(c call) (any, *failure) {
	var in struct{ SessionKey, Message, IdempotencyKey string }
	if f := sendParams.read("chat.send", "", c.params, &in); f != nil {
		return nil, f
	}
	a, key, f := r.target(agentRequest{SessionKey: in.SessionKey})
	if f != nil {
		return nil, f
	}
	if old := c.conn.boot.find(in.IdempotencyKey, r.clock()); old != nil {
		status := "ok"
		if !old.ended {
			status = "in_flight"
		}
		return object{"runId": old.id, "status": status}, nil
	}
	c.reply(object{"runId": in.IdempotencyKey, "status": "started"})
	s, created := r.sessionOf(key, a)
	if !slices.Contains(s.participants, c.conn.clientID) {
		s.participants = append(s.participants, c.conn.clientID)
	}
	q := newRun(c, s, a, in.IdempotencyKey, in.Message, 0, r.now())
	q.callers, q.viaChatSend = nil, true // only `agent` sends a second response
	r.enqueue(q, created)
	return nil, nil
}

// Line is a message that is added to a transcript without starting a run.
type Line struct {
	Role     string // user, assistant or toolResult
	Text     string
	Thinking string // assistant only
	Call     string // id of the tool call that an assistant makes or that a result belongs to; empty if none
	Tool     string // name of the tool
	Args     any    // arguments of the call
	Error    bool   // the tool failed
}

// write adds the line's content to a transcript row.
func (l *Line) write(row object) {
	parts := []object{}
	if l.Thinking != "" {
		parts = append(parts, object{"type": "thinking", "thinking": l.Thinking})
	}
	if l.Text != "" {
		parts = append(parts, object{"type": "text", "text": l.Text})
	}
	if l.Role == "toolResult" {
		row["toolCallId"], row["toolName"], row["isError"] = l.Call, l.Tool, l.Error
	} else if l.Call != "" {
		parts = append(parts, object{"type": "toolCall", "id": l.Call, "name": l.Tool, "arguments": l.Args})
	}
	row["content"] = parts
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
		m := message{role: l.Role, text: l.Text, at: r.now(), recorded: r.now(), line: &l, spent: &spent{model: modelOf(a)}}
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
