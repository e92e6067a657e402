// Package standup holds the daily meeting: the facilitator asks every
// participant for yesterday, today and blockers, holds what they say against
// the board, resolves what can be resolved, and closes with a summary. Nothing
// that was said is lost, whatever fails on the way.
package standup

import (
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// Status is how a standup stands.
type Status string

// The states, as the specification names them.
const (
	Running   Status = "running"   // opened, or going on; Phase tells which
	Completed Status = "completed" // closed with a summary
	Error     Status = "error"     // could not be held; Failure tells why
)

// Phase is where in the meeting a standup is.
type Phase string

// The phases, in their order. One that failed keeps the phase it failed in.
const (
	Opened     Phase = "opened"     // nobody has run it yet
	Gathering  Phase = "gathering"  // who is expected, and what the board says of them
	Collecting Phase = "collecting" // the participants are asked, one after the other
	Reviewing  Phase = "reviewing"  // the facilitator reads the reports
	Closed     Phase = "closed"
)

// ReportStatus is how asking one participant stands.
type ReportStatus string

// The states of a report.
const (
	Pending  ReportStatus = "pending"   // not asked yet
	Asked    ReportStatus = "asked"     // the question is with the agent
	Answered ReportStatus = "answered"  // the report is here
	TimedOut ReportStatus = "timed_out" // no answer in time; the text is [Timeout]
	Failed   ReportStatus = "failed"    // the agent's run failed; the transcript says how
	Missing  ReportStatus = "missing"   // no active account for this agent
)

// timeoutText is the report of an agent that did not answer in time, as the
// specification spells it.
const timeoutText = "[Timeout]"

// Codes of Failure: why a meeting could not be held.
const (
	NoActiveAgents       = "no_active_agents"
	GatewayNotConfigured = "gateway_not_configured"
	GatewayUnreachable   = "gateway_unreachable"
	AgentsTimedOut       = "agents_timed_out" // no participant answered
	FacilitatorTimedOut  = "facilitator_timed_out"
	DeadlinePassed       = "deadline"
	Cancelled            = "cancelled"
	NotRun               = "not_run"
	Internal             = "internal" // our own fault; the log says more
)

// Standup is the meeting of one team on one day.
type Standup struct {
	ID          string       `json:"id"`
	Team        string       `json:"team" doc:"The key of the team whose standup it is." example:"executive"`
	Date        string       `json:"date" format:"date" doc:"The day, in timezone."`
	Timezone    string       `json:"timezone" example:"Europe/Berlin"`
	Title       string       `json:"title"`
	Status      Status       `json:"status" enum:"running,completed,error"`
	Phase       Phase        `json:"phase" enum:"opened,gathering,collecting,reviewing,closed" doc:"Where in the meeting it is, or was when it failed."`
	Facilitator string       `json:"facilitator" doc:"The agent_id of who leads it."`
	Reports     []Report     `json:"reports" nullable:"false" doc:"One for each participant, in the order they are asked."`
	Blockers    []Blocker    `json:"blockers" nullable:"false"`
	ActionItems []ActionItem `json:"action_items" nullable:"false"`
	Escalations []Escalation `json:"escalations" nullable:"false" doc:"What the facilitator cannot settle without a human."`
	Summary     *string      `json:"summary" doc:"The facilitator's words."`
	Digest      *string      `json:"digest" doc:"The facts, put together by the service without any model."`
	Transcript  []Line       `json:"transcript" nullable:"false"`
	Failure     *Failure     `json:"error" doc:"Why the meeting could not be held; null unless status is error."`
	Attempt     int          `json:"attempt" doc:"How often it was run; 0 before the first time."`
	Trigger     string       `json:"trigger" enum:",agent,user,system" doc:"Who ran it last."`
	CostUSD     *money.Nano  `json:"cost_usd" doc:"Of all runs of this standup that have ended; null when of one of them it is not known, such as one that was stopped."`
	DeadlineAt  *clock.Time  `json:"deadline_at" doc:"When the meeting that is going on ends at the latest."`
	CreatedAt   clock.Time   `json:"created_at"`
	StartedAt   *clock.Time  `json:"started_at"`
	CompletedAt *clock.Time  `json:"completed_at" doc:"When it was completed or failed."`
	UpdatedAt   clock.Time   `json:"updated_at"`
	Version     int64        `json:"version"`

	// The team's limits as they were when the last attempt was started; zero
	// before the first one, and in standups that are older than teams.
	agentTimeout, deadline time.Duration

	spent        *money.Nano // what the runs have cost of which that is known; nil when it is of none
	unpricedRuns int         // how many have ended of which it is not
}

// Brief is a standup in a list: without what was said.
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

// BriefReport tells how asking one participant ended.
type BriefReport struct {
	AgentID string       `json:"agent_id"`
	Name    string       `json:"name"`
	Status  ReportStatus `json:"status" enum:"pending,asked,answered,timed_out,failed,missing"`
}

// Report is what one participant said.
type Report struct {
	AgentID    string       `json:"agent_id"`
	Name       string       `json:"name"`
	Status     ReportStatus `json:"status" enum:"pending,asked,answered,timed_out,failed,missing"`
	Yesterday  *string      `json:"yesterday" doc:"Markdown, as the agent wrote it."`
	Today      *string      `json:"today"`
	Blockers   *string      `json:"blockers" doc:"Null when the agent names none."`
	Text       *string      `json:"text" doc:"The whole answer, or [Timeout]."`
	Other      *string      `json:"other" doc:"What stood under none of the three headings."`
	Evidence   *Evidence    `json:"evidence" doc:"What is known of the agent's work; as it was before it was asked, also after a retry."`
	Claims     []Claim      `json:"claims" nullable:"false" doc:"What the report says and the board does not."`
	Omitted    []Item       `json:"omitted" nullable:"false" doc:"What was finished, by the evidence, and neither this report nor the agent's last one names by its key or its title."`
	AskedAt    *clock.Time  `json:"asked_at"`
	AnsweredAt *clock.Time  `json:"answered_at"`
	FiledAt    *clock.Time  `json:"filed_at" doc:"When it was filed; null when it was asked for."`
	FiledBy    *string      `json:"filed_by" doc:"The name of who filed it."`
	CostUSD    *money.Nano  `json:"cost_usd"`
}

// ActionItem is something that the facilitator wants done.
type ActionItem struct {
	Title    string  `json:"title"`
	Assignee *string `json:"assignee" doc:"An agent_id."`
	Task     *string `json:"task" doc:"The task that was made for it."`
}

// Escalation is something that needs a human.
type Escalation struct {
	Title  string  `json:"title"`
	Detail string  `json:"detail"`
	Task   *string `json:"task"`
}

// Line is one entry of the transcript.
type Line struct {
	Seq  int        `json:"seq"`
	At   clock.Time `json:"at"`
	Kind string     `json:"kind" enum:"note,question,answer,timeout,failure,summary,error"`
	From string     `json:"from" doc:"An agent_id, or wardroom."`
	To   string     `json:"to" doc:"An agent_id, or team."`
	Text string     `json:"text"`
}

// Failure is why a meeting could not be held.
type Failure struct {
	Code   string `json:"code" example:"gateway_unreachable"`
	Detail string `json:"detail"`
}

// ended says in words how a standup that is over has ended.
func (s Standup) ended() string {
	if s.Failure != nil {
		return "ended with the error " + s.Failure.Code
	}
	return "is completed"
}

func (f *Failure) Error() string { return f.Code + ": " + f.Detail }

// The failures of requests about standups.
var (
	ErrNotFound  = fault.New(fault.NotFound, "standup_not_found", "There is no such standup.")
	ErrRunning   = fault.New(fault.Conflict, "already_running", "The standup is going on.")
	ErrCompleted = fault.New(fault.Conflict, "already_completed", "The standup is completed.")
	ErrStale     = fault.New(fault.Stale, "standup_changed", "The standup was changed meanwhile.")
	ErrIdle      = fault.New(fault.Conflict, "not_running", "The standup is not going on.")
	ErrWaiting   = fault.New(fault.Throttled, "too_many_waiting", "Too many requests wait for standups.")
)

// New is what may be said of a standup that is opened. All of it is optional.
type New struct {
	Team     string `json:"team,omitempty" maxLength:"64" doc:"Whose standup it is: a team's key or id; the team executive when left out." example:"executive"`
	Date     string `json:"date,omitempty" maxLength:"10" doc:"The day it is for; today in the timezone when left out."`
	Timezone string `json:"timezone,omitempty" maxLength:"64" doc:"An IANA name; the team's when left out."`
	Title    string `json:"title,omitempty" maxLength:"200" doc:"Kept as one line, without control characters and changes of direction; after the day when left out."`
}

// day reads the day and zone of n, or says what is wrong with them.
func (n New) day(now time.Time, zone *time.Location) (date string, loc *time.Location, err error) {
	var bad fault.Fields
	if n.Timezone != "" {
		if zone, err = clock.Zone(n.Timezone); err != nil {
			bad.Add("/timezone", "Give an IANA name, such as Europe/Berlin.")
			zone = time.UTC
		}
	}
	date = now.In(zone).Format(time.DateOnly)
	if n.Date != "" {
		switch date = n.Date; {
		case !isDay(date):
			bad.Add("/date", "Give a day, such as 2026-11-20.")
		case !hasDay(zone, date):
			bad.Add("/date", "The clocks of this timezone have skipped that day.")
		}
	}
	return date, zone, bad.Err()
}

// check says what is wrong with the days of f.
func (f Filter) check() error {
	var bad fault.Fields
	if f.From != "" && !isDay(f.From) {
		bad.Add("query.from", "Give a day, such as 2026-11-20.")
	}
	if f.To != "" && !isDay(f.To) {
		bad.Add("query.to", "Give a day, such as 2026-11-20.")
	}
	return bad.Err()
}

// isDay reports whether text is a day of the calendar, in the years 1 to 9999
// and in the one spelling that sorts as the days do.
func isDay(text string) bool {
	day, err := time.Parse(time.DateOnly, text)
	return err == nil && day.Year() >= 1 && day.Format(time.DateOnly) == text
}

// hasDay reports whether a day has a noon in a zone. Some have moved over the
// date line and have a day less.
func hasDay(zone *time.Location, day string) bool {
	noon, err := time.ParseInLocation(time.DateOnly+" 15", day+" 12", zone)
	return err == nil && noon.Format(time.DateOnly) == day
}

// ageDays is how many calendar days before date first was; both are days.
func ageDays(first, date string) int {
	a, errA := time.Parse(time.DateOnly, first)
	b, errB := time.Parse(time.DateOnly, date)
	if errA != nil || errB != nil || b.Before(a) {
		return 0
	}
	return int(b.Sub(a).Hours() / 24)
}
