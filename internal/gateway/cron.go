package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Errors returned only by requests about scheduled jobs. Changing jobs requires the scope
// operator.admin; reading them requires operator.read.
var (
	// ErrNoJob means that the gateway has no job with this id.
	ErrNoJob = fault.New(fault.NotFound, "job_not_found", "The gateway has no such job.")
	// ErrJobChanged means that the job has changed since it was read. The request had no
	// effect.
	ErrJobChanged = fault.New(fault.Conflict, "job_changed", "The job was changed in the gateway after you read it.")
)

// Job is a scheduled job on the gateway. Its JSON uses the gateway's camelCase names.
// Secrets and control characters are removed from its text fields.
type Job struct {
	ID            string      `json:"id" doc:"The gateway's id of the job."`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	AgentID       string      `json:"agentId" doc:"The agent that runs the job."`
	Enabled       bool        `json:"enabled" doc:"Whether the job runs on its schedule."`
	Schedule      JobSchedule `json:"schedule"`
	SessionTarget string      `json:"sessionTarget" doc:"Session that the job runs in; isolated means a new one for each run."`
	WakeMode      string      `json:"wakeMode" doc:"When the agent is woken: now or next-heartbeat."`
	Payload       JobPayload  `json:"payload"`
	Delivery      JobDelivery `json:"delivery"`
	Revision      string      `json:"configRevision" doc:"Changes with the job's definition, but not with its runs."`
	State         JobState    `json:"state"`
	CreatedAt     clock.Time  `json:"createdAt"`
	UpdatedAt     clock.Time  `json:"-"` // when its definition last changed or a run ended
	Conditional   bool        `json:"conditional,omitempty" doc:"Whether a script or the job's own runs decide when it runs; its next run is then unpredictable."`
}

// JobSchedule says when a job runs. If Wardroom does not support the kind of schedule, only the
// field Kind is set.
type JobSchedule struct {
	Kind    string `json:"kind" doc:"cron, every or at; the gateway has further kinds."`
	Expr    string `json:"expr,omitempty" doc:"For kind cron: minute, hour, day of the month, month, weekday."`
	Zone    string `json:"tz,omitempty" doc:"For kind cron: an IANA time zone. If empty, the time zone of the gateway's host applies, which Wardroom does not know."`
	EveryMS int64  `json:"everyMs,omitempty" doc:"For kind every: milliseconds between two runs."`
	// as the gateway sent it
	At string `json:"at,omitempty" doc:"For kind at: the time of the only run, in ISO 8601."`
	// StaggerMS is 0 for a job that runs exactly on time. When Wardroom adds or changes a
	// job, it ignores this field and sends 0.
	StaggerMS int64 `json:"staggerMs,omitempty" doc:"For kind cron: milliseconds by which a run may be late, because the gateway spreads jobs that are due together."`
}

// JobPayload says what a job does.
type JobPayload struct {
	Kind    string        `json:"kind" doc:"agentTurn, or systemEvent for a text in the agent's main session; the gateway has further kinds."`
	Message string        `json:"message" doc:"Message to the agent."`
	Limit   time.Duration `json:"-"` // limit for the agent's turn; zero means the gateway's default
	Model   string        `json:"-"` // "provider/model" or an alias; empty for the agent's own
}

// JobDelivery says where the gateway sends the agent's answer.
type JobDelivery struct {
	Mode string `json:"mode" doc:"none, announce or webhook; empty when unknown."`
}

// JobState is the current state of a job. All values come from the gateway.
type JobState struct {
	NextRunAt  *clock.Time `json:"nextRunAt" doc:"Next run, as the gateway computes it; null when none is scheduled."`
	RunningAt  *clock.Time `json:"runningAt" doc:"Start of the current run; null when the job is not running."`
	LastRunAt  *clock.Time `json:"lastRunAt" doc:"Start of the last run; null before the first one."`
	LastStatus string      `json:"lastStatus" maxLength:"400" doc:"Result of the last run: ok, error or skipped; empty before the first one."`
	LastError  string      `json:"lastError" maxLength:"400" doc:"The gateway's error message for the last run."`
	Errors     int64       `json:"consecutiveErrors" doc:"Number of failed runs in a row."`
}

const (
	jobPage    = 200       // rows per request, the gateway's maximum
	jobPages   = 50        // maximum number of pages, even if the gateway reports more
	jobMessage = 64 * 1024 // characters of a message; the rest is truncated
	// characters of a description; at least twice Wardroom's own limit, because people edit the text that is shown
	jobDescription = 4000
)

// JobsWanted filters jobs. The zero value selects all jobs, including disabled ones.
type JobsWanted struct {
	AgentID string // only jobs of this agent
	Query   string // only jobs with this text in their id, name, description or agent
}

// errListChanged means that jobs were added or removed while Wardroom was reading the
// list page by page.
var errListChanged = errors.New("the list changed")

// Jobs lists the jobs, sorted by name. If the list changes while its pages are being
// read, Jobs starts again so that it does not miss a job. After three such attempts it
// returns ErrBusy.
func (c *Client) Jobs(ctx context.Context, want JobsWanted) ([]Job, error) {
	const tries = 3
	for range tries {
		all, err := c.pagesOfJobs(ctx, want)
		if err == nil {
			return all, nil
		}
		if !errors.Is(err, errListChanged) {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
	}
	return nil, fmt.Errorf("list jobs: %w",
		link.ErrBusy.With("The list of jobs kept changing while Wardroom was reading it. Try again."))
}

// pagesOfJobs reads the list of jobs once, page by page. Each page should start with the
// last row of the previous page. If it starts with a different row, the list has changed.
func (c *Client) pagesOfJobs(ctx context.Context, want JobsWanted) ([]Job, error) {
	var all []Job
	last := "" // id of the last row of the previous page
	p := jobsParams{Disabled: true, Limit: jobPage, SortBy: "name", AgentID: want.AgentID, Query: want.Query}
	for len(all) <= jobPage*jobPages {
		var page struct {
			Jobs       []json.RawMessage `json:"jobs"`
			HasMore    wire.Flag         `json:"hasMore"`
			NextOffset wire.Number       `json:"nextOffset"`
		}
		if err := c.call(ctx, "cron.list", p, &page); err != nil {
			return nil, err
		}
		rows := page.Jobs
		if p.Offset > 0 {
			if len(rows) == 0 || jobIDOf(rows[0]) != last {
				return nil, errListChanged
			}
			rows = rows[1:]
		}
		for _, raw := range rows {
			if j, ok := c.readJob(raw); ok {
				all = append(all, j)
			}
		}
		next, ok := page.NextOffset.Whole()
		if !page.HasMore.Is() || !ok || next-1 <= p.Offset || len(rows) == 0 {
			break
		}
		p.Offset, last = next-1, jobIDOf(rows[len(rows)-1])
	}
	return all, nil
}

// jobIDOf returns a job's id exactly as the gateway sent it, or an empty string if the
// row has no id.
func jobIDOf(row json.RawMessage) string {
	var r struct {
		ID wire.Word `json:"id"`
	}
	if json.Unmarshal(row, &r) != nil {
		return ""
	}
	return string(r.ID)
}

type jobsParams struct {
	Disabled bool   `json:"includeDisabled"`
	Limit    int    `json:"limit"`
	Offset   int64  `json:"offset,omitempty"`
	SortBy   string `json:"sortBy"` // a list sorted by the next run, the default, would change with each run
	AgentID  string `json:"agentId,omitempty"`
	Query    string `json:"query,omitempty"`
	Previews bool   `json:"includeDeliveryPreviews"` // false: unused, and costly for the gateway
}

// Job reads one job. It returns ErrNoJob if there is no job with this id.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	var raw json.RawMessage
	if err := c.call(ctx, "cron.get", jobRef{ID: id}, &raw); err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	return c.oneJob(raw, "cron.get")
}

type jobRef struct {
	ID string `json:"id"`
}

// NewJob describes a job to add. When the job runs, it sends Message to an agent.
type NewJob struct {
	// Key identifies the job and has at most 200 characters. If a job with this key
	// exists, AddJob updates it, so repeated or concurrent requests create only one
	// job. Without a key, each request creates another job.
	Key           string
	Name          string
	Description   string
	AgentID       string
	Enabled       bool
	Schedule      JobSchedule // kind cron, every or at
	SessionTarget string      // isolated or session:<key>
	Message       string
	Limit         time.Duration // limit for the turn, rounded up to seconds; zero means the gateway's default
	Delivery      string        // a mode; empty means none, because the gateway's default announces to a chat channel
}

// AddJob adds a job. If the error includes ErrUnsure, the gateway may have added the job anyway. In
// that case, repeat the request only if the job has a Key, or after checking that the job does not
// exist.
func (c *Client) AddJob(ctx context.Context, n NewJob) (Job, error) {
	p := addParams{
		Key: n.Key, Name: n.Name, Description: n.Description, AgentID: n.AgentID, Enabled: n.Enabled,
		Schedule: n.Schedule.wire(), SessionTarget: n.SessionTarget, WakeMode: "now", Payload: turnOf(n.Message, n.Limit),
		Delivery: JobDelivery{Mode: cmp.Or(n.Delivery, "none")},
	}
	var raw json.RawMessage
	if err := c.once(ctx, "cron.add", p, &raw); err != nil {
		return Job{}, fmt.Errorf("add job: %w", err)
	}
	var keyed struct { // the form of the answer for a job with a key
		Job json.RawMessage `json:"job"`
	}
	if json.Unmarshal(raw, &keyed) == nil && len(keyed.Job) > 0 {
		raw = keyed.Job
	}
	return c.oneJob(raw, "cron.add")
}

type addParams struct {
	Key           string       `json:"declarationKey,omitempty"`
	Name          string       `json:"name"`
	Description   string       `json:"description,omitempty"`
	AgentID       string       `json:"agentId,omitempty"`
	Enabled       bool         `json:"enabled"`
	Schedule      scheduleWire `json:"schedule"`
	SessionTarget string       `json:"sessionTarget"`
	WakeMode      string       `json:"wakeMode"`
	Payload       payloadWire  `json:"payload"`
	Delivery      JobDelivery  `json:"delivery"`
}

// JobChange is a change to a job. A nil field leaves the job's value unchanged.
type JobChange struct {
	Name          *string
	Description   *string
	AgentID       *string
	Enabled       *bool
	Schedule      *JobSchedule
	SessionTarget *string
	Message       *string // also sets the kind to agentTurn
	Delivery      *string // a mode
}

// ChangeJob changes a job. If the job's definition has changed since the given Job.Revision,
// ChangeJob returns ErrJobChanged. If revision is empty, ChangeJob does not check this, so the last
// change wins. The call is safe to repeat, even after ErrUnsure.
func (c *Client) ChangeJob(ctx context.Context, id string, change JobChange, revision string) (Job, error) {
	p := changeParams{ID: id, Revision: revision, Patch: patchWire{
		Name: change.Name, Description: change.Description, AgentID: change.AgentID, Enabled: change.Enabled,
		SessionTarget: change.SessionTarget,
	}}
	if change.Schedule != nil {
		w := change.Schedule.wire()
		p.Patch.Schedule = &w
	}
	if change.Message != nil {
		w := turnOf(*change.Message, 0)
		p.Patch.Payload = &w
	}
	if change.Delivery != nil {
		p.Patch.Delivery = &JobDelivery{Mode: *change.Delivery}
	}
	var raw json.RawMessage
	if err := c.once(ctx, "cron.update", p, &raw); err != nil {
		return Job{}, fmt.Errorf("change job: %w", err)
	}
	return c.oneJob(raw, "cron.update")
}

type changeParams struct {
	ID       string    `json:"id"`
	Patch    patchWire `json:"patch"`
	Revision string    `json:"expectedConfigRevision,omitempty"`
}

type patchWire struct {
	Name          *string       `json:"name,omitempty"`
	Description   *string       `json:"description,omitempty"`
	AgentID       *string       `json:"agentId,omitempty"`
	Enabled       *bool         `json:"enabled,omitempty"`
	Schedule      *scheduleWire `json:"schedule,omitempty"`
	SessionTarget *string       `json:"sessionTarget,omitempty"`
	Payload       *payloadWire  `json:"payload,omitempty"`
	Delivery      *JobDelivery  `json:"delivery,omitempty"`
}

// RemoveJob removes a job. It returns ErrNoJob if the job does not exist. A run in
// progress continues. If the error includes ErrUnsure, the job may have been removed
// anyway.
func (c *Client) RemoveJob(ctx context.Context, id string) error {
	var out struct{}
	if err := c.once(ctx, "cron.remove", jobRef{ID: id}, &out); err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	return nil
}

// RunJob starts a job now, even if the job is disabled, and does not wait for the run to
// end. JobRuns lists the run once it has ended. RunJob returns the run's id, or the
// gateway's reason for not starting it, such as "already-running". Each successful call
// starts another run. If the error includes ErrUnsure, the run may have started anyway.
func (c *Client) RunJob(ctx context.Context, id string) (runID, why string, err error) {
	p := struct {
		ID   string `json:"id"`
		Mode string `json:"mode"`
	}{id, "force"}
	var out struct {
		RunID  wire.Word `json:"runId"`
		Reason wire.Word `json:"reason"`
	}
	if err := c.once(ctx, "cron.run", p, &out); err != nil {
		return "", "", fmt.Errorf("run job: %w", err)
	}
	return c.secrets.Line(string(out.RunID)), c.secrets.Line(string(out.Reason)), nil
}
