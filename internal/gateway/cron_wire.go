package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
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
	ID          wire.Word `json:"id"`
	Name        wire.Word `json:"name"`
	Description wire.Word `json:"description"`
	AgentID     wire.Word `json:"agentId"`
	// only in lists: the agent that runs a job without an agent of its own
	Effective     wire.Word `json:"effectiveAgentId"`
	Enabled       wire.Flag `json:"enabled"`
	SessionTarget wire.Word `json:"sessionTarget"`
	WakeMode      wire.Word `json:"wakeMode"`
	Revision      wire.Word `json:"configRevision"`
	Schedule      struct {
		Kind    wire.Word   `json:"kind"`
		Expr    wire.Word   `json:"expr"`
		Zone    wire.Word   `json:"tz"`
		EveryMS wire.Number `json:"everyMs"`
		At      wire.Word   `json:"at"`
		Stagger wire.Number `json:"staggerMs"`
	} `json:"schedule"`
	Trigger json.RawMessage `json:"trigger"`
	Pacing  json.RawMessage `json:"pacing"`
	Payload struct {
		Kind    wire.Word   `json:"kind"`
		Message wire.Word   `json:"message"`
		Text    wire.Word   `json:"text"` // of a systemEvent
		Limit   wire.Number `json:"timeoutSeconds"`
		Model   wire.Word   `json:"model"`
	} `json:"payload"`
	Delivery struct {
		Mode wire.Word `json:"mode"`
	} `json:"delivery"`
	State struct {
		Next       wire.Number `json:"nextRunAtMs"`
		Running    wire.Number `json:"runningAtMs"`
		Last       wire.Number `json:"lastRunAtMs"`
		LastStatus wire.Word   `json:"lastRunStatus"`
		LastError  wire.Word   `json:"lastError"`
		Errors     wire.Number `json:"consecutiveErrors"`
	} `json:"state"`
	CreatedAt wire.Number `json:"createdAtMs"`
	UpdatedAt wire.Number `json:"updatedAtMs"`
}

// oneJob reads a job from the response to the given method.
func (c *Client) oneJob(raw json.RawMessage, method string) (Job, error) {
	j, ok := c.readJob(raw)
	if !ok {
		return Job{}, link.ErrUnreadable(method)
	}
	return j, nil
}

// readJob reads a job. It returns false if the job has no valid id.
func (c *Client) readJob(raw json.RawMessage) (Job, bool) {
	var r jobRow
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.ID)) {
		return Job{}, false
	}
	clean := func(w wire.Word) string { return c.short(string(w)) }
	text, _ := c.secrets.Text(string(first(r.Payload.Message, r.Payload.Text)), jobMessage)
	description, _ := c.secrets.Text(string(r.Description), jobDescription)
	return Job{
		ID: string(r.ID), Name: clean(r.Name), Description: description, AgentID: clean(first(r.AgentID, r.Effective)),
		Enabled: r.Enabled != wire.No, SessionTarget: clean(r.SessionTarget), WakeMode: clean(r.WakeMode),
		Revision: clean(r.Revision),
		Schedule: JobSchedule{
			Kind: clean(r.Schedule.Kind), Expr: clean(r.Schedule.Expr), Zone: clean(r.Schedule.Zone),
			At: plausibleTime(clean(r.Schedule.At)), EveryMS: r.Schedule.EveryMS.Count(), StaggerMS: r.stagger(),
		},
		Conditional: present(r.Trigger) || present(r.Pacing),
		Payload: JobPayload{
			Kind: clean(r.Payload.Kind), Message: text, Limit: r.Payload.Limit.Span(time.Second), Model: clean(r.Payload.Model),
		},
		Delivery: JobDelivery{Mode: clean(r.Delivery.Mode)},
		State: JobState{
			NextRunAt: r.State.Next.TimeOrNil(), RunningAt: r.State.Running.TimeOrNil(), LastRunAt: r.State.Last.TimeOrNil(),
			LastStatus: clean(r.State.LastStatus), LastError: clean(r.State.LastError), Errors: r.State.Errors.Count(),
		},
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, true
}

// plausibleTime returns a text, or "" if it is a time that number.time would not return either.
func plausibleTime(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && wire.Number(strconv.FormatInt(at.UnixMilli(), 10)).Time().IsZero() {
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
	if ms, ok := r.Schedule.Stagger.Whole(); ok && ms >= 0 {
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
		HasMore wire.Flag         `json:"hasMore"`
	}
	if err := c.call(ctx, "cron.runs", p, &out); err != nil {
		return nil, false, fmt.Errorf("list runs of jobs: %w", err)
	}
	for _, raw := range out.Entries {
		if r, ok := c.readJobRun(raw); ok {
			runs = append(runs, r)
		}
	}
	return runs, out.HasMore.Is(), nil
}

func (c *Client) readJobRun(raw json.RawMessage) (JobRun, bool) {
	var r struct {
		JobID      wire.Word   `json:"jobId"`
		JobName    wire.Word   `json:"jobName"`
		RunID      wire.Word   `json:"runId"`
		SessionKey wire.Word   `json:"sessionKey"`
		Action     wire.Word   `json:"action"`
		Status     wire.Word   `json:"status"`
		Error      wire.Word   `json:"error"`
		Summary    wire.Word   `json:"summary"`
		Completion wire.Word   `json:"completionStatus"` // with a required delivery; status is without
		RanAt      wire.Number `json:"runAtMs"`
		Took       wire.Number `json:"durationMs"`
		At         wire.Number `json:"ts"`
		Usage      struct {
			Total wire.Number `json:"total_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(raw, &r) != nil || !validKey(string(r.JobID)) || r.Action != "finished" {
		return JobRun{}, false
	}
	clean := func(w wire.Word) string { return c.short(string(w)) }
	run := JobRun{
		JobID: string(r.JobID), JobName: clean(r.JobName), RunID: clean(r.RunID), SessionKey: clean(r.SessionKey),
		Status: clean(r.Status), Error: clean(r.Error), Summary: clean(r.Summary),
		RanAt: r.RanAt.Time(), EndedAt: r.At.Time(),
	}
	took := min(r.Took.Span(time.Millisecond), longestRun)
	switch {
	case run.RanAt.IsZero() && run.EndedAt.IsZero():
		return JobRun{}, false // it cannot be told from others
	case run.RanAt.IsZero():
		run.RanAt = clock.At(run.EndedAt.Add(-took))
	case run.EndedAt.IsZero():
		run.EndedAt = clock.At(run.RanAt.Add(took))
	}
	undelivered := run.Status == "ok" && r.Completion == "failed"
	if undelivered && run.Error != "" && r.Usage.Total.Count() == 0 {
		run.Status = "error" // no model has answered
	}
	run.Undelivered = undelivered && run.Status == "ok"
	return run, true
}

// longestRun limits how far a run's start is derived from its end.
const longestRun = 31 * 24 * time.Hour
