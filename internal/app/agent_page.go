package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/fault"
	"wardroom/internal/session"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// The functions in this file collect what the agents' pages show.

// wireSessions creates the session service.
func (a *App) wireSessions() {
	a.Sessions = &session.Service{
		Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Patience: a.cfg.GatewayTimeout, Publish: a.publish, Lists: &a.Mirror.Sessions,
		Controls: a.Gateway, DB: a.DB, Followed: a.Events.Followed,
		CheckAgent: a.checkAgent, NoAgent: []*fault.Error{agent.ErrNotFound},
		StalledAfter: a.cfg.StalledAfter, Raise: a.Inbox.Raise, Resolve: a.Inbox.ResolveCause,
		Away: func(err error) bool { return a.outage.notice("stalled runs", err) },
	}
}

// checkAgent returns an error unless the runtime has the agent.
func (a *App) checkAgent(ctx context.Context, agentID string) error {
	roster, err := a.Gateway.Agents(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(roster, func(one gateway.Agent) bool { return strings.EqualFold(one.ID, agentID) }) {
		return agent.ErrNotFound.With("The runtime has no agent %q. Add it to the runtime's configuration, or choose one with in_runtime from GET /agents.", agentID)
	}
	return nil
}

// wireAgents creates the agent service.
func (a *App) wireAgents() {
	a.Agents = &agent.Service{
		DB: a.DB, Log: a.log,
		Runtime: a.Gateway, Members: a.agentMembers, Activities: a.agentActivities, Sessions: a.agentSessions, Records: a.agentRecords(), Now: a.opts.Now,
	}
}

// agentRecords returns the functions that read Wardroom's own records about an agent,
// such as its tasks and failures.
func (a *App) agentRecords() agent.Records {
	return agent.Records{Desk: a.agentDesk, Said: a.agentSaid, Spend: a.agentSpend, Failures: a.agentFailures}
}

func (a *App) agentSessions(ctx context.Context, agentID string, most int) ([]agent.Session, error) {
	seen, _, err := a.Sessions.List(ctx, session.Filter{AgentID: agentID}, nil, most)
	out := make([]agent.Session, len(seen))
	for i, s := range seen {
		out[i] = agent.Session{
			Key: s.Key, Kind: s.Kind, Label: s.Label, Status: s.Status, Active: s.Active, UpdatedAt: s.UpdatedAt, LastMessage: s.LastMessage, CostUSD: s.CostUSD,
		}
		if s.Active {
			out[i].Run = &agent.Run{SessionKey: s.Key, RunID: s.ActiveRunID, Since: s.StartedAt, Stalled: s.Stalled, SilentSince: s.SilentSince}
		}
	}
	return out, err
}

func (a *App) agentDesk(ctx context.Context, agentID string, most int) (agent.Desk, error) {
	d, err := a.Tasks.WorkloadOf(ctx, agentID, most)
	desk := agent.Desk{
		Open:    agent.Counts{Backlog: d.Open[task.Backlog], Todo: d.Open[task.Todo], InProgress: d.Open[task.InProgress], Review: d.Open[task.Review]},
		Blocked: d.Blocked, Claimed: d.Claimed, Last: make([]agent.Task, len(d.Last)),
	}
	for i, t := range d.Last {
		desk.Last[i] = agent.Task{Key: t.Key, Title: t.Title, Status: string(t.Status), Blocked: t.Blocked != nil, Claimed: t.Claim != nil, MovedAt: t.MovedAt, UpdatedAt: t.UpdatedAt}
		if t.Dispatch != nil {
			desk.Last[i].Dispatch = new(string(t.Dispatch.State))
		}
	}
	return desk, err
}

func (a *App) agentSaid(ctx context.Context, agentID string, most int) ([]agent.Said, error) {
	said, err := a.Standups.AnswersBy(ctx, agentID, most)
	out := make([]agent.Said, len(said))
	for i, s := range said {
		out[i] = agent.Said{
			StandupID: s.StandupID, Date: s.Date, Team: s.Team, Status: string(s.Status), Yesterday: s.Yesterday, Today: s.Today, Blockers: s.Blockers, At: s.At,
		}
	}
	return out, err
}

func (a *App) agentSpend(ctx context.Context, agentID string, now time.Time) (agent.Spend, error) {
	r, err := a.Usage.OfAgent(ctx, agentID, now)
	spent := func(s usage.Sums) agent.Spent {
		t := s.Tokens
		return agent.Spent{Runs: s.Runs, Unpriced: s.Unpriced, Tokens: t.Input + t.Output + t.CacheRead + t.CacheWrite + t.Other, CostUSD: s.CostUSD}
	}
	out := agent.Spend{Zone: r.Zone, Today: spent(r.Today), Week: spent(r.Last7Days), Thirty: spent(r.LastThirtyDays)}
	out.Today.From, out.Week.From, out.Thirty.From = r.FromToday, r.FromWeek, r.FromMonth
	return out, err
}

func (a *App) agentFailures(ctx context.Context, agentID string, since time.Time, most int) ([]agent.Failure, error) {
	var out []agent.Failure
	// The runtime's session keys are lowercase.
	sessionOf := func(kind, of string) string { return strings.ToLower("agent:" + agentID + ":" + kind + ":" + of) }
	handed, err := a.Dispatch.FailedOf(ctx, agentID, since, most)
	if err != nil {
		return nil, err
	}
	for _, f := range handed {
		out = append(out, agent.Failure{Kind: "dispatch", What: f.Task, Detail: f.Why, At: f.At, Session: sessionOf("task", f.Task)})
	}
	unanswered, err := a.Standups.UnansweredBy(ctx, agentID, since, most)
	if err != nil {
		return nil, err
	}
	for _, s := range unanswered {
		why := "No answer before the deadline."
		if s.Status != "timed_out" {
			why = "The run failed."
		}
		if s.At != nil {
			out = append(out, agent.Failure{Kind: "standup", What: s.Date, Detail: why, At: *s.At, Session: sessionOf("standup", s.Date)})
		}
	}
	slots, err := a.Schedules.FailedSlots(ctx, agentID, since, most)
	for _, t := range slots {
		f := agent.Failure{Kind: "job_" + t.State, What: t.Name, Detail: t.Reason, At: t.DueAt}
		if t.State == "failed" { // a missed job has no run
			f.Session = sessionOf("cron", t.JobID)
		}
		out = append(out, f)
	}
	return out, err
}
