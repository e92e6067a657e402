package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"wardroom/internal/ask"
	"wardroom/internal/dispatch"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/mcp"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

const (
	// dispatchWorkers is how many dispatched tasks one process waits for at once.
	// Each takes one worker until its run ends; more tasks wait in the queue.
	dispatchWorkers = 64
	// stopWorkers is how many runs one process stops at once.
	stopWorkers = 16
	// standupWorkers is how many standups one process runs at once.
	standupWorkers = 16
)

// newQueue returns a job queue that has its own workers and no timers.
func (a *App) newQueue(workers int) *job.Queue {
	q := job.New(a.DB, a.log, a.opts.Now)
	q.Workers, q.Observe = workers, a.Queue.Observe
	return q
}

// wireDispatch creates the dispatch service. Its queue has its own workers, because a run can take hours and must not
// delay timers or the stopping of other runs.
func (a *App) wireDispatch(stops *ask.Stopper) {
	cfg, now := a.cfg, a.opts.Now
	a.DispatchQueue = a.newQueue(dispatchWorkers)
	a.Dispatch = &dispatch.Service{
		DB: a.DB, Jobs: a.DispatchQueue, Stops: stops, Runtime: a.Gateway, Log: a.log, Now: now, Redact: a.redact,
		FindTask: a.handOver, TaskID: a.taskID, Ineligible: a.unwanted, Held: a.Holds.Check, Show: a.showDispatch, RecordUsage: a.noteDispatch,
		Refusals:  []*fault.Error{task.ErrNotFound, task.ErrArchived, task.ErrIsDone, task.ErrNoAgent, task.ErrWaiting, task.ErrClaimed, hold.ErrHeld},
		Inbox:     a.Inbox,
		PublicURL: cfg.PublicURL, OwnURL: a.urlForAgents, Patience: cfg.DispatchPatience, Limit: cfg.DispatchTimeout,
	}
	maps.Copy(a.DispatchQueue.Kinds, a.Dispatch.Kinds())
	a.Tasks.Withdraw, a.Tasks.Send = a.withdrawTask, a.sendTask
	a.Tasks.SendRefusals = slices.Concat([]*fault.Error{dispatch.ErrAlreadyDispatched, gateway.ErrNotConfigured}, a.Dispatch.Refusals)
}

// sendTask dispatches a task to its agent with a note.
func (a *App) sendTask(ctx context.Context, tx *db.Tx, id, note string) error {
	_, err := a.Dispatch.CreateIn(ctx, tx, id, dispatch.New{Note: note})
	return err
}

// newStopper creates the queue that stops runs that nobody waits for any more.
func (a *App) newStopper() *ask.Stopper {
	a.StopQueue = a.newQueue(stopWorkers)
	s := &ask.Stopper{Jobs: a.StopQueue, Runtime: a.Gateway, Log: a.log, Patience: a.cfg.DispatchPatience}
	maps.Copy(a.StopQueue.Kinds, s.Kinds())
	return s
}

// wakeWork makes all queues and the readers of sessions look for work.
func (a *App) wakeWork() {
	a.Mirror.Sessions.Wake()
	a.Queue.Wake()
	a.StandupQueue.Wake()
	a.DispatchQueue.Wake()
	a.StopQueue.Wake()
	a.HoldQueue.Wake()
}

// handOver reads a task together with the details that a dispatch sends to the agent,
// such as the task's comments.
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
	out.Checks = t.NamedChecks()
	for _, c := range t.Criteria {
		out.Criteria = append(out.Criteria, c.Text)
	}
	if t.Blocked != nil {
		out.Blocked = t.Blocked.Reason
	}
	switch has, err := a.hasTools(ctx, tx, h.AgentID); {
	case err != nil:
		return dispatch.Task{}, err
	case has:
		out.Tools = mcp.ServerName(h.AgentID) + "__"
	}
	for _, d := range h.Depends {
		out.Depends = append(out.Depends, d.Key+" ("+string(d.Status)+") "+d.Title)
	}
	for _, c := range h.Comments {
		out.Comments = append(out.Comments, dispatch.Comment{At: c.CreatedAt.Time, Author: c.AuthorName, Text: c.Body})
	}
	return out, nil
}

// taskID returns the ID of the task that has the given ID or key.
func (a *App) taskID(ctx context.Context, q db.Queryer, ref string) (string, error) {
	t, err := a.Tasks.Find(ctx, q, ref)
	return t.ID, err
}

// unwanted checks whether a task may still be dispatched to a user. If not, it returns the reason
// as a code and a text; otherwise both are empty.
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
		return dispatch.Withdrawn, "The task is done or archived.", nil
	case given && mayReport:
		return dispatch.Reassigned, "The task was reassigned before the agent started.", nil
	case given: // nothing is left to do: the agent cannot start, and the task has another assignee
		return dispatch.Withdrawn, fmt.Sprintf("The task was reassigned, and the account of %s is deactivated or no longer belongs to an agent.", u.Name), nil
	case !mayReport:
		return dispatch.Deactivated, fmt.Sprintf("The account of %s is deactivated or no longer belongs to an agent. Reactivate it, or assign the task to another agent.", u.Name), nil
	}
	return "", "", nil
}

// showDispatch updates the dispatch that is shown with a task.
func (a *App) showDispatch(ctx context.Context, tx *db.Tx, d dispatch.Dispatch) error {
	id, err := a.taskID(ctx, tx, d.Task)
	if err != nil {
		return err
	}
	return a.Tasks.SetDispatch(ctx, tx, id, cardOf(d))
}

// cardOf converts a dispatch to the form that is shown with a task.
func cardOf(d dispatch.Dispatch) task.Dispatch {
	c := task.Dispatch{
		State: task.DispatchState(d.State), Since: d.Since, AgentID: d.AgentID, RunID: d.RunID, SessionKey: d.SessionKey, By: d.By, Waiting: d.Waiting,
	}
	if d.Error != nil {
		c.Error = &task.DispatchError{Code: string(d.Error.Code), Detail: d.Error.Detail}
	}
	return c
}

// withdrawTask withdraws the dispatch of a task that is being archived or deleted; gone
// is true if it is being deleted. It returns the withdrawn dispatch as the task shows it,
// or nil if no dispatch was in progress.
func (a *App) withdrawTask(ctx context.Context, tx *db.Tx, t task.Task, gone bool) (*task.Dispatch, error) {
	d, err := a.Dispatch.Withdraw(ctx, tx, t.ID, gone)
	if err != nil || d == nil {
		return nil, err
	}
	c := cardOf(*d)
	return &c, nil
}

// noteDispatch records a dispatched run in the usage ledger.
func (a *App) noteDispatch(ctx context.Context, tx *db.Tx, u dispatch.RunUsage) error {
	_, err := a.Usage.Note(ctx, tx, usage.Run{
		RunID: u.RunID, AgentID: u.AgentID, SessionKey: u.SessionKey, SessionID: u.Usage.SessionID,
		Source: usage.Task, TaskKey: u.TaskKey, StartedAt: u.StartedAt, EndedAt: u.EndedAt,
		Parts: []usage.Part{usagePart(u.Usage)},
	})
	return err
}
