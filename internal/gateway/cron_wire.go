package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
)

// scheduleWire is a job's schedule in the form that Wardroom sends to the gateway.
type scheduleWire struct {
	Kind    string `json:"kind"`
	Expr    string `json:"expr,omitempty"`
	Zone    string `json:"tz,omitempty"`
	EveryMS int64  `json:"everyMs,omitempty"`
	At      string `json:"at,omitempty"`
	// StaggerMS must be 0 to make a cron job run exactly on time. By default, the gateway
	// spreads out jobs that are due on the hour.
	StaggerMS *int64 `json:"staggerMs,omitempty"`
}

func (s JobSchedule) wire() scheduleWire {
	w := scheduleWire{Kind: s.Kind, Expr: s.Expr, Zone: s.Zone, EveryMS: s.EveryMS, At: s.At}
	if s.Kind == "cron" {
		w.StaggerMS = new(int64)
	}
	return w
}

// payloadWire is a job's payload in the form that Wardroom sends to the gateway. Its kind
// is always an agent's turn.
type payloadWire struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Limit   int64  `json:"timeoutSeconds,omitempty"`
}

func turnOf(message string, limit time.Duration) payloadWire {
	return payloadWire{Kind: "agentTurn", Message: message, Limit: int64((limit + time.Second - 1) / time.Second)}
}

// jobRow is a job as the gateway sends it. A field of an unexpected type is treated as
// absent.
type jobRow struct {
	ID            word `json:"id"`
	Name          word `json:"name"`
	Description   word `json:"description"`
	AgentID       word `json:"agentId"`
	Effective     word `json:"effectiveAgentId"` // only in lists: the agent that runs a job without an agent of its own
	Enabled       flag `json:"enabled"`
	SessionTarget word `json:"sessionTarget"`
	WakeMode      word `json:"wakeMode"`
	Revision      word `json:"configRevision"`
	Schedule      struct {
		Kind    word   `json:"kind"`
		Expr    word   `json:"expr"`
		Zone    word   `json:"tz"`
		EveryMS number `json:"everyMs"`
		At      word   `json:"at"`
		Stagger number `json:"staggerMs"`
	} `json:"schedule"`
	Trigger json.RawMessage `json:"trigger"`
	Pacing  json.RawMessage `json:"pacing"`
	Payload struct {
		Kind    word   `json:"kind"`
		Message word   `json:"message"`
		Text    word   `json:"text"` // of a systemEvent
		Limit   number `json:"timeoutSeconds"`
		Model   word   `json:"model"`
	} `json:"payload"`
	Delivery struct {
		Mode word `json:"mode"`
	} `json:"delivery"`
	State struct {
		Next       number `json:"nextRunAtMs"`
		Running    number `json:"runningAtMs"`
		Last       number `json:"lastRunAtMs"`
		LastStatus word   `json:"lastRunStatus"`
		LastError  word   `json:"lastError"`
		Errors     number `json:"consecutiveErrors"`
	} `json:"state"`
	CreatedAt number `json:"createdAtMs"`
	UpdatedAt number `json:"updatedAtMs"`
}

// oneJob reads a job from the response to the given method.
func (c *Client) oneJob(raw json.RawMessage, method string) (Job, error) {
	j, ok := c.readJob(raw)
	if !ok {
		return Job{}, errUnreadable(method)
	}
	return j, nil
}

// readJob reads a job. It returns false if the job has no valid id.
func (c *Client) readJob(raw json.RawMessage) (Job, bool) {
	var r jobRow
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.ID)) {
		return Job{}, false
	}
	clean := func(w word) string { return c.short(string(w)) }
	text, _ := c.secrets.text(string(first(r.Payload.Message, r.Payload.Text)), jobMessage)
	description, _ := c.secrets.text(string(r.Description), jobDescription)
	return Job{
		ID: string(r.ID), Name: clean(r.Name), Description: description, AgentID: clean(first(r.AgentID, r.Effective)),
		Enabled: r.Enabled != no, SessionTarget: clean(r.SessionTarget), WakeMode: clean(r.WakeMode), Revision: clean(r.Revision),
		Schedule: JobSchedule{
			Kind: clean(r.Schedule.Kind), Expr: clean(r.Schedule.Expr), Zone: clean(r.Schedule.Zone), At: plausibleTime(clean(r.Schedule.At)),
			EveryMS: r.Schedule.EveryMS.count(), StaggerMS: r.stagger(),
		},
		Conditional: present(r.Trigger) || present(r.Pacing),
		Payload:     JobPayload{Kind: clean(r.Payload.Kind), Message: text, Limit: r.Payload.Limit.span(time.Second), Model: clean(r.Payload.Model)},
		Delivery:    JobDelivery{Mode: clean(r.Delivery.Mode)},
		State: JobState{
			NextRunAt: r.State.Next.timeOrNil(), RunningAt: r.State.Running.timeOrNil(), LastRunAt: r.State.Last.timeOrNil(),
			LastStatus: clean(r.State.LastStatus), LastError: clean(r.State.LastError), Errors: r.State.Errors.count(),
		},
		CreatedAt: r.CreatedAt.time(), UpdatedAt: r.UpdatedAt.time(),
	}, true
}

// plausibleTime returns a text, or "" if it is a time that number.time would not return either.
func plausibleTime(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && number(strconv.FormatInt(at.UnixMilli(), 10)).time().IsZero() {
		return ""
	}
	return text
}

// present reports whether a JSON field is present and not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// defaultStagger is the period over which the gateway spreads out jobs that are due on
// the hour and have no stagger of their own (docs/automation/cron-jobs/schedules.md in
// the gateway's repository).
const defaultStagger = 5 * time.Minute

// stagger returns the period over which the gateway spreads out a job's runs, in
// milliseconds.
func (r *jobRow) stagger() int64 {
	if r.Schedule.Kind != "cron" {
		return 0
	}
	if ms, ok := r.Schedule.Stagger.whole(); ok && ms >= 0 {
		return ms
	}
	fields := strings.Fields(string(r.Schedule.Expr))
	if n := len(fields); n == 6 && fields[0] == "0" {
		fields = fields[1:]
	}
	if len(fields) == 5 && fields[0] == "0" && strings.ContainsAny(fields[1], "*?") {
		return defaultStagger.Milliseconds()
	}
	return 0
}

// JobRun is a completed run of a job. JobRuns does not list runs in progress.
type JobRun struct {
	JobID      string
	JobName    string // when it ran; empty if unknown
	RunID      string
	SessionKey string     // of the run's session
	Status     string     // ok, error or skipped
	Error      string     // the gateway's error message; empty for a successful run
	Summary    string     // beginning of the agent's answer
	RanAt      clock.Time // never zero, like the next one
	EndedAt    clock.Time
	// Undelivered means that the run succeeded, but its answer did not reach its recipient. An
	// answer that the agent or the gateway withheld on purpose is not undelivered.
	Undelivered bool
}

// JobRunsWanted filters runs. The zero value selects the newest runs of all jobs.
type JobRunsWanted struct {
	JobID  string // only runs of this job
	Limit  int    // 1 to 200; 0 means 50
	Offset int    // number of newer runs to skip
}

// JobRuns lists completed runs, newest first, and reports whether there are more. For an
// unknown job, the list is empty.
func (c *Client) JobRuns(ctx context.Context, want JobRunsWanted) (runs []JobRun, more bool, err error) {
	p := struct {
		ID     string `json:"id,omitempty"`
		Scope  string `json:"scope"`
		Limit  int    `json:"limit"`
		Offset int    `json:"offset,omitempty"`
	}{want.JobID, "job", want.Limit, want.Offset}
	if p.ID == "" {
		p.Scope = "all"
	}
	if p.Limit == 0 {
		p.Limit = 50
	}
	var out struct {
		Entries []json.RawMessage `json:"entries"`
		HasMore flag              `json:"hasMore"`
	}
	if err := c.call(ctx, "cron.runs", p, &out); err != nil {
		return nil, false, fmt.Errorf("list runs of jobs: %w", err)
	}
	for _, raw := range out.Entries {
		if r, ok := c.readJobRun(raw); ok {
			runs = append(runs, r)
		}
	}
	return runs, out.HasMore.is(), nil
}

func (c *Client) readJobRun(raw json.RawMessage) (JobRun, bool) {
	var r struct {
		JobID      word   `json:"jobId"`
		JobName    word   `json:"jobName"`
		RunID      word   `json:"runId"`
		SessionKey word   `json:"sessionKey"`
		Action     word   `json:"action"`
		Status     word   `json:"status"`
		Error      word   `json:"error"`
		Summary    word   `json:"summary"`
		Completion word   `json:"completionStatus"` // with a required delivery; status is without
		RanAt      number `json:"runAtMs"`
		Took       number `json:"durationMs"`
		At         number `json:"ts"`
		Usage      struct {
			Total number `json:"total_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.JobID)) || r.Action != "finished" {
		return JobRun{}, false
	}
	clean := func(w word) string { return c.short(string(w)) }
	run := JobRun{
		JobID: string(r.JobID), JobName: clean(r.JobName), RunID: clean(r.RunID), SessionKey: clean(r.SessionKey), Status: clean(r.Status),
		Error: clean(r.Error), Summary: clean(r.Summary), RanAt: r.RanAt.time(), EndedAt: r.At.time(),
	}
	took := min(r.Took.span(time.Millisecond), longestRun)
	switch {
	case run.RanAt.IsZero() && run.EndedAt.IsZero():
		return JobRun{}, false // it cannot be told from others
	case run.RanAt.IsZero():
		run.RanAt = clock.At(run.EndedAt.Add(-took))
	case run.EndedAt.IsZero():
		run.EndedAt = clock.At(run.RanAt.Add(took))
	}
	undelivered := run.Status == "ok" && r.Completion == "failed"
	if undelivered && run.Error != "" && r.Usage.Total.count() == 0 {
		run.Status = "error" // no model has answered
	}
	run.Undelivered = undelivered && run.Status == "ok"
	return run, true
}

// longestRun limits how far a run's start is derived from its end.
const longestRun = 31 * 24 * time.Hour
