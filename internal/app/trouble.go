package app

import (
	"context"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/money"
	"wardroom/internal/trouble"
	"wardroom/internal/usage"
)

// wireTrouble creates the services that tell people what is wrong with the runtime.
func (a *App) wireTrouble() {
	now := a.opts.Now
	a.Logins = &trouble.Logins{DB: a.DB, Runtime: a.Gateway, Now: now, Inbox: a.Inbox}
	a.Files = &trouble.Files{DB: a.DB, Runtime: a.Gateway, Now: now, Inbox: a.Inbox}
	a.Models = &trouble.Models{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: now, Inbox: a.Inbox, AgentName: account.AgentName,
		Held: func(ctx context.Context, agentID string) (bool, error) {
			h, err := a.Holds.Find(ctx, a.DB, agentID)
			return h != nil, err
		},
		Estimate: func(ctx context.Context, provider, model string, u gateway.Usage) (*money.Nano, error) {
			return a.Usage.Estimate(ctx, provider, model, usage.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Other: u.Other})
		},
	}
	a.Trouble = &trouble.Service{
		DB: a.DB, Gateway: a.Gateway, Log: a.log, Now: now, Every: 30 * time.Second, Inbox: a.Inbox,
	}
}
