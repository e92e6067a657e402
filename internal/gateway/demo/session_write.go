package demo

var sendParams = params{
	required: words("sessionKey message idempotencyKey"),
	optional: words(`agentId sessionId intent thinking fastMode fastAutoOnSeconds queueMode deliver originatingChannel originatingTo
		originatingAccountId originatingThreadId replyToId attachments toolBindings timeoutMs systemInputProvenance
		systemProvenanceReceipt suppressCommandInterpretation expectedLeafEntryId expectedSessionRoutingContract
		expectedPermissionMode expectedToolOverrides`),
}

// handleSend starts a run for a message. If the session is busy, the message gets its own
// run after the active one. The real gateway handles this case differently.
func (r *Runtime) handleSend(c call) (any, *Failure) {
	var in struct{ SessionKey, Message, IdempotencyKey string }
	if f := sendParams.read("chat.send", "", c.params, &in); f != nil {
		return nil, f
	}
	a, key, f := r.target(agentRequest{SessionKey: in.SessionKey})
	if f != nil {
		return nil, f
	}
	if old := c.conn.boot.find(in.IdempotencyKey, r.options.Now()); old != nil {
		status := "ok"
		if !old.ended {
			status = "in_flight"
		}
		return object{"runId": old.id, "status": status}, nil
	}
	c.reply(object{"runId": in.IdempotencyKey, "status": "started"})
	s, created := r.sessionOf(key, a)
	q := newRun(c, s, a, in.IdempotencyKey, in.Message, 0, r.now())
	q.callers, q.viaChatSend = nil, true // only `agent` sends a second response
	r.enqueue(q, created)
	return nil, nil
}
