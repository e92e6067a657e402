package app

import (
	"context"
	"maps"

	"wardroom/internal/hold"
)

// holdWorkers is how many holds one process works on at once.
const holdWorkers = 8

// wireHolds creates the service that holds agents. Its queue has its own workers, because a job
// watches an agent for seconds after it has stopped its runs.
func (a *App) wireHolds() {
	a.HoldQueue = a.newQueue(holdWorkers)
	a.Holds = &hold.Service{
		DB: a.DB, Jobs: a.HoldQueue, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now,
		CheckAgent: func(ctx context.Context, agentID string) error {
			_, err := a.Agents.Get(ctx, agentID)
			return err
		},
		Settings: a.Settings, Lists: &a.Mirror.Sessions,
	}
	maps.Copy(a.HoldQueue.Kinds, a.Holds.Kinds())
}
