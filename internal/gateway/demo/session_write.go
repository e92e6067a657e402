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

// handleSend takes a message in. Unlike the real gateway's, a session that is at
// work takes it as a run of its own, after the one that is going.
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
	s, made := r.sessionOf(key, a)
	if !slices.Contains(s.participants, c.conn.clientID) {
		s.participants = append(s.participants, c.conn.clientID)
	}
	q := newRun(c, s, a, in.IdempotencyKey, in.Message, 0, r.now())
	q.askers, q.sent = nil, true // only `agent` answers twice
	r.enqueue(q, made)
	return nil, nil
}

// Line is a message that a session is to have, without anybody having run.
type Line struct {
	Role     string // user, assistant or toolResult
	Text     string
	Thinking string // of an assistant
	Call     string // id of the tool call that an assistant makes, or whose result it is; empty is none
	Tool     string // its name
	Args     any    // its arguments
	Error    bool   // the result says that the tool failed
}

// write puts into a row what the line consists of.
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

// Recite appends lines to a session, which comes into being where it is not
// there, and leaves it at rest. What an assistant says costs what it would have.
func (r *Runtime) Recite(sessionKey string, lines ...Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, key, f := r.target(agentRequest{SessionKey: sessionKey})
	if f != nil {
		return fmt.Errorf("demo: recite: %s", f.Message)
	}
	s, made := r.sessionOf(key, a)
	if s.active != nil {
		return errors.New("demo: recite: the session is at work")
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
		r.tellMessage(s, m, seq)
	}
	s.ranBefore, s.status, s.lastRun = true, "done", runID
	s.startedAt, s.endedAt, s.updatedAt, s.activeAt = r.now(), r.now(), r.now(), r.now()
	reason := "patch"
	if made {
		reason = "create"
	}
	r.tellSession(s, object{"reason": reason})
	return nil
}

// Delete makes the runtime forget a session, with what is going in it.
func (r *Runtime) Delete(sessionKey string) error {
	return r.drop(sessionKey, "delete", func(*session) { delete(r.sessions, sessionKey) })
}

// Reset begins a session anew: under its key there is another transcript.
func (r *Runtime) Reset(sessionKey string) error {
	return r.drop(sessionKey, "reset", func(s *session) {
		delete(r.sessions, sessionKey)
		again, _ := r.sessionOf(sessionKey, s.agent)
		again.parent, again.label = s.parent, s.label
	})
}

func (r *Runtime) drop(sessionKey, reason string, how func(*session)) error {
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
	r.tellSession(s, object{"reason": reason})
	return nil
}
