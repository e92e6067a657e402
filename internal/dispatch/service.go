package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/ask"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/platform/redact"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	ask.Runtime
	Agents(ctx context.Context) ([]gateway.Agent, error)
}

// Service dispatches tasks. Do not change its exported fields after first use.
type Service struct {
	DB *db.DB
	// Jobs is the queue for the jobs that carry out dispatches. Each dispatch occupies a
	// worker until its run ends, possibly for hours.
	Jobs    *job.Queue
	Stops   *ask.Stopper // stops the runs of dispatches that are canceled or given up
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Inbox   *inbox.Service
	Redact  *redact.Redactor

	Tasks    *task.Service
	Accounts *account.Service
	Holds    *hold.Service
	Usage    *usage.Service

	URL      *gateway.AgentURL // at which agents report
	Patience time.Duration     // how long a dispatch waits for the gateway and its agent
	Limit    time.Duration     // maximum duration of a run
}

// kindDispatch is the kind of a job that carries out a dispatch.
const kindDispatch = "dispatch"

// Kinds returns the job kinds that the queue in Jobs must run.
func (s *Service) Kinds() map[string]job.Kind {
	return map[string]job.Kind{kindDispatch: {Do: s.run, GaveUp: s.gaveUp}}
}

// New is the body of a request to dispatch a task.
type New struct {
	Note string `json:"note,omitempty" maxLength:"4000" doc:"A note to the agent, sent with the task in your name."`
}

// Refusals returns the errors of CreateIn.
func Refusals() []*fault.Error {
	return append([]*fault.Error{ErrAlreadyDispatched, link.ErrNotConfigured}, taskRefusals()...)
}

// taskRefusals returns the errors about the task or its agent.
func taskRefusals() []*fault.Error {
	return []*fault.Error{
		task.ErrNotFound, task.ErrArchived, task.ErrIsDone, task.ErrNoAgent, task.ErrWaiting, task.ErrClaimed, hold.ErrHeld,
	}
}

// Event kinds for dispatches. The subject of each event is the dispatched task.
const (
	eventDispatched = "task.dispatched"
	eventStarted    = "task.dispatch_started"
	eventWaiting    = "task.dispatch_waits"
	eventEnded      = "task.dispatch_ended"
)

// Create dispatches a task to its agent. It only stores the dispatch; a job sends it to
// the gateway.
func (s *Service) Create(ctx context.Context, ref string, n New) (Dispatch, error) {
	return db.Do(ctx, s.DB, "dispatch task", func(tx *db.Tx) (Dispatch, error) {
		return once.Do(ctx, tx, s.Now(), find, func(d Dispatch) string { return d.ID }, func() (Dispatch, error) {
			return s.CreateIn(ctx, tx, ref, n)
		})
	})
}

// CreateIn is like Create, but runs in the caller's transaction and ignores the request's
// idempotency key.
func (s *Service) CreateIn(ctx context.Context, tx *db.Tx, ref string, n New) (Dispatch, error) {
	if st := s.Runtime.Status(); st.State == link.NotConfigured {
		return Dispatch{}, link.ErrNotConfigured.With("Connect one in the dashboard under Settings → Gateway.")
	}
	in, err := s.Tasks.PrepareDispatch(ctx, tx, ref)
	if err != nil {
		return Dispatch{}, err
	}
	if err := s.Holds.Check(ctx, tx, in.AgentID); err != nil {
		return Dispatch{}, err
	}
	t := in.Task
	before, err := last(ctx, tx, t.ID)
	switch {
	case err == nil && before.active():
		return Dispatch{}, ErrAlreadyDispatched.With("Agent %s has had the task since %s (run %s). Wait for the run to end, or cancel the dispatch with DELETE.",
			before.AgentID, before.Since.UTC().Format(time.RFC3339), before.RunID).
			Fact("run_id", before.RunID).Fact("since", before.Since).Fact("state", before.State).Fact("agent_id", before.AgentID)
	case err != nil && !errors.Is(err, ErrNotFound):
		return Dispatch{}, err
	}
	tools, err := s.Accounts.ToolPrefix(ctx, tx, in.AgentID)
	if err != nil {
		return Dispatch{}, err
	}
	now, by := s.Now(), actor.From(ctx)
	d := Dispatch{
		ID: db.NewID(), Task: t.Key, State: task.Queued, Since: clock.At(now), AgentID: in.AgentID,
		SessionKey: "agent:" + in.AgentID + ":task:" + t.Key, By: by.Name, CreatedAt: clock.At(now),
		taskID: t.ID, userID: in.UserID, first: before.number + 1, number: before.number + 1,
		message: message(in, tools, n.Note, by.Name, s.URL.String()), startBy: clock.At(now.Add(s.Patience)),
	}
	d.RunID = d.runID(d.number)
	if err := insert(ctx, tx, d); err != nil {
		return Dispatch{}, err
	}
	if _, err := s.Jobs.Enqueue(ctx, tx, kindDispatch, d.ID, nil); err != nil {
		return Dispatch{}, err
	}
	if err := s.show(ctx, tx, d); err != nil {
		return Dispatch{}, err
	}
	return d, s.record(ctx, tx, eventDispatched, d, map[string]any{"note": n.Note != ""})
}

// Cancel cancels a task's dispatch. The run is stopped as soon as the gateway is reachable.
func (s *Service) Cancel(ctx context.Context, ref string) (Dispatch, error) {
	var d Dispatch
	by := actor.From(ctx)
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		t, err := s.Tasks.Find(ctx, tx, ref)
		if err != nil {
			return err
		}
		was, err := s.cancelActive(ctx, tx, t.ID, Failure{Cancelled, "Canceled by " + by.Name + "."})
		if err != nil {
			return err
		}
		if was == nil {
			return ErrNotDispatched.With(
				"The task's last dispatch has ended, or the task was never dispatched. Reload the task.",
			)
		}
		d = *was
		if err := s.show(ctx, tx, d); err != nil {
			return err
		}
		return s.record(ctx, tx, eventEnded, d, nil)
	})
	if err != nil {
		return Dispatch{}, fmt.Errorf("cancel dispatch: %w", err)
	}
	return d, nil
}

// Send dispatches a task with a note, for task.Service.
func (s *Service) Send(ctx context.Context, tx *db.Tx, id, note string) error {
	_, err := s.CreateIn(ctx, tx, id, New{Note: note})
	return err
}

// Withdraw cancels the dispatch of a task that is being archived or deleted, for task.Service. If deleted
// is true, it also deletes the task's dispatches. It returns the dispatch that it ended,
// or nil if there was none. It records no event.
func (s *Service) Withdraw(ctx context.Context, tx *db.Tx, t task.Task, deleted bool) (*task.Dispatch, error) {
	why := Failure{Withdrawn, "The task was archived."}
	if deleted {
		why.Detail = "The task was deleted."
	}
	d, err := s.cancelActive(ctx, tx, t.ID, why)
	if err == nil && deleted {
		_, err = tx.Exec(ctx, `DELETE FROM dispatches WHERE task_id = ?`, t.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw the dispatch of a task: %w", err)
	}
	if d == nil {
		return nil, nil
	}
	return new(d.card()), nil
}

// cancelActive ends a task's active dispatch, if any, and enqueues a job that stops the run.
func (s *Service) cancelActive(ctx context.Context, tx *db.Tx, taskID string, why Failure) (*Dispatch, error) {
	d, err := last(ctx, tx, taskID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Canceling the job waits for its current write. After that, the dispatch no longer
	// changes.
	if err := s.Jobs.Cancel(ctx, tx, kindDispatch, d.ID); err != nil {
		return nil, err
	}
	if d, err = find(ctx, tx, d.ID); err != nil || !d.active() {
		return nil, err
	}
	d.end(s.Now(), &why)
	if err := update(ctx, tx, d); err != nil {
		return nil, err
	}
	if d.sent {
		if err := s.Stops.Enqueue(ctx, tx, d.orphan()); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// gaveUp ends a dispatch whose job has failed permanently.
func (s *Service) gaveUp(ctx context.Context, tx *db.Tx, id string, cause error) error {
	d, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !d.active() {
		return nil
	}
	if err != nil {
		return err
	}
	if d.sent {
		if err := s.Stops.Enqueue(ctx, tx, d.orphan()); err != nil {
			return err
		}
	}
	s.Log.ErrorContext(ctx, "gave up on a dispatch", "run", d.RunID, "err", cause)
	return s.close(ctx, tx, d,
		&Failure{Broken, "Wardroom failed several times while running the dispatch. See Wardroom's log."}, gateway.Answer{})
}

// close ends a dispatch with the answer of its run. It stores the dispatch and the usage of the run,
// updates the task's card and the inbox item, and finally records an event.
func (s *Service) close(ctx context.Context, tx *db.Tx, d Dispatch, f *Failure, a gateway.Answer) error {
	u, ended := a.Usage, d.endTime(a.EndedAt, s.Now())
	if a.Text = s.Redact.Text(a.Text); f != nil {
		f = &Failure{f.Code, s.Redact.Text(f.Detail)}
	}
	d.end(ended, f)
	if err := update(ctx, tx, d); err != nil {
		return err
	}
	if u != nil && u.SessionID != "" {
		run := usage.Run{
			RunID: d.RunID, AgentID: d.AgentID, SessionKey: d.SessionKey, SessionID: u.SessionID,
			Source: usage.Task, TaskKey: d.Task, StartedAt: d.CreatedAt.Time, EndedAt: ended,
			Parts: []usage.Part{usage.PartOf(*u)},
		}
		if d.askedAt != nil {
			run.StartedAt = d.askedAt.Time
		}
		if _, err := s.Usage.Note(ctx, tx, run); err != nil {
			return err
		}
	}
	if err := s.show(ctx, tx, d); err != nil {
		return err
	}
	if err := s.updateInbox(ctx, tx, d); err != nil {
		return err
	}
	data := map[string]any{}
	if a.Text != "" {
		data["answer"] = cut(plaintext.Lines(a.Text), longestAnswer)
	}
	return s.record(ctx, tx, eventEnded, d, data)
}

// longestAnswer is the maximum length, in runes, of the agent's final answer in an event.
const longestAnswer = 2000

// updateInbox raises an inbox item for a failed dispatch, and resolves the task's item
// after a successful one. It ignores a dispatch that was withdrawn or reassigned.
func (s *Service) updateInbox(ctx context.Context, tx *db.Tx, d Dispatch) error {
	switch {
	case d.State == task.Ended:
		return s.Inbox.ResolveCause(ctx, tx, d.cause(), d.AgentID+" finished a later run.")
	case d.State == task.Failed && d.Error.Code != Withdrawn && d.Error.Code != Reassigned:
		return s.Inbox.Raise(ctx, tx, inbox.NewItem{
			Cause: d.cause(), Kind: inbox.DispatchFailed, Severity: inbox.High, Subject: d.subject(), Run: d.inboxRun(),
			At: d.Since.Time, Title: fmt.Sprintf("Dispatch of %s to %s failed", d.Task, d.AgentID),
			Detail: fmt.Sprintf("%s (`%s`, run `%s`)\n\nFix the cause, then dispatch the task again.", d.Error.Detail,
				d.Error.Code, d.RunID),
		})
	}
	return nil
}

// show stores a dispatch on the card of its task. It returns a not-found error if the task has been deleted.
func (s *Service) show(ctx context.Context, tx *db.Tx, d Dispatch) error {
	return s.Tasks.SetDispatch(ctx, tx, d.taskID, d.card())
}

// record records an event about a dispatch.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, d Dispatch, data map[string]any) error {
	all := map[string]any{"dispatch": d}
	maps.Copy(all, data)
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, d.subject(), all)
}
