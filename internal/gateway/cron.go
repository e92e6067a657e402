package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// The ways in which a request about the gateway's timed jobs fails beside those
// of every request. Changing jobs needs operator.admin, reading them operator.read.
var (
	// ErrNoJob means that the gateway has no job of that id.
	ErrNoJob = fault.New(fault.NotFound, "job_not_found", "The agent runtime has no such job.")
	// ErrJobChanged means that a job is not as it was when it was read, so that
	// nothing was changed.
	ErrJobChanged = fault.New(fault.Conflict, "job_changed", "The job was changed in the agent runtime meanwhile.")
)

// Job is one of the gateway's timed jobs, in the runtime's own words: its JSON
// keeps the runtime's camelCase. Texts are cleaned.
type Job struct {
	ID            string      `json:"id" doc:"The runtime's id of the job."`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	AgentID       string      `json:"agentId" doc:"The agent that runs it."`
	Enabled       bool        `json:"enabled" doc:"A disabled job does not trigger."`
	Schedule      JobSchedule `json:"schedule"`
	SessionTarget string      `json:"sessionTarget" doc:"In which session it runs; isolated is one of its own for every run."`
	WakeMode      string      `json:"wakeMode" doc:"When the agent is woken: now, or next-heartbeat."`
	Payload       JobPayload  `json:"payload"`
	Delivery      JobDelivery `json:"delivery"`
	Revision      string      `json:"configRevision" doc:"Changes with every change of the definition, and not with its runs."`
	State         JobState    `json:"state"`
	CreatedAt     clock.Time  `json:"createdAt"`
	Conditional   bool        `json:"conditional,omitempty" doc:"Whether the runtime runs it only when a script of its own says so, or at a pace that its runs choose: then nobody can tell when."`
}

// JobSchedule says when a job runs. Of a kind that this version does not know
// only the kind is here.
type JobSchedule struct {
	Kind    string `json:"kind" doc:"cron, every or at; the runtime has further ones."`
	Expr    string `json:"expr,omitempty" doc:"Of cron: minute, hour, day of the month, month, weekday."`
	Zone    string `json:"tz,omitempty" doc:"Of cron: an IANA time zone. Without one it is that of the runtime's host, which it does not tell."`
	EveryMS int64  `json:"everyMs,omitempty" doc:"Of every: the milliseconds between two runs."`
	At      string `json:"at,omitempty" doc:"Of at: the one time, as ISO 8601 has it."` // as the gateway has it
	// StaggerMS is 0 for a job that runs at its very minute, and for other kinds
	// than cron. It is not sent: what we make is not spread.
	StaggerMS int64 `json:"staggerMs,omitempty" doc:"Of cron: the milliseconds over which the runtime spreads jobs that are due together; so late it may be."`
}

// JobPayload is what a job does.
type JobPayload struct {
	Kind    string        `json:"kind" doc:"agentTurn, or systemEvent for a text in the agent's main session; the runtime has further ones."`
	Message string        `json:"message" doc:"What the agent is told."`
	Limit   time.Duration `json:"-"` // how long the agent's turn may take; zero leaves that to the gateway
}

// JobDelivery says where the runtime sends what the agent answered.
type JobDelivery struct {
	Mode string `json:"mode" doc:"none, announce or webhook; empty when the runtime does not say."`
}

// JobState is how a job is doing, as the runtime knows it.
type JobState struct {
	NextRunAt  *clock.Time `json:"nextRunAt" doc:"When it runs next, as the runtime reckons; null when it does not run."`
	RunningAt  *clock.Time `json:"runningAt" doc:"Since when it is running; null when it is not."`
	LastRunAt  *clock.Time `json:"lastRunAt" doc:"When it ran last; null before the first time."`
	LastStatus string      `json:"lastStatus" maxLength:"400" doc:"How that ended: ok, error or skipped; empty before the first time."`
	LastError  string      `json:"lastError" maxLength:"400" doc:"What went wrong then, in the runtime's words."`
	Errors     int64       `json:"consecutiveErrors" doc:"How many runs in a row have failed."`
}

const (
	jobPage        = 200       // rows that we ask for at once, which is the most that the gateway gives
	jobPages       = 50        // at most, whatever the gateway says of further ones
	jobMessage     = 64 * 1024 // characters of a message; the rest is left out
	jobDescription = 4000      // and of a description: people change what they see of it, of which our own are half as long at most
)

// JobsWanted says which jobs are meant. The zero value means all of them, the
// disabled ones included.
type JobsWanted struct {
	AgentID string // only of this agent
	Query   string // only those with this text in their id, name, description or agent
}

// errMoved says that jobs were made or removed between the pages of their list.
var errMoved = errors.New("the list moved")

// Jobs lists the jobs by their names. A list that changes while its pages are
// read is read anew, so that no job is left out that is there all the time; one
// that does so three times is ErrBusy.
func (c *Client) Jobs(ctx context.Context, want JobsWanted) ([]Job, error) {
	const tries = 3
	for range tries {
		all, err := c.pagesOfJobs(ctx, want)
		if err == nil {
			return all, nil
		}
		if !errors.Is(err, errMoved) {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
	}
	return nil, fmt.Errorf("list jobs: %w", ErrBusy.With("Its jobs changed again and again while they were read."))
}

// pagesOfJobs reads the list once. Each page begins with the last row of the one
// before it: where that has moved, others have, too.
func (c *Client) pagesOfJobs(ctx context.Context, want JobsWanted) ([]Job, error) {
	var all []Job
	last := "" // the id of the last row of the page before
	p := jobsParams{Disabled: true, Limit: jobPage, SortBy: "name", AgentID: want.AgentID, Query: want.Query}
	for len(all) <= jobPage*jobPages {
		var page struct {
			Jobs       []json.RawMessage `json:"jobs"`
			HasMore    flag              `json:"hasMore"`
			NextOffset number            `json:"nextOffset"`
		}
		if err := c.call(ctx, "cron.list", p, &page); err != nil {
			return nil, err
		}
		rows := page.Jobs
		if p.Offset > 0 {
			if len(rows) == 0 || jobIDOf(rows[0]) != last {
				return nil, errMoved
			}
			rows = rows[1:]
		}
		for _, raw := range rows {
			if j, ok := c.readJob(raw); ok {
				all = append(all, j)
			}
		}
		next, ok := page.NextOffset.whole()
		if !page.HasMore.is() || !ok || next-1 <= p.Offset || len(rows) == 0 {
			break
		}
		p.Offset, last = next-1, jobIDOf(rows[len(rows)-1])
	}
	return all, nil
}

// jobIDOf is the id of a row as the gateway has it; empty where it has none.
func jobIDOf(row json.RawMessage) string {
	var r struct {
		ID word `json:"id"`
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
	SortBy   string `json:"sortBy"` // by the next run, as it is without, each run would move its job
	AgentID  string `json:"agentId,omitempty"`
	Query    string `json:"query,omitempty"`
	Previews bool   `json:"includeDeliveryPreviews"` // false: nobody reads them, and each costs the gateway a look
}

// Job reads one job, or fails with ErrNoJob.
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

// NewJob is a job to be made: an agent's turn, told by Message.
type NewJob struct {
	// Key names the job for good, up to 200 characters. Making a job with the key
	// of one that there is already changes that one, so that it may be repeated,
	// and two who do it at once make one job. Empty makes another job each time.
	Key           string
	Name          string
	Description   string
	AgentID       string
	Enabled       bool
	Schedule      JobSchedule // of the kind cron, every or at
	SessionTarget string      // isolated, or session:<key>
	Message       string
	Limit         time.Duration // of the turn, rounded up to whole seconds; zero leaves it to the gateway
	Delivery      string        // a mode; empty is none, because the gateway's own default announces to a chat channel
}

// AddJob makes a job. A failure that comes with ErrUnsure leaves open whether it
// was made: without a Key, look before it is repeated.
func (c *Client) AddJob(ctx context.Context, n NewJob) (Job, error) {
	p := addParams{
		Key: n.Key, Name: n.Name, Description: n.Description, AgentID: n.AgentID, Enabled: n.Enabled, Schedule: n.Schedule.wire(),
		SessionTarget: n.SessionTarget, WakeMode: "now", Payload: turnOf(n.Message, n.Limit),
		Delivery: JobDelivery{Mode: cmp.Or(n.Delivery, "none")},
	}
	var raw json.RawMessage
	if err := c.once(ctx, "cron.add", p, &raw); err != nil {
		return Job{}, fmt.Errorf("add job: %w", err)
	}
	var keyed struct { // how one with a key is answered
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

// JobChange is what is changed of a job; what is nil stays as it is.
type JobChange struct {
	Name          *string
	Description   *string
	AgentID       *string
	Enabled       *bool
	Schedule      *JobSchedule
	SessionTarget *string
	Message       *string // also makes it an agent's turn
	Delivery      *string // a mode
}

// ChangeJob changes a job. With a revision, that of the Job as it was read, it
// fails with ErrJobChanged when the definition is another one by now; without,
// whoever comes last wins. It may be repeated, also after ErrUnsure.
func (c *Client) ChangeJob(ctx context.Context, id string, change JobChange, revision string) (Job, error) {
	p := changeParams{ID: id, Revision: revision, Patch: patchWire{
		Name: change.Name, Description: change.Description, AgentID: change.AgentID, Enabled: change.Enabled, SessionTarget: change.SessionTarget,
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

// RemoveJob removes a job, or fails with ErrNoJob. A run that is going goes on.
// A failure that comes with ErrUnsure leaves open whether it is there.
func (c *Client) RemoveJob(ctx context.Context, id string) error {
	var out struct{}
	if err := c.once(ctx, "cron.remove", jobRef{ID: id}, &out); err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	return nil
}

// RunJob starts a job now, also a disabled one, and does not wait for its end:
// JobRuns tells of it. It returns the run's id, or why the gateway did not start
// it, such as "already-running". Each call that is not refused is another run; a
// failure that comes with ErrUnsure leaves open whether it was.
func (c *Client) RunJob(ctx context.Context, id string) (runID, why string, err error) {
	p := struct {
		ID   string `json:"id"`
		Mode string `json:"mode"`
	}{id, "force"}
	var out struct {
		RunID  word `json:"runId"`
		Reason word `json:"reason"`
	}
	if err := c.once(ctx, "cron.run", p, &out); err != nil {
		return "", "", fmt.Errorf("run job: %w", err)
	}
	return c.secrets.words(string(out.RunID)), c.secrets.words(string(out.Reason)), nil
}
