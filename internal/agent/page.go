package agent

import (
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
	"wardroom/internal/receipt"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Page describes one agent, with its current work, reports, costs and failures.
type Page struct {
	Agent
	Tasks    Desk       `json:"tasks"`
	Standups []Said     `json:"standups" nullable:"false" doc:"The latest standup reports, newest first; at most 5."`
	Spend    Spend      `json:"spend" doc:"Costs according to the usage ledger."`
	Outcome  Outcome    `json:"runs_last_7_days"`
	Verdicts Verdicts   `json:"verdicts" doc:"What people decided about the agent's finished tasks."`
	Upcoming []Upcoming `json:"upcoming" nullable:"false" doc:"The next run of each enabled job, soonest first; at most 10."`
	Failures []Failure  `json:"failures" nullable:"false" doc:"Failures of the last 7 days, newest first; at most 20."`
	Sessions *[]Session `json:"sessions" doc:"The latest sessions in the runtime, active ones first; at most 10. Of the finished sessions of a job or task, only the latest; none of finished sub-agents. Null while unknown."`
}

// Summary describes what an agent does and did, in a list of agents.
type Summary struct {
	Session *Session  `json:"session" doc:"The session whose run in progress started first, otherwise the one used last. Null without sessions, and while unknown: see presence."`
	Tasks   Load      `json:"tasks"`
	Started []Started `json:"in_progress" nullable:"false" doc:"The tasks in progress, most recently changed first; at most 3."`
	Spend   Spend     `json:"spend" doc:"Costs according to the usage ledger."`
	Outcome Outcome   `json:"runs_last_7_days"`
	Next    *Upcoming `json:"next_run" doc:"The next scheduled run; null if no run is expected."`
	Standup *Said     `json:"standup" doc:"The latest standup report; null without reports."`
}

// Outcome counts the runs of an agent in the days of Spend.Week.
type Outcome struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed" doc:"Failed dispatches, standup reports, scheduled runs, and sessions whose last run failed."`
}

// Verdicts counts what people decided about tasks that the agent had reported as done.
type Verdicts receipt.Record

// Upcoming is the next run of a scheduled job.
type Upcoming struct {
	JobID string     `json:"job_id"`
	Name  string     `json:"name" doc:"Untrusted."`
	At    clock.Time `json:"at"`
}

// Run is a run in progress.
type Run struct {
	RunID       *string     `json:"run_id" doc:"Null if unknown."`
	Since       *clock.Time `json:"since" doc:"When the run started; null if unknown."`
	Stalled     bool        `json:"stalled" doc:"Whether the run has shown no activity for longer than STALLED_AFTER."`
	SilentSince *clock.Time `json:"silent_since" doc:"Last activity; null unless stalled."`
}

// Session is a summary of a session.
type Session struct {
	AgentID     string      `json:"agent_id"`
	Key         string      `json:"key"`
	Label       *string     `json:"label"`
	Title       *string     `json:"title" doc:"The title of its task, or the name of its job. Null if it has neither. Untrusted."`
	Status      *string     `json:"status" doc:"The runtime's status of the current or last run."`
	Active      bool        `json:"active"`
	UpdatedAt   *clock.Time `json:"updated_at"`
	LastMessage *string     `json:"last_message" doc:"The start of the last message by a user or the agent, on one line."`
	LastBy      *string     `json:"last_message_by" enum:"user,assistant" doc:"Who wrote the last message; null if unknown."`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Null while unknown."`
	Run         *Run        `json:"run" doc:"The run in progress; null without one."`
	Earlier     int         `json:"earlier" doc:"The number of other finished sessions of its job or task, which are not in the list."`
}

// newSession returns the summary of a session, without its title.
func newSession(s session.Session) Session {
	out := Session{
		AgentID: s.AgentID, Key: s.Key, Label: s.Label, Status: s.Status, Active: s.Active, UpdatedAt: s.UpdatedAt,
		LastMessage: s.LastMessage, LastBy: s.LastBy, CostUSD: s.CostUSD,
	}
	if s.Active {
		out.Run = &Run{RunID: s.ActiveRunID, Since: s.StartedAt, Stalled: s.Stalled, SilentSince: s.SilentSince}
	}
	return out
}

// Load counts the open tasks of an agent.
type Load struct {
	Open    Counts `json:"open" doc:"Number of open tasks by column."`
	Blocked int64  `json:"blocked" doc:"Number of blocked open tasks."`
}

func newLoad(w task.Workload) Load {
	open := Counts{w.Open[task.Backlog], w.Open[task.Todo], w.Open[task.InProgress], w.Open[task.Review]}
	return Load{Open: open, Blocked: w.Blocked}
}

// Started is a task in progress.
type Started task.Brief

// Desk summarizes the tasks of an agent.
type Desk struct {
	Load
	Last []Task `json:"last" nullable:"false" doc:"The most recently changed tasks; at most 10."`
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

func newTask(t task.Task) Task {
	out := Task{
		Key: t.Key, Title: t.Title, Status: string(t.Status), Blocked: t.Blocked != nil, Claimed: t.Claim != nil,
		MovedAt: t.MovedAt, UpdatedAt: t.UpdatedAt,
	}
	if t.Dispatch != nil {
		out.Dispatch = new(string(t.Dispatch.State))
	}
	return out
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

func newSaid(a standup.AgentAnswer) Said {
	return Said{
		StandupID: a.StandupID, Date: a.Date, Team: a.Team, Status: string(a.Status),
		Yesterday: a.Yesterday, Today: a.Today, Blockers: a.Blockers, At: a.At,
	}
}

// Spend is the recent usage of an agent. The longer periods include the shorter ones.
type Spend struct {
	Zone   string `json:"zone" example:"Europe/Berlin" doc:"The time zone of the days."`
	Today  Spent  `json:"today"`
	Week   Spent  `json:"last_7_days" doc:"Today and the 6 days before."`
	Thirty Spent  `json:"last_30_days" doc:"Today and the 29 days before."`
	Days   []Day  `json:"days" nullable:"false" doc:"The last 7 days, earliest first."`

	Begins   *clock.Time `json:"ledger_begins_at" doc:"When usage tracking started. Earlier usage is unknown, even if a sum is 0."`
	Followed *clock.Time `json:"followed_since" doc:"When Wardroom first connected to the runtime. Earlier usage may be incomplete."`
}

func newSpend(r usage.Recent) Spend {
	out := Spend{
		Zone: r.Zone, Today: newSpent(r.FromToday, r.Today), Week: newSpent(r.FromWeek, r.Last7Days),
		Thirty: newSpent(r.FromMonth, r.LastThirtyDays), Begins: r.Begins, Followed: r.Since,
	}
	for _, d := range r.Days {
		out.Days = append(out.Days, Day{Day: d.Day, Runs: d.Runs, Unpriced: d.Unpriced, CostUSD: d.CostUSD})
	}
	return out
}

// Day is the cost of an agent on one day.
type Day struct {
	Day      string      `json:"day" example:"2026-11-20"`
	Runs     int64       `json:"runs"`
	Unpriced int64       `json:"unpriced_runs"`
	CostUSD  *money.Nano `json:"cost_usd" doc:"Null if no run has a known price."`
}

// Spent is an agent's usage since From.
type Spent struct {
	From     clock.Time  `json:"from"`
	Runs     int64       `json:"runs"`
	Unpriced int64       `json:"unpriced_runs" doc:"Number of runs with an unknown cost. cost_usd does not include them."`
	Tokens   int64       `json:"tokens" doc:"Total of all token classes."`
	CostUSD  *money.Nano `json:"cost_usd" doc:"Null if no run has a known price; 0 only if the cost is 0."`
}

func newSpent(from clock.Time, s usage.Sums) Spent {
	return Spent{From: from, Runs: s.Runs, Unpriced: s.Unpriced, Tokens: s.Tokens.Sum(), CostUSD: s.CostUSD}
}

// Failure describes a failed dispatch, standup report, scheduled job or session of an agent.
type Failure struct {
	Kind   string     `json:"kind" enum:"dispatch,standup,job_missed,job_failed,session" doc:"dispatch: a task could not be dispatched, or its run failed. standup: the agent did not answer. job_missed, job_failed: a scheduled job. session: the last run of a session failed."`
	What   string     `json:"what" example:"TASK-12" doc:"The key of the task, the day of the standup, the name of the job, or the key of the session."`
	Detail string     `json:"detail" doc:"Untrusted: can quote the runtime or an agent."`
	At     clock.Time `json:"at"`
	Key    *string    `json:"session_key" doc:"The session in which it failed; null if the runtime does not have it or its last run did not fail."`

	AgentID string `json:"-"`
	Ran     bool   `json:"-"` // whether a run failed; false if none started
	// Session is the key of the session in which the failure occurred, or a prefix of that key. It
	// is empty if there is no such session.
	Session string `json:"-"`
}
