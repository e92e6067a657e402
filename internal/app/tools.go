package app

import "wardroom/internal/mcp"

// newTools creates the service that serves the tools for agents.
func (a *App) newTools() *mcp.Service {
	return &mcp.Service{
		Tasks: a.Tasks, Standups: a.Standups, Questions: a.Approvals, Log: a.log, Version: Version,
		URL: a.agentURL, DB: a.DB, Now: a.opts.Now, Runtime: a.Gateway,
		Agents: a.Agents, Accounts: a.Accounts, Holds: a.Holds,
	}
}
