package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"wardroom/internal/platform/clock"
)

// Turn is one row of a conversation as people read it: what was said and
// thought, and the tools that were called along the way with what became of
// them. Its texts are cleaned and bounded; they stay hostile all the same.
type Turn struct {
	ID     string
	Seq    int64  // counts the rows of a transcript from 1; 0 when the gateway does not say
	Role   string // user for what was said to the agent, assistant, tool for a result whose call is not here, or another of the gateway's
	RunID  string // of the run that wrote it
	At     clock.Time
	Blocks []Block // in their order
	Left   int     // how many further blocks it had, because there were too many
	Reason string  // why the model stopped: stop, toolUse, error, aborted and others; empty when the gateway does not say
	Failed bool    // the run went wrong here; Error says how
	Error  string
	Usage  *Usage // of this one model call; nil when the gateway has not told
	// Origin is from where it came when nobody outside the gateway said it: the
	// tool that did, such as cron or sessions_send, or else its kind.
	Origin string
	JobID  string // of the timed job that said it
	From   string // key of the session from which another agent said it
}

// TurnPage is a part of a conversation.
type TurnPage struct {
	SessionID string  // of the transcript; another one after a reset
	Turns     []Turn  // the newest last
	Seqs      []int64 // the numbers of its rows, those of folded results among them
	Total     int64   // rows of the whole transcript, when it was read, with those that are left out
	Older     int64   // the offset at which the next older page begins; 0 when there is none
}

const (
	turnsMost  = 500
	askedChars = 2 * turnChars // of a text that we ask for, so that we know when it was longer
	turnsTried = 4             // readings of one page, while the transcript grows
)

// Turns reads a part of a conversation: at most limit rows (1 to 500), without
// the newest offset ones. A session that does not exist has none. There may be
// fewer turns than rows, because results are folded into their calls.
func (c *Client) Turns(ctx context.Context, sessionKey string, limit int, offset int64) (TurnPage, error) {
	limit = min(max(limit, 1), turnsMost)
	p := historyParams{SessionKey: sessionKey, Limit: limit, Offset: max(offset, 0), MaxChars: askedChars}
	var h turnHistory
	if err := c.call(ctx, "chat.history", p, &h); err != nil {
		if noSession(err) {
			return TurnPage{}, nil
		}
		return TurnPage{}, fmt.Errorf("read messages: %w", err)
	}
	page := TurnPage{SessionID: c.secrets.words(string(h.SessionID)), Total: h.TotalMessages.count()}
	next := h.NextOffset.count()
	if !h.HasMore.is() || next <= p.Offset {
		next = 0
	}
	rows := make([]turnRow, 0, len(h.Messages))
	for _, raw := range h.Messages {
		var r turnRow
		if json.Unmarshal(raw, &r) == nil {
			rows = append(rows, r)
		}
	}
	// Results whose calls are on the older page belong there.
	if keep := leading(rows); next > 0 && page.Total > 0 && keep > 0 && keep < len(rows) {
		if seq := rows[keep].Meta.Seq.count(); seq > 0 && page.Total-seq+1 > p.Offset {
			rows, next = rows[keep:], page.Total-seq+1
		}
	}
	for _, r := range rows {
		page.Seqs = append(page.Seqs, r.Meta.Seq.count())
	}
	page.Older, page.Turns = next, c.fold(rows)
	return page, nil
}

// TurnsBefore is Turns for the rows older than seq of a transcript that had
// total rows when its part at offset was due: what was said since then has
// moved everything, and must neither repeat nor hide a row.
func (c *Client) TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (TurnPage, error) {
	var page TurnPage
	for range turnsTried {
		var err error
		if page, err = c.Turns(ctx, sessionKey, limit, offset); err != nil {
			return TurnPage{}, err
		}
		if total == 0 || page.Total == total || page.Total == 0 {
			break
		}
		offset, total = max(offset+page.Total-total, 0), page.Total
	}
	older := page.Turns[:0]
	for _, t := range page.Turns {
		if t.Seq == 0 || seq == 0 || t.Seq < seq {
			older = append(older, t)
		}
	}
	page.Turns = older
	return page, nil
}

type turnHistory struct {
	SessionID     word              `json:"sessionId"`
	Messages      []json.RawMessage `json:"messages"` // the oldest first
	HasMore       flag              `json:"hasMore"`
	NextOffset    number            `json:"nextOffset"`
	TotalMessages number            `json:"totalMessages"`
}

// turnRow is one message on the wire; what has an unexpected type is absent.
type turnRow struct {
	Role         word            `json:"role"`
	Content      json.RawMessage `json:"content"` // a text, or parts of several types
	Timestamp    number          `json:"timestamp"`
	Provider     word            `json:"provider"`
	Model        word            `json:"model"`
	Usage        json.RawMessage `json:"usage"`
	StopReason   word            `json:"stopReason"`
	ErrorMessage word            `json:"errorMessage"`
	ToolCallID   word            `json:"toolCallId"`
	ToolName     word            `json:"toolName"`
	IsError      flag            `json:"isError"`
	Provenance   json.RawMessage `json:"provenance"` // of what came from another session or the gateway itself
	Meta         struct {
		ID    word   `json:"id"`
		RunID word   `json:"runId"`
		Seq   number `json:"seq"`
	} `json:"__openclaw"`
}

// leading counts the results at the beginning whose calls are not among rows.
func leading(rows []turnRow) int {
	for i, r := range rows {
		if r.Role != "toolResult" {
			return i
		}
	}
	return len(rows)
}

func (c *Client) turn(r turnRow, list []part) Turn {
	t := Turn{
		ID: c.short(string(r.Meta.ID)), Seq: r.Meta.Seq.count(), Role: c.short(string(r.Role)), RunID: c.short(string(r.Meta.RunID)),
		At: r.Timestamp.time(), Reason: c.short(string(r.StopReason)), Failed: r.StopReason == "error" || r.StopReason == "aborted",
		Blocks: []Block{}, Usage: c.secrets.usage(r.usage()),
	}
	if len(r.Provenance) > 0 && string(r.Provenance) != "null" {
		t.Role = "user" // see said
		var p struct {
			Kind word `json:"kind"`
			Tool word `json:"sourceTool"`
			Job  word `json:"jobId"`
			From word `json:"sourceSessionKey"`
		}
		if json.Unmarshal(r.Provenance, &p) == nil {
			t.Origin, t.JobID = c.short(string(first(p.Tool, p.Kind))), c.short(string(p.Job))
			if validKey(string(p.From)) {
				t.From = string(p.From)
			}
		}
	}
	if t.Failed {
		t.Error = c.short(string(r.ErrorMessage))
		if t.Error == "" {
			t.Error = c.short(visible(list)) // such a text is the gateway's, not the agent's
			list = slices.DeleteFunc(list, func(p part) bool { return p.Type == "text" })
		}
		if u := t.Usage; u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite+u.Other == 0 {
			t.Usage = nil // nobody counted
		}
	}
	t.Blocks, t.Left = c.blocks(list)
	return t
}

// usage is what the model call of a row used.
func (r turnRow) usage() *Usage {
	var w *wireUsage
	if len(r.Usage) == 0 || json.Unmarshal(r.Usage, &w) != nil {
		return nil
	}
	return w.read(string(r.Provider), string(r.Model), "")
}

// short is a text on one line, not endless.
func (c *Client) short(text string) string {
	text, _ = c.secrets.text(text, turnChars)
	return c.secrets.words(text)
}
