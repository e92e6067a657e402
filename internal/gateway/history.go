package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

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
		rows = slices.Concat(rowsOf(h.Messages), rows)
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

// asked reports whether the rows contain the question that started the given run.
func asked(rows []row, runID string) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.key() == runID+":user" })
}

// trace derives a run's Trace from the rows of a history.
func trace(rows []row, newest history, runID string) Trace {
	t := Trace{Asked: asked(rows, runID), Active: newest.active(runID)}
	var last *row
	text, uncounted := "", false
	for i, r := range rows {
		if r.Role != "assistant" || r.toAgent() || string(r.Meta.RunID) != runID {
			continue
		}
		last = &rows[i]
		usage := r.usage()
		t.Answer.Usage = t.Answer.Usage.add(usage)
		uncounted = uncounted || usage == nil && !r.failed()
		if said := visible(parts(r.Content)); said != "" && !r.failed() {
			text = said
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
		switch run := string(r.Meta.RunID); {
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

// end derives a failed run's outcome and error text from the row that reports the
// failure.
func (r row) end() (Outcome, string) {
	text := cmp.Or(string(r.ErrorMessage), visible(parts(r.Content)))
	switch {
	case strings.Contains(text, "timed out"):
		return TimedOut, text
	case r.StopReason == "aborted":
		return Stopped, text
	default:
		return Failed, text
	}
}
