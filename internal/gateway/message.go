package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// Turn is a message in a conversation, including its reasoning and its tool calls with
// their results. All text is truncated and free of secrets and control characters, but
// must still be treated as untrusted.
type Turn struct {
	ID  string
	Seq int64 // row number in the transcript, from 1; 0 when unknown
	// user for messages to the agent, assistant, tool for a result whose call is not in the same list, or another role
	// of the gateway
	Role   string
	RunID  string // of the run that wrote it
	SentAs string // of a message to the agent: the run ID that its sender chose; empty when unknown
	At     clock.Time
	Blocks []Block
	Left   int    // blocks that were dropped because there were too many
	Reason string // why the model stopped: stop, toolUse, error, aborted and others; empty when unknown
	Failed bool   // the run failed here; see Error
	Error  string
	Usage  *Usage // of this model call; nil when unknown
	// Origin names the tool inside the gateway that created the message, such as cron or
	// sessions_send. If the tool is unknown, Origin is the category that the gateway reports. It is
	// empty for messages from outside the gateway.
	Origin string
	JobID  string // of the scheduled job that created it
	From   string // key of the session that sent it
}

// TurnPage is a page of a conversation.
type TurnPage struct {
	SessionID string  // id of the transcript; changes with a reset
	Turns     []Turn  // newest last
	Seqs      []int64 // numbers of all rows on the page, including merged tool results
	Pending   []Pending
	Total     int64 // rows of the whole transcript when it was read
	Older     int64 // offset of the next older page; 0 when there is none
}

const (
	turnsMost  = 500
	askedChars = 2 * turnChars // length of a text to request, longer than the limit so that truncation is detected
	turnsTried = 4             // attempts to read one page while the transcript grows
)

// Turns reads a page of a conversation: at most limit rows (1 to 500), after skipping the
// newest offset rows. If the session does not exist, the page is empty. There may be
// fewer turns than rows, because tool results are merged into their calls. The key can be that of a
// job's run, until the next one begins.
func (c *Client) Turns(ctx context.Context, sessionKey string, limit int, offset int64) (TurnPage, error) {
	limit = min(max(limit, 1), turnsMost)
	p := historyParams{SessionKey: sessionKey, Limit: limit, Offset: max(offset, 0), MaxChars: askedChars}
	h, err := c.turnHistory(ctx, p)
	if listed, transcript, isRun := RunOfJob(sessionKey); isRun && err == nil && h.SessionID == "" {
		p.SessionKey = listed
		if h, err = c.turnHistory(ctx, p); string(h.SessionID) != transcript {
			h = turnHistory{} // of another run
		}
	}
	if err != nil {
		return TurnPage{}, fmt.Errorf("read messages: %w", err)
	}
	page := TurnPage{SessionID: c.secrets.Line(string(h.SessionID)), Total: h.TotalMessages.Count()}
	next := h.NextOffset.Count()
	if !h.HasMore.Is() || next <= p.Offset {
		next = 0
	}
	rows := rowsOf(h.Messages)
	// Results whose calls are on the older page belong there.
	if keep := leading(rows); next > 0 && page.Total > 0 && keep > 0 && keep < len(rows) {
		if seq := rows[keep].Meta.Seq.Count(); seq > 0 && page.Total-seq+1 > p.Offset {
			rows, next = rows[keep:], page.Total-seq+1
		}
	}
	for _, r := range rows {
		page.Seqs = append(page.Seqs, r.Meta.Seq.Count())
	}
	page.Older, page.Turns = next, c.fold(rows)
	if offset <= 0 {
		page.Pending = c.pending(h.PendingInputs)
	}
	return page, nil
}

// turnHistory requests a page of a transcript. It is empty if the session does not exist.
func (c *Client) turnHistory(ctx context.Context, p historyParams) (h turnHistory, err error) {
	if err = c.call(ctx, "chat.history", p, &h); err != nil && noSession(err) {
		return turnHistory{}, nil
	}
	return h, err
}

// TurnsBefore is like Turns, but returns only rows with a sequence number below seq. The offset was
// computed for a transcript of total rows. If the transcript has grown since, TurnsBefore also
// skips the added rows, so that no row is repeated or missed.
func (c *Client) TurnsBefore(
	ctx context.Context, sessionKey string, limit int, offset, total, seq int64,
) (TurnPage, error) {
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
	SessionID     wire.Word         `json:"sessionId"`
	Messages      []json.RawMessage `json:"messages"` // oldest first
	HasMore       wire.Flag         `json:"hasMore"`
	NextOffset    wire.Number       `json:"nextOffset"`
	TotalMessages wire.Number       `json:"totalMessages"`
	PendingInputs pendingInputs     `json:"pendingInputs"`
}

// row is a message as the gateway sends it. A field of an unexpected type is treated
// as absent.
type row struct {
	Role         wire.Word       `json:"role"`
	Content      json.RawMessage `json:"content"` // a string, or parts of several types
	Timestamp    wire.Number     `json:"timestamp"`
	Provider     wire.Word       `json:"provider"`
	Model        wire.Word       `json:"model"`
	Usage        json.RawMessage `json:"usage"`
	StopReason   wire.Word       `json:"stopReason"`
	ErrorMessage wire.Word       `json:"errorMessage"`
	ToolCallID   wire.Word       `json:"toolCallId"`
	ToolName     wire.Word       `json:"toolName"`
	IsError      wire.Flag       `json:"isError"`
	Key          wire.Word       `json:"idempotencyKey"` // of a message to the agent: its run ID, followed by ":user"
	Provenance   json.RawMessage `json:"provenance"`     // set for messages from another session or the gateway itself
	Meta         struct {
		ID     wire.Word   `json:"id"`
		RunID  wire.Word   `json:"runId"`
		Key    wire.Word   `json:"idempotencyKey"`
		Seq    wire.Number `json:"seq"`
		Reason wire.Word   `json:"reason"` // why the row is incomplete
	} `json:"__openclaw"`
}

// rowsOf decodes messages and skips those that are no objects.
func rowsOf(messages []json.RawMessage) []row {
	rows := make([]row, 0, len(messages))
	for _, raw := range messages {
		var r row
		if json.Unmarshal(raw, &r) == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// key returns the key with which the gateway recognizes a repeated message.
func (r row) key() string { return string(first(r.Meta.Key, r.Key)) }

// toAgent reports whether the row is a message to the agent. The role alone is not enough to
// tell: messages from another agent or a scheduled job have the role "assistant".
func (r row) toAgent() bool {
	return r.Role == "user" || len(r.Provenance) > 0 && string(r.Provenance) != "null"
}

// failed reports whether the row is the result of a failed run. The text of such a row is
// from the gateway, not from the agent.
func (r row) failed() bool { return r.StopReason == "error" || r.StopReason == "aborted" }

// leading returns how many rows at the start are tool results. The tool calls that produced them
// are on the page with older rows.
func leading(rows []row) int {
	for i, r := range rows {
		if r.Role != "toolResult" {
			return i
		}
	}
	return len(rows)
}

func (c *Client) turn(r row, list []part) Turn {
	t := Turn{
		ID: c.short(string(r.Meta.ID)), Seq: r.Meta.Seq.Count(), Role: c.short(string(r.Role)),
		RunID: c.short(string(r.Meta.RunID)), At: r.Timestamp.Time(), Reason: c.short(string(r.StopReason)),
		Failed: r.failed(), Blocks: []Block{}, Usage: cleanUsage(c.secrets, r.usage()),
	}
	if id, ok := strings.CutSuffix(r.key(), ":user"); ok {
		t.SentAs = c.short(id)
	}
	if r.toAgent() {
		t.Role = "user"
		var p struct {
			Kind wire.Word `json:"kind"`
			Tool wire.Word `json:"sourceTool"`
			Job  wire.Word `json:"jobId"`
			From wire.Word `json:"sourceSessionKey"`
		}
		if json.Unmarshal(r.Provenance, &p) == nil {
			t.Origin, t.JobID = c.short(string(first(p.Tool, p.Kind))), c.short(string(p.Job))
			t.From = sessionKey(p.From)
		}
	}
	if t.Failed {
		t.Error = c.short(string(r.ErrorMessage))
		if t.Error == "" {
			t.Error = c.short(visible(list)) // the text is the gateway's, not the agent's
			list = slices.DeleteFunc(list, func(p part) bool { return p.Type == "text" })
		}
		if u := t.Usage; u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite+u.Other == 0 &&
			(u.CostNanoUSD == nil || *u.CostNanoUSD == 0) {
			t.Usage = nil // not counted
		}
	}
	t.Blocks, t.Left = c.blocks(list)
	return t
}

// usage returns the usage of the model call that wrote the row, or nil if it is unknown.
func (r row) usage() *Usage {
	var w *wireUsage
	if len(r.Usage) == 0 || json.Unmarshal(r.Usage, &w) != nil {
		return nil
	}
	return w.read(string(r.Provider), string(r.Model), "")
}

// short returns a text on a single line. Secrets are redacted, and a long text is
// truncated.
func (c *Client) short(text string) string {
	text, _ = c.secrets.Text(text, turnChars)
	return c.secrets.Line(text)
}
