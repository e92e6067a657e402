package gateway

import (
	"encoding/json"

	"wardroom/internal/platform/clock"
)

// SessionChange is what an event tells of one session. Of several events the
// later one is the newer: the gateway makes a row when it sends the event.
type SessionChange struct {
	Key   string  // empty when the event does not say which session it is
	Row   Session // as it is now; only when Whole
	Whole bool    // the event carries all of the row
	Gone  bool    // the session is in no list any more: deleted, or archived
	Stamp int64   // when the gateway made the row, in milliseconds of its clock; 0 when it does not say
	Anew  bool    // its transcript was begun anew: what was said before is gone
	// Said is the beginning of what was said just now, on one line; empty when the
	// event is of something else. The row's own LastMessage may be older: the gateway
	// brings it up to date for lists, not for events.
	Said string
	Run  *RunChange // the beginning or the end of a run that the event is of; nil for any other
}

// RunChange is what an event tells of the beginning or the end of a run.
type RunChange struct {
	SessionKey, RunID string
	Began             bool       // else it has ended
	At                clock.Time // zero when the gateway does not say
}

// Run reads an event about the beginning or the end of a run; false for any
// other event.
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

// SessionOf reads what an event tells of a session. It is false for one after
// which a list of the sessions that was read before it is as right as it was. An
// event that says that something changed, and not what, is a change without Whole
// and Gone: the list must tell.
func (c *Client) SessionOf(e Event) (SessionChange, bool) {
	switch e.Name {
	case "sessions.changed", "session.message":
		return c.carried(e.Payload), true
	case "agent":
		run, ok := e.Run()
		return SessionChange{Key: run.SessionKey, Run: &run}, ok
	case "task":
		var p struct {
			Task struct {
				Child word `json:"childSessionKey"`
				Key   word `json:"sessionKey"` // of who asked for a sub-agent's
			} `json:"task"`
		}
		_ = json.Unmarshal(e.Payload, &p) // one that cannot be read tells of no session
		key := askable(first(p.Task.Child, p.Task.Key))
		return SessionChange{Key: key}, key != ""
	case "chat":
		var p struct {
			Key   word `json:"sessionKey"`
			State word `json:"state"`
		}
		bad := json.Unmarshal(e.Payload, &p) != nil
		return SessionChange{Key: askable(p.Key)}, bad || p.State == "final" || p.State == "aborted" || p.State == "error"
	default:
		return SessionChange{}, false
	}
}

// askable is a key that can be asked for, or none.
func askable(w word) string {
	if !validKey(string(w)) {
		return ""
	}
	return string(w)
}

// carried reads an event that carries a row, as those for subscribers do.
func (c *Client) carried(payload json.RawMessage) SessionChange {
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
	change := SessionChange{Key: askable(p.Key), Gone: p.Reason == "delete", Anew: p.Reason == "reset"}
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

// previewChars is how long the gateway's previews of messages are.
const previewChars = 240

// preview is the beginning of a text as the gateway's lists have it.
func (c *Client) preview(text string) string {
	line := []rune(c.short(text))
	if len(line) > previewChars {
		const cut = "..."
		line = append(line[:previewChars-len(cut)], []rune(cut)...)
	}
	return string(line)
}
