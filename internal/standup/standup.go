// Package standup runs the daily standups of each team. A standup asks every
// participant for a report (yesterday, today, blockers), checks the reports
// against the task board, and asks the facilitator to review them. It then
// applies the review and stores a summary. Every step is stored as it happens,
// so a failed standup keeps its reports and can be retried.
package standup

import (
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// Status is the state of a standup.
type Status string

// The states of a standup.
const (
	Running   Status = "running"   // opened or in progress; see Phase
	Completed Status = "completed" // closed with a summary
	Error     Status = "error"     // failed; see Failure
)

// Phase is the step that a standup has reached.
type Phase string

// The phases, in order. A failed standup keeps the phase in which it failed.
const (
	Opened     Phase = "opened"     // not run yet
	Gathering  Phase = "gathering"  // collecting evidence of each participant's work
	Collecting Phase = "collecting" // asking the participants, one at a time
	Reviewing  Phase = "reviewing"  // the facilitator reviews the reports
	Closed     Phase = "closed"
)

// ReportStatus is the state of one participant's report.
type ReportStatus string

// The states of a report.
const (
	Pending  ReportStatus = "pending"   // not asked yet
	Asked    ReportStatus = "asked"     // waiting for the agent's answer
	Answered ReportStatus = "answered"  // answered, or submitted by a client
	TimedOut ReportStatus = "timed_out" // not answered in time; the text is [Timeout]
	Failed   ReportStatus = "failed"    // the agent's run failed; the transcript has the error
	Missing  ReportStatus = "missing"   // the agent has no active account
)

// timeoutText is the report text of an agent that did not answer in time.
const timeoutText = "[Timeout]"

// Values of Failure.Code.
const (
	NoActiveAgents       = "no_active_agents"
	GatewayNotConfigured = "gateway_not_configured"
	GatewayUnreachable   = "gateway_unreachable"
	AgentsTimedOut       = "agents_timed_out"      // no participant answered
	FacilitatorTimedOut  = "facilitator_timed_out" // the facilitator did not answer, or failed
	DeadlinePassed       = "deadline"
	Cancelled            = "cancelled"
	NotRun               = "not_run"
	Internal             = "internal" // a bug or an error in Wardroom; see the log
)

// Standup is one team's standup on one day.
type Standup struct {
	ID          string       `json:"id"`
	Team        string       `json:"team" doc:"The team's key." example:"executive"`
	Date        string       `json:"date" format:"date" doc:"The day of the standup in its time zone."`
	Timezone    string       `json:"timezone" example:"Europe/Berlin"`
	Title       string       `json:"title"`
	Status      Status       `json:"status" enum:"running,completed,error"`
	Phase       Phase        `json:"phase" enum:"opened,gathering,collecting,reviewing,closed" doc:"The current phase, or the phase in which the standup failed."`
	Facilitator string       `json:"facilitator" doc:"The agent_id of the facilitator."`
	Reports     []Report     `json:"reports" nullable:"false" doc:"One report per participant, in the order in which they are asked."`
	Blockers    []Blocker    `json:"blockers" nullable:"false"`
	Decisions   []Decision   `json:"decisions" nullable:"false" doc:"What people decided since the team's last standup. Wardroom passes it on to the agents concerned and to the facilitator."`
	ActionItems []ActionItem `json:"action_items" nullable:"false"`
	Escalations []Escalation `json:"escalations" nullable:"false" doc:"Issues that the facilitator passed to a human."`
	Summary     *string      `json:"summary" doc:"The facilitator's summary."`
	Digest      *string      `json:"digest" doc:"The facts of the standup, compiled by Wardroom without a model."`
	Transcript  []Line       `json:"transcript" nullable:"false"`
	Failure     *Failure     `json:"error" doc:"Why the standup failed; null unless status is error."`
	Attempt     int          `json:"attempt" doc:"Number of times the standup was run; 0 before the first run."`
	Trigger     string       `json:"trigger" enum:",agent,user,system" doc:"The kind of account that last ran it; empty before the first run."`
	CostUSD     *money.Nano  `json:"cost_usd" doc:"Total cost of this standup's ended runs; null if the cost of any of them is unknown, for example because a run was stopped."`
	DeadlineAt  *clock.Time  `json:"deadline_at" doc:"The latest time at which the current attempt ends; null if no attempt is in progress."`
	CreatedAt   clock.Time   `json:"created_at"`
	StartedAt   *clock.Time  `json:"started_at"`
	CompletedAt *clock.Time  `json:"completed_at" doc:"When the standup completed or failed."`
	UpdatedAt   clock.Time   `json:"updated_at"`
	Version     int64        `json:"version"`

	// The team's limits when the last attempt started. Zero before the first
	// attempt and in standups stored before teams existed.
	agentTimeout, deadline time.Duration

	spent        *money.Nano // sum of the known costs; nil if no cost is known
	unpricedRuns int         // ended runs whose cost is unknown
}

// Brief is a standup as it appears in a list, without the report texts or the transcript.
type Brief struct {
	ID          string        `json:"id"`
	Team        string        `json:"team"`
	Date        string        `json:"date" format:"date"`
	Timezone    string        `json:"timezone"`
	Title       string        `json:"title"`
	Status      Status        `json:"status" enum:"running,completed,error"`
	Phase       Phase         `json:"phase" enum:"opened,gathering,collecting,reviewing,closed"`
	Facilitator string        `json:"facilitator"`
	Reports     []BriefReport `json:"reports" nullable:"false"`
	Summary     *string       `json:"summary"`
	Failure     *Failure      `json:"error"`
	Attempt     int           `json:"attempt"`
	CreatedAt   clock.Time    `json:"created_at"`
	StartedAt   *clock.Time   `json:"started_at"`
	CompletedAt *clock.Time   `json:"completed_at"`
	Version     int64         `json:"version"`
}

// BriefReport is the status of one participant's report.
type BriefReport struct {
	AgentID string       `json:"agent_id"`
	Name    string       `json:"name"`
	Status  ReportStatus `json:"status" enum:"pending,asked,answered,timed_out,failed,missing"`
}

// Report is one participant's report.
type Report struct {
	AgentID     string       `json:"agent_id"`
	Name        string       `json:"name"`
	Status      ReportStatus `json:"status" enum:"pending,asked,answered,timed_out,failed,missing"`
	Yesterday   *string      `json:"yesterday" doc:"Markdown as the agent wrote it."`
	Today       *string      `json:"today"`
	Blockers    *string      `json:"blockers" doc:"Null if the agent reports none."`
	Text        *string      `json:"text" doc:"The complete answer, or [Timeout]."`
	Other       *string      `json:"other" doc:"Text outside the three headings."`
	Evidence    *Evidence    `json:"evidence" doc:"What is known about the agent's work. Gathered before the agent is asked; a retry keeps the evidence of existing reports."`
	Claims      []Claim      `json:"claims" nullable:"false" doc:"Statements in the report that the board contradicts."`
	Omitted     []Item       `json:"omitted" nullable:"false" doc:"Finished tasks that neither this report nor the agent's previous one mentions by key or title."`
	AskedAt     *clock.Time  `json:"asked_at"`
	AnsweredAt  *clock.Time  `json:"answered_at"`
	SubmittedAt *clock.Time  `json:"submitted_at" doc:"When the report was submitted; null if the agent answered a question instead."`
	SubmittedBy *string      `json:"submitted_by" doc:"The name of the account that submitted the report."`
	CostUSD     *money.Nano  `json:"cost_usd"`
}

// ActionItem is work that the facilitator wants done.
type ActionItem struct {
	Title    string  `json:"title"`
	Assignee *string `json:"assignee" doc:"The assignee's agent_id."`
	Task     *string `json:"task" doc:"The key of the task for this item."`
}

// Escalation is an issue that needs a human.
type Escalation struct {
	Title  string  `json:"title"`
	Detail string  `json:"detail"`
	Task   *string `json:"task"`
}

// Line is an entry in the transcript.
type Line struct {
	Seq  int        `json:"seq"`
	At   clock.Time `json:"at"`
	Kind string     `json:"kind" enum:"note,question,answer,timeout,failure,summary,error"`
	From string     `json:"from" doc:"An agent_id, or wardroom."`
	To   string     `json:"to" doc:"An agent_id, or team."`
	Text string     `json:"text"`
}

// Failure is the reason why a standup failed. It implements the error interface.
type Failure struct {
	Code   string `json:"code" example:"gateway_unreachable"`
	Detail string `json:"detail"`
}

// ended describes the outcome of a finished standup, for use in error messages.
func (s Standup) ended() string {
	if s.Failure != nil {
		return "failed with " + s.Failure.Code
	}
	return "is completed"
}

func (f *Failure) Error() string { return f.Code + ": " + f.Detail }

// Errors returned by requests about standups.
var (
	ErrNotFound  = fault.New(fault.NotFound, "standup_not_found", "Standup not found.")
	ErrRunning   = fault.New(fault.Conflict, "already_running", "The standup is already running.")
	ErrCompleted = fault.New(fault.Conflict, "already_completed", "The standup is already completed.")
	ErrStale     = fault.New(fault.Stale, "standup_changed", "The standup has changed since you read it.")
	ErrIdle      = fault.New(fault.Conflict, "not_running", "The standup is not running.")
	ErrWaiting   = fault.New(fault.Throttled, "too_many_waiting", "Too many requests are waiting for standups.")
)

// New is the request to open a standup. All fields are optional.
type New struct {
	Team     string `json:"team,omitempty" maxLength:"64" doc:"The team's key or ID. Default: executive." example:"executive"`
	Date     string `json:"date,omitempty" maxLength:"10" doc:"The day of the standup. Default: today in the time zone."`
	Timezone string `json:"timezone,omitempty" maxLength:"64" doc:"An IANA time zone name. Default: the team's time zone."`
	Title    string `json:"title,omitempty" maxLength:"200" doc:"A single line of plain text; control and bidirectional characters are removed. Default: a title with the date."`
}

// day returns the date and the time zone that n requests. If fields are invalid, it
// returns an error that lists them.
func (n New) day(now time.Time, zone *time.Location) (date string, loc *time.Location, err error) {
	var bad fault.Fields
	if n.Timezone != "" {
		if zone, err = clock.Zone(n.Timezone); err != nil {
			bad.Add("/timezone", "Use an IANA time zone name, such as Europe/Berlin.")
			zone = time.UTC
		}
	}
	date = now.In(zone).Format(time.DateOnly)
	if n.Date != "" {
		switch date = n.Date; {
		case !isDay(date):
			bad.Add("/date", "Use a date such as 2026-11-20.")
		case !hasDay(zone, date):
			bad.Add("/date", "This date does not exist in the time zone. Use another date.")
		}
	}
	return date, zone, bad.Err()
}

// check validates the dates in the filter.
func (f Filter) check() error {
	var bad fault.Fields
	if f.From != "" && !isDay(f.From) {
		bad.Add("query.from", "Use a date such as 2026-11-20.")
	}
	if f.To != "" && !isDay(f.To) {
		bad.Add("query.to", "Use a date such as 2026-11-20.")
	}
	return bad.Err()
}

// isDay reports whether text is a valid date in the format YYYY-MM-DD and in the years 1
// through 9999. Such dates can be sorted as strings.
func isDay(text string) bool {
	day, err := time.Parse(time.DateOnly, text)
	return err == nil && day.Year() >= 1 && day.Format(time.DateOnly) == text
}

// hasDay reports whether a date exists in a time zone. A time zone that moves across the
// date line can skip a date, as Samoa's did on 30 December 2011.
func hasDay(zone *time.Location, day string) bool {
	noon, err := time.ParseInLocation(time.DateOnly+" 15", day+" 12", zone)
	return err == nil && noon.Format(time.DateOnly) == day
}

// ageDays returns the number of calendar days between two dates. It returns 0 if the dates are in
// the wrong order or if either is invalid.
func ageDays(first, date string) int {
	a, errA := time.Parse(time.DateOnly, first)
	b, errB := time.Parse(time.DateOnly, date)
	if errA != nil || errB != nil || b.Before(a) {
		return 0
	}
	return int(b.Sub(a).Hours() / 24)
}
