package demo

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"unicode/utf16"
)

// Limits that the gateway applies to long messages (OpenClaw 2026.9.6).
const (
	historyChars    = 8_000     // per text, unless a client asks for more
	historyCharsMax = 500_000   // the most that a client may ask for
	messageChars    = 1_000_000 // for a single message
	messageCharsMax = 2_000_000
	maxRowBytes     = 128 << 10 // chat.history omits the content of larger rows
	replyChars      = 4_096     // maximum length of an answer from agent.wait
)

var historyParams = params{
	required: words("sessionKey"),
	optional: words("agentId cursor limit offset pendingBefore inputRunIds messageId sessionId maxChars"),
}

// handleHistory returns the rows of a session's transcript, newest last.
func (r *Runtime) handleHistory(c call) (any, *Failure) {
	in := struct {
		SessionKey              string
		Limit, Offset, MaxChars int
	}{Limit: 200, MaxChars: historyChars}
	if f := historyParams.read("chat.history", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := cmp.Or(
		checkRange("chat.history", "limit", in.Limit, 1, 1000),
		checkRange("chat.history", "offset", in.Offset, 0, math.MaxInt),
		checkRange("chat.history", "maxChars", in.MaxChars, 1, historyCharsMax),
	); f != nil {
		return nil, f
	}
	out := object{
		"sessionKey": in.SessionKey, "messages": []object{}, "hasMore": false, "totalMessages": 0,
		"pendingInputs": object{"items": []object{}, "total": 0},
	}
	s := r.find(in.SessionKey)
	if s == nil {
		return out, nil
	}
	to := max(0, len(s.messages)-in.Offset)
	from := max(0, to-in.Limit)
	rows := []object{}
	for i := from; i < to; i++ {
		if !s.messages[i].hidden {
			rows = append(rows, dropOversized(truncateTexts(s.json(s.messages[i], i+1), in.MaxChars)))
		}
	}
	out["sessionId"], out["messages"], out["totalMessages"] = s.id, rows, len(s.messages)
	out["sessionInfo"] = r.row(s, canonical(in.SessionKey))
	if from > 0 {
		out["hasMore"], out["nextOffset"] = true, len(s.messages)-from
	}
	out["pendingInputs"] = s.pendingInputs(in.MaxChars)
	if s.active != nil && s.active.begun {
		out["inFlightRun"] = object{"runId": s.active.id, "text": ""}
	}
	return out, nil
}

// maxPendingInputs is how many waiting messages chat.history lists.
const maxPendingInputs = 20

// pendingInputs lists the messages whose runs have not started.
func (s *session) pendingInputs(maxChars int) object {
	items, waiting := []object{}, []*run{}
	for _, q := range append([]*run{s.active}, s.queue...) {
		if q != nil && !q.begun {
			waiting = append(waiting, q)
		}
	}
	for _, q := range waiting[:min(len(waiting), maxPendingInputs)] {
		id := fixedID(s.key, q.id).String()
		items = append(items, object{
			"id": id, "runId": q.id, "acceptedAt": q.createdAt, "state": "queued",
			"message": truncateTexts(object{
				"role": "user", "content": q.question().text, "timestamp": q.createdAt,
				"__openclaw": object{"id": "pending-input:" + id},
			}, maxChars),
		})
	}
	return object{"items": items, "total": len(waiting)}
}

var messageParams = params{required: words("sessionKey messageId"), optional: words("agentId maxChars")}

// handleMessage returns one row of a transcript, even if the row is very large.
func (r *Runtime) handleMessage(c call) (any, *Failure) {
	in := struct {
		SessionKey, MessageID string
		MaxChars              int
	}{MaxChars: messageChars}
	if f := messageParams.read("chat.message.get", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := checkRange("chat.message.get", "maxChars", in.MaxChars, 1, messageCharsMax); f != nil {
		return nil, f
	}
	if s := r.find(in.SessionKey); s != nil {
		if i := slices.IndexFunc(s.messages, func(m message) bool { return m.id == in.MessageID && !m.hidden }); i >= 0 {
			return object{"ok": true, "message": truncateTexts(s.json(s.messages[i], i+1), in.MaxChars)}, nil
		}
	}
	return object{"ok": false, "unavailableReason": "not_found"}, nil
}

// truncateTexts truncates each text in a transcript row to the given length. Like
// JavaScript, it measures length in UTF-16 code units.
func truncateTexts(row object, most int) object {
	switch content := row["content"].(type) {
	case string:
		row["content"] = truncate(content, most, "\n...(truncated)...")
	case []object:
		for i, part := range content {
			for _, name := range []string{"text", "thinking"} {
				if text, ok := part[name].(string); ok && len(text) > most {
					content[i] = maps.Clone(part)
					content[i][name] = truncate(text, most, "\n...(truncated)...")
				}
			}
		}
	}
	return row
}

func truncate(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	if units := utf16.Encode([]rune(text)); len(units) > most {
		return string(utf16.Decode(units[:most])) + mark
	}
	return text
}

// dropOversized returns the given row or, if it is too large, a placeholder without the row's content and run id.
func dropOversized(row object) object {
	data, err := json.Marshal(row)
	if err != nil || len(data) <= maxRowBytes {
		return row
	}
	all, _ := row["__openclaw"].(object)
	meta := object{"truncated": true, "reason": "oversized"}
	for _, name := range []string{"id", "seq", "idempotencyKey", "transcriptPosition"} {
		if v, ok := all[name]; ok {
			meta[name] = v
		}
	}
	left := object{
		"role": row["role"], "timestamp": row["timestamp"], "__openclaw": meta,
		"content": content("[chat.history omitted: message too large]"),
	}
	for _, name := range []string{"toolCallId", "toolName", "isError"} {
		if v, ok := row[name]; ok {
			left[name] = v
		}
	}
	return left
}

// handleSessionsGet returns the newest rows of a transcript, including those that
// chat.history omits.
func (r *Runtime) handleSessionsGet(c call) (any, *Failure) {
	in := struct {
		Key   string
		Limit int
	}{Limit: 200}
	p := params{required: words("key"), optional: words("limit agentId")}
	if f := p.read("sessions.get", "", c.params, &in); f != nil {
		return nil, f
	}
	rows := []object{}
	if s := r.find(in.Key); s != nil {
		for i := max(0, len(s.messages)-max(1, in.Limit)); i < len(s.messages); i++ {
			rows = append(rows, s.json(s.messages[i], i+1))
		}
	}
	return object{"messages": rows}, nil
}
