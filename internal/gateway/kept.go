package gateway

import (
	"context"
	"encoding/json"
	"fmt"
)

// keptMost bounds how many rows Kept asks for. The gateway gives 8 MiB of them at
// most, however many they are (version 2026.9.6).
const keptMost = 500

// Kept reads the newest rows of a conversation, limit (1 to 500) at most, as the
// gateway keeps them: with those that Turns is not given because nobody needs to
// read them, such as the polls by which agents wake on their own, and answers
// that only say that there is nothing to say. They cost what the others cost. It
// is not said which transcript they are of: ask Turns afterwards.
func (c *Client) Kept(ctx context.Context, sessionKey string, limit int) ([]Turn, error) {
	params := struct {
		Key   string `json:"key"`
		Limit int    `json:"limit"`
	}{sessionKey, min(max(limit, 1), keptMost)}
	var out struct {
		Messages []json.RawMessage `json:"messages"` // the oldest first
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
