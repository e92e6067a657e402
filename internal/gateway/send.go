package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnsure is beside the failure of a request that was sent and not answered:
// the gateway may have done what it was asked for.
var ErrUnsure = errors.New("it may have been done")

// Saying is a message to a session, of whoever stands behind this service.
type Saying struct {
	SessionKey string
	Text       string
	RunID      string // chosen by us; the gateway takes a message of the same id once
}

// Say sends a message to a session, which comes into being with it where there
// is none. It comes back as soon as the gateway has taken it: what the agent
// makes of it is in the session. A session that is at work takes it into the run
// that is going, unless the gateway is set otherwise. It needs operator.write.
//
// A failure that comes with ErrUnsure leaves open whether the gateway has it:
// sending the same RunID again is safe as long as it runs; ask Sent first.
func (c *Client) Say(ctx context.Context, s Saying) error {
	params := struct {
		SessionKey     string `json:"sessionKey"`
		Message        string `json:"message"`
		IdempotencyKey string `json:"idempotencyKey"`
		Deliver        bool   `json:"deliver"` // false: the answer stays in the session
	}{s.SessionKey, s.Text, s.RunID, false}
	var out struct {
		Status  word  `json:"status"`
		Aborted *flag `json:"aborted"`
	}
	if err := c.once(ctx, "chat.send", params, &out); err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	if out.Aborted != nil && out.Status == "" {
		return ErrRefused.With("The gateway took the message for a command to stop, and has stopped what was going in the session. The agent was not told.")
	}
	return nil
}

// What Sent reads: the newest rows, without their texts.
const (
	sentRows  = 100
	sentChars = 100
)

// Sent says whether a session has, or is about to have, a message that was sent
// with that run id, as far as its newest rows tell. The gateway forgets the ids
// when it restarts, and after a while (five minutes in version 2026.9.6); the
// transcript stays.
func (c *Client) Sent(ctx context.Context, sessionKey, runID string) (bool, error) {
	var h history
	if err := c.call(ctx, "chat.history", historyParams{SessionKey: sessionKey, Limit: sentRows, MaxChars: sentChars}, &h); err != nil {
		if noSession(err) {
			return false, nil
		}
		return false, fmt.Errorf("look for a message: %w", err)
	}
	return asked(h.rows(), runID) || h.active(runID), nil
}

// once is call for what changes something: its failures say whether the request
// was sent.
func (c *Client) once(ctx context.Context, method string, params, out any) error {
	k, err := c.connection(method)
	if err != nil {
		return err
	}
	f, err := c.roundTripOn(ctx, k, method, params, "")
	if err != nil {
		return errors.Join(err, ErrUnsure)
	}
	if f.Error != nil {
		return c.wireFault(f.Error)
	}
	if json.Unmarshal(f.Payload, out) != nil {
		return errors.Join(ErrRefused.With("The gateway answers %s in a way that this version does not understand.", method), ErrUnsure)
	}
	return nil
}
