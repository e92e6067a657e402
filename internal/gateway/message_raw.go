package gateway

import (
	"context"
	"encoding/json"
	"fmt"
)

// rawTurnsMost limits the rows per request. The gateway also limits a response to 8 MiB
// (version 2026.9.6).
const rawTurnsMost = 500

// RawTurns reads the newest rows of a conversation, at most limit (1 to 500), including
// those that the gateway omits from Turns: the polls that wake agents, and answers
// without content. These rows consume tokens too. The result does not identify the
// transcript: call Turns afterwards for that.
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
	rows := make([]turnRow, 0, len(out.Messages))
	for _, raw := range out.Messages {
		var r turnRow
		if json.Unmarshal(raw, &r) == nil {
			rows = append(rows, r)
		}
	}
	return c.fold(rows), nil
}
