package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// chat.history omits the text and the run id of rows larger than 128 KiB (OpenClaw
// 2026.9.6). chat.message.get reads such a row individually.

// largeMost limits how many oversized rows are read for one run.
const largeMost = 8

// large reports whether the row was too large for chat.history.
func (r row) large() bool {
	return r.Role == "assistant" && r.Meta.Reason == "oversized" && r.Meta.ID != ""
}

// fetchLarge fetches complete versions of the incomplete rows that follow the question
// that started a run, and stores them in rows. It begins with the newest row. If the
// gateway rejects a request for a row, the remaining rows stay incomplete.
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
		whole, ok, err := c.fetchRow(ctx, sessionKey, string(rows[i].Meta.ID))
		if errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrMissingScope) {
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

// fetchRow reads one row of a transcript. It returns false if the row no longer exists,
// or if it is too large to be sent even on its own.
func (c *Client) fetchRow(ctx context.Context, sessionKey, id string) (row, bool, error) {
	params := struct {
		SessionKey string `json:"sessionKey"`
		MessageID  string `json:"messageId"`
		MaxChars   int    `json:"maxChars"`
	}{sessionKey, id, historyChars}
	var out struct {
		OK      wire.Flag       `json:"ok"`
		Message json.RawMessage `json:"message"`
	}
	if err := c.call(ctx, "chat.message.get", params, &out); err != nil {
		return row{}, false, err
	}
	var r row
	found := out.OK.Is() && json.Unmarshal(out.Message, &r) == nil
	return r, found, nil
}
