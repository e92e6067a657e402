package app

import (
	"time"

	"wardroom/internal/trouble"
)

// wireTrouble creates the services that tell people what is wrong with the runtime.
func (a *App) wireTrouble() {
	now := a.opts.Now
	a.Checks = &trouble.Checks{DB: a.DB, Runtime: a.Gateway, Now: now, Inbox: a.Inbox}
	a.Models = &trouble.Models{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: now, Inbox: a.Inbox, Holds: a.Holds, Usage: a.Usage,
	}
	a.Trouble = &trouble.Service{
		DB: a.DB, Gateway: a.Gateway, Log: a.log, Now: now, Every: 30 * time.Second, Inbox: a.Inbox,
	}
}
