package link

import (
	"encoding/json"
	"errors"
	"time"

	"wardroom/internal/gateway/wire"
)

// Frame is a message from the gateway: a response or an event.
type Frame struct {
	Type    string          `json:"type"` // "res" or "event"
	ID      string          `json:"id"`   // id of the request that a res answers
	OK      bool            `json:"ok"`
	Payload json.RawMessage `json:"payload"`
	Error   *WireError      `json:"error"`
	Event   string          `json:"event"`
	Seq     wire.Number     `json:"seq"` // number of the event on its connection, from 1; absent before hello-ok
}

// request is a message to the gateway.
type request struct {
	Type   string `json:"type"` // always "req"
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// WireError is the gateway's error object. Its details depend on the method. Only those
// that this package uses are decoded.
type WireError struct {
	Code       string      `json:"code"` // INVALID_REQUEST, FORBIDDEN, UNAVAILABLE, NOT_PAIRED
	Message    string      `json:"message"`
	RetryAfter wire.Number `json:"retryAfterMs"`
	Details    details     `json:"details"`
}

type details struct {
	Code             string      `json:"code"` // such as AUTH_TOKEN_MISMATCH
	Reason           string      `json:"reason"`
	MissingScope     string      `json:"missingScope"`
	RequestID        string      `json:"requestId"`
	ExpectedProtocol wire.Number `json:"expectedProtocol"`
	RetryAfter       wire.Number `json:"retryAfterMs"`

	// RequestedScopes and ApprovedScopes are set only for a device that is waiting for
	// approval.
	RequestedScopes []string `json:"requestedScopes"`
	ApprovedScopes  []string `json:"approvedScopes"`
}

// UnmarshalJSON ignores details that are not a JSON object, so that the rest of the error
// is still decoded.
func (d *details) UnmarshalJSON(data []byte) error {
	type plain details
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*d = details(p)
	}
	return nil
}

func (e *WireError) retryAfter() time.Duration {
	ms, ok := e.RetryAfter.Whole()
	if !ok {
		ms, _ = e.Details.RetryAfter.Whole()
	}
	return time.Duration(min(max(ms, 0), maxDelay.Milliseconds())) * time.Millisecond
}

var errNotAFrame = errors.New("neither an answer nor an event")

func decodeFrame(data []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(data, &f); err != nil {
		return Frame{}, err
	}
	switch {
	case f.Type == "res" && f.ID != "":
		if !f.OK && f.Error == nil {
			f.Error = &WireError{Message: "no reason given"}
		}
	case f.Type == "event" && f.Event != "":
	default:
		return Frame{}, errNotAFrame
	}
	return f, nil
}
