package app

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/archive"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
	"wardroom/internal/retention"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Features do not import each other. The functions in this file connect what one
// feature needs to what another one offers.

// currentStates returns the events that every new live stream receives first. The
// only one is the state of the gateway connection.
func (a *App) currentStates() []event.State { return []event.State{gatewayState(a.Gateway.Status())} }

// gatewayState returns the event for the state of the gateway connection. Clients
// that subscribe to sessions receive it too, because sessions are not updated while
// the gateway is offline.
func gatewayState(s gateway.Status) event.State {
	return event.State{Kind: "agentrt.status", Topics: []string{event.TopicGateway, event.TopicSession}, Data: s}
}

// publishGatewayState publishes every change in the state of the gateway connection
// to live streams until ctx ends. When the gateway stops answering, it also
// invalidates the cached sessions, because events about them may have been missed.
func (a *App) publishGatewayState(ctx context.Context) {
	a.Gateway.Watch(ctx, func(s gateway.Status) {
		if s.State == gateway.Slow {
			a.Sessions.Doubt()
		}
		a.Events.Publish(gatewayState(s))
	})
}

// noteStandup records the usage of a standup run in the ledger.
func (a *App) noteStandup(ctx context.Context, tx *db.Tx, u standup.RunUsage) error {
	r := usage.Run{
		RunID: u.RunID, AgentID: u.AgentID, SessionKey: u.SessionKey, SessionID: u.Usage.SessionID,
		Source: usage.Standup, StandupID: u.StandupID, StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		Parts: []usage.Part{usage.PartOf(u.Usage)},
	}
	_, err := a.Usage.Note(ctx, tx, r)
	return err
}

// urlForAgents returns the URL at which the runtime's agents can call the API. If the gateway's URL does not point to
// this machine, it returns an empty string.
func (a *App) urlForAgents() string {
	at := a.address.Load()
	gateway, err := url.Parse(a.Gateway.Address())
	if at == nil || err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(gateway.Hostname()); gateway.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ""
	}
	return *at
}

// agentMembers returns all agent users in the form that the agent service uses.
func (a *App) agentMembers(ctx context.Context) ([]agent.Member, error) {
	users, err := a.Accounts.AgentUsers(ctx, a.DB)
	members := make([]agent.Member, len(users))
	for i, u := range users {
		members[i] = agent.Member(u)
	}
	return members, err
}

// agentActivities returns the current activity of each agent, derived from the
// agent's sessions.
func (a *App) agentActivities(ctx context.Context) (asOf clock.Time, byAgent map[string]agent.Activity, err error) {
	asOf, seen, err := a.Sessions.Activities(ctx)
	byAgent = make(map[string]agent.Activity, len(seen))
	for id, s := range seen {
		byAgent[id] = agent.Activity{Active: s.Active, Session: s.Key, Since: s.Since, Stalled: s.Stalled, Silent: s.Silent}
	}
	return asOf, byAgent, err
}

// standupMembers returns all agent users in the form that the standup service uses.
func (a *App) standupMembers(ctx context.Context) ([]standup.Member, error) {
	users, err := a.Accounts.AgentUsers(ctx, a.DB)
	members := make([]standup.Member, len(users))
	for i, u := range users {
		members[i] = standup.Member{AgentID: u.AgentID, Name: u.Name}
	}
	return members, err
}

// standupBoard returns three kinds of an agent's tasks: open ones, those done since the
// given time, and those that the agent has claimed.
func (a *App) standupBoard(ctx context.Context, agentID string, since time.Time) ([]standup.BoardTask, error) {
	tasks, err := a.Tasks.Of(ctx, agentID, since)
	return boardTasks(tasks), err
}

// standupMade returns the tasks that an agent created for others since the given
// time.
func (a *App) standupMade(ctx context.Context, agentID string, since time.Time) ([]standup.BoardTask, error) {
	tasks, err := a.Tasks.CreatedBy(ctx, agentID, since)
	return boardTasks(tasks), err
}

func boardTasks(tasks []task.Task) []standup.BoardTask {
	board := make([]standup.BoardTask, len(tasks))
	for i, t := range tasks {
		board[i] = standup.BoardTask{
			Key: t.Key, Title: t.Title, Status: string(t.Status), Priority: string(t.Priority),
			CreatedAt: t.CreatedAt.Time, MovedAt: t.MovedAt.Time,
		}
		if t.Blocked != nil {
			board[i].BlockedReason, board[i].BlockedSince = t.Blocked.Reason, t.Blocked.Since.Time
		}
		if t.DoneAt != nil {
			board[i].DoneAt = t.DoneAt.Time
		}
	}
	return board
}

// standupReported returns the task reports that an agent submitted since the given
// time, with the receipts of those that say that a task is done.
func (a *App) standupReported(ctx context.Context, agentID string, since time.Time) ([]standup.TaskReport, error) {
	reported, err := a.Tasks.ReportsBy(ctx, agentID, since)
	out := make([]standup.TaskReport, len(reported))
	for i, r := range reported {
		out[i] = standup.TaskReport{Task: r.Key, Kind: string(r.Kind), Text: r.Text, At: clock.At(r.At)}
	}
	if err != nil {
		return nil, err
	}
	return out, a.addReceipts(ctx, out)
}

// standupDecided returns what people decided about tasks since the given time.
func (a *App) standupDecided(ctx context.Context, since time.Time) ([]standup.Decision, error) {
	all, err := a.Tasks.DecisionsSince(ctx, since)
	out := make([]standup.Decision, len(all))
	for i, d := range all {
		out[i] = standup.Decision{Task: &d.Key, Title: d.Title, Text: d.Text, Unblock: d.Unblock, By: d.By, At: clock.At(d.At), Agents: []string{}}
		if d.AgentID != "" {
			out[i].Agents = []string{d.AgentID}
		}
	}
	return out, err
}

// standupSessions counts the sessions that an agent has used since the given time.
// Standup sessions are not counted.
func (a *App) standupSessions(ctx context.Context, agentID string, since time.Time) (int, error) {
	const most = 1000
	seen, _, err := a.Sessions.List(ctx, session.Filter{AgentID: agentID}, nil, most)
	n := 0
	for _, s := range seen {
		used := s.Active || s.UpdatedAt != nil && !s.UpdatedAt.Before(since)
		if used && !strings.HasPrefix(s.Key, "agent:"+agentID+":standup:") {
			n++
		}
	}
	return n, err
}

// standupRan returns the totals of an agent's runs since the given time. They come
// from the usage ledger. The ledger does not record failures, so failed runs are
// counted from dispatches, standups, scheduled jobs and other sessions.
func (a *App) standupRan(ctx context.Context, agentID string, since time.Time) (*standup.Runs, error) {
	sums, err := a.Usage.OfAgentSince(ctx, agentID, since)
	if err != nil {
		return nil, err
	}
	tokens := standup.Tokens(sums.Tokens)
	r := standup.Runs{Count: int(sums.Runs), Unpriced: int(sums.Unpriced), Tokens: &tokens, CostUSD: sums.CostUSD, Source: standup.FromLedger}
	const most = 500
	failures, err := a.agentFailures(ctx, []string{agentID}, since, most)
	if err != nil {
		return nil, err
	}
	for _, f := range failures {
		if f.Kind != "job_missed" { // a missed job has no run
			r.Failed++
		}
	}
	others, err := a.failedSessions(ctx, agentID, since, most)
	r.Failed += others
	return &r, err
}

// failedSessions counts an agent's sessions whose last run has failed since the given
// time. It skips the sessions of tasks, standups and scheduled jobs, because
// agentFailures covers those.
func (a *App) failedSessions(ctx context.Context, agentID string, since time.Time, most int) (int, error) {
	n := 0
	for _, status := range []string{"failed", "timeout"} {
		part, err := a.Archive.List(ctx, archive.Filter{AgentID: agentID, Status: status, From: since}, page.Want{Query: page.Query{Limit: most}})
		if err != nil {
			return 0, err
		}
		for _, s := range part.Rows {
			place, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(s.Key), strings.ToLower("agent:"+agentID+":")), ":")
			if !slices.Contains([]string{"task", "standup", "cron"}, place) {
				n++
			}
		}
	}
	return n, nil
}

// makeTask creates a task from a standup's action item and returns the task's key.
func (a *App) makeTask(ctx context.Context, tx *db.Tx, title, assignee, origin string) (string, error) {
	t, err := a.Tasks.CreateForAgent(ctx, tx, task.New{Title: title, Origin: origin}, assignee)
	return t.Key, err
}

// commentAs comments on a task on behalf of an agent. If the agent has no account,
// the system is the author and the comment shows the agent's ID as the name. It
// returns false if the task does not exist or is archived.
func (a *App) commentAs(ctx context.Context, tx *db.Tx, taskKey, text, author string) (bool, error) {
	users, err := a.Accounts.AgentUsers(ctx, tx)
	if err != nil {
		return false, err
	}
	by := actor.Actor{ID: actor.System.ID, Name: author}
	for _, u := range users {
		if u.AgentID == author {
			by = actor.Actor{ID: u.UserID, Name: u.Name, Role: actor.Agent, AgentID: u.AgentID}
		}
	}
	_, err = a.Tasks.CommentIn(actor.With(ctx, by), tx, taskKey, task.CommentText{Body: text})
	if errors.Is(err, task.ErrNotFound) || errors.Is(err, task.ErrArchived) {
		return false, nil
	}
	return err == nil, err
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
