package gateway

import (
	"encoding/json"

	"wardroom/internal/platform/clock"
)

// SessionChange is a change to a session, as reported by an event. If two events are about the same
// session, the later one has the newer data, because the gateway reads the session's current data
// when it sends an event.
type SessionChange struct {
	Key   string  // empty when the event names no session
	Row   Session // the session's current row; set only if Whole
	Whole bool    // the event contains the complete row
	Gone  bool    // the session was deleted or archived, so that no list includes it
	Stamp int64   // when the gateway built the row, in milliseconds of its clock; 0 when unknown
	Reset bool    // the transcript was reset: earlier messages are gone
	// Said is the beginning of the new message, on a single line. It is empty if the
	// event is not about a message. Row.LastMessage may still contain an older message,
	// because the gateway updates it for lists but not for events.
	Said string
	Run  *RunChange // the start or end of a run, if the event reports one
}

// RunChange says that a run has started or ended.
type RunChange struct {
	SessionKey, RunID string
	Began             bool       // false when the run has ended
	At                clock.Time // zero when unknown
}

// Run reads an event about the start or the end of a run. It returns false for any other
// event.
func (e Event) Run() (RunChange, bool) {
	if e.Name != "agent" {
		return RunChange{}, false
	}
	var p struct {
		RunID      word `json:"runId"`
		SessionKey word `json:"sessionKey"`
		Stream     word `json:"stream"`
		Data       struct {
			Phase     word   `json:"phase"`
			StartedAt number `json:"startedAt"`
			EndedAt   number `json:"endedAt"`
		} `json:"data"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.Stream != "lifecycle" || !validKey(string(p.RunID)) || !validKey(string(p.SessionKey)) {
		return RunChange{}, false
	}
	r := RunChange{SessionKey: string(p.SessionKey), RunID: string(p.RunID)}
	switch p.Data.Phase {
	case "start":
		r.Began, r.At = true, p.Data.StartedAt.time()
	case "end", "error":
		r.At = p.Data.EndedAt.time()
	default:
		return RunChange{}, false
	}
	return r, true
}

// SessionOf returns the change to a session that an event reports. It returns false if
// the event changes nothing in the list of sessions. If neither Whole nor Gone is set,
// the event does not describe the whole change: read the list of sessions again.
func (c *Client) SessionOf(e Event) (SessionChange, bool) {
	switch e.Name {
	case "sessions.changed", "session.message":
		return c.readRowEvent(e.Payload), true
	case "agent":
		run, ok := e.Run()
		return SessionChange{Key: run.SessionKey, Run: &run}, ok
	case "task":
		var p struct {
			Task struct {
				Child word `json:"childSessionKey"`
				Key   word `json:"sessionKey"` // of the session that started the sub-agent
			} `json:"task"`
		}
		_ = json.Unmarshal(e.Payload, &p) // an unreadable payload names no session
		key := keyOrEmpty(first(p.Task.Child, p.Task.Key))
		return SessionChange{Key: key}, key != ""
	case "chat":
		var p struct {
			Key   word `json:"sessionKey"`
			State word `json:"state"`
		}
		bad := json.Unmarshal(e.Payload, &p) != nil
		return SessionChange{Key: keyOrEmpty(p.Key)}, bad || p.State == "final" || p.State == "aborted" || p.State == "error"
	default:
		return SessionChange{}, false
	}
}

// keyOrEmpty returns a session key if it is valid. Otherwise it returns an empty string.
func keyOrEmpty(w word) string {
	if !validKey(string(w)) {
		return ""
	}
	return string(w)
}

// readRowEvent reads an event that contains a session row.
func (c *Client) readRowEvent(payload json.RawMessage) SessionChange {
	var p struct {
		Key     word            `json:"sessionKey"`
		Reason  word            `json:"reason"`
		Row     json.RawMessage `json:"session"`
		Message *struct {
			Role    word            `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return SessionChange{}
	}
	change := SessionChange{Key: keyOrEmpty(p.Key), Gone: p.Reason == "delete", Reset: p.Reason == "reset"}
	if m := p.Message; m != nil && (m.Role == "user" || m.Role == "assistant") {
		change.Said = c.preview(visible(parts(m.Content)))
	}
	row, facts, ok := c.readRow(p.Row)
	if !ok || change.Gone || change.Key != "" && change.Key != row.Key {
		return change
	}
	change.Key, change.Stamp, change.Gone = row.Key, facts.stamp, facts.archived
	if facts.whole && !change.Gone {
		change.Row, change.Whole = row, true
	}
	return change
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
