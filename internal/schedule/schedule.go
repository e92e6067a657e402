// Package schedule is the runtime's own timed jobs, and the ledger of their
// slots: what was to run when, and what became of it. A run that did not happen
// leaves no trace in the runtime; here it does, and a human is told.
//
// One reader (reader.go) mirrors the jobs and their runs into the database; the
// gateway is asked the same whether one person looks or five hundred. Readers
// are answered from the database, also while the gateway is away. The ledger
// (ledger.go) goes by the mirror alone, so that any replica may keep it.
package schedule

import (
	"context"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/fault"
)

// The failures that a caller may see, beside those of the gateway.
var (
	// ErrKind means that the change asks for what is only done to jobs of the kind cron.
	ErrKind = fault.New(fault.Conflict, "job_not_editable", "Only the definitions of jobs of the kind cron are changed here.")
	// ErrGoing means that the runtime did not start a job, mostly because it is running.
	ErrGoing = fault.New(fault.Conflict, "job_not_started", "The agent runtime did not start the job.")
	// ErrSpan means that the ledger was asked for no time at all, or for too much of it.
	ErrSpan = fault.New(fault.Invalid, "slots_span_invalid", "The ledger cannot be read for that time.")
)

// Runtime is the part of the gateway that schedules need.
type Runtime interface {
	Connection() (id any, err error)
	Events(buffer int) (events <-chan gateway.Event, stop func())
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	Job(ctx context.Context, id string) (gateway.Job, error)
	JobRuns(ctx context.Context, want gateway.JobRunsWanted) (runs []gateway.JobRun, more bool, err error)
	AddJob(ctx context.Context, n gateway.NewJob) (gateway.Job, error)
	ChangeJob(ctx context.Context, id string, change gateway.JobChange, revision string) (gateway.Job, error)
	RemoveJob(ctx context.Context, id string) error
	RunJob(ctx context.Context, id string) (runID, why string, err error)
}

// Job is one of the runtime's timed jobs, with what this service knows of it.
type Job struct {
	gateway.Job

	NextRuns  []Time     `json:"next_runs" nullable:"false" doc:"Its next times, ten at most; none while it is disabled, and only the next one where nobody but the runtime can reckon."`
	Watched   bool       `json:"watched" doc:"Whether a run that does not happen is noticed."`
	Unwatched string     `json:"unwatched_because" doc:"Why not; empty when it is."`
	Since     clock.Time `json:"watched_from" doc:"Nothing is expected before: since when it has been as it is."`
	Grace     int64      `json:"grace_seconds" doc:"How late a run may begin before it counts as missed."`
	AsOf      clock.Time `json:"as_of" doc:"The job is what the runtime said then, and nothing is known to have changed since."`
	Live      bool       `json:"live" doc:"Whether the runtime is there; else the job is as it was last seen."`
}

// Time is a moment, and what the clocks of the job's zone show then.
type Time struct {
	At    clock.Time `json:"at"`
	Local string     `json:"local" maxLength:"40" example:"2026-11-20T09:00:00+01:00" doc:"The same in the job's zone, or in UTC where it has none."`
}

// Run is a run of a job that has ended. Its texts come from agents and are not
// to be trusted.
type Run struct {
	JobID      string     `json:"job_id"`
	RunID      string     `json:"run_id" doc:"Empty when the runtime does not say."`
	SessionKey string     `json:"session_key" doc:"Where it can be read; empty when the runtime does not say."`
	Status     string     `json:"status" doc:"ok, error or skipped, in the runtime's words."`
	Error      string     `json:"error" doc:"What went wrong, in the runtime's words; empty when nothing did."`
	Summary    string     `json:"summary" doc:"The beginning of what the agent answered."`
	Manual     bool       `json:"manual" doc:"Whether somebody had it run, rather than the time."`
	StartedAt  clock.Time `json:"started_at"`
	EndedAt    clock.Time `json:"ended_at"`
}

// State says what became of a slot.
type State string

// The states.
const (
	Pending State = "pending" // its time has not come, or its grace is not over
	Running State = "running" // its run is going
	Unknown State = "unknown" // the runtime is away, or does not remember: nobody can say
	OnTime  State = "on_time" // its run went well, and began in time
	Late    State = "late"    // its run went well, and began late
	Missed  State = "missed"  // no run began within the grace
	Failed  State = "failed"  // its run failed
	Skipped State = "skipped" // the runtime had a reason not to run it
)

// States lists every state.
func States() []State {
	return []State{Pending, Running, Unknown, OnTime, Late, Missed, Failed, Skipped}
}

// Slot is one time at which a job is to run, and what became of it.
type Slot struct {
	JobID     string      `json:"job_id"`
	AgentID   string      `json:"agent_id" doc:"Who was to run it then."`
	Name      string      `json:"name" doc:"What the job was called then."`
	DueAt     clock.Time  `json:"due_at"`
	Deadline  clock.Time  `json:"deadline_at" doc:"When it counts as missed unless a run has begun."`
	State     State       `json:"state" enum:"pending,running,unknown,on_time,late,missed,failed,skipped" doc:"unknown: the runtime is away, or does not remember."`
	Reason    string      `json:"reason" doc:"Why it is missed, failed, skipped or unknown, in words; else empty."`
	StartedAt *clock.Time `json:"started_at" doc:"When its run began; null without one."`
	JudgedAt  *clock.Time `json:"judged_at" doc:"When its state became what it is; null while it is pending."`

	spread  time.Duration // by which the runtime may move it by itself
	settled bool          // nothing changes any more
	lookAt  *clock.Time   // when to look again although nothing was heard; nil for never
}

// Matter is something that needs a human, as the inbox takes it.
type Matter struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
	At                                   time.Time // when it happened; the zero time is now
}

// longestSpread bounds by how much a runtime can move a slot.
const longestSpread = 24 * time.Hour

// plan is how the times of a job are found.
type plan struct {
	times cron.Schedule // zero where only the runtime knows the next one
}

// planOf is how the times of a job are found, or why nothing can be expected of
// it, in words.
func planOf(j gateway.Job) (p plan, why string) {
	switch {
	case !j.Enabled:
		return p, "The job is disabled."
	case j.Conditional:
		return p, "The runtime runs it under a condition, or at a pace of its own: nobody can tell when."
	}
	switch j.Schedule.Kind {
	case "cron":
		if times, err := cron.Parse(j.Schedule.Expr, j.Schedule.Zone); err == nil {
			p.times = times.Once() // as the runtime reckons in autumn (OpenClaw 2026.9.6, computeNextRunAtMs)
		}
		return p, ""
	case "every", "at":
		return p, ""
	}
	return p, "Jobs of the kind " + j.Schedule.Kind + " run when something happens, and not at a time."
}

// next is when j is to run after t; zero when nobody can tell.
func (p plan) next(j gateway.Job, t time.Time) time.Time {
	if !p.times.IsZero() {
		return p.times.Next(t)
	}
	if at := j.State.NextRunAt; at != nil && at.After(t) {
		return at.Time
	}
	return time.Time{}
}

// shown is how many next times are answered.
const shown = 10

// upcoming are the next times of j after t, n at most. Where only the runtime
// knows they are the next one, and those that follow it at an interval.
func (p plan) upcoming(j gateway.Job, t time.Time, n int) (due []time.Time) {
	at := p.next(j, t)
	for ; len(due) < n && !at.IsZero(); at = p.following(j, at) {
		due = append(due, at)
	}
	return due
}

// following is the time after one of the coming times; zero when nobody can tell.
func (p plan) following(j gateway.Job, at time.Time) time.Time {
	if !p.times.IsZero() {
		return p.times.Next(at)
	}
	if every := j.Schedule.EveryMS; j.Schedule.Kind == "every" && every > 0 && at.Year() < 9999 {
		return at.Add(time.Duration(min(every, longestInterval.Milliseconds())) * time.Millisecond)
	}
	return time.Time{}
}

// longestInterval keeps an interval in what a duration can be.
const longestInterval = 100 * 365 * 24 * time.Hour

// spreadOf is by how much the runtime may move the times of j.
func spreadOf(j gateway.Job) time.Duration {
	return time.Duration(min(j.Schedule.StaggerMS, longestSpread.Milliseconds())) * time.Millisecond
}

// slotOf is a time of j that has just come.
func slotOf(j gateway.Job, due time.Time, grace time.Duration) Slot {
	s := Slot{JobID: j.ID, AgentID: j.AgentID, Name: j.Name, DueAt: clock.At(due), State: Pending, spread: spreadOf(j)}
	s.Deadline = clock.At(due.Add(s.spread).Add(grace))
	s.lookAt = clock.Ptr(s.Deadline.Time)
	return s
}
