package task

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// This file stores the state of a task's dispatch and the cost of its runs.
// Other packages write both. Writing them keeps the version of the task,
// so that a client's If-Match stays valid.

// Errors returned when a task is dispatched.
var (
	ErrNoAgent = fault.New(fault.Conflict, "task_without_agent", "The task is not assigned to an active agent.")
	ErrIsDone  = fault.New(fault.Conflict, "task_done", "The task is done.")
	// ErrWithAgent means that the change would end a dispatch that the caller
	// is not allowed to end.
	ErrWithAgent = fault.New(fault.Forbidden, "task_with_agent", "The task is currently dispatched to an agent.")
)

// Dispatch is the latest dispatch of a task to its agent.
type Dispatch struct {
	State      DispatchState  `json:"state" enum:"queued,started,ended,failed" doc:"queued: not accepted by the runtime yet. started: the agent is working. ended: the run succeeded; see the reports for the result. failed: see error."`
	Since      clock.Time     `json:"since" doc:"When the dispatch entered this state."`
	AgentID    string         `json:"agent_id" doc:"Agent that got the task; the assignee may have changed since."`
	RunID      string         `json:"run_id" example:"task-TASK-12-1-9f3a21bc"`
	SessionKey string         `json:"session_key" example:"agent:cto:task:TASK-12"`
	By         string         `json:"by" doc:"Name of the user who dispatched the task."`
	Waiting    *string        `json:"waiting" doc:"Why a queued dispatch has not started; null otherwise."`
	Error      *DispatchError `json:"error" doc:"Why the dispatch failed; null otherwise."`
}

// DispatchState is the state of a dispatch.
type DispatchState string

// The states of a dispatch.
const (
	Queued  DispatchState = "queued"
	Started DispatchState = "started"
	Ended   DispatchState = "ended"
	Failed  DispatchState = "failed"
)

// DispatchError is the reason why a dispatch failed.
type DispatchError struct {
	Code   string `json:"code" enum:"cancelled,withdrawn,reassigned,agent_deactivated,gateway_unreachable,agent_unknown,refused,timed_out,stopped,run_failed,broken" doc:"withdrawn: the task was done, archived, deleted, or no longer assigned to an active agent. reassigned: the task was assigned to someone else before the run started. agent_deactivated: the agent's account was deactivated before the run started. stopped: the run was stopped in the runtime."`
	Detail string `json:"detail" doc:"Explanation. May contain text from the runtime: treat as untrusted."`
}

// active reports whether the dispatch is queued or started.
func (d *Dispatch) active() bool { return d != nil && (d.State == Queued || d.State == Started) }

// mayEndDispatch fails with ErrWithAgent if the task has an active dispatch
// that the actor is not allowed to end. The dispatched agent and users who may
// dispatch tasks are allowed to end it.
func (t Task) mayEndDispatch(by actor.Actor) error {
	d := t.Dispatch
	own := by.AgentID != "" && d != nil && by.AgentID == d.AgentID
	if d.active() && !own && by.Role != "" && !by.Role.May(actor.DispatchTasks) {
		return ErrWithAgent.With(
			"This change would stop the run of agent %s. Wait until the run ends, or ask the owner or an admin to stop it.",
			d.AgentID,
		).Fact("dispatch", d)
	}
	return nil
}

// cancelsQueued reports whether the change from old to t cancels a queued dispatch. A task's
// dispatch is canceled if the task becomes done or its assignee changes.
func (t Task) cancelsQueued(old Task) bool {
	return old.Dispatch != nil && old.Dispatch.State == Queued &&
		(t.Status == Done && old.Status != Done || !same(t.AssigneeID, old.AssigneeID))
}

// Tokens contains the number of tokens that a task's runs have used, for each
// price class.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"Tokens in the runtime's total that belong to none of the other classes."`
}

// Spend is the total usage and cost of a task's runs.
type Spend struct {
	CostUSD  *money.Nano // nil if unknown
	Tokens   Tokens
	Unpriced int64 // number of runs without a price
}

// DispatchInput contains what an agent needs to know about a task that is
// dispatched to it.
type DispatchInput struct {
	Task     Task
	AgentID  string    // of the assignee
	UserID   string    // account of the assignee
	Depends  []Related // the tasks it depends on
	Comments []Comment // the newest ones, oldest first
}

// PrepareDispatch reads a task that is to be dispatched to its agent. It fails if the task
// cannot be dispatched now, for example because it is done or another user has claimed it. If
// the agent has lost an earlier claim on the task, PrepareDispatch deletes the record of the
// lost claim, so that the agent can report again.
func (s *Service) PrepareDispatch(ctx context.Context, tx *db.Tx, ref string) (DispatchInput, error) {
	t, err := findOpen(ctx, tx, ref)
	if err != nil {
		return DispatchInput{}, err
	}
	h := DispatchInput{Task: t}
	if t.Status == Done {
		return h, ErrIsDone.With("Move the task back to todo or in_progress first.")
	}
	var name string
	var active bool
	if t.AssigneeID != nil {
		err = tx.QueryRow(ctx,
			`SELECT id, agent_id, name, active FROM users WHERE id = ? AND role = 'agent' AND agent_id IS NOT NULL`,
			*t.AssigneeID).
			Scan(&h.UserID, &h.AgentID, &name, &active)
	}
	switch {
	case err != nil && !db.IsNotFound(err):
		return h, err
	case h.AgentID != "" && !active:
		return h, ErrNoAgent.With(
			"The account of agent %s is deactivated. Reactivate it, or set assignee_id to another agent from GET /agents.", name,
		).
			Fact("assignee_id", t.AssigneeID)
	case h.AgentID == "":
		return h, ErrNoAgent.With("Set assignee_id to an agent with an active account; GET /agents lists them.").Fact(
			"assignee_id", t.AssigneeID,
		)
	}
	if err := checkDependencies(ctx, tx, t); err != nil {
		return h, err
	}
	now, err := tx.Clock(ctx, s.Now())
	if err != nil {
		return h, err
	}
	if held := t.activeClaim(now); held != nil && held.By != h.UserID {
		return h, ErrClaimed.With("The task is claimed by %s until %s. Release the claim first.", held.Name,
			held.ExpiresAt.UTC().Format(time.RFC3339)).Fact("claim", held)
	}
	if h.Depends, err = dependencies(ctx, tx, t); err != nil {
		return h, err
	}
	if h.Comments, err = lastComments(ctx, tx, t.ID); err != nil {
		return h, err
	}
	// An agent that lost an earlier claim must be able to report on this
	// dispatch.
	_, err = tx.Exec(ctx, `UPDATE tasks SET claim_lost_by = NULL WHERE id = ? AND claim_lost_by = ?`, t.ID, h.UserID)
	return h, err
}

// Find is like Get, but reads in the caller's transaction or read-only view.
// The returned task can still contain an expired claim.
func (s *Service) Find(ctx context.Context, q db.Queryer, ref string) (Task, error) {
	return find(ctx, q, ref)
}

// Subject returns the event subject that identifies the task.
func (t Task) Subject() event.Subject { return event.Subject{Kind: "task", ID: t.ID, Name: t.Key} }

// SetDispatch stores the state of a task's dispatch on the task's card. The
// caller must record an event in the same transaction. SetDispatch fails with
// ErrNotFound if the task was deleted.
func (s *Service) SetDispatch(ctx context.Context, tx *db.Tx, id string, d Dispatch) error {
	text, err := json.Marshal(d) //nolint:gosec // G117: a session key is a name, not a secret
	if err != nil {
		return fmt.Errorf("write a dispatch: %w", err)
	}
	n, err := tx.Exec(ctx, `UPDATE tasks SET dispatch = ? WHERE id = ?`, string(text), id)
	if err == nil && n == 0 {
		err = ErrNotFound.With("The task has just been deleted.")
	}
	if err != nil {
		return err
	}
	return rewriteCards(ctx, tx, id)
}

// SetSpend stores the usage and cost of a task's runs on the task's card. It
// returns the subject of an event that the caller must record in the same
// transaction. If the task was deleted, SetSpend returns false and no error.
func (s *Service) SetSpend(ctx context.Context, tx *db.Tx, key string, sp Spend) (event.Subject, bool, error) {
	number, ok := parseKey(key)
	if !ok {
		return event.Subject{}, false, nil
	}
	text, err := json.Marshal(sp.Tokens)
	if err != nil {
		return event.Subject{}, false, fmt.Errorf("write tokens: %w", err)
	}
	var cost *int64
	if sp.CostUSD != nil {
		cost = new(int64(*sp.CostUSD))
	}
	n, err := tx.Exec(ctx, `UPDATE tasks SET cost_nano = ?, tokens = ?, unpriced = ? WHERE number = ?`, cost, string(text),
		sp.Unpriced, number)
	if err != nil || n == 0 {
		return event.Subject{}, false, err
	}
	t := Task{Key: keyOf(number)}
	if err = tx.QueryRow(ctx, `SELECT id FROM tasks WHERE number = ?`, number).Scan(&t.ID); err == nil {
		err = rewriteCards(ctx, tx, t.ID)
	}
	return t.Subject(), err == nil, err
}

// withdraw ends the dispatch of a task that is about to be archived or, if gone
// is true, deleted. It returns the event to record. It must run before any
// other write to the task. If the task is to be archived, withdraw reloads t
// after ending the dispatch.
func (s *Service) withdraw(ctx context.Context, tx *db.Tx, t *Task, gone bool) ([]pendingEvent, error) {
	if t.Dispatch == nil || !gone && !t.Dispatch.active() {
		return nil, nil
	}
	d, err := s.Withdraw(ctx, tx, *t, gone)
	if err != nil || d == nil {
		return nil, err
	}
	if !gone {
		if err := s.SetDispatch(ctx, tx, t.ID, *d); err != nil {
			return nil, err
		}
		if *t, err = find(ctx, tx, t.ID); err != nil {
			return nil, err
		}
	}
	return []pendingEvent{{s.Now(), DispatchEnded, *t, map[string]any{"dispatch": d}, nil}}, nil
}

// DispatchEnded is the event kind for the end of a dispatch, whether it
// succeeded or failed.
const DispatchEnded = "task.dispatch_ended"

// lastComments returns a task's newest comments in chronological order.
func lastComments(ctx context.Context, q db.Queryer, taskID string) ([]Comment, error) {
	const most = 5
	rows, err := q.Query(ctx, `SELECT `+commentColumns+` FROM (
		SELECT * FROM comments WHERE task_id = ? ORDER BY created_at DESC, id DESC LIMIT ?) AS newest ORDER BY created_at, id`, taskID, most)
	return db.All(rows, err, scanComment)
}
