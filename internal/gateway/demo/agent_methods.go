package demo

import (
	"math"
	"slices"
	"strings"
	"time"
)

var (
	agentParams = params{
		required: words("message idempotencyKey"),
		optional: words(`agentId provider model to replyTo sessionId sessionKey expectedExistingSessionId thinking deliver
			attachments channel replyChannel accountId replyAccountId threadId groupId groupChannel groupSpace timeout
			bestEffortDeliver lane cwd cleanupBundleMcpOnRunEnd modelRun promptMode extraSystemPrompt bootstrapContextMode
			bootstrapContextRunKind acpTurnSource internalRuntimeHandoffId internalExecutionIdentityRetry
			internalExecutionIdentityRecoveryAttempt execApprovalFollowupExpectedSessionId internalEvents inputProvenance
			suppressPromptPersistence sessionEffects sourceReplyDeliveryMode disableMessageTool swarmCollector
			swarmOutputSchema forceRestartSafeTools forceCodeModeTools voiceWakeTrigger label`),
	}
	waitParams  = params{required: words("runId"), optional: words("timeoutMs")}
	abortParams = params{required: words("sessionKey"), optional: words("agentId runId preserveSideRuns")}

	abortSessionParams = params{optional: words("key runId agentId clearQueued")}
)

// maxTimerMs is the longest timeout that the gateway supports: 24.8 days, the limit for a
// JavaScript timer.
const maxTimerMs = math.MaxInt32

type agentRequest struct {
	Message, IdempotencyKey string
	AgentID, SessionKey     string
	Provider, Model         string
	Timeout                 *int
}

// handleAgent starts a run. It sends two responses with the same request id: "accepted"
// immediately, and the result when the run ends.
func (r *Runtime) handleAgent(c call) (any, *Failure) {
	var in agentRequest
	if f := agentParams.read("agent", "", c.params, &in); f != nil {
		return nil, f
	}
	if (in.Model != "" || in.Provider != "") && !c.conn.hasScope(scopeAdmin) {
		return nil, missing(scopeAdmin)
	}
	timeout := defaultTimeout
	if in.Timeout != nil {
		timeout = *in.Timeout // 0 means no limit
	}
	if f := checkRange("agent", "timeout", timeout, 0, math.MaxInt); f != nil {
		return nil, f
	}
	a, key, f := r.target(in)
	if f != nil {
		return nil, f
	}
	if old := c.conn.boot.find(in.IdempotencyKey, r.options.Now()); old != nil {
		if !old.ended {
			return object{
				"runId": old.id, "status": "in_flight", "sessionKey": old.session.key, "agentId": old.agent.ID,
			}, nil
		}
		c.sendFinal(old)
		return nil, nil
	}
	accepted := object{"runId": in.IdempotencyKey, "agentId": a.ID, "status": "accepted", "acceptedAt": r.now()}
	if in.AgentID != "" || in.SessionKey != "" {
		accepted["sessionKey"] = key
	}
	c.reply(accepted)
	s, created := r.sessionOf(key, a)
	r.enqueue(
		newRun(c, s, a, in.IdempotencyKey, in.Message,
			time.Duration(min(timeout, maxTimerMs/1000))*r.options.Timing.Second, r.now()),
		created,
	)
	return nil, nil
}

// target returns the agent and the session key that a request addresses.
func (r *Runtime) target(in agentRequest) (Agent, string, *Failure) {
	id, key := in.AgentID, in.SessionKey
	if key != "" {
		rest, scoped := strings.CutPrefix(key, "agent:")
		owner, _, _ := strings.Cut(rest, ":")
		const fleet = "Multiple agents are configured, but session agent resolution has no explicit owner."
		switch {
		case !scoped && id == "":
			return Agent{}, "", invalid(fleet)
		case !scoped:
			key, owner = "agent:"+id+":"+key, id
		case id != "" && id != owner:
			return Agent{}, "", invalid(fleet+" The agent-scoped session key belongs to %q, not %q.", owner, id)
		}
		id = owner
	}
	if id == "" {
		id = r.options.Agents[0].ID
	}
	a, ok := r.agent(id)
	if !ok {
		return Agent{}, "", invalid("invalid agent params: unknown agent id %q", id)
	}
	if key == "" {
		key = "agent:" + id + ":main"
	}
	return a, key, nil
}

// handleWait waits for a run to end. If the run is unknown, handleWait waits until the
// timeout, because the run may still start.
func (r *Runtime) handleWait(c call) (any, *Failure) {
	in := struct {
		RunID     string
		TimeoutMs int
	}{TimeoutMs: 30_000}
	if f := waitParams.read("agent.wait", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := checkRange("agent.wait", "timeoutMs", in.TimeoutMs, 0, math.MaxInt); f != nil {
		return nil, f
	}
	b := c.conn.boot
	if q := b.find(in.RunID, r.options.Now()); q != nil && q.ended {
		return q.waitResult(), nil
	}
	w := &waiter{call: c, runID: in.RunID}
	b.waiters[in.RunID] = append(b.waiters[in.RunID], w)
	w.timer = time.AfterFunc(time.Duration(min(in.TimeoutMs, maxTimerMs))*time.Millisecond, func() { r.endWait(b, w) })
	return nil, nil
}

// endWait answers an agent.wait request that has timed out. The run continues.
func (r *Runtime) endWait(b *boot, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(b.waiters[w.runID], w)
	if i < 0 {
		return
	}
	b.waiters[w.runID] = slices.Delete(b.waiters[w.runID], i, i+1)
	w.call.reply(object{"runId": w.runID, "status": "timeout"})
}

// handleAbort stops one of a session's runs, or all of them.
func (r *Runtime) handleAbort(c call) (any, *Failure) {
	var in struct{ SessionKey, RunID string }
	if f := abortParams.read("chat.abort", "", c.params, &in); f != nil {
		return nil, f
	}
	ids, f := r.abort(c.conn, r.find(in.SessionKey), in.RunID, false)
	if f != nil {
		return nil, f
	}
	return object{"ok": true, "aborted": len(ids) > 0, "runIds": ids}, nil
}

// handleAbortSession stops a session's runs, and those of the sessions that it spawned.
func (r *Runtime) handleAbortSession(c call) (any, *Failure) {
	var in struct{ Key, RunID string }
	if f := abortSessionParams.read("sessions.abort", "", c.params, &in); f != nil {
		return nil, f
	}
	out := object{"ok": true, "abortedRunId": nil, "status": "no-active-run"}
	s := r.find(in.Key)
	ids, f := r.abort(c.conn, s, in.RunID, true)
	if f != nil {
		return nil, f
	}
	if len(ids) > 0 {
		out["status"] = "aborted"
		if q := c.conn.boot.runs[ids[0]]; q == nil || !q.prompt.Channel {
			out["abortedRunId"] = ids[0]
		}
	}
	if s != nil && r.abortChildren(c.conn, s.key) {
		out["status"] = "aborted"
	}
	return out, nil
}

// abort stops those of a session's runs that the client may stop, or only the one with the given
// id, and returns their ids, the active one first. Runs that a channel started count only if channels is set. It fails
// if the client may stop none of them. The caller must hold r.mu.
func (r *Runtime) abort(by *Conn, s *session, runID string, channels bool) (ids []string, _ *Failure) {
	ids = []string{}
	if s == nil {
		return ids, nil
	}
	foreign := false
	// Queued runs end first, so that ending the active run doesn't start one of them.
	for _, q := range slices.Concat(slices.Clone(s.queue), []*run{s.active}) {
		switch {
		case q == nil || runID != "" && q.id != runID || q.prompt.Channel && !channels:
		case !by.mayStop(q):
			foreign = true
		default:
			end := outcome{kind: aborted}
			if channels && runID == "" && q != s.active { // sessions.abort, in OpenClaw 2026.9.6
				end = outcome{kind: failed, error: `Command lane "session:` + s.key + `" cleared`}
			}
			r.finish(q, end)
			ids = append(ids, q.id)
		}
	}
	r.next(s)
	if foreign && len(ids) == 0 {
		return nil, invalid("unauthorized")
	}
	slices.Reverse(ids)
	return ids, nil
}

// abortChildren stops the runs of all sub-agents below a session, and reports whether there were
// any. The caller must hold r.mu.
func (r *Runtime) abortChildren(by *Conn, parent string) (stopped bool) {
	for key, s := range r.sessions {
		if s.parent != parent {
			continue
		}
		ids, _ := r.abort(by, s, "", true)
		if r.abortChildren(by, key) || len(ids) > 0 {
			stopped = true
		}
	}
	return stopped
}

// waitResult returns the result that agent.wait reports for a run that has ended.
func (q *run) waitResult() object {
	out := object{"runId": q.id, "status": "error", "endedAt": q.endedAt}
	if q.begun {
		out["startedAt"] = q.startedAt
	}
	switch q.outcome.kind {
	case answered:
		out["status"], out["stopReason"], out["terminalReply"] = "ok", "stop", q.terminalReply()
	case failed, drained:
		out["error"] = q.outcome.error
	case aborted:
		out["stopReason"] = "rpc"
	case timedOut:
		out["status"], out["error"], out["terminalReply"] = "timeout", q.outcome.error, q.terminalReply()
	}
	return out
}

// terminalReply returns a run's answer in the form used by `agent` events and agent.wait.
func (q *run) terminalReply() object {
	if q.outcome.text == "" {
		return object{"disposition": "empty"}
	}
	return object{"disposition": "visible", "text": truncate(q.outcome.text, replyChars-1, "…")}
}

// sendFinal sends the second response to an `agent` request, which reports the end of the
// run. A later call with the same idempotency key gets the same response.
func (c call) sendFinal(q *run) {
	out := object{"runId": q.id}
	switch q.outcome.kind {
	case failed, drained:
		out["status"], out["summary"] = "error", q.outcome.error
		c.send(object{
			"type": "res", "id": c.id, "ok": false, "payload": out,
			"error": &Failure{Code: "UNAVAILABLE", Message: q.outcome.error},
		})
		return
	case answered:
		out["status"], out["summary"], out["result"] = "ok", "completed", q.result()
	case timedOut:
		out["status"], out["summary"], out["result"] = "timeout", "aborted", q.result()
	case aborted:
		out["status"], out["summary"], out["stopReason"] = "timeout", "aborted", "rpc"
	}
	c.reply(out)
}

// result returns the `result` member of the second response to an `agent` request: the
// run's answer or timeout error, and its tokens and cost.
func (q *run) result() object {
	payloads, details := []object{}, q.details()
	meta := object{"durationMs": q.endedAt - q.startedAt, "agentMeta": details, "aborted": false}
	if q.outcome.kind == timedOut {
		payloads = []object{{"text": q.outcome.error, "isError": true}}
		meta["error"] = object{"kind": "incomplete_turn", "message": q.outcome.error}
		return object{"payloads": payloads, "meta": meta}
	}
	if q.outcome.text != "" {
		payloads = []object{{"text": q.outcome.text}}
	}
	meta["stopReason"], meta["finalAssistantVisibleText"] = "stop", q.outcome.text
	return object{"payloads": payloads, "meta": meta}
}

// details returns the run's model, tokens and cost.
func (q *run) details() object {
	u := q.outcome.spent
	out := object{
		"sessionId": q.session.id, "provider": u.model.provider, "model": u.model.id, "contextTokens": u.model.window,
	}
	if q.outcome.kind == answered {
		out["usage"] = object{
			"input": u.input, "output": u.output, "cacheRead": u.cacheRead, "cacheWrite": u.cacheWrite,
			"total": u.total(), "cost": object{"total": usd(u.cost())},
		}
		out["costUsd"] = usd(u.cost())
	}
	return out
}
