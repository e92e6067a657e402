package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"wardroom/internal/hold"
	"wardroom/internal/limit"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

// wireLimits creates the service for limits and connects it to the ledger.
func (a *App) wireLimits() {
	a.Limits = &limit.Service{
		DB: a.DB, Now: a.opts.Now, Zone: a.cfg.Timezone, Jobs: a.StopQueue, StartOfDay: usage.StartOfDay, AgentsOf: a.agentsOfTeam,
		SpentIn: a.spentIn, SpentSoFar: a.spentSoFar, SpentByRun: a.spentByRun, Since: a.Usage.FollowedSince, RunsOver: a.runsOver, SessionsInProgress: a.sessionsInProgress, InProgress: a.runInProgress,
		Stop: a.stopSession, HoldIn: a.holdFreeAgent, Inbox: a.Inbox,
	}
	a.StopQueue.Kinds[limit.KindStop] = a.Limits.Kind()
	a.Usage.Grew = a.compareWithLimits
	a.Usage.Urgent = func(u usage.Unread) bool {
		return a.Limits.Urgent(limit.Usage{NanoDollars: u.NanoDollars, Tokens: u.Tokens, Calls: u.Calls})
	}
}

// holdFreeAgent holds an agent unless it is held already, so that the reason of a person stays.
func (a *App) holdFreeAgent(ctx context.Context, tx *db.Tx, agentID, reason string) error {
	h, err := a.Holds.Find(ctx, tx, agentID)
	if err != nil || h != nil && h.State == hold.Held {
		return err
	}
	return a.Holds.HoldIn(ctx, tx, agentID, reason)
}

// compareWithLimits compares the limits with usage that has grown.
func (a *App) compareWithLimits(ctx context.Context, tx *db.Tx, r usage.Run, inProgress bool) error {
	return a.Limits.Evaluate(ctx, tx, limit.Run{
		ID: r.RunID, AgentID: r.AgentID, SessionKey: r.SessionKey, JobID: r.JobID, TaskKey: r.TaskKey, At: r.EndedAt, InProgress: inProgress,
	})
}

// stopSession ends everything that runs in a session.
func (a *App) stopSession(ctx context.Context, key string) (bool, error) {
	_, stopped, err := a.Gateway.StopSession(ctx, key, "")
	return stopped, err
}

// agentsOfTeam returns the agents of a team, and none if there is no such team.
func (a *App) agentsOfTeam(ctx context.Context, q db.Queryer, team string) ([]string, error) {
	t, err := a.Standups.FindTeam(ctx, q, team)
	if errors.Is(err, standup.ErrTeamNotFound) {
		return nil, nil
	}
	return append(slices.Clone(t.Participants), t.Facilitator), err
}

// usageScope converts the scope of a limit to that of the ledger. A run is no scope there, but selected by its ID.
func usageScope(of limit.Scope) usage.Scope {
	if of.Kind == limit.OneRun {
		return usage.Scope{}
	}
	by := map[limit.ScopeKind]usage.Group{
		limit.All: "", limit.Agent: usage.ByAgent, limit.Model: usage.ByModel, limit.Job: usage.ByJob, limit.Task: usage.ByTask,
	}
	return usage.Scope{By: by[of.Kind], Names: of.IDs}
}

func limitUsage(s usage.Spent) limit.Usage {
	t := s.Tokens
	u := limit.Usage{
		Tokens: t.Input + t.Output + t.CacheRead + t.CacheWrite + t.Other, Unpriced: s.Unpriced, Calls: s.Calls, Minutes: int64(s.Took / time.Minute),
	}
	if s.CostUSD != nil {
		u.NanoDollars = int64(*s.CostUSD)
	}
	return u
}

func (a *App) spentIn(ctx context.Context, q db.Queryer, of limit.Scope, periods [][2]time.Time) ([]limit.Usage, error) {
	all := make([]usage.Period, len(periods))
	for i, p := range periods {
		all[i] = usage.Period{From: p[0], To: p[1]}
	}
	sums, err := a.Usage.SpentIn(ctx, q, usageScope(of), all)
	used := make([]limit.Usage, len(sums))
	for i, s := range sums {
		used[i] = limitUsage(s)
	}
	return used, err
}

func (a *App) spentSoFar(ctx context.Context, q db.Queryer, of limit.Scope, since time.Time) (limit.Usage, error) {
	sums, err := a.Usage.SpentSoFar(ctx, q, usageScope(of), since)
	return limitUsage(sums), err
}

func (a *App) spentByRun(ctx context.Context, q db.Queryer, of limit.Scope, runID string) (limit.Usage, error) {
	sums, err := a.Usage.SpentByRun(ctx, q, usageScope(of), runID)
	return limitUsage(sums), err
}

// runInProgress reports whether a run has used tokens and has not ended, or can be the one that an active session does
// not name.
func (a *App) runInProgress(ctx context.Context, runID string) (bool, error) {
	going, err := a.Usage.InProgress(ctx, runID)
	if err != nil || going {
		return going, err
	}
	all, err := a.Sessions.Overview(ctx, a.opts.Now())
	return slices.ContainsFunc(all, func(s session.Session) bool {
		return s.Active && (s.ActiveRunID == nil || *s.ActiveRunID == runID)
	}), err
}

func (a *App) runsOver(ctx context.Context, q db.Queryer, of limit.Scope, since time.Time, m limit.Measure, amount int64) (int, error) {
	by := map[limit.Measure]usage.Quantity{
		limit.Dollars: usage.NanoDollars, limit.Tokens: usage.Volume, limit.Calls: usage.Calls, limit.Minutes: usage.Milliseconds,
	}[m]
	if m == limit.Minutes {
		amount *= time.Minute.Milliseconds()
	}
	return a.Usage.RunsOver(ctx, q, usageScope(of), since, by, amount)
}

func (a *App) sessionsInProgress(ctx context.Context, q db.Queryer, of limit.Scope) ([]string, error) {
	return a.Usage.SessionsInProgress(ctx, q, usageScope(of))
}
