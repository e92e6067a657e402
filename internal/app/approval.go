package app

import (
	"maps"

	"wardroom/internal/approval"
)

// wireApprovals creates the service for approvals and questions.
func (a *App) wireApprovals() {
	a.Approvals = &approval.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Patience: a.cfg.GatewayTimeout, Jobs: a.Queue,
		Inbox: a.Inbox, Sessions: a.Sessions, Tasks: a.Tasks, Redact: a.redact,
	}
	maps.Copy(a.Queue.Kinds, a.Approvals.Kinds())
}
