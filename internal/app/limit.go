package app

import "wardroom/internal/limit"

// wireLimits creates the service for limits and connects it to the ledger.
func (a *App) wireLimits() {
	a.Limits = &limit.Service{
		DB: a.DB, Now: a.opts.Now, Zone: a.cfg.Timezone, Jobs: a.StopQueue, Inbox: a.Inbox, Runtime: a.Gateway,
		Usage: a.Usage, Sessions: a.Sessions, Holds: a.Holds, Standups: a.Standups,
	}
	a.StopQueue.Kinds[limit.KindStop] = a.Limits.Kind()
	a.Usage.Grew, a.Usage.Urgent = a.Limits.Evaluate, a.Limits.Urgent
}
