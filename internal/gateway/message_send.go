package gateway

import (
	"context"
	"fmt"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// OutgoingMessage is a message from Wardroom's user to a session.
type OutgoingMessage struct {
	SessionKey string
	Text       string
	RunID      string // chosen by Wardroom; the gateway accepts a message with the same id only once
}

// SendMessage sends a message to a session, and creates the session if it does not exist.
// It returns when the gateway has accepted the message. The agent's answer appears in the
// session. If the agent is working, it reads the message during the current run, unless
// the gateway is configured differently. SendMessage requires the scope operator.write.
//
// If the error includes ErrUnsure, the gateway may have accepted the message. Call Sent
// before sending it again with the same RunID, because the gateway recognizes a repeated
// RunID only for a while.
func (c *Client) SendMessage(ctx context.Context, s OutgoingMessage) error {
	params := struct {
		SessionKey     string `json:"sessionKey"`
		Message        string `json:"message"`
		IdempotencyKey string `json:"idempotencyKey"`
		Deliver        bool   `json:"deliver"` // false: keep the answer in the session
	}{s.SessionKey, s.Text, s.RunID, false}
	var out struct {
		Status  wire.Word  `json:"status"`
		Aborted *wire.Flag `json:"aborted"`
	}
	if err := c.once(ctx, "chat.send", params, &out); err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	if out.Aborted != nil && out.Status == "" {
		return link.ErrRefused.With("The gateway treated the message as a stop command and stopped the session's runs. The agent did not receive the message.")
	}
	return nil
}

// Limits for Sent, which reads only the newest rows and truncates their text.
const (
	sentRows  = 100
	sentChars = 100
)

// Sent reports whether a session has received the message with the given run id or is
// about to receive it. It searches the newest rows of the transcript, because the gateway
// itself remembers run ids only until it restarts, and only for a short time (five minutes
// in version 2026.9.6).
func (c *Client) Sent(ctx context.Context, sessionKey, runID string) (bool, error) {
	var h history
	if err := c.call(
		ctx, "chat.history", historyParams{SessionKey: sessionKey, Limit: sentRows, MaxChars: sentChars}, &h,
	); err != nil {
		if noSession(err) {
			return false, nil
		}
		return false, fmt.Errorf("look for a message: %w", err)
	}
	return asked(rowsOf(h.Messages), runID) || h.active(runID), nil
}
