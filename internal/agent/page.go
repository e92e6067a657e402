package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// This file returns everything about one agent. Data from the runtime is null while the
// runtime is unreachable; the rest is available.

// Page describes one agent, with its current work, reports, costs and failures.
type Page struct {
	Agent
	Runs     *[]Run     `json:"runs" doc:"The runs in progress, oldest first; null while unknown: see presence."`
	Tasks    Desk       `json:"tasks"`
	Standups []Said     `json:"standups" nullable:"false" doc:"The latest standup reports, newest first; at most 5."`
	Spend    Spend      `json:"spend" doc:"Costs according to the usage ledger."`
	Failures []Failure  `json:"failures" nullable:"false" doc:"Failures of the last 7 days, newest first; at most 20."`
	Sessions *[]Session `json:"sessions" doc:"The latest sessions in the runtime, active ones first; at most 10. Null while unknown."`
}

// Run is a run in progress.
type Run struct {
	SessionKey  string      `json:"session_key"`
	RunID       *string     `json:"run_id" doc:"Null if unknown."`
	Since       *clock.Time `json:"since" doc:"When the run started; null if unknown."`
	Stalled     bool        `json:"stalled" doc:"Whether the run has shown no activity for longer than STALLED_AFTER."`
	SilentSince *clock.Time `json:"silent_since" doc:"Last activity; null unless stalled."`
}

// Session is a summary of a session.
type Session struct {
	Key         string      `json:"key"`
	Kind        *string     `json:"kind"`
	Label       *string     `json:"label"`
	Status      *string     `json:"status" doc:"The runtime's status of the current or last run."`
	Active      bool        `json:"active"`
	UpdatedAt   *clock.Time `json:"updated_at"`
	LastMessage *string     `json:"last_message" doc:"The start of the last message, on one line."`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Null while unknown."`

	Run *Run `json:"-"` // the run in progress
}

// Desk summarizes the tasks of an agent.
type Desk struct {
	Open    Counts `json:"open" doc:"Number of open tasks by column."`
	Blocked int64  `json:"blocked" doc:"Number of blocked open tasks."`
	Claimed int64  `json:"claimed" doc:"Number of claimed tasks."`
	Last    []Task `json:"last" nullable:"false" doc:"The most recently changed tasks; at most 10."`
}

// Counts holds an agent's number of open tasks in each column of the board.
type Counts struct {
	Backlog    int64 `json:"backlog"`
	Todo       int64 `json:"todo"`
	InProgress int64 `json:"in_progress"`
	Review     int64 `json:"review"`
}

// Task is a summary of a task.
type Task struct {
	Key       string     `json:"key"`
	Title     string     `json:"title" doc:"Untrusted: agents can write it."`
	Status    string     `json:"status" enum:"backlog,todo,in_progress,review,done"`
	Blocked   bool       `json:"blocked"`
	Claimed   bool       `json:"claimed"`
	Dispatch  *string    `json:"dispatch" enum:"queued,started,ended,failed" doc:"The status of the last dispatch; null if the task was never dispatched."`
	MovedAt   clock.Time `json:"moved_at" doc:"When the task was moved to its column. The board shows the age since then."`
	UpdatedAt clock.Time `json:"updated_at"`
}

// Said is the agent's report in one standup. Its texts are untrusted.
type Said struct {
	StandupID string      `json:"standup_id"`
	Date      string      `json:"date" example:"2026-11-20"`
	Team      string      `json:"team" doc:"The team's key."`
	Status    string      `json:"status" enum:"asked,answered,timed_out,failed"`
	Yesterday *string     `json:"yesterday" doc:"Markdown; null if the report has no such section."`
	Today     *string     `json:"today"`
	Blockers  *string     `json:"blockers"`
	At        *clock.Time `json:"at" doc:"When the agent answered, otherwise when it was asked."`
}

// Spend is the recent usage of an agent. The longer periods include the shorter ones.
type Spend struct {
	Zone   string `json:"zone" example:"Europe/Berlin" doc:"The time zone of the days."`
	Today  Spent  `json:"today"`
	Week   Spent  `json:"last_7_days" doc:"Today and the 6 days before."`
	Thirty Spent  `json:"last_30_days" doc:"Today and the 29 days before."`
}

// Spent is an agent's usage since From.
type Spent struct {
	From     clock.Time  `json:"from"`
	Runs     int64       `json:"runs"`
	Unpriced int64       `json:"unpriced_runs" doc:"Number of runs with an unknown cost. cost_usd does not include them."`
	Tokens   int64       `json:"tokens" doc:"Total of all token classes."`
	CostUSD  *money.Nano `json:"cost_usd" doc:"Null if no run has a known price; 0 only if the cost is 0."`
}

// Failure describes a failed dispatch, standup report, scheduled job or session of an agent.
type Failure struct {
	Kind   string     `json:"kind" enum:"dispatch,standup,job_missed,job_failed,session" doc:"dispatch: a task could not be dispatched, or its run failed. standup: the agent did not answer. job_missed, job_failed: a scheduled job. session: the last run of a session failed."`
	What   string     `json:"what" example:"TASK-12" doc:"The key of the task, the day of the standup, the name of the job, or the key of the session."`
	Detail string     `json:"detail" doc:"Untrusted: can quote the runtime or an agent."`
	At     clock.Time `json:"at"`

	// Session is the key of the session in which the failure occurred, or a prefix of that key. It
	// is empty if there is no such session.
	Session string `json:"-"`
}

// Limits on what a Page contains.
const (
	maxSessions   = 10
	maxTasks      = 10
	maxReports    = 5
	maxFailures   = 20
	failureWindow = 7 * 24 * time.Hour
	// sameFailureWithin is how far apart a recorded failure and the failure of its session can be
	// if the two are the same failure.
	sameFailureWithin = time.Hour
)

// Records reads Wardroom's own data about an agent.
type Records struct {
	Desk     func(ctx context.Context, agentID string, most int) (Desk, error)
	Said     func(ctx context.Context, agentID string, most int) ([]Said, error)
	Spend    func(ctx context.Context, agentID string, now time.Time) (Spend, error)
	Failures func(ctx context.Context, agentID string, since time.Time, most int) ([]Failure, error)
}

// Page returns everything about one agent.
func (s *Service) Page(ctx context.Context, agentID string) (Page, error) {
	a, err := s.Get(ctx, agentID)
	if err != nil {
		return Page{}, err
	}
	p, now := Page{Agent: a}, s.Now()
	if p.Tasks, err = s.Records.Desk(ctx, agentID, maxTasks); err != nil {
		return Page{}, err
	}
	if p.Standups, err = s.Records.Said(ctx, agentID, maxReports); err != nil {
		return Page{}, err
	}
	if p.Spend, err = s.Records.Spend(ctx, agentID, now); err != nil {
		return Page{}, err
	}
	since := now.Add(-failureWindow)
	if p.Failures, err = s.Records.Failures(ctx, agentID, since, maxFailures); err != nil {
		return Page{}, err
	}
	return p, s.addSessions(ctx, &p, since)
}

// addSessions adds the agent's sessions, current runs and failures to the page, if the runtime is
// reachable.
func (s *Service) addSessions(ctx context.Context, p *Page, since time.Time) error {
	all, err := s.Sessions(ctx, p.AgentID, maxSessions)
	if ctx.Err() != nil {
		return fmt.Errorf("read the sessions of %s: %w", p.AgentID, context.Cause(ctx))
	}
	if fault.Of(err) == nil && err != nil {
		return err
	}
	if err == nil {
		runs := []Run{}
		for _, one := range all {
			if one.Run != nil {
				runs = append(runs, *one.Run)
			}
		}
		p.Failures = append(p.Failures, unrecorded(p.Failures, all, since)...)
		slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.began(), b.began()) })
		sessions := append([]Session{}, all...)
		p.Runs, p.Sessions = &runs, &sessions
	}
	slices.SortStableFunc(p.Failures, func(a, b Failure) int { return b.At.Compare(a.At.Time) })
	p.Failures = append([]Failure{}, p.Failures[:min(len(p.Failures), maxFailures)]...)
	p.Standups = append([]Said{}, p.Standups...)
	return nil
}

// unrecorded returns the sessions' failures that are not among Wardroom's own records, so
// that a failed run of a job, task or standup is not listed twice.
func unrecorded(records []Failure, all []Session, since time.Time) []Failure {
	var found []Failure
	for _, one := range all {
		if f, ok := one.failure(since); ok {
			found = append(found, f)
		}
	}
	// Start with the earliest failure, because each slot of a job matches the first run that ended
	// after it.
	slices.SortStableFunc(found, func(a, b Failure) int { return a.At.Compare(b.At.Time) })
	taken := make([]bool, len(records))
	return slices.DeleteFunc(found, func(f Failure) bool {
		for i, r := range records {
			if !taken[i] && r.sameAs(f) {
				taken[i] = true
				return true
			}
		}
		return false
	})
}

// sameAs reports whether f, a failure that Wardroom recorded, is the same as a failure found in a
// session.
func (f Failure) sameAs(session Failure) bool {
	key := strings.ToLower(session.What)
	if f.Session == "" || key != f.Session && !strings.HasPrefix(key, f.Session+":") {
		return false
	}
	apart := session.At.Sub(f.At.Time)
	if f.Kind == "job_failed" { // recorded with the due time, which can be long before
		return apart >= 0
	}
	return apart.Abs() <= sameFailureWithin
}

// began returns the key for sorting runs by start time. A run whose start is unknown sorts
// last.
func (r Run) began() int64 {
	if r.Since == nil {
		return 1<<63 - 1
	}
	return r.Since.UnixMicro()
}

// failure returns the failure of a session's last run. It returns false if that run did not fail or
// failed before the given time.
func (s Session) failure(since time.Time) (Failure, bool) {
	if s.Active || s.Status == nil || s.UpdatedAt == nil || s.UpdatedAt.Before(since) || *s.Status != "failed" && *s.Status != "timeout" {
		return Failure{}, false
	}
	why := "The last run failed."
	if *s.Status == "timeout" {
		why = "The last run timed out."
	}
	return Failure{Kind: "session", What: s.Key, Detail: why, At: *s.UpdatedAt}, true
}
