package app

import (
	"context"
	"errors"
	"maps"
	"strings"

	"wardroom/internal/account"
	"wardroom/internal/approval"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/once"
	"wardroom/internal/session"
	"wardroom/internal/task"
)

// wireApprovals creates the service for approvals and questions.
func (a *App) wireApprovals() {
	a.Approvals = &approval.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Patience: a.cfg.GatewayTimeout,
		Inbox:     a.Inbox,
		AgentName: account.AgentName, TaskOf: taskOfSession, Spent: a.spentInSession, Redact: a.redact, Waits: a.Sessions.WaitForPeople,
		Jobs: a.Queue, FindTask: a.openTask, TaskFaults: []*fault.Error{task.ErrNotFound, task.ErrArchived}, Comment: a.commentOnTask, Tell: a.tellAgent,
	}
	maps.Copy(a.Queue.Kinds, a.Approvals.Kinds())
}

// openTask returns the key of a task that is not archived.
func (a *App) openTask(ctx context.Context, q db.Queryer, ref string) (string, error) {
	t, err := a.Tasks.Find(ctx, q, ref)
	if err == nil && t.ArchivedAt != nil {
		err = task.ErrArchived.With("Restore it, or ask without a task.")
	}
	return t.Key, err
}

// commentOnTask comments on a task, unless it was archived or deleted.
func (a *App) commentOnTask(ctx context.Context, tx *db.Tx, taskKey, text string) error {
	_, err := a.Tasks.CommentIn(ctx, tx, taskKey, task.CommentText{Body: text})
	if errors.Is(err, task.ErrNotFound) || errors.Is(err, task.ErrArchived) {
		return nil
	}
	return err
}

// tellAgent sends a message to an agent's session, or to its main session if that one is gone. The
// message is recognized by its ID.
func (a *App) tellAgent(ctx context.Context, agentID, sessionKey, id, text string) error {
	ctx = once.With(ctx, once.New(actor.From(ctx).ID, "answer", id, []byte(id)))
	_, err := a.Sessions.Send(ctx, sessionKey, text)
	if errors.Is(err, session.ErrNotFound) {
		_, err = a.Sessions.SendToAgent(ctx, agentID, text)
	}
	if errors.Is(err, hold.ErrHeld) || errors.Is(err, gateway.ErrNoAgent) || gateway.IsUnavailable(err) {
		return errors.Join(err, approval.ErrLater)
	}
	return err
}

// taskOfSession returns the key of the task that a session works on, such as TASK-7 for
// agent:cto:task:task-7:2, or an empty string.
func taskOfSession(sessionKey string) string {
	parts := strings.Split(sessionKey, ":")
	if len(parts) < 4 || parts[0] != "agent" || parts[2] != "task" {
		return ""
	}
	return strings.ToUpper(parts[3])
}

// spentInSession returns the cost of a session so far, or nil if it is unknown.
func (a *App) spentInSession(ctx context.Context, sessionKey string) *money.Nano {
	s, err := a.Sessions.Get(ctx, sessionKey)
	if err != nil {
		return nil
	}
	return s.CostUSD
}
