package gateway

import (
	"encoding/json"
	"sync"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// SessionChange is a change to a session, as reported by an event. If two events are about the same
// session, the later one has the newer data, because the gateway reads the session's current data
// when it sends an event.
type SessionChange struct {
	Key   string  // empty when the event names no session
	Row   Session // the session's current row; set only if Whole
	Whole bool    // the event contains the complete row
	// Gone means that the session was deleted or archived, so that no list includes it. Key is then the gateway's own:
	// the end of an old run of a job does not end the job's session.
	Gone  bool
	Stamp int64 // when the gateway built the row, in milliseconds of its clock; 0 when unknown
	Reset bool  // the transcript was reset: earlier messages are gone
	// Said is the beginning of the new message, on a single line. It is empty if the
	// event is not about a message. Row.LastMessage may still contain an older message,
	// because the gateway updates it for lists but not for events.
	Said string
	// SaidBy is the role of the author of the new message: user or assistant.
	SaidBy string
	Run    *RunChange // the start or end of a run, if the event reports one
}

// RunChange says that a run has started or ended.
type RunChange struct {
	SessionKey, RunID string
	Began             bool       // false when the run has ended
	At                clock.Time // zero when unknown
}

// Content is what an event says about a session, an approval or a question. The zero Content says nothing.
type Content struct {
	// Active is the key of a session whose run shows activity: the model is thinking, writing or
	// using a tool. It is empty for other events, such as one about a renamed session.
	Active string
	// Change is nil if the event changes nothing in the list of sessions. If neither its Whole nor
	// its Gone is set, it does not describe the whole change: read the list of sessions again.
	Change *SessionChange
	// Message, if not nil, returns the new message of the session Active. A tool result is a
	// separate message, because a previous event has already reported its call. All callers share
	// the message, so none may change it.
	Message func() Turn
	// Asked, if not nil, is an approval or a question, or how one has ended.
	Asked *AskedOrAnswered
}

// Content decodes an event of the gateway.
func (c *Client) Content(e link.Event) Content {
	switch e.Name {
	case "sessions.changed":
		return Content{Change: &c.readRowEvent(e.Payload).SessionChange}
	case "session.message":
		row := c.readRowEvent(e.Payload)
		is := Content{Active: row.active, Change: &row.SessionChange}
		if is.Active != "" && row.message != nil {
			is.Message = sync.OnceValue(func() Turn { return c.turnOf(*row.message, row.seq) })
		}
		return is
	case "agent":
		return agentContent(e.Payload)
	case "chat", "session.tool":
		var p struct {
			Key   wire.Word `json:"sessionKey"`
			State wire.Word `json:"state"`
		}
		bad := json.Unmarshal(e.Payload, &p) != nil
		is := Content{Active: sessionKey(p.Key)}
		if e.Name == "chat" && (bad || p.State == "final" || p.State == "aborted" || p.State == "error") {
			is.Change = &SessionChange{Key: is.Active}
		}
		return is
	case "task":
		var p struct {
			Task struct {
				Child wire.Word `json:"childSessionKey"`
				Key   wire.Word `json:"sessionKey"` // of the session that started the sub-agent
			} `json:"task"`
		}
		_ = json.Unmarshal(e.Payload, &p) // an unreadable payload names no session
		if key := sessionKey(first(p.Task.Child, p.Task.Key)); key != "" {
			return Content{Change: &SessionChange{Key: key}}
		}
	}
	return Content{Asked: c.askedEvent(e)}
}

// agentContent decodes an event about a run.
func agentContent(payload json.RawMessage) Content {
	var p struct {
		RunID      wire.Word `json:"runId"`
		SessionKey wire.Word `json:"sessionKey"`
		Stream     wire.Word `json:"stream"`
		Data       struct {
			Phase     wire.Word   `json:"phase"`
			StartedAt wire.Number `json:"startedAt"`
			EndedAt   wire.Number `json:"endedAt"`
		} `json:"data"`
	}
	bad := json.Unmarshal(payload, &p) != nil
	is := Content{Active: sessionKey(p.SessionKey)}
	if bad || p.Stream != "lifecycle" || is.Active == "" || !validKey(string(p.RunID)) {
		return is
	}
	r := RunChange{SessionKey: is.Active, RunID: string(p.RunID)}
	switch p.Data.Phase {
	case "start":
		r.Began, r.At = true, p.Data.StartedAt.Time()
	case "end", "error":
		r.At = p.Data.EndedAt.Time()
	default:
		return is
	}
	is.Change = &SessionChange{Key: is.Active, Run: &r}
	return is
}

// sessionKey returns the key under which lists have the session, or an empty string if the given key is not valid.
func sessionKey(w wire.Word) string { return listedKey(keyOrEmpty(w)) }

// keyOrEmpty returns a key if it is valid. Otherwise it returns an empty string.
func keyOrEmpty(w wire.Word) string {
	if !validKey(string(w)) {
		return ""
	}
	return string(w)
}

// rowEvent is an event that contains a session row.
type rowEvent struct {
	SessionChange
	active  string      // the session key
	message *row        // nil without one
	seq     wire.Number // of the message, if it has none itself
}

// readRowEvent reads an event that contains a session row.
func (c *Client) readRowEvent(payload json.RawMessage) *rowEvent {
	var p struct {
		Key     wire.Word       `json:"sessionKey"`
		Reason  wire.Word       `json:"reason"`
		Row     json.RawMessage `json:"session"`
		Message *row            `json:"message"`
		Seq     wire.Number     `json:"messageSeq"`
	}
	bad := json.Unmarshal(payload, &p) != nil
	is := &rowEvent{active: sessionKey(p.Key)}
	if bad {
		return is
	}
	is.message, is.seq = p.Message, p.Seq
	is.SessionChange = SessionChange{Key: is.active, Gone: p.Reason == "delete", Reset: p.Reason == "reset"}
	if is.Gone {
		is.Key = keyOrEmpty(p.Key)
	}
	if m := p.Message; m != nil && (m.Role == "user" || m.Role == "assistant") {
		if is.Said = c.preview(visible(parts(m.Content))); is.Said != "" {
			is.SaidBy = string(m.Role)
		}
	}
	row, facts, ok := c.readRow(p.Row)
	key := row.Key
	if row.Key = listedKey(key); !ok || is.Gone || is.Key != "" && is.Key != row.Key {
		return is
	}
	is.Key, is.Stamp, is.Gone = row.Key, facts.stamp, facts.archived
	switch {
	case is.Gone:
		is.Key = key
	case facts.whole:
		is.Row, is.Whole = row, true
	}
	return is
}

// turnOf converts the message of an event. It takes the number seq if the message has none.
func (c *Client) turnOf(m row, seq wire.Number) Turn {
	t := c.fold([]row{m})[0]
	if t.Seq == 0 {
		t.Seq = seq.Count()
	}
	return t
}

// previewChars is the maximum length of the message previews in the gateway's session
// lists.
const previewChars = 240

// preview shortens a text to a single line, as the gateway does for its session lists.
func (c *Client) preview(text string) string {
	line := []rune(c.short(text))
	if len(line) > previewChars {
		const cut = "..."
		line = append(line[:previewChars-len(cut)], []rune(cut)...)
	}
	return string(line)
}
