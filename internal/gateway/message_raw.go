package gateway

import (
	"context"
	"encoding/json"
	"fmt"
)

// rawTurnsMost limits the number of rows per request. The gateway (version 2026.9.6) also
// limits the size of a response to 8 MiB.
const rawTurnsMost = 500

// RawTurns reads the newest rows of a conversation, at most limit (1 to 500). It includes
// rows that Turns does not return: the polls that wake agents, and answers without
// content. They are included because they also consume tokens. The rows do not contain
// the transcript's id. To get it, call Turns afterwards.
func (c *Client) RawTurns(ctx context.Context, sessionKey string, limit int) ([]Turn, error) {
	params := struct {
		Key   string `json:"key"`
		Limit int    `json:"limit"`
	}{sessionKey, min(max(limit, 1), rawTurnsMost)}
	var out struct {
		Messages []json.RawMessage `json:"messages"` // oldest first
	}
	if err := c.call(ctx, "sessions.get", params, &out); err != nil {
		if noSession(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read all rows of a session: %w", err)
	}
	return c.fold(rowsOf(out.Messages)), nil
}
