package app

import (
	"context"
	"errors"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// Features do not know each other. Here their questions meet their answers.

// currentStates is what a new live stream is told first.
func (a *App) currentStates() []event.State { return []event.State{gatewayState(a.Gateway.Status())} }

func gatewayState(s gateway.Status) event.State {
	return event.State{Kind: "agentrt.status", Topic: event.TopicGateway, Data: s}
}

// tellGateway lets live streams know how the connection is doing, until ctx ends.
func (a *App) tellGateway(ctx context.Context) {
	a.Gateway.Watch(ctx, func(s gateway.Status) {
		if err := a.Events.Tell(gatewayState(s)); err != nil {
			a.log.ErrorContext(ctx, "the gateway's state cannot be told", "err", err)
		}
	})
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
		byAgent[id] = agent.Activity{Active: s.Active, Session: s.Key, Since: s.Since}
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
	return board, err
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
