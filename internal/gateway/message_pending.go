package gateway

import (
	"encoding/json"

	"wardroom/internal/gateway/wire"
)

// Pending is a message to an agent that the agent has not read yet.
type Pending struct {
	Turn
	// Dropped means that the agent will not read the message, because the session was stopped or the gateway restarted
	// before.
	Dropped bool
}

// pendingInputs lists the messages that the gateway has accepted and not passed on. It is a type of its own, so that an
// unexpected JSON value does not make the conversation unreadable.
type pendingInputs []pendingInput

type pendingInput struct {
	ID         wire.Word       `json:"id"`
	RunID      wire.Word       `json:"runId"`
	AcceptedAt wire.Number     `json:"acceptedAt"`
	State      wire.Word       `json:"state"` // queued, cancelled or interrupted
	Message    json.RawMessage `json:"message"`
}

// UnmarshalJSON reads the items that it understands and ignores the rest.
func (p *pendingInputs) UnmarshalJSON(data []byte) error {
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(data, &page) // without items if it is something else
	for _, raw := range page.Items {
		var one pendingInput
		if json.Unmarshal(raw, &one) == nil {
			*p = append(*p, one)
		}
	}
	return nil
}

// pending converts the gateway's list of pending messages.
func (c *Client) pending(list pendingInputs) []Pending {
	var out []Pending
	for _, in := range list {
		var r row
		if json.Unmarshal(in.Message, &r) != nil {
			continue
		}
		t := c.turn(r, parts(r.Content))
		t.ID, t.Seq, t.RunID, t.Role = c.short(string(in.ID)), 0, "", "user"
		t.SentAs = c.short(string(in.RunID))
		if at := in.AcceptedAt.Time(); !at.IsZero() {
			t.At = at
		}
		out = append(out, Pending{Turn: t, Dropped: in.State != "queued"})
	}
	return out
}
