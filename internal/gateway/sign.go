package gateway

import "encoding/json"

// Sign reads from an event that a run of a session is alive: it thinks, speaks or
// uses a tool. False for any other event, such as one about a session that a
// person has renamed.
func (e Event) Sign() (sessionKey string, ok bool) {
	switch e.Name {
	case "agent", "chat", "session.tool", "session.message":
	default:
		return "", false
	}
	var p struct {
		SessionKey word `json:"sessionKey"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || !validKey(string(p.SessionKey)) {
		return "", false
	}
	return string(p.SessionKey), true
}
