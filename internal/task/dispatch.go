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

// This file is about what a card shows and others write: how handing the task to
// its agent went, and what its runs have cost. Neither makes a version, so that
// nobody's If-Match fails because an agent has begun; both count in shown.

// The failures of handing a task over.
var (
	ErrNoAgent = fault.New(fault.Conflict, "task_without_agent", "The task is assigned to no active agent.")
	ErrIsDone  = fault.New(fault.Conflict, "task_done", "The task is done.")
	// ErrWithAgent refuses what would end a dispatch to those who may not end one.
	ErrWithAgent = fault.New(fault.Forbidden, "task_with_agent", "The task was handed to its agent.")
)

// Dispatch is how handing the task to its agent went the last time.
type Dispatch struct {
	State      DispatchState  `json:"state" enum:"queued,started,ended,failed" doc:"queued: the runtime has not taken it yet. started: it has, and the agent works. ended: its run has ended well; what came of the task its reports say. failed: see error."`
	Since      clock.Time     `json:"since" doc:"When it came into this state."`
	AgentID    string         `json:"agent_id" doc:"Whom it was handed to; the assignee may be another by now."`
	RunID      string         `json:"run_id" example:"task-TASK-12-1-9f3a21bc"`
	SessionKey string         `json:"session_key" example:"agent:cto:task:TASK-12"`
	By         string         `json:"by" doc:"The name of who handed it over."`
	Waiting    *string        `json:"waiting" doc:"Why it has not begun; null unless it is queued and has to wait."`
	Error      *DispatchError `json:"error" doc:"Why it failed; null unless it did."`
}

// DispatchState says how far a dispatch is.
type DispatchState string

// The states of a dispatch.
const (
	Queued  DispatchState = "queued"
	Started DispatchState = "started"
	Ended   DispatchState = "ended"
	Failed  DispatchState = "failed"
)

// DispatchError is why a dispatch failed.
type DispatchError struct {
	Code   string `json:"code" enum:"cancelled,withdrawn,reassigned,agent_deactivated,gateway_unreachable,agent_unknown,refused,timed_out,stopped,run_failed,broken" doc:"withdrawn: the task was done, archived or given away first. agent_deactivated: the account of the agent was deactivated before it was asked. stopped: somebody stopped the run in the runtime."`
	Detail string `json:"detail" doc:"In words. It may hold words of the runtime: never trust it."`
}

// alive says whether the agent has it, or is to get it.
func (d *Dispatch) alive() bool { return d != nil && (d.State == Queued || d.State == Started) }

// mayTakeBack refuses, as ErrWithAgent, to end the dispatch of t unless by may stop
// runs, or is the agent that has it.
func (t Task) mayTakeBack(by actor.Actor) error {
	d := t.Dispatch
	own := by.AgentID != "" && d != nil && by.AgentID == d.AgentID
	if d.alive() && !own && by.Role != "" && !by.Role.May(actor.DispatchTasks) {
		return ErrWithAgent.With("This would stop %s. Wait until it has ended, or have the owner or an admin take the task back.", d.AgentID).Fact("dispatch", d)
	}
	return nil
}

// endsQueued reports whether the change from was to t keeps a dispatch from being
// sent: it is still queued, and the task is done or somebody else's now.
func (t Task) endsQueued(was Task) bool {
	return was.Dispatch != nil && was.Dispatch.State == Queued && (t.Status == Done && was.Status != Done || !same(t.AssigneeID, was.AssigneeID))
}

// Tokens are what the runs for a task have used, in the classes in which they are sold.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"In the runtime's total and in none of the four."`
}

// Spend is what all runs for a task have used and cost.
type Spend struct {
	CostUSD  *money.Nano // nil when unknown
	Tokens   Tokens
	Unpriced int64 // runs that have no price
}

// Handover is a task as its agent is told of it.
type Handover struct {
	Task     Task
	AgentID  string    // the assignee's
	UserID   string    // the account of it
	Depends  []Related // what has to be done before
	Comments []Comment // the newest ones, the oldest of them first
}

// Related is another task as one line.
type Related struct {
	Key, Title string
	Status     Status
}

// HandOver reads a task that is to be handed to its agent, and refuses one that
// the agent could not work on: it has no agent, is done or in the archive, waits
// for another, or somebody else holds it. It takes the lock of the board, so
// that of two at once the second sees what the first has noted. That the agent
// has lost a claim of the task before is forgotten.
func (s *Service) HandOver(ctx context.Context, tx *db.Tx, ref string) (Handover, error) {
	if err := tx.Lock(ctx, board); err != nil {
		return Handover{}, err
	}
	t, err := findOpen(ctx, tx, ref)
	if err != nil {
		return Handover{}, err
	}
	h := Handover{Task: t}
	if t.Status == Done {
		return h, ErrIsDone.With("Move it back to todo or in_progress first.")
	}
	var name string
	var active bool
	if t.AssigneeID != nil {
		err = tx.QueryRow(ctx, `SELECT id, agent_id, name, active FROM users WHERE id = ? AND role = 'agent' AND agent_id IS NOT NULL`, *t.AssigneeID).
			Scan(&h.UserID, &h.AgentID, &name, &active)
	}
	switch {
	case err != nil && !db.IsNotFound(err):
		return h, err
	case h.AgentID != "" && !active:
		return h, ErrNoAgent.With("The account of %s is deactivated. Have it activated again, or set assignee_id to another agent; GET /agents lists them.", name).
			Fact("assignee_id", t.AssigneeID)
	case h.AgentID == "":
		return h, ErrNoAgent.With("Set assignee_id to an agent that has an active account; GET /agents lists them.").Fact("assignee_id", t.AssigneeID)
	}
	if err := ready(ctx, tx, t); err != nil {
		return h, err
	}
	now, err := tx.Clock(ctx, s.Now())
	if err != nil {
		return h, err
	}
	if held := t.held(now); held != nil && held.By != h.UserID {
		return h, ErrClaimed.With("%s holds it until %s. Have it given back first.", held.Name, held.ExpiresAt.UTC().Format(time.RFC3339)).Fact("claim", held)
	}
	if h.Depends, err = related(ctx, tx, t); err != nil {
		return h, err
	}
	if h.Comments, err = lastComments(ctx, tx, t.ID); err != nil {
		return h, err
	}
	// Whoever lost a claim of it before is given it now: what the agent reports must not be refused for that.
	_, err = tx.Exec(ctx, `UPDATE tasks SET claim_lost_by = NULL WHERE id = ? AND claim_lost_by = ?`, t.ID, h.UserID)
	return h, err
}

// Find is Get within what the caller reads or writes.
func (s *Service) Find(ctx context.Context, q db.Queryer, ref string) (Task, error) {
	return find(ctx, q, ref)
}

// Subject is how the log names a task.
func (t Task) Subject() event.Subject { return event.Subject{Kind: "task", ID: t.ID, Name: t.Key} }

// Show puts on the card how the dispatch of a task is going. The caller tells
// the log of it in the same transaction. It answers ErrNotFound when the task is
// gone.
func (s *Service) Show(ctx context.Context, tx *db.Tx, id string, d Dispatch) error {
	text, err := json.Marshal(d) //nolint:gosec // G117: the key of a session is its name
	if err != nil {
		return fmt.Errorf("write a dispatch: %w", err)
	}
	n, err := tx.Exec(ctx, `UPDATE tasks SET dispatch = ?, shown = shown + 1 WHERE id = ?`, string(text), id)
	if err == nil && n == 0 {
		err = ErrNotFound.With("It was deleted meanwhile.")
	}
	if err != nil {
		return err
	}
	return redraw(ctx, tx, id)
}

// NoteSpend puts on the card what the runs of a task have cost, and says what the
// log calls it. The caller tells the log of it in the same transaction. A task
// that is gone is none, and no error.
func (s *Service) NoteSpend(ctx context.Context, tx *db.Tx, key string, sp Spend) (event.Subject, bool, error) {
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
	n, err := tx.Exec(ctx, `UPDATE tasks SET cost_nano = ?, tokens = ?, unpriced = ?, shown = shown + 1 WHERE number = ?`, cost, string(text), sp.Unpriced, number)
	if err != nil || n == 0 {
		return event.Subject{}, false, err
	}
	t := Task{Key: keyOf(number)}
	if err = tx.QueryRow(ctx, `SELECT id FROM tasks WHERE number = ?`, number).Scan(&t.ID); err == nil {
		err = redraw(ctx, tx, t.ID)
	}
	return t.Subject(), err == nil, err
}

// withdraw takes a task back that goes away or into the archive while its agent
// has it, before anything else of it is written: the run is stopped. What is
// then in t was read with the row locked, so that nobody changes it any more.
func (s *Service) withdraw(ctx context.Context, tx *db.Tx, t *Task, gone bool) ([]note, error) {
	if s.Withdraw == nil || t.Dispatch == nil || !gone && !t.Dispatch.alive() {
		return nil, nil
	}
	d, err := s.Withdraw(ctx, tx, *t, gone)
	if err != nil || d == nil {
		return nil, err
	}
	if !gone {
		if err := s.Show(ctx, tx, t.ID, *d); err != nil {
			return nil, err
		}
		if *t, err = find(ctx, tx, t.ID); err != nil {
			return nil, err
		}
	}
	return []note{{s.Now(), DispatchEnded, *t, map[string]any{"dispatch": d}}}, nil
}

// DispatchEnded is the kind of the event that a dispatch has ended or failed.
const DispatchEnded = "task.dispatch_ended"

// related are the tasks that t depends on, as lines.
func related(ctx context.Context, q db.Queryer, t Task) ([]Related, error) {
	if len(t.DependsOn) == 0 {
		return nil, nil
	}
	numbers := make([]any, len(t.DependsOn))
	for i, key := range t.DependsOn {
		numbers[i], _ = parseKey(key)
	}
	rows, err := q.Query(ctx, `SELECT number, title, status FROM tasks WHERE number `+in(numbers), numbers...)
	found := map[int64]Related{}
	_, err = db.All(rows, err, func(row db.Row) (n int64, err error) {
		var r Related
		err = row.Scan(&n, &r.Title, &r.Status)
		r.Key = keyOf(n)
		found[n] = r
		return n, err
	})
	var lines []Related
	for _, key := range t.DependsOn {
		n, _ := parseKey(key)
		if d, ok := found[n]; ok {
			lines = append(lines, d)
		}
	}
	return lines, err
}

// lastComments are the newest comments on a task, the oldest of them first.
func lastComments(ctx context.Context, q db.Queryer, taskID string) ([]Comment, error) {
	const most = 5
	rows, err := q.Query(ctx, `SELECT `+commentColumns+` FROM (
		SELECT * FROM comments WHERE task_id = ? ORDER BY created_at DESC, id DESC LIMIT ?) AS newest ORDER BY created_at, id`, taskID, most)
	return db.All(rows, err, scanComment)
}

// readSpend reads what NoteSpend has written.
func (t *Task) readSpend(cost *int64, tokens *string, unpriced int64) error {
	if tokens == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*tokens), &t.Tokens); err != nil {
		return fmt.Errorf("read the tokens of a task: %w", err)
	}
	t.CostComplete = new(unpriced == 0)
	if cost != nil {
		t.CostUSD = new(money.Nano(*cost))
	}
	return nil
}

// readDispatch reads what Show has written.
func (t *Task) readDispatch(text *string) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), &t.Dispatch); err != nil {
		return fmt.Errorf("read the dispatch of a task: %w", err)
	}
	return nil
}
