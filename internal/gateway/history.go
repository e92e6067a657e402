package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
)

// Message is one row of a conversation.
type Message struct {
	ID     string
	RunID  string // of the run that wrote it; empty for what was said to the agent
	Role   string // "user" for what was said to the agent, "assistant", "toolResult", or another of the gateway's
	Text   string // what is visible of it; empty for a bare tool call
	Tool   string // whose result it is, when it is one
	At     clock.Time
	Reason string // why the model stopped: stop, toolUse, error, aborted; empty when unknown
	Usage  *Usage // of this one model call; nil when the gateway has not told
}

// Trace is what a session's history tells of a run, after the gateway's memory
// of it is gone.
type Trace struct {
	Asked    bool // the question is in the history
	Answered bool // and so is the agent's answer
	Active   bool // the run is going, or waits for its turn
	Other    bool // another run is going in the session: where ours was interrupted, the one that resumes its turn
	// Resumed is that other run, when the history names it: after a restart the
	// gateway resumes interrupted turns by itself, as a run of its own, and what
	// it says then is the answer to our question.
	Resumed string

	// Answer has the text and the usage of what is there. Its Outcome is Finished
	// when Answered, else what the history says of the end, else Running when
	// Active, else empty: the run is lost, and may be asked again.
	Answer Answer
}

// historyPage is how many rows we read at a time, and pages how often, until
// the question is found. A session of one standup has a handful.
const (
	historyPage  = 200
	historyPages = 5
	historyMost  = 1000   // rows that the gateway gives at once
	historyChars = 500000 // of each row; without it the gateway cuts long texts
)

type historyParams struct {
	SessionKey string `json:"sessionKey"`
	Limit      int    `json:"limit"`
	Offset     int64  `json:"offset,omitempty"`
	MaxChars   int    `json:"maxChars"`
}

type history struct {
	Messages      []json.RawMessage `json:"messages"` // the oldest first
	HasMore       bool              `json:"hasMore"`
	NextOffset    number            `json:"nextOffset"`
	PendingInputs json.RawMessage   `json:"pendingInputs"`
	InFlightRun   json.RawMessage   `json:"inFlightRun"`
	SessionInfo   struct {
		HasActiveRun bool     `json:"hasActiveRun"`
		ActiveRunIDs []string `json:"activeRunIds"`
	} `json:"sessionInfo"`
}

// row is one message on the wire.
type row struct {
	Role           string          `json:"role"`
	Content        json.RawMessage `json:"content"` // a text, or parts of several types
	Timestamp      number          `json:"timestamp"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Provider       string          `json:"provider"`
	Model          string          `json:"model"`
	Usage          *wireUsage      `json:"usage"`
	StopReason     string          `json:"stopReason"`
	ErrorMessage   string          `json:"errorMessage"`
	ToolName       string          `json:"toolName"`
	Provenance     json.RawMessage `json:"provenance"` // of what came from another session or the gateway itself
	Meta           struct {
		ID             string `json:"id"`
		RunID          string `json:"runId"`
		IdempotencyKey string `json:"idempotencyKey"`
		Reason         word   `json:"reason"` // why it is not the whole row
	} `json:"__openclaw"`
}

// Find looks for a run in its session's history. A session that does not exist
// yet gives an empty Trace.
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
		next, ok := h.NextOffset.whole()
		if asked(rows, runID) || !h.HasMore || !ok || next <= offset {
			break
		}
		offset = next
	}
	if err := c.fetchLarge(ctx, sessionKey, rows, runID); err != nil {
		return Trace{}, fmt.Errorf("find run %s: %w", runID, err)
	}
	t := trace(rows, newest, runID)
	t.Answer, t.Resumed = c.cleaned(runID, t.Answer), c.secrets.words(t.Resumed)
	return t, nil
}

// History is the newest part of a conversation, the oldest message first, at
// most limit of them (1 to 1000).
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
	if errors.Is(err, ErrRefused) && noSession(err) {
		return history{}, nil
	}
	return h, err
}

// noSession recognises how the gateway says that a session does not exist: it
// has no code of its own for that.
func noSession(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "session not found") || strings.Contains(text, "no session found")
}

// rows reads the messages; one that cannot be read is left out.
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

// asked says whether the question of a run is among the rows.
func asked(rows []row, runID string) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.key() == runID+":user" })
}

func (r row) key() string {
	if r.Meta.IdempotencyKey != "" {
		return r.Meta.IdempotencyKey
	}
	return r.IdempotencyKey
}

// said says whether the row is something that was said to the agent. The gateway
// gives what came from another agent or from a schedule the role "assistant",
// so the role alone does not tell.
func (r row) said() bool {
	return r.Role == "user" || len(r.Provenance) > 0 && string(r.Provenance) != "null"
}

// trace puts together what the rows tell of a run.
func trace(rows []row, newest history, runID string) Trace {
	t := Trace{Asked: asked(rows, runID), Active: newest.active(runID)}
	var last *row
	text, uncounted := "", false
	for i, r := range rows {
		if r.Role != "assistant" || r.said() || r.Meta.RunID != runID {
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
		t.Answer.Usage = nil // a sum that leaves a call out would be wrong
	}
	t.Answer.Text = text
	switch {
	case last == nil, last.StopReason == "toolUse":
		// Nothing yet, or the agent was in the middle of its work: what it said on
		// the way is not its answer.
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
	t.Other = newest.other(runID)
	if t.Asked && !t.Answered {
		t.resume(rows, runID)
	}
	return t
}

// resume looks for the turn that the gateway resumed after its restart: what
// stands behind our question, up to the next one that was asked.
func (t *Trace) resume(rows []row, runID string) {
	i := slices.IndexFunc(rows, func(r row) bool { return r.key() == runID+":user" })
	rows = rows[i+1:]
	if end := slices.IndexFunc(rows, func(r row) bool { return r.said() && !r.resumes() }); end >= 0 {
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

// resumption begins the keys of the notices that the gateway writes about
// resuming a turn, which are nobody's answer.
const resumption = "main-session-restart-recovery:"

// resumes says whether the row is the gateway's word to the agent that its turn
// was interrupted and goes on (OpenClaw 2026.9.6).
func (r row) resumes() bool {
	var p struct {
		SourceTool word `json:"sourceTool"`
	}
	return json.Unmarshal(r.Provenance, &p) == nil && p.SourceTool == "main_session_restart_recovery"
}

// active says whether the session names the run as one that goes on. What the
// gateway has queued has no documented form, so any mention counts.
func (h history) active(runID string) bool {
	return slices.Contains(h.SessionInfo.ActiveRunIDs, runID) ||
		mentions(h.InFlightRun, runID) || mentions(h.PendingInputs, runID)
}

// other says whether a run is going in the session that is not this one.
func (h history) other(runID string) bool {
	return h.SessionInfo.HasActiveRun && !h.active(runID) ||
		slices.ContainsFunc(h.SessionInfo.ActiveRunIDs, func(id string) bool { return id != runID })
}

// undecided says that a run goes on and the gateway does not say which: then it
// is not for us to ask a second time.
func (h history) undecided() bool {
	return h.SessionInfo.HasActiveRun && h.SessionInfo.ActiveRunIDs == nil
}

// mentions looks for the run's id as a text anywhere inside raw.
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

// failed says whether the row stands for a run that went wrong. Its text is then
// the gateway's, not the agent's.
func (r row) failed() bool { return r.StopReason == "error" || r.StopReason == "aborted" }

// end is how a run ended that left a failed row.
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

// text is what a person sees of the row.
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
		ID:     s.words(r.Meta.ID),
		RunID:  s.words(r.Meta.RunID),
		Role:   s.words(r.Role),
		Text:   s.said(r.text()),
		Tool:   s.words(r.ToolName),
		Reason: s.words(r.StopReason),
		Usage:  s.usage(r.usage()),
	}
	if r.said() {
		m.Role = "user"
	}
	if ms, ok := r.Timestamp.whole(); ok {
		m.At = clock.At(time.UnixMilli(ms))
	}
	return m
}
