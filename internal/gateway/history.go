package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// Message is one row in a conversation.
type Message struct {
	ID     string
	RunID  string // of the run that wrote it; empty for messages to the agent
	Role   string // "user" for messages to the agent, "assistant", "toolResult", or another role of the gateway
	Text   string // the visible text; empty for a tool call without text
	Tool   string // the tool, if the message is a tool result
	At     clock.Time
	Reason string // why the model stopped: stop, toolUse, error, aborted; empty when unknown
	Usage  *Usage // of this model call; nil when unknown
}

// Trace contains what a session's history shows about a run. The history remains
// available after the gateway has forgotten the run.
type Trace struct {
	Asked    bool // the question is in the history
	Answered bool // the answer is in the history
	Active   bool // the run is in progress or queued
	Other    bool // another run is in progress in the session; after a restart, it may be the one that resumes the turn
	// Resumed is the id of the run that resumed this one, if the history contains it.
	// After a restart, the gateway resumes interrupted turns in a new run, and that run
	// answers the question.
	Resumed string

	// Answer contains the text and usage found so far. Its Outcome is Finished if
	// Answered is true, and Running if Active is true. It is TimedOut, Stopped or Failed
	// if the history shows that the run ended that way. An empty Outcome means that the
	// run is lost and may be started again.
	Answer Answer
}

// Limits for reading a history. Find reads up to historyPages pages of historyPage rows
// each, until it finds the question that started the run. That is enough for standups,
// whose sessions have only a few rows.
const (
	historyPage  = 200
	historyPages = 5
	historyMost  = 1000   // the gateway's maximum of rows per request
	historyChars = 500000 // per row; by default the gateway truncates long texts
)

type historyParams struct {
	SessionKey string `json:"sessionKey"`
	Limit      int    `json:"limit"`
	Offset     int64  `json:"offset,omitempty"`
	MaxChars   int    `json:"maxChars"`
}

type history struct {
	Messages      []json.RawMessage `json:"messages"` // oldest first
	HasMore       bool              `json:"hasMore"`
	NextOffset    wire.Number       `json:"nextOffset"`
	PendingInputs json.RawMessage   `json:"pendingInputs"`
	InFlightRun   json.RawMessage   `json:"inFlightRun"`
	SessionInfo   struct {
		HasActiveRun bool     `json:"hasActiveRun"`
		ActiveRunIDs []string `json:"activeRunIds"`
	} `json:"sessionInfo"`
}

// row is a message as the gateway sends it.
type row struct {
	Role           string          `json:"role"`
	Content        json.RawMessage `json:"content"` // a string, or parts of several types
	Timestamp      wire.Number     `json:"timestamp"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Provider       string          `json:"provider"`
	Model          string          `json:"model"`
	Usage          *wireUsage      `json:"usage"`
	StopReason     string          `json:"stopReason"`
	ErrorMessage   string          `json:"errorMessage"`
	ToolName       string          `json:"toolName"`
	Provenance     json.RawMessage `json:"provenance"` // set for messages from another session or the gateway itself
	Meta           struct {
		ID             string    `json:"id"`
		RunID          string    `json:"runId"`
		IdempotencyKey string    `json:"idempotencyKey"`
		Reason         wire.Word `json:"reason"` // why the row is incomplete
	} `json:"__openclaw"`
}

// Find looks for a run in its session's history. If the session does not exist, the Trace
// is empty.
func (c *Client) Find(ctx context.Context, sessionKey, runID string) (Trace, error) {
	c.runs.place(runID, sessionKey)
	var rows []row
	var newest history
	var offset int64
	for page := range historyPages {
		h, err := c.history(ctx, historyParams{SessionKey: sessionKey, Limit: historyPage, Offset: offset})
		if err != nil {
			return Trace{}, fmt.Errorf("find run %s: %w", runID, err)
		}
		if page == 0 {
			newest = h
		}
		rows = slices.Concat(h.rows(), rows)
		next, ok := h.NextOffset.Whole()
		if asked(rows, runID) || !h.HasMore || !ok || next <= offset {
			break
		}
		offset = next
	}
	if err := c.fetchLarge(ctx, sessionKey, rows, runID); err != nil {
		return Trace{}, fmt.Errorf("find run %s: %w", runID, err)
	}
	t := trace(rows, newest, runID)
	t.Answer, t.Resumed = c.cleaned(runID, t.Answer), c.secrets.Line(t.Resumed)
	return t, nil
}

// History returns the newest messages in a session, oldest first. It returns at most limit
// messages, and never more than 1000.
func (c *Client) History(ctx context.Context, sessionKey string, limit int) ([]Message, error) {
	h, err := c.history(ctx, historyParams{SessionKey: sessionKey, Limit: min(max(limit, 1), historyMost)})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", sessionKey, err)
	}
	messages := []Message{}
	for _, r := range h.rows() {
		messages = append(messages, c.message(r))
	}
	return messages, nil
}

func (c *Client) history(ctx context.Context, p historyParams) (history, error) {
	p.MaxChars = historyChars
	var h history
	err := c.call(ctx, "chat.history", p, &h)
	if errors.Is(err, link.ErrRefused) && noSession(err) {
		return history{}, nil
	}
	return h, err
}

// noSession reports whether an error means that the session does not exist. It checks the
// error text, because the gateway has no error code for this.
func noSession(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "session not found") || strings.Contains(text, "no session found")
}

// rows decodes the messages and skips those that cannot be decoded.
func (h history) rows() []row {
	rows := make([]row, 0, len(h.Messages))
	for _, raw := range h.Messages {
		var r row
		if json.Unmarshal(raw, &r) == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// asked reports whether the rows contain the question that started the given run.
func asked(rows []row, runID string) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.key() == runID+":user" })
}

func (r row) key() string {
	if r.Meta.IdempotencyKey != "" {
		return r.Meta.IdempotencyKey
	}
	return r.IdempotencyKey
}

// toAgent reports whether the row is a message to the agent. The role alone is not enough to
// tell: messages from another agent or a scheduled job have the role "assistant".
func (r row) toAgent() bool {
	return r.Role == "user" || len(r.Provenance) > 0 && string(r.Provenance) != "null"
}

// trace derives a run's Trace from the rows of a history.
func trace(rows []row, newest history, runID string) Trace {
	t := Trace{Asked: asked(rows, runID), Active: newest.active(runID)}
	var last *row
	text, uncounted := "", false
	for i, r := range rows {
		if r.Role != "assistant" || r.toAgent() || r.Meta.RunID != runID {
			continue
		}
		last = &rows[i]
		usage := r.usage()
		t.Answer.Usage = t.Answer.Usage.add(usage)
		uncounted = uncounted || usage == nil && !r.failed()
		if visible := r.text(); visible != "" && !r.failed() {
			text = visible
		}
	}
	if uncounted {
		t.Answer.Usage = nil // do not report an incomplete sum
	}
	t.Answer.Text = text
	switch {
	case last == nil, last.StopReason == "toolUse":
		// The agent has not answered yet; texts between tool calls are not its answer.
		t.Answer.Text = ""
		if t.Active {
			t.Answer.Outcome = Running
		} else if t.Asked && newest.undecided() {
			t.Active, t.Answer.Outcome = true, Running
		}
	case last.failed():
		t.Answer.Text = ""
		t.Answer.Outcome, t.Answer.Error = last.end()
	default:
		t.Answered, t.Answer.Outcome = true, Finished
	}
	if !t.Active && last != nil {
		t.Answer.EndedAt = last.Timestamp.Time().Time
	}
	t.Other = newest.other(runID)
	if t.Asked && !t.Answered {
		t.resume(rows, runID)
	}
	return t
}

// resume looks for a turn that the gateway resumed after a restart. It searches the rows
// between the run's question and the next message to the agent.
func (t *Trace) resume(rows []row, runID string) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.key() == runID+":user" })
	rows = rows[i+1:]
	if end := slices.IndexFunc(rows, func(r row) bool { return r.toAgent() && !r.resumes() }); end >= 0 {
		rows = rows[:end]
	}
	for _, r := range rows {
		switch run := r.Meta.RunID; {
		case r.resumes():
			t.Resumed = strings.TrimSuffix(r.key(), ":user")
		case r.Role == "assistant" && run != "" && run != runID && !strings.HasPrefix(r.key(), resumption):
			t.Resumed = run
		}
	}
	if t.Resumed == "" {
		return
	}
	if found := trace(rows, history{}, t.Resumed); found.Answered {
		t.Answered, t.Answer = true, found.Answer
	}
}

// resumption is the prefix of the idempotency keys of the gateway's notices about a
// resumed turn. Rows with such a key are not answers.
const resumption = "main-session-restart-recovery:"

// resumes reports whether the row is the gateway's message that tells the agent to
// continue an interrupted turn (OpenClaw 2026.9.6).
func (r row) resumes() bool {
	var p struct {
		SourceTool wire.Word `json:"sourceTool"`
	}
	return json.Unmarshal(r.Provenance, &p) == nil && p.SourceTool == "main_session_restart_recovery"
}

// active reports whether the session lists the run as in progress or queued. The format
// of the queue is undocumented, so a run counts as queued if its ID appears anywhere in
// the queue.
func (h history) active(runID string) bool {
	return slices.Contains(h.SessionInfo.ActiveRunIDs, runID) ||
		mentions(h.InFlightRun, runID) || mentions(h.PendingInputs, runID)
}

// other reports whether a run other than the given one is in progress in the session.
func (h history) other(runID string) bool {
	return h.SessionInfo.HasActiveRun && !h.active(runID) ||
		slices.ContainsFunc(h.SessionInfo.ActiveRunIDs, func(id string) bool { return id != runID })
}

// undecided reports whether the session has a run in progress whose ID the gateway does
// not report. That run may be answering the caller's question, so the question must not
// be asked again.
func (h history) undecided() bool {
	return h.SessionInfo.HasActiveRun && h.SessionInfo.ActiveRunIDs == nil
}

// mentions reports whether a JSON value contains the run's id as a string, at any depth.
func mentions(raw json.RawMessage, runID string) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil && contains(v, runID)
}

func contains(v any, runID string) bool {
	switch v := v.(type) {
	case string:
		return v == runID || v == runID+":user"
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return contains(e, runID) })
	case map[string]any:
		for _, e := range v {
			if contains(e, runID) {
				return true
			}
		}
	}
	return false
}

// failed reports whether the row is the result of a failed run. The text of such a row is
// from the gateway, not from the agent.
func (r row) failed() bool { return r.StopReason == "error" || r.StopReason == "aborted" }

// end derives a failed run's outcome and error text from the row that reports the
// failure.
func (r row) end() (Outcome, string) {
	text := r.ErrorMessage
	if text == "" {
		text = r.text()
	}
	switch {
	case strings.Contains(text, "timed out"):
		return TimedOut, text
	case r.StopReason == "aborted":
		return Stopped, text
	default:
		return Failed, text
	}
}

func (r row) usage() *Usage { return r.Usage.read(r.Provider, r.Model, "") }

// text returns the visible text of the row.
func (r row) text() string {
	var whole string
	if json.Unmarshal(r.Content, &whole) == nil {
		return whole
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(r.Content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (c *Client) message(r row) Message {
	s := c.secrets
	m := Message{
		ID:     s.Line(r.Meta.ID),
		RunID:  s.Line(r.Meta.RunID),
		Role:   s.Line(r.Role),
		Text:   s.Lines(r.text()),
		Tool:   s.Line(r.ToolName),
		Reason: s.Line(r.StopReason),
		Usage:  cleanUsage(s, r.usage()),
		At:     r.Timestamp.Time(),
	}
	if r.toAgent() {
		m.Role = "user"
	}
	return m
}
