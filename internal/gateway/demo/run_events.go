package demo

import "maps"

// This file emits the events of a run, in the order recorded from the real gateway.

// emitAccepted sends the events for a run that was queued.
func (r *Runtime) emitAccepted(q *run, created bool) {
	if created {
		r.emitSession(q.session, object{"reason": "create"})
		r.emitTask(q, "running")
		r.emitSession(q.session, object{"reason": "send"})
	} else {
		r.emitSession(q.session, object{"reason": "send"})
		r.emitTask(q, "running")
	}
}

// emitBegin sends the events for a run that has started. Between the events it calls started and asked, which change
// the session, in the order recorded from the real gateway.
func (r *Runtime) emitBegin(q *run, started func(), asked func() (message, int)) {
	r.emitTask(q, "running")
	r.emitSession(q.session, object{"reason": "agent.run.started"})
	started()
	r.emitAgent(q, "lifecycle", object{"phase": "start", "startedAt": q.startedAt})
	r.emitTask(q, "running")
	m, seq := asked()
	r.emitMessage(q.session, m, seq)
	r.emitSession(q.session, object{"phase": "start", "runId": q.id})
}

// emitEnd sends the events for a run that has ended. It also calls update to change the session, at
// the same point in the sequence as in recordings of the real gateway.
func (r *Runtime) emitEnd(q *run, update func()) {
	switch {
	case !q.begun:
		r.emitNeverBegun(q, update)
	case q.outcome.kind == answered:
		r.emitAnswered(q, update)
	case q.outcome.kind == aborted:
		r.emitAborted(q, update)
	default:
		r.emitFailed(q, update)
	}
	r.emitSession(q.session, object{"reason": "agent.input.settled"})
}

// emitAnswered sends the events for a run that was answered. It sends the answer in two
// pieces, like a streaming model.
func (r *Runtime) emitAnswered(q *run, update func()) {
	text := q.outcome.text
	m := q.outcome.spent.model
	first := firstWords(text)
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": m.provider, "model": m.id})
	if text != "" {
		r.emitAgent(q, "assistant", object{"text": first})
		r.emitChat(q, "delta", object{"message": r.chatMessage(first)})
	}
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitTask(q, "running")
	if text != "" {
		r.emitAgent(q, "assistant", object{"text": text})
	}
	r.emitReply(q)
	r.emitAgent(q, "lifecycle", object{
		"phase": "finishing", "stopReason": "stop", "aborted": false, "endedAt": q.endedAt,
	})
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil})
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", object{
		"phase": "end", "startedAt": q.startedAt, "endedAt": q.endedAt, "aborted": false, "stopReason": "stop",
		"terminalReply": q.terminalReply(),
	})
	if text != "" {
		r.emitChat(q, "delta", object{"message": r.chatMessage(text)})
	}
	r.emitChat(q, "final", object{"stopReason": "stop", "message": r.chatMessage(text)})
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitSession(q.session, object{"phase": "end", "runId": q.id})
	r.emitTask(q, "completed")
}

// emitAborted sends the events for a run that a client stopped.
func (r *Runtime) emitAborted(q *run, update func()) {
	r.emitChat(q, "aborted", object{"stopReason": "rpc"})
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", object{
		"phase": "end", "status": "cancelled", "aborted": true, "stopReason": "rpc",
		"startedAt": q.startedAt, "endedAt": q.endedAt,
	})
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", object{
		"phase": "error", "startedAt": q.startedAt, "endedAt": q.endedAt, "error": errAborted,
		"aborted": true, "stopReason": "aborted",
	})
	r.emitTask(q, "running")
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "end", "runId": q.id})
	r.emitSession(q.session, object{"phase": "error", "runId": q.id})
	r.emitTask(q, q.outcome.kind.task())
}

// emitFailed sends the events for a run that timed out or whose model request failed.
func (r *Runtime) emitFailed(q *run, update func()) {
	m := q.outcome.spent.model
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": m.provider, "model": m.id})
	late := q.outcome.kind == timedOut
	data := object{"startedAt": q.startedAt, "endedAt": q.endedAt, "error": q.outcome.error}
	if late {
		r.emitReply(q)
		r.emitSession(q.session, object{"phase": "model", "runId": q.id})
		r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil})
		data["terminalReply"], data["aborted"] = q.terminalReply(), false
		r.emitAgent(q, "lifecycle", merge(data, object{"phase": "finishing"}))
	} else {
		r.emitAgent(q, "lifecycle", object{
			"phase": "finishing", "error": q.outcome.error, "aborted": false, "endedAt": q.endedAt,
		})
		r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil})
	}
	r.emitTask(q, "running")
	r.emitAgent(q, "lifecycle", merge(data, object{"phase": "error"}))
	if late {
		r.emitChat(q, "error", object{"errorMessage": q.outcome.error})
		r.emitTask(q, "running")
	} else {
		r.emitChat(q, "error", object{"errorMessage": q.outcome.error})
		r.emitReply(q)
		r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	}
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitSession(q.session, object{"phase": "error", "runId": q.id})
	r.emitTask(q, q.outcome.kind.task())
}

// emitNeverBegun sends the events for a run that ended while it was still queued.
func (r *Runtime) emitNeverBegun(q *run, update func()) {
	if q.outcome.kind == aborted {
		r.emitChat(q, "aborted", object{"stopReason": "rpc"})
	}
	update()
	r.answerCallers(q)
	r.emitTask(q, q.outcome.kind.task())
}

// emitReply appends the answer to the transcript and sends the event for the new message.
func (r *Runtime) emitReply(q *run) {
	if m, ok := q.transcriptRow(r.now()); ok {
		m.hidden = q.prompt.Hidden
		m, seq := q.session.append(m)
		r.emitMessage(q.session, m, seq)
	}
}

// emitAgent sends an `agent` event about a run.
func (r *Runtime) emitAgent(q *run, stream string, data object) {
	if q.prompt.Hidden {
		return
	}
	q.seq++
	payload := object{
		"runId": q.id, "sessionKey": q.session.key, "agentId": q.agent.ID,
		"stream": stream, "data": data, "seq": q.seq, "ts": r.now(),
	}
	r.broadcast(audience{scope: scopeRead}, "agent", payload)
}

// emitChat sends a `chat` event about a run.
func (r *Runtime) emitChat(q *run, state string, more object) {
	if q.prompt.Hidden {
		return
	}
	payload := merge(object{
		"runId": q.id, "sessionKey": q.session.key, "agentId": q.agent.ID, "seq": q.seq, "state": state,
	}, more)
	r.broadcast(audience{scope: scopeRead}, "chat", payload)
}

// emitSession sends a sessions.changed event. The given members are added to the event and
// include `reason` or `phase`, which says what happened.
func (r *Runtime) emitSession(s *session, what object) {
	payload := merge(object{"sessionKey": s.key, "agentId": s.agentID, "ts": r.now(), "session": r.eventRow(s)}, what)
	r.broadcast(audience{scope: scopeRead, subscribed: true}, "sessions.changed", payload)
}

// emitMessage sends a session.message event.
func (r *Runtime) emitMessage(s *session, m message, seq int) {
	if m.hidden {
		return
	}
	payload := object{
		"sessionKey": s.key, "agentId": s.agentID, "message": s.json(m, seq),
		"messageId": m.id, "messageSeq": seq, "session": r.eventRow(s),
	}
	r.broadcast(audience{scope: scopeRead, subscribed: true}, "session.message", payload)
}

// eventRow returns a session row in the form that events include.
func (r *Runtime) eventRow(s *session) object {
	row := r.row(s, s.key)
	if p := s.preview(); p != "" {
		row["lastMessagePreview"] = p
	}
	return row
}

// chatMessage returns part of an answer in the format of `chat` events.
func (r *Runtime) chatMessage(text string) object {
	return object{"role": "assistant", "content": content(text), "timestamp": r.now()}
}

// merge returns an object with the members of both a and b. If both have a member, it
// takes the one from b.
func merge(a, b object) object {
	c := make(object, len(a)+len(b))
	maps.Copy(c, a)
	maps.Copy(c, b)
	return c
}

// firstWords returns the first three words of an answer.
func firstWords(text string) string {
	spaces := 0
	for i, c := range text {
		if c == ' ' {
			if spaces++; spaces == 3 {
				return text[:i]
			}
		}
	}
	return text
}
