package demo

import (
	"maps"
	"slices"
)

// This file emits the events of a run, in the order recorded from the real gateway.

// emitAccepted sends the events for a run that was queued.
func (r *Runtime) emitAccepted(q *run, created bool) {
	if created {
		r.emitSession(q.session, object{"reason": "create"})
		r.emitTask(q, "running", "unknown", 0)
		r.emitSession(q.session, object{"reason": "send"})
	} else {
		r.emitSession(q.session, object{"reason": "send"})
		r.emitTask(q, "running", "unknown", 0)
	}
	r.emitSession(q.session, object{"reason": "participants"})
}

// emitBegin sends the events for a run that has started. Between the events it calls started and asked, which change
// the session, in the order recorded from the real gateway.
func (r *Runtime) emitBegin(q *run, started func(), asked func() (message, int)) {
	r.emitTask(q, "running", "running", 0)
	r.emitSession(q.session, object{"reason": "agent.run.started"})
	started()
	r.emitAgent(q, "lifecycle", object{"phase": "start", "startedAt": q.startedAt}, true)
	r.emitTask(q, "running", "running", q.startedAt)
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
	m, item := q.outcome.spent.model, q.taskID+":1"
	first := firstWords(text)
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": m.provider, "model": m.id}, true)
	if text != "" {
		r.emitAgent(q, "assistant", object{"text": first, "delta": first, "itemId": item}, false)
		r.emitChat(q, "delta", object{"deltaText": first, "message": r.chatMessage(first)})
	}
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitTask(q, "running", "running", q.endedAt)
	if text != "" {
		r.emitAgent(q, "assistant", object{"text": text, "delta": text[len(first):], "itemId": item}, false)
	}
	r.emitAgent(q, "usage", object{"outputTokens": q.outcome.spent.output}, false)
	r.emitReply(q)
	r.emitAgent(q, "lifecycle", object{
		"phase": "finishing", "stopReason": "stop", "aborted": false, "livenessState": "working", "endedAt": q.endedAt,
	}, true)
	r.emitTask(q, "running", "running", q.endedAt)
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil}, true)
	r.emitTask(q, "running", "finished", q.endedAt)
	r.emitAgent(q, "lifecycle", object{
		"phase": "end", "startedAt": q.startedAt, "endedAt": q.endedAt, "aborted": false, "stopReason": "stop",
		"livenessState": "working", "executionSettled": true,
		"terminalReceipt": q.receipt(true), "terminalReply": q.terminalReply(),
	}, true)
	if text != "" {
		r.emitChat(q, "delta", object{"deltaText": text[len(first):], "message": r.chatMessage(text)})
	}
	r.emitChat(q, "final", object{"stopReason": "stop", "message": r.chatMessage(text)})
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitSession(q.session, object{"phase": "end", "runId": q.id})
	r.emitTask(q, "completed", "finished", 0)
}

// emitAborted sends the events for a run that a client stopped.
func (r *Runtime) emitAborted(q *run, update func()) {
	r.emitChat(q, "aborted", object{"stopReason": "rpc"})
	r.emitTask(q, "running", "unknown", q.endedAt)
	r.emitAgent(q, "lifecycle", object{
		"phase": "end", "status": "cancelled", "aborted": true, "stopReason": "rpc",
		"startedAt": q.startedAt, "endedAt": q.endedAt,
	}, true)
	r.emitTask(q, "running", "finished", q.endedAt)
	r.emitAgent(q, "lifecycle", object{
		"phase": "error", "startedAt": q.startedAt, "endedAt": q.endedAt, "error": errAborted,
		"aborted": true, "stopReason": "aborted", "executionSettled": true,
	}, true)
	r.emitTask(q, "running", "finished", q.endedAt)
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "end", "runId": q.id})
	r.emitSession(q.session, object{"phase": "error", "runId": q.id})
	r.emitTask(q, q.outcome.kind.task(), "finished", 0)
}

// emitFailed sends the events for a run that timed out or whose model request failed.
func (r *Runtime) emitFailed(q *run, update func()) {
	m := q.outcome.spent.model
	r.emitTask(q, "running", "running", q.startedAt)
	r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": m.provider, "model": m.id}, true)
	late := q.outcome.kind == timedOut
	data := object{"startedAt": q.startedAt, "endedAt": q.endedAt, "error": q.outcome.error}
	if late {
		r.emitReply(q)
		r.emitSession(q.session, object{"phase": "model", "runId": q.id})
		r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil}, true)
		maps.Copy(data, q.timeoutFields())
		data["aborted"], data["replayInvalid"] = false, true
		r.emitAgent(q, "lifecycle", merge(data, object{"phase": "finishing"}), true)
	} else {
		data["errorObservation"] = q.observation()
		r.emitAgent(q, "lifecycle", object{
			"phase": "finishing", "error": q.outcome.error, "errorObservation": q.observation(),
			"aborted": false, "livenessState": "blocked", "endedAt": q.endedAt,
		}, true)
		r.emitAgent(q, "lifecycle", object{"phase": "model", "provider": nil, "model": nil}, true)
	}
	r.emitTask(q, "running", "finished", q.endedAt)
	r.emitAgent(q, "lifecycle", merge(data, object{"phase": "error", "executionSettled": true}), true)
	if late {
		r.emitChat(q, "error", object{"errorMessage": q.outcome.error, "errorKind": "timeout"})
		r.emitTask(q, "running", "finished", q.endedAt)
	} else {
		r.emitChat(q, "error", object{"errorMessage": q.outcome.error, "errorDetail": q.observation()})
		r.emitReply(q)
		r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	}
	update()
	r.answerCallers(q)
	r.emitSession(q.session, object{"phase": "model", "runId": q.id})
	r.emitSession(q.session, object{"phase": "error", "runId": q.id})
	r.emitTask(q, q.outcome.kind.task(), "finished", 0)
}

// emitNeverBegun sends the events for a run that ended while it was still queued.
func (r *Runtime) emitNeverBegun(q *run, update func()) {
	if q.outcome.kind == aborted {
		r.emitChat(q, "aborted", object{"stopReason": "rpc"})
	}
	update()
	r.answerCallers(q)
	r.emitTask(q, q.outcome.kind.task(), "finished", 0)
}

// emitReply appends the answer to the transcript and sends the event for the new message.
func (r *Runtime) emitReply(q *run) {
	if m, ok := q.transcriptRow(r.now()); ok {
		m.hidden = q.prompt.Hidden
		m, seq := q.session.append(m)
		r.emitMessage(q.session, m, seq)
	}
}

// emitAgent sends an `agent` event about a run. If full is set, the event includes the
// session id.
func (r *Runtime) emitAgent(q *run, stream string, data object, full bool) {
	if q.prompt.Hidden {
		return
	}
	q.seq++
	payload := object{
		"runId": q.id, "sessionKey": q.session.key, "agentId": q.agent.ID,
		"stream": stream, "data": data, "seq": q.seq, "ts": r.now(),
	}
	if full {
		payload["sessionId"] = q.session.id
	}
	q.session.addSpawnedBy(payload)
	r.broadcast(audience{scope: scopeRead}, "agent", payload, nil)
}

// emitChat sends a `chat` event about a run.
func (r *Runtime) emitChat(q *run, state string, more object) {
	if q.prompt.Hidden {
		return
	}
	payload := merge(object{
		"runId": q.id, "sessionKey": q.session.key, "agentId": q.agent.ID, "seq": q.seq, "state": state,
	}, more)
	q.session.addSpawnedBy(payload)
	r.broadcast(audience{scope: scopeRead}, "chat", payload, nil)
}

// emitSession sends a sessions.changed event. The given members are added to the event and
// include `reason` or `phase`, which says what happened.
func (r *Runtime) emitSession(s *session, what object) {
	row := r.eventRow(s)
	payload := merge(object{"sessionKey": s.key, "agentId": s.agentID, "ts": r.now(), "session": row}, what)
	_, reason := what["reason"]
	flatten(payload, row, reason)
	r.broadcast(audience{scope: scopeRead, subscribed: true}, "sessions.changed", payload, nil)
}

// emitMessage sends a session.message event.
func (r *Runtime) emitMessage(s *session, m message, seq int) {
	if m.hidden {
		return
	}
	row := r.eventRow(s)
	payload := object{
		"sessionKey": s.key, "agentId": s.agentID, "message": s.json(m, seq),
		"messageId": m.id, "messageSeq": seq, "session": row,
	}
	flatten(payload, row, false)
	if m.role == "user" {
		payload["senderIsOwner"] = true
	} else {
		payload["runId"] = m.runID
	}
	r.broadcast(audience{scope: scopeRead, subscribed: true}, "session.message", payload, nil)
}

// eventRow returns a session row in the form that events include.
func (r *Runtime) eventRow(s *session) object {
	row := r.row(s)
	row["activitySummary"] = object{"state": "unavailable", "canEnsure": true}
	if p := s.preview(); p != "" {
		row["lastMessagePreview"] = p
	}
	return row
}

// The variables repeated and filled list the members of a session row that events copy to
// their top level. Events set the members in empty to null, except those copied because
// of filled. Only events with a `reason` member also use repeatedWide and emptyWide.
var (
	repeated = words(`updatedAt sessionId participants participantCount kind visibility archived pinned unread
		activitySummary lastActivityAt permissionModePending createdVia createdAt displayName effectiveFastMode
		effectiveFastModeSource fastAutoOnSeconds abortedLastRun inputTokens outputTokens totalTokens
		totalTokensFresh contextTokens contextBudgetStatus estimatedCostUsd effectiveResponseUsage status lastRunId
		hasActiveRun activeRunIds startedAt endedAt runtimeMs sharingRole`)
	repeatedWide = words(`modelProvider model modelOverrideSource agentRuntime runtimeSelectionLocked placement`)
	empty        = words(`createdActor owner archivedAt archivedBy archiveReason pinnedAt markedUnreadAt agentStatus
		observerDigest controlOwnerSessionKey swarm permissionMode label autoLabel icon color channelAvatarUrl
		category boardPresentation thinkingLevel toolOverrides restartRecoveryStatus goal lastRunError providerReview`)
	emptyWide = words(`activeModelProvider activeModel placementMove`)
	filled    = words(`lastRunError label parentSessionKey spawnedBy controlOwnerSessionKey spawnDepth`)
)

// flatten copies a session row's members to the top level of an event. If wide is true, it adds
// the members that only events with a `reason` contain.
func flatten(payload, row object, wide bool) {
	names, blanks := repeated, empty
	if wide {
		names, blanks = slices.Concat(names, repeatedWide), slices.Concat(blanks, emptyWide)
	}
	for _, k := range blanks {
		payload[k] = nil
	}
	for _, k := range names {
		if v, ok := row[k]; ok {
			payload[k] = v
		}
	}
	for _, k := range filled {
		if v, ok := row[k]; ok {
			payload[k] = v
		}
	}
	payload["hasAutomation"], payload["ancestorSessions"] = false, []string{}
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
