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
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/page"
	"wardroom/internal/retention"
	"wardroom/internal/schedule"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/trouble"
	"wardroom/internal/usage"
)

// Features do not know each other. Here their questions meet their answers.

// currentStates is what a new live stream is told first.
func (a *App) currentStates() []event.State { return []event.State{gatewayState(a.Gateway.Status())} }

func gatewayState(s gateway.Status) event.State {
	// Whoever shows sessions must learn that they can be seen no more.
	return event.State{Kind: "agentrt.status", Topics: []string{event.TopicGateway, event.TopicSession}, Data: s}
}

// tellGateway lets live streams know how the connection is doing, until ctx
// ends, and the sessions when it stands still: then no event tells of changes.
func (a *App) tellGateway(ctx context.Context) {
	a.Gateway.Watch(ctx, func(s gateway.Status) {
		if s.State == gateway.Slow {
			a.Sessions.Doubt()
		}
		if err := a.Events.Publish(gatewayState(s)); err != nil {
			a.log.ErrorContext(ctx, "the gateway's state cannot be told", "err", err)
		}
	})
}

// toldAtOnce is how many sessions are told in one portion. All that the runtime
// has may be new at once, and a stream takes 64 portions and a few hundred
// kilobytes in one.
const toldAtOnce = 250

// tellSessions lets live streams know which of the runtime's sessions changed.
func (a *App) tellSessions(changed []session.Session, gone []string) {
	topics := []string{event.TopicSession}
	states := make([]event.State, 0, len(changed)+len(gone))
	for i := range changed {
		states = append(states, event.State{Kind: "session.changed", Topics: topics, Data: &changed[i]})
	}
	for _, key := range gone {
		states = append(states, event.State{Kind: "session.gone", Topics: topics, Data: goneSession{key}})
	}
	for portion := range slices.Chunk(states, toldAtOnce) {
		if err := a.Events.Publish(portion...); err != nil {
			a.log.Error("changed sessions cannot be told", "err", err)
		}
	}
}

// goneSession is what is told of a session that the runtime has no more.
type goneSession struct {
	Key string `json:"key"`
}

// tellMessage lets the live streams that follow a session know what is said in it.
func (a *App) tellMessage(key string, n session.News) {
	state := event.State{Kind: "session.message", Topics: []string{event.TopicSession}, Data: n, Session: key}
	if err := a.Events.Publish(state); err != nil {
		a.log.Error("a session's message cannot be told", "err", err)
	}
}

// readSessions gives each reading of the runtime's sessions to those who keep
// something of it.
func (a *App) readSessions(rows []gateway.Session, counted *gateway.SessionUsage) {
	a.Usage.Read(rows, counted)
	if counted == nil {
		a.Archive.Observe(rows)
	}
}

// notedUsage is what the ledger has of transcripts, as the runtime counts it: without
// our own estimates.
func (a *App) notedUsage(ctx context.Context, transcripts []string) (map[string]session.Noted, error) {
	all, err := a.Usage.OfTranscripts(ctx, transcripts)
	noted := make(map[string]session.Noted, len(all))
	for id, t := range all {
		if t.Runs+t.Corrections == 0 {
			continue
		}
		n := session.Noted{Version: t.Version, Copied: t.Copied}
		n.Input, n.Output, n.CacheRead, n.CacheWrite = t.Tokens.Input, t.Tokens.Output, t.Tokens.CacheRead, t.Tokens.CacheWrite
		if t.CostUSD != nil {
			n.CostNanoUSD = int64(*t.CostUSD - t.Estimated)
		}
		switch {
		case t.Unpriced == 0 && t.Estimated == 0:
			n.Pricing = gateway.Priced
		case n.CostNanoUSD != 0:
			n.Pricing = gateway.PartlyPriced
		}
		noted[id] = n
	}
	return noted, err
}

// tellUsage lets live streams know that the ledger has changed.
func (a *App) tellUsage(asOf clock.Time) {
	state := event.State{Kind: "usage.grown", Topics: []string{event.TopicUsage}, Data: grownUsage{asOf}}
	if err := a.Events.Publish(state); err != nil {
		a.log.Error("that the usage has grown cannot be told", "err", err)
	}
}

// grownUsage is what is told of a ledger that has changed.
type grownUsage struct {
	AsOf clock.Time `json:"as_of"`
}

// noteStandup puts what a standup's run used into the ledger.
func (a *App) noteStandup(ctx context.Context, tx *db.Tx, u standup.RunUsage) error {
	r := usage.Run{
		RunID: u.RunID, AgentID: u.AgentID, SessionKey: u.SessionKey, SessionID: u.Usage.SessionID,
		Source: usage.Standup, StandupID: u.StandupID, StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		Parts: []usage.Part{usagePart(u.Usage)},
	}
	_, err := a.Usage.Note(ctx, tx, r)
	return err
}

// spentOnTask puts on a task's card what the ledger has of its runs.
func (a *App) spentOnTask(ctx context.Context, tx *db.Tx, key string) (event.Subject, bool, error) {
	sums, err := a.Usage.OfTask(ctx, tx, key)
	if err != nil {
		return event.Subject{}, false, err
	}
	return a.Tasks.SetSpend(ctx, tx, key, task.Spend{CostUSD: sums.CostUSD, Tokens: task.Tokens(sums.Tokens), Unpriced: sums.Unpriced})
}

// usagePart is what a run used, as the runtime told.
func usagePart(u gateway.Usage) usage.Part {
	p := usage.Part{
		Provider: u.Provider, Model: u.Model,
		Tokens: usage.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Other: u.Other},
	}
	if u.CostNanoUSD != nil {
		cost := money.Nano(*u.CostNanoUSD)
		p.Cost = &cost
	}
	return p
}

// urlForAgents is where the runtime's agents reach this service when both are
// on one machine; empty when that is not known.
func (a *App) urlForAgents() string {
	at := a.address.Load()
	gateway, err := url.Parse(a.cfg.GatewayURL)
	if at == nil || err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(gateway.Hostname()); gateway.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ""
	}
	return *at
}

func (a *App) agentMembers(ctx context.Context) ([]agent.Member, error) {
	users, err := a.Accounts.AgentUsers(ctx, a.DB)
	members := make([]agent.Member, len(users))
	for i, u := range users {
		members[i] = agent.Member(u)
	}
	return members, err
}

// agentActivities is what the sessions tell of the agents.
func (a *App) agentActivities(ctx context.Context) (asOf clock.Time, byAgent map[string]agent.Activity, err error) {
	asOf, seen, err := a.Sessions.Activities(ctx)
	byAgent = make(map[string]agent.Activity, len(seen))
	for id, s := range seen {
		byAgent[id] = agent.Activity{Active: s.Active, Session: s.Key, Since: s.Since, Stalled: s.Stalled, Silent: s.Silent}
	}
	return asOf, byAgent, err
}

func (a *App) standupMembers(ctx context.Context) ([]standup.Member, error) {
	users, err := a.Accounts.AgentUsers(ctx, a.DB)
	members := make([]standup.Member, len(users))
	for i, u := range users {
		members[i] = standup.Member{AgentID: u.AgentID, Name: u.Name}
	}
	return members, err
}

func (a *App) standupBoard(ctx context.Context, agentID string, since time.Time) ([]standup.BoardTask, error) {
	tasks, err := a.Tasks.Of(ctx, agentID, since)
	return boardTasks(tasks), err
}

// standupMade lists what an agent has made for others.
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

func (a *App) standupReported(ctx context.Context, agentID string, since time.Time) ([]standup.TaskReport, error) {
	reported, err := a.Tasks.ReportsBy(ctx, agentID, since)
	out := make([]standup.TaskReport, len(reported))
	for i, r := range reported {
		out[i] = standup.TaskReport{Task: r.Key, Kind: string(r.Kind), Text: r.Text, At: clock.At(r.At)}
	}
	return out, err
}

// standupSessions counts the sessions of an agent that were in use since then,
// but for those in which standups ask it.
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

// standupRan is what the runs of an agent came to since then, by the ledger, and
// how many of them failed, by whoever asked for them.
func (a *App) standupRan(ctx context.Context, agentID string, since time.Time) (*standup.Runs, error) {
	sums, err := a.Usage.OfAgentSince(ctx, agentID, since)
	if err != nil {
		return nil, err
	}
	tokens := standup.Tokens(sums.Tokens)
	r := standup.Runs{Count: int(sums.Runs), Unpriced: int(sums.Unpriced), Tokens: &tokens, CostUSD: sums.CostUSD, Source: standup.FromLedger}
	const most = 500
	told, err := a.agentFailures(ctx, agentID, since, most)
	if err != nil {
		return nil, err
	}
	for _, f := range told {
		if f.Kind != "job_missed" { // which had no run
			r.Failed++
		}
	}
	untold, err := a.failedSessions(ctx, agentID, since, most)
	r.Failed += untold
	return &r, err
}

// failedSessions counts the sessions of an agent whose last run failed since
// then, without those of tasks, standups and timed jobs: who asked for such a run
// has noted its end.
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

// raiseOfStandup makes what a standup cannot settle an item of the inbox.
func (a *App) raiseOfStandup(ctx context.Context, tx *db.Tx, m standup.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem(m))
}

// raiseOfTask makes a task that stays blocked an item of the inbox.
func (a *App) raiseOfTask(ctx context.Context, tx *db.Tx, m task.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem{Cause: m.Cause, Kind: m.Kind, Severity: m.Severity, Title: m.Title, Detail: m.Detail, Subject: m.Subject})
}

// raiseOfSchedule makes a job that did not run as it should an item of the inbox.
func (a *App) raiseOfSchedule(ctx context.Context, tx *db.Tx, m schedule.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem(m))
}

// raiseOfSession makes a run that has stalled an item of the inbox.
func (a *App) raiseOfSession(ctx context.Context, tx *db.Tx, m session.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem{Cause: m.Cause, Kind: m.Kind, Severity: m.Severity, Title: m.Title, Detail: m.Detail, Subject: m.Subject})
}

// raiseOfGateway makes a gateway in trouble an item of the inbox.
func (a *App) raiseOfGateway(ctx context.Context, tx *db.Tx, m trouble.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem(m))
}

// jobsChanged is what is told of the runtime's timed jobs: whoever shows them
// reads them anew.
type jobsChanged struct {
	Changed []string `json:"changed"`
	Gone    []string `json:"gone"`
}

// tellJobs lets live streams know which of the runtime's timed jobs changed.
func (a *App) tellJobs(changed, gone []string) {
	data := jobsChanged{append([]string{}, changed...), append([]string{}, gone...)}
	if err := a.Events.Publish(event.State{Kind: "jobs.changed", Topics: []string{event.TopicSchedule}, Data: data}); err != nil {
		a.log.Error("changed jobs cannot be told", "err", err)
	}
}

// makeTask turns an action item of a standup into a task. An assignee that is
// nobody here is left out rather than losing the task.
func (a *App) makeTask(ctx context.Context, tx *db.Tx, title, assignee, origin string) (string, error) {
	n := task.New{Title: title, Origin: origin}
	if assignee != "" {
		n.Assignee = &assignee
	}
	t, err := a.Tasks.CreateIn(ctx, tx, n)
	if errors.Is(err, task.ErrAssignee) {
		n.Assignee = nil
		t, err = a.Tasks.CreateIn(ctx, tx, n)
	}
	return t.Key, err
}

// commentAs lets an agent say something about a task. Without an account it is
// said by the service under the agent's id.
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

// policies are what goes when it is old.
func (a *App) policies() []retention.Policy {
	return []retention.Policy{
		{
			Name: "tasks", Setting: "ARCHIVE_AFTER_DAYS", Days: a.cfg.ArchiveAfterDays,
			Does:  "Tasks that were done so many days ago are archived. Nothing of them is lost; restoring one begins its days anew.",
			Count: a.Tasks.CountArchivable,
			Apply: a.Tasks.ArchiveDone,
		},
		{
			Name: "activity", Setting: "ACTIVITY_LOG_RETENTION_DAYS", Days: a.cfg.ActivityLogRetentionDays,
			Does: "Activity that is older is deleted. The histories of tasks and the audit stay.",
			Count: func(ctx context.Context, before time.Time) (int64, time.Time, error) {
				return event.CountPurgeable(ctx, a.DB, before)
			},
			Apply: event.Purge,
		},
		{
			Name: "subagent_sessions", Setting: "SUBAGENT_RETENTION_DAYS", Days: a.cfg.SubagentRetentionDays,
			Does:  "Archived sessions of sub-agents in which nothing has happened for so many days are deleted, with what was said in them. What they used stays in the ledger.",
			Count: a.Archive.CountOld,
			Apply: a.Archive.PurgeOld,
		},
		{
			Name: "inbox", Setting: "ACTIVITY_LOG_RETENTION_DAYS", Days: a.cfg.ActivityLogRetentionDays,
			Does:  "Items of the inbox that were resolved so many days ago are deleted. What is not resolved stays.",
			Count: a.Inbox.CountResolved,
			Apply: a.Inbox.PurgeResolved,
		},
		{
			Name: "slots", Setting: "ACTIVITY_LOG_RETENTION_DAYS", Days: a.cfg.ActivityLogRetentionDays,
			Does:  "What became of each time of the runtime's jobs so many days ago is deleted, and the runs that ended before that. What nobody can say yet stays.",
			Count: a.Schedules.CountOld,
			Apply: a.Schedules.PurgeOld,
		},
	}
}
