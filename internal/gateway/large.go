package gateway

import (
	"context"
	"encoding/json"
	"errors"
)

// chat.history leaves out what a row of more than 128 KiB says, and in which run it
// was said (OpenClaw 2026.9.6). Such a row is read by itself with chat.message.get.

// largeMost is how many of those rows are read for one run.
const largeMost = 8

// large reports whether a row stands for one that was too large.
func (r row) large() bool {
	return r.Role == "assistant" && r.Meta.Reason == "oversized" && r.Meta.ID != ""
}

// fetchLarge puts in place, among the rows behind the question of a run, what the
// agent said in those that were too large, the newest ones first. A gateway that
// does not have the method leaves them as they are.
func (c *Client) fetchLarge(ctx context.Context, sessionKey string, rows []row, runID string) error {
	fetched := 0
	for i := len(rows) - 1; i >= 0 && fetched < largeMost; i-- {
		if rows[i].key() == runID+":user" {
			return nil
		}
		if !rows[i].large() {
			continue
		}
		fetched++
		whole, ok, err := c.fetchRow(ctx, sessionKey, rows[i].Meta.ID)
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrMissingScope) {
			return nil
		}
		if err != nil {
			return err
		}
		if ok {
			rows[i] = whole
		}
	}
	return nil
}

// fetchRow reads one row of a transcript; false when it is not there any more, or
// too large even by itself.
func (c *Client) fetchRow(ctx context.Context, sessionKey, id string) (row, bool, error) {
	params := struct {
		SessionKey string `json:"sessionKey"`
		MessageID  string `json:"messageId"`
		MaxChars   int    `json:"maxChars"`
	}{sessionKey, id, historyChars}
	var out struct {
		OK      flag            `json:"ok"`
		Message json.RawMessage `json:"message"`
	}
	if err := c.call(ctx, "chat.message.get", params, &out); err != nil {
		return row{}, false, err
	}
	var r row
	found := out.OK.is() && json.Unmarshal(out.Message, &r) == nil
	return r, found, nil
}
