package gateway

import "encoding/json"

// Activity returns the session key of an event that shows activity in a run: the model is
// thinking, writing or using a tool. It returns false for other events, such as one about
// a renamed session.
func (e Event) Activity() (sessionKey string, ok bool) {
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
