package app

import (
	"context"
	"fmt"
	"maps"

	"wardroom/internal/dispatch"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// errands is how many tasks of one process are with their agents at once; others
// wait. Each takes one worker for as long as its run goes on.
const errands = 64

// recalls is how many runs of one process are stopped at once.
const recalls = 16

// meetings is how many standups one process holds at once; others wait.
const meetings = 16

// newQueue is a queue beside that of the timers, with workers of its own.
func (a *App) newQueue(workers int) *job.Queue {
	q := job.New(a.DB, a.log, a.opts.Now)
	q.Workers, q.Away, q.Observe = workers, a.Queue.Away, a.Queue.Observe
	return q
}

// wireDispatch fills what hands tasks to agents, and the queues that it has for
// itself: a run takes hours, and neither the timers nor the end of another run
// must wait for it.
func (a *App) wireDispatch() {
	cfg, now := a.cfg, a.opts.Now
	a.Errands, a.Recalls = a.newQueue(errands), a.newQueue(recalls)
	a.Dispatch = &dispatch.Service{
		DB: a.DB, Jobs: a.Errands, Stops: a.Recalls, Runtime: a.Gateway, Log: a.log, Now: now,
		LockTask: a.handOver, TaskID: a.taskID, Ineligible: a.unwanted, Show: a.showDispatch, RecordUsage: a.noteDispatch,
		Refusals: []*fault.Error{task.ErrNotFound, task.ErrArchived, task.ErrIsDone, task.ErrNoAgent, task.ErrWaiting, task.ErrClaimed},
		Raise:    a.raiseOfDispatch, Resolve: a.Inbox.ResolveCause,
		PublicURL: cfg.PublicURL, OwnURL: a.urlForAgents, Patience: cfg.DispatchPatience, Limit: cfg.DispatchTimeout,
	}
	maps.Copy(a.Errands.Kinds, a.Dispatch.Kinds())
	maps.Copy(a.Recalls.Kinds, a.Dispatch.StopKinds())
	a.Tasks.Withdraw = a.withdrawTask
}

// wakeQueues makes all queues look for work.
func (a *App) wakeQueues() {
	a.Queue.Wake()
	a.Meetings.Wake()
	a.Errands.Wake()
	a.Recalls.Wake()
}

// handOver reads a task as its agent is told of it.
func (a *App) handOver(ctx context.Context, tx *db.Tx, ref string) (dispatch.Task, error) {
	h, err := a.Tasks.PrepareDispatch(ctx, tx, ref)
	if err != nil {
		return dispatch.Task{}, err
	}
	t := h.Task
	out := dispatch.Task{
		ID: t.ID, Key: t.Key, Title: t.Title, Description: t.Description, Status: string(t.Status), Priority: string(t.Priority), Type: string(t.Type),
		DueAt: t.DueAt, AgentID: h.AgentID, UserID: h.UserID,
	}
	if t.Blocked != nil {
		out.Blocked = t.Blocked.Reason
	}
	for _, d := range h.Depends {
		out.Depends = append(out.Depends, d.Key+" ("+string(d.Status)+") "+d.Title)
	}
	for _, c := range h.Comments {
		out.Comments = append(out.Comments, dispatch.Comment{At: c.CreatedAt.Time, Author: c.AuthorName, Text: c.Body})
	}
	return out, nil
}

func (a *App) taskID(ctx context.Context, q db.Queryer, ref string) (string, error) {
	t, err := a.Tasks.Find(ctx, q, ref)
	return t.ID, err
}

// unwanted says why a task is not to be handed over any more.
func (a *App) unwanted(ctx context.Context, q db.Queryer, taskID, userID string) (code dispatch.Code, why string, err error) {
	t, err := a.Tasks.Find(ctx, q, taskID)
	if err != nil {
		return "", "", err
	}
	u, err := a.Accounts.Resolve(ctx, q, userID)
	if err != nil {
		return "", "", err
	}
	mayReport := u.Active && u.AgentID != nil
	switch given := t.AssigneeID == nil || *t.AssigneeID != userID; {
	case t.Status == task.Done || t.ArchivedAt != nil:
		return dispatch.Withdrawn, "The task is done, or in the archive.", nil
	case given && mayReport:
		return dispatch.Reassigned, "The task was given to somebody else before the agent began.", nil
	case given: // it does not stay with the agent either, and has been seen to
		return dispatch.Withdrawn, fmt.Sprintf("The task was given to somebody else, and the account of %s is deactivated, or no agent's any more.", u.Name), nil
	case !mayReport:
		return dispatch.Deactivated, fmt.Sprintf("The account of %s is deactivated, or no agent's any more. Have it activated again, or give the task to another agent.", u.Name), nil
	}
	return "", "", nil
}

// showDispatch puts a dispatch on the card of its task.
func (a *App) showDispatch(ctx context.Context, tx *db.Tx, d dispatch.Dispatch) error {
	id, err := a.taskID(ctx, tx, d.Task)
	if err != nil {
		return err
	}
	return a.Tasks.SetDispatch(ctx, tx, id, cardOf(d))
}

func cardOf(d dispatch.Dispatch) task.Dispatch {
	c := task.Dispatch{
		State: task.DispatchState(d.State), Since: d.Since, AgentID: d.AgentID, RunID: d.RunID, SessionKey: d.SessionKey, By: d.By, Waiting: d.Waiting,
	}
	if d.Error != nil {
		c.Error = &task.DispatchError{Code: string(d.Error.Code), Detail: d.Error.Detail}
	}
	return c
}

// withdrawTask takes a task back from its agent that goes away.
func (a *App) withdrawTask(ctx context.Context, tx *db.Tx, t task.Task, gone bool) (*task.Dispatch, error) {
	d, err := a.Dispatch.Withdraw(ctx, tx, t.ID, gone)
	if err != nil || d == nil {
		return nil, err
	}
	c := cardOf(*d)
	return &c, nil
}

// noteDispatch puts what the run of a dispatch used into the ledger.
func (a *App) noteDispatch(ctx context.Context, tx *db.Tx, u dispatch.RunUsage) error {
	_, err := a.Usage.Note(ctx, tx, usage.Run{
		RunID: u.RunID, AgentID: u.AgentID, SessionKey: u.SessionKey, SessionID: u.Usage.SessionID,
		Source: usage.Task, TaskKey: u.TaskKey, StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		Parts: []usage.Part{usagePart(u.Usage)},
	})
	return err
}

// raiseOfDispatch makes a task that could not be handed over an item of the inbox.
func (a *App) raiseOfDispatch(ctx context.Context, tx *db.Tx, m dispatch.InboxItem) error {
	return a.Inbox.Raise(ctx, tx, inbox.NewItem{Cause: m.Cause, Kind: m.Kind, Severity: m.Severity, Title: m.Title, Detail: m.Detail, Subject: m.Subject})
}
