package app

import (
	"context"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/retention"
)

// The functions in this file connect what one feature needs to what another one
// offers, if the order of the features does not allow it to import that one.

// currentStates returns the events that every new live stream receives first. The
// only one is the state of the gateway connection.
func (a *App) currentStates() []event.State { return []event.State{gatewayState(a.Gateway.Status())} }

// gatewayState returns the event for the state of the gateway connection. Clients
// that subscribe to sessions receive it too, because sessions are not updated while
// the gateway is offline.
func gatewayState(s link.Status) event.State {
	return event.State{Kind: "agentrt.status", Topics: []string{event.TopicGateway, event.TopicSession}, Data: s}
}

// publishGatewayState publishes every change in the state of the gateway connection
// to live streams until ctx ends. When the gateway stops answering, it also
// invalidates the cached sessions, because events about them may have been missed.
func (a *App) publishGatewayState(ctx context.Context) {
	a.Gateway.Watch(ctx, func(s link.Status) {
		if s.State == link.Slow {
			a.Sessions.Doubt()
		}
		a.Events.Publish(gatewayState(s))
	})
}

// policies returns the retention policies.
func (a *App) policies() []retention.Policy {
	return []retention.Policy{
		{
			Name: "tasks", Setting: "ARCHIVE_AFTER_DAYS", Days: a.cfg.ArchiveAfterDays,
			Does:  "Archives tasks this many days after they are done. Nothing is deleted; restoring a task restarts the count.",
			Count: a.Tasks.CountArchivable,
			Apply: a.Tasks.ArchiveDone,
		},
		{
			Name: "activity", Setting: "ACTIVITY_LOG_RETENTION_DAYS", Days: a.cfg.ActivityLogRetentionDays,
			Does: "Deletes activity older than this many days. Task histories and the audit log are kept.",
			Count: func(ctx context.Context, before time.Time) (int64, time.Time, error) {
				return event.CountPurgeable(ctx, a.DB, before)
			},
			Apply: event.Purge,
		},
		{
			Name: "subagent_sessions", Setting: "SUBAGENT_RETENTION_DAYS", Days: a.cfg.SubagentRetentionDays,
			Does:  "Deletes archived sub-agent sessions and their messages after this many days without activity. Their usage stays in the ledger.",
			Count: a.Archive.CountOld,
			Apply: a.Archive.PurgeOld,
		},
		{
			Name: "inbox", Setting: "HISTORY_RETENTION_DAYS", Days: a.cfg.HistoryRetentionDays,
			Does:  "Deletes inbox items this many days after they are resolved. Unresolved items are kept.",
			Count: a.Inbox.CountResolved,
			Apply: a.Inbox.PurgeResolved,
		},
		{
			Name: "approvals", Setting: "HISTORY_RETENTION_DAYS", Days: a.cfg.HistoryRetentionDays,
			Does:  "Deletes approvals and questions this many days after they have ended. The audit log keeps who answered them.",
			Count: a.Approvals.CountEnded,
			Apply: a.Approvals.PurgeEnded,
		},
		{
			Name: "slots", Setting: "HISTORY_RETENTION_DAYS", Days: a.cfg.HistoryRetentionDays,
			Does:  "Deletes due times and runs of scheduled jobs that are older than this many days. Due times without a known outcome are kept.",
			Count: a.Schedules.CountOld,
			Apply: a.Schedules.PurgeOld,
		},
	}
}
