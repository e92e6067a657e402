// Package schedule manages the runtime's scheduled jobs and keeps a ledger of their
// slots: when each job was due and what happened. The runtime keeps no record of a run
// that did not start. The ledger does, and Wardroom raises an inbox item for it.
//
// A reader (reader.go) mirrors the jobs and their runs into the database. Requests
// are answered from the database, even while the gateway is unreachable, so the gateway's
// load does not depend on the number of clients. The slot ledger (slot_ledger.go) uses
// only the mirror, so any replica can update it.
package schedule

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// Errors that the schedule operations return, in addition to the gateway's errors.
var (
	// ErrKind means that the job is not a cron job and therefore cannot be edited.
	ErrKind = fault.New(fault.Conflict, "job_not_editable", "Only cron jobs can be edited.")
	// ErrGoing means that the runtime did not start a job on request, usually because the job is
	// already running.
	ErrGoing = fault.New(fault.Conflict, "job_not_started", "The agent runtime did not start the job.")
	// ErrSpan means that the requested time range is empty or too long.
	ErrSpan = fault.New(fault.Invalid, "slots_span_invalid", "The time range is invalid.")
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Connection() (id any, err error)
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	Job(ctx context.Context, id string) (gateway.Job, error)
	JobRuns(ctx context.Context, want gateway.JobRunsWanted) (runs []gateway.JobRun, more bool, err error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	AddJob(ctx context.Context, n gateway.NewJob) (gateway.Job, error)
	ChangeJob(ctx context.Context, id string, change gateway.JobChange, revision string) (gateway.Job, error)
	RemoveJob(ctx context.Context, id string) error
	RunJob(ctx context.Context, id string) (runID, why string, err error)
}

// Job is a scheduled job in the runtime, with Wardroom's information about it.
type Job struct {
	gateway.Job

	Task      *RunTask   `json:"task" doc:"The task that Wardroom makes for the agent in each run; null for none."`
	NextRuns  []Time     `json:"next_runs" nullable:"false" doc:"The next runs, at most 10. Empty if the job is disabled; at most one if only the runtime can compute them."`
	Watched   bool       `json:"watched" doc:"Whether missed runs are detected."`
	Unwatched string     `json:"unwatched_because" doc:"Why missed runs are not detected; empty if they are."`
	Since     clock.Time `json:"watched_from" doc:"When the current definition took effect. No runs are expected before."`
	Grace     int64      `json:"grace_seconds" doc:"How late a run can start before it counts as missed."`
	AsOf      clock.Time `json:"as_of" doc:"When the job was last read from the runtime."`
	Live      bool       `json:"live" doc:"False if the runtime is unreachable and the job may be outdated."`
}

// Time is a time in UTC and in the job's time zone.
type Time struct {
	At    clock.Time `json:"at"`
	Local string     `json:"local" maxLength:"40" example:"2026-11-20T09:00:00+01:00" doc:"The same time in the job's time zone, or in UTC if the job has none."`
}

// Run is a finished run of a job. Its text comes from agents and is untrusted.
type Run struct {
	JobID      string      `json:"job_id"`
	RunID      string      `json:"run_id" doc:"Empty if unknown."`
	SessionKey string      `json:"session_key" doc:"The session of the run, also as the id in /sessions/{id}; empty if unknown."`
	Status     string      `json:"status" doc:"The runtime's status: ok, error or skipped."`
	Error      string      `json:"error" doc:"The runtime's error message; empty if the run had no error."`
	Summary    string      `json:"summary" doc:"The start of the agent's answer."`
	Manual     bool        `json:"manual" doc:"Whether the run was started manually."`
	StartedAt  clock.Time  `json:"started_at"`
	EndedAt    clock.Time  `json:"ended_at"`
	CostUSD    *money.Nano `json:"cost_usd" doc:"Cost of the run; null if it is unknown."`

	undelivered bool   // as in gateway.JobRun; false in stored runs
	jobName     string // of the job; empty in stored runs
}

// State is the state of a slot.
type State string

// States of a slot.
const (
	Pending State = "pending" // not due yet, or within the grace period
	Running State = "running" // the run is in progress
	Unknown State = "unknown" // the runtime is unreachable or has no record
	OnTime  State = "on_time" // the run succeeded and started on time
	Late    State = "late"    // the run succeeded and started late
	Missed  State = "missed"  // no run started within the grace period
	Failed  State = "failed"  // the run failed
	Skipped State = "skipped" // the runtime skipped the run for a known reason
)

// Slot is one time at which a job is due, with its state.
type Slot struct {
	JobID     string      `json:"job_id"`
	AgentID   string      `json:"agent_id" doc:"The job's agent at that time."`
	Name      string      `json:"name" doc:"The job's name at that time."`
	DueAt     clock.Time  `json:"due_at"`
	Deadline  clock.Time  `json:"deadline_at" doc:"When the slot counts as missed if no run has started."`
	State     State       `json:"state" enum:"pending,running,unknown,on_time,late,missed,failed,skipped" doc:"unknown: the runtime is unreachable or has no record."`
	Reason    string      `json:"reason" doc:"Why the slot is missed, failed, skipped or unknown; otherwise empty."`
	StartedAt *clock.Time `json:"started_at" doc:"When the run started; null if no run has started."`
	JudgedAt  *clock.Time `json:"judged_at" doc:"When the state was determined; null while pending."`

	spread    time.Duration // by how much the runtime can delay the run
	final     bool          // the state cannot change anymore
	recheckAt *clock.Time   // when to check it again without new data; nil for never
}

// maxSpread is the longest time by which the runtime can delay a slot.
const maxSpread = 24 * time.Hour

// plan computes when a job runs.
type plan struct {
	times cron.Schedule // zero if only the runtime knows the next time
}

// planOf returns the plan of a job, or the reason why its runs cannot be predicted.
func planOf(j gateway.Job) (p plan, why string) {
	switch {
	case j.Schedule.Kind == "":
		return p, "The gateway does not list the job. Wardroom knows it only from its runs."
	case !j.Enabled:
		return p, "The job is disabled."
	case j.Conditional:
		return p, "The job runs on a condition or at a variable interval, so its runs cannot be predicted."
	}
	switch j.Schedule.Kind {
	case "cron":
		times, err := cron.ParseWithSeconds(j.Schedule.Expr, j.Schedule.Zone)
		switch {
		case err != nil: // only the runtime knows the times
		case times.WithinMinute():
			return p, "The job can run several times a minute, which is too often to watch."
		default:
			p.times = times.Once() // like the runtime when clocks go back (OpenClaw 2026.9.6, computeNextRunAtMs)
		}
		return p, ""
	case "every", "at":
		return p, ""
	}
	return p, "Jobs of the kind " + j.Schedule.Kind + " run on events, not at fixed times."
}

// unwatched returns why missed runs of a job are not detected, or "" if they are.
func unwatched(j gateway.Job) string {
	p, why := planOf(j)
	if _, known := p.once(j); why == "" && p.times.IsZero() && !known && j.State.NextRunAt == nil &&
		j.State.RunningAt == nil {
		why = "The gateway announces no next run, and Wardroom cannot compute it."
	}
	return why
}

// once returns the time of a job that runs only once, if it can be read.
func (p plan) once(j gateway.Job) (at time.Time, ok bool) {
	if j.Schedule.Kind != "at" {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, j.Schedule.At)
	return at, err == nil
}

// next returns the time of the first run of j after t, or the zero time if unknown.
func (p plan) next(j gateway.Job, t time.Time) time.Time {
	if !p.times.IsZero() {
		return p.times.Next(t)
	}
	if at, ok := p.once(j); ok {
		if !at.After(t) {
			return time.Time{}
		}
		return at
	}
	if at := j.State.NextRunAt; at != nil && at.After(t) {
		return at.Time
	}
	return time.Time{}
}

// maxNextRuns is the maximum number of next runs in a response.
const maxNextRuns = 10

// upcoming returns the times of up to n runs of j after t. If the next run's time can't be computed
// but comes from the runtime, later runs are included only if the job has a fixed interval.
func (p plan) upcoming(j gateway.Job, t time.Time, n int) (due []time.Time) {
	at := p.next(j, t)
	for ; len(due) < n && !at.IsZero(); at = p.following(j, at) {
		due = append(due, at)
	}
	return due
}

// following returns the time of the next run of j after a run at the given time, or the zero time
// if unknown.
func (p plan) following(j gateway.Job, at time.Time) time.Time {
	if !p.times.IsZero() {
		return p.times.Next(at)
	}
	if every := j.Schedule.EveryMS; j.Schedule.Kind == "every" && every > 0 && at.Year() < 9999 {
		return at.Add(time.Duration(min(every, maxInterval.Milliseconds())) * time.Millisecond)
	}
	return time.Time{}
}

// maxInterval limits the interval of a job, so that it fits into a time.Duration.
const maxInterval = 100 * 365 * 24 * time.Hour

// spreadOf returns the longest time by which the runtime can delay the runs of j.
func spreadOf(j gateway.Job) time.Duration {
	return time.Duration(min(j.Schedule.StaggerMS, maxSpread.Milliseconds())) * time.Millisecond
}

// slotOf returns a new pending slot for j.
func slotOf(j gateway.Job, due time.Time, grace time.Duration) Slot {
	s := Slot{JobID: j.ID, AgentID: j.AgentID, Name: j.Name, DueAt: clock.At(due), State: Pending, spread: spreadOf(j)}
	s.Deadline = clock.At(due.Add(s.spread).Add(grace))
	s.recheckAt = clock.Ptr(s.Deadline.Time)
	return s
}
