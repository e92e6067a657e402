package app

import (
	"context"
	"strings"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/platform/clock"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// The functions in this file collect what the agents' pages show.

// wireSessions creates the session service.
func (a *App) wireSessions() {
	a.Sessions = &session.Service{
		Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Patience: a.cfg.GatewayTimeout, Events: a.Events, Lists: &a.Mirror.Sessions,
		Controls: a.Gateway, DB: a.DB, Usage: a.Usage, Holds: a.Holds, StalledAfter: a.cfg.StalledAfter, Inbox: a.Inbox,
	}
}

// wireAgents creates the agent service.
func (a *App) wireAgents() {
	a.Agents = &agent.Service{
		DB: a.DB, Log: a.log,
		Runtime: a.Gateway, Members: a.agentMembers, Activities: a.agentActivities, Sessions: a.agentSessions, Overview: a.agentOverview, Records: a.agentRecords(), Holds: a.agentHolds, Now: a.opts.Now,
		ToolUses: func(ctx context.Context) (map[string]*clock.Time, error) { return a.Accounts.ToolUses(ctx, a.DB) },
	}
}

// agentRecords returns the functions that read Wardroom's own records about agents,
// such as their tasks and failures.
func (a *App) agentRecords() agent.Records {
	return agent.Records{
		Loads: a.agentLoads, Started: a.agentStarted, Tasks: a.agentTasks, Titles: a.Tasks.Titles, Said: a.agentSaid, LastSaid: a.agentLastSaid,
		Spend: a.agentSpend, Failures: a.agentFailures, Jobs: a.agentJobs,
		Verdicts: func(ctx context.Context, agentID string) (agent.Verdicts, error) {
			r, err := a.Receipts.Record(ctx, agentID)
			return agent.Verdicts(r), err
		},
	}
}

func (a *App) agentSessions(ctx context.Context, agentID string, most int) ([]agent.Session, error) {
	seen, _, err := a.Sessions.List(ctx, session.Filter{AgentID: agentID}, nil, most)
	return agentSessionsOf(seen), err
}

func (a *App) agentOverview(ctx context.Context, since time.Time) ([]agent.Session, error) {
	seen, err := a.Sessions.Overview(ctx, since)
	return agentSessionsOf(seen), err
}

func agentSessionsOf(seen []session.Session) []agent.Session {
	out := make([]agent.Session, len(seen))
	for i, s := range seen {
		out[i] = agent.Session{
			AgentID: s.AgentID, Key: s.Key, Label: s.Label, Status: s.Status, Active: s.Active, UpdatedAt: s.UpdatedAt, LastMessage: s.LastMessage, LastBy: s.LastBy, CostUSD: s.CostUSD,
		}
		if s.Active {
			out[i].Run = &agent.Run{RunID: s.ActiveRunID, Since: s.StartedAt, Stalled: s.Stalled, SilentSince: s.SilentSince}
		}
	}
	return out
}

func (a *App) agentLoads(ctx context.Context, agentIDs []string) (map[string]agent.Load, error) {
	loads, err := a.Tasks.Workloads(ctx, agentIDs)
	out := make(map[string]agent.Load, len(loads))
	for id, d := range loads {
		out[id] = agent.Load{
			Open:    agent.Counts{Backlog: d.Open[task.Backlog], Todo: d.Open[task.Todo], InProgress: d.Open[task.InProgress], Review: d.Open[task.Review]},
			Blocked: d.Blocked,
		}
	}
	return out, err
}

func (a *App) agentStarted(ctx context.Context, agentIDs []string, most int) (map[string][]agent.Started, error) {
	tasks, err := a.Tasks.InProgress(ctx, agentIDs, most)
	out := make(map[string][]agent.Started, len(tasks))
	for id, all := range tasks {
		for _, t := range all {
			out[id] = append(out[id], agent.Started(t))
		}
	}
	return out, err
}

func (a *App) agentTasks(ctx context.Context, agentID string, most int) ([]agent.Task, error) {
	last, err := a.Tasks.LatestOf(ctx, agentID, most)
	out := make([]agent.Task, len(last))
	for i, t := range last {
		out[i] = agent.Task{Key: t.Key, Title: t.Title, Status: string(t.Status), Blocked: t.Blocked != nil, Claimed: t.Claim != nil, MovedAt: t.MovedAt, UpdatedAt: t.UpdatedAt}
		if t.Dispatch != nil {
			out[i].Dispatch = new(string(t.Dispatch.State))
		}
	}
	return out, err
}

func (a *App) agentSaid(ctx context.Context, agentID string, most int) ([]agent.Said, error) {
	said, err := a.Standups.AnswersBy(ctx, agentID, most)
	out := make([]agent.Said, len(said))
	for i, s := range said {
		out[i] = saidOf(s)
	}
	return out, err
}

func (a *App) agentLastSaid(ctx context.Context, agentIDs []string) (map[string]agent.Said, error) {
	said, err := a.Standups.LatestAnswers(ctx, agentIDs)
	out := make(map[string]agent.Said, len(said))
	for id, s := range said {
		out[id] = saidOf(s)
	}
	return out, err
}

func saidOf(s standup.AgentAnswer) agent.Said {
	return agent.Said{
		StandupID: s.StandupID, Date: s.Date, Team: s.Team, Status: string(s.Status), Yesterday: s.Yesterday, Today: s.Today, Blockers: s.Blockers, At: s.At,
	}
}

func (a *App) agentJobs(ctx context.Context) ([]agent.Job, error) {
	jobs, err := a.Schedules.Outlines(ctx)
	out := make([]agent.Job, len(jobs))
	for i, j := range jobs {
		out[i] = agent.Job{ID: j.JobID, AgentID: j.AgentID, Name: j.Name, Next: j.Next}
	}
	return out, err
}

func (a *App) agentSpend(ctx context.Context, agentIDs []string, now time.Time) (map[string]agent.Spend, error) {
	recent, err := a.Usage.OfAgents(ctx, agentIDs, now)
	spent := func(from clock.Time, s usage.Sums) agent.Spent {
		t := s.Tokens
		return agent.Spent{From: from, Runs: s.Runs, Unpriced: s.Unpriced, Tokens: t.Input + t.Output + t.CacheRead + t.CacheWrite + t.Other, CostUSD: s.CostUSD}
	}
	all := make(map[string]agent.Spend, len(recent))
	for id, r := range recent {
		out := agent.Spend{
			Zone: r.Zone, Today: spent(r.FromToday, r.Today), Week: spent(r.FromWeek, r.Last7Days), Thirty: spent(r.FromMonth, r.LastThirtyDays),
			Begins: r.Begins, Followed: r.Since,
		}
		for _, d := range r.Days {
			out.Days = append(out.Days, agent.Day{Day: d.Day, Runs: d.Runs, Unpriced: d.Unpriced, CostUSD: d.CostUSD})
		}
		all[id] = out
	}
	return all, err
}

func (a *App) agentFailures(ctx context.Context, agentIDs []string, since time.Time, most int) ([]agent.Failure, error) {
	var out []agent.Failure
	// The runtime's session keys are lowercase.
	sessionOf := func(id, kind, of string) string { return strings.ToLower("agent:" + id + ":" + kind + ":" + of) }
	handed, err := a.Dispatch.FailedOf(ctx, agentIDs, since, most)
	if err != nil {
		return nil, err
	}
	for _, f := range handed {
		out = append(out, agent.Failure{AgentID: f.AgentID, Kind: "dispatch", What: f.Task, Detail: f.Why, At: f.At, Ran: f.Ran, Session: sessionOf(f.AgentID, "task", f.Task)})
	}
	unanswered, err := a.Standups.UnansweredBy(ctx, agentIDs, since, most)
	if err != nil {
		return nil, err
	}
	for _, s := range unanswered {
		why := "No answer before the deadline."
		if s.Status != "timed_out" {
			why = "The run failed."
		}
		if s.At != nil {
			out = append(out, agent.Failure{AgentID: s.AgentID, Kind: "standup", What: s.Date, Detail: why, At: *s.At, Ran: true, Session: sessionOf(s.AgentID, "standup", s.Date)})
		}
	}
	slots, err := a.Schedules.FailedSlots(ctx, agentIDs, since, most)
	for _, t := range slots {
		f := agent.Failure{AgentID: t.AgentID, Kind: "job_" + t.State, What: t.Name, Detail: t.Reason, At: t.DueAt}
		if t.State == "failed" { // a missed job has no run
			f.Ran, f.Session = true, sessionOf(t.AgentID, "cron", t.JobID)
		}
		out = append(out, f)
	}
	return out, err
}
