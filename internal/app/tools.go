package app

import (
	"context"

	"wardroom/internal/hold"
	"wardroom/internal/mcp"
	"wardroom/internal/platform/fault"
)

// newTools creates the service that serves the tools for agents.
func (a *App) newTools() *mcp.Service {
	return &mcp.Service{
		Tasks: a.Tasks, Standups: a.Standups, Questions: a.Approvals, Log: a.log, Version: Version, PublicURL: a.cfg.PublicURL, OwnURL: a.urlForAgents,
		DB: a.DB, Now: a.opts.Now, Runtime: a.Gateway, Agents: a.toolUsers, Used: a.Accounts.NoteTools,
		Held:     func(ctx context.Context, agentID string) error { return a.Holds.Check(ctx, a.DB, agentID) },
		Refusals: []*fault.Error{hold.ErrHeld},
	}
}

// toolUsers returns all agents in the form that the tools use. While the gateway is unreachable, an agent
// that it had before counts as one of its agents.
func (a *App) toolUsers(ctx context.Context) ([]mcp.Agent, error) {
	agents, err := a.Agents.List(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := a.Accounts.ToolUses(ctx, a.DB)
	out := make([]mcp.Agent, len(agents))
	for i, one := range agents {
		used, has := uses[one.AgentID]
		out[i] = mcp.Agent{AgentID: one.AgentID, Name: one.Name, InRuntime: one.AsOf != nil, Key: has, UsedAt: used}
		if one.Account != nil {
			out[i].UserID = one.Account.UserID
		}
	}
	return out, err
}
