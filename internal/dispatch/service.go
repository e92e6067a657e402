package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
)

// Runtime is the part of the gateway that a dispatch needs.
type Runtime interface {
	Status() gateway.Status
	Await(ctx context.Context) (bootID string, err error)
	Start(ctx context.Context, q gateway.Question) (gateway.Started, error)
	Wait(ctx context.Context, runID string, limit time.Duration) (gateway.Answer, error)
	Find(ctx context.Context, sessionKey, runID string) (gateway.Trace, error)
	Stop(ctx context.Context, sessionKey, runID string) (stopped bool, err error)
	Agents(ctx context.Context) ([]gateway.Agent, error)
}

// Service hands tasks over. Its exported fields are not changed once it is used.
type Service struct {
	DB *db.DB
	// Jobs has workers that may wait for hours: one for each task that an agent of
	// the runtime works on.
	Jobs *job.Queue
	// Stops has workers of its own, so that no run goes on because all workers of
	// Jobs wait for others.
	Stops   *job.Queue
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time

	// HandOver reads the task that ref names and keeps others from handing it over
	// until the transaction ends; it refuses, with one of Refusals, a task that its
	// agent could not work on.
	HandOver func(ctx context.Context, tx *db.Tx, ref string) (Task, error)
	Refusals []*fault.Error
	// TaskID finds the id of a task by its id or its key.
	TaskID func(ctx context.Context, q db.Queryer, ref string) (string, error)
	// Unwanted says why a task that has not begun is not to be handed to that account
	// any more; an empty code when it is.
	Unwanted func(ctx context.Context, q db.Queryer, taskID, userID string) (code Code, why string, err error)
	// Show puts the dispatch on the card of its task. It writes no event, and
	// answers an error that is not found when the task is gone.
	Show func(ctx context.Context, tx *db.Tx, d Dispatch) error
	// Used, when given, notes what a run used, before any event is written.
	Used func(ctx context.Context, tx *db.Tx, u Used) error
	// Raise and Settle, when given, bring what failed to whoever sees to it. They
	// write events.
	Raise  func(ctx context.Context, tx *db.Tx, m Matter) error
	Settle func(ctx context.Context, tx *db.Tx, cause, why string) error

	PublicURL string        // where agents reach us; empty is OwnURL
	OwnURL    func() string // the same for a gateway on this machine; empty when unknown

	Patience time.Duration // how long a dispatch waits for the gateway and its agent
	Limit    time.Duration // how long its run may take
}

// The kinds of jobs.
const (
	kindCourse = "dispatch"      // brings a dispatch to its end
	kindStop   = "stop dispatch" // stops a run that nobody waits for any more
)

// Kinds are the jobs that Jobs does.
func (s *Service) Kinds() map[string]job.Kind {
	return map[string]job.Kind{kindCourse: {Do: s.bring, GaveUp: s.gaveUp}}
}

// StopKinds are the jobs that Stops does.
func (s *Service) StopKinds() map[string]job.Kind {
	return map[string]job.Kind{kindStop: {Do: s.stop}}
}

// New is what a dispatch may say.
type New struct {
	Note string `json:"note,omitempty" maxLength:"4000" doc:"What the agent is told besides the task, in your name."`
}

// The kinds of events; all are about the task.
const (
	dispatched = "task.dispatched"
	began      = "task.dispatch_started"
	waits      = "task.dispatch_waits"
	ended      = "task.dispatch_ended"
)

// Hand hands a task to its agent. What waits for the runtime happens later, and
// is not this caller's to wait for.
func (s *Service) Hand(ctx context.Context, ref string, n New) (Dispatch, error) {
	if st := s.Runtime.Status(); st.State == gateway.NotConfigured {
		return Dispatch{}, gateway.ErrNotConfigured.With("Set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN, and start the service anew.")
	}
	var d Dispatch
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		d, err = once.Do(ctx, tx, s.Now(), find, func(d Dispatch) string { return d.ID }, func() (Dispatch, error) { return s.hand(ctx, tx, ref, n) })
		return err
	})
	if err != nil {
		return Dispatch{}, fmt.Errorf("dispatch task: %w", err)
	}
	return d, nil
}

func (s *Service) hand(ctx context.Context, tx *db.Tx, ref string, n New) (Dispatch, error) {
	t, err := s.HandOver(ctx, tx, ref)
	if err != nil {
		return Dispatch{}, err
	}
	before, err := last(ctx, tx, t.ID)
	switch {
	case err == nil && before.alive():
		return Dispatch{}, ErrGoing.With("%s has it since %s, as run %s. Wait for its end, or take it back with DELETE.",
			before.AgentID, before.Since.UTC().Format(time.RFC3339), before.RunID).
			Fact("run_id", before.RunID).Fact("since", before.Since).Fact("state", before.State).Fact("agent_id", before.AgentID)
	case err != nil && !errors.Is(err, ErrNotFound):
		return Dispatch{}, err
	}
	now, by := s.Now(), actor.From(ctx)
	address := s.PublicURL
	if address == "" && s.OwnURL != nil {
		address = s.OwnURL()
	}
	d := Dispatch{
		ID: db.NewID(), Task: t.Key, State: Queued, Since: clock.At(now), AgentID: t.AgentID, SessionKey: "agent:" + t.AgentID + ":task:" + t.Key,
		By: by.Name, CreatedAt: clock.At(now), taskID: t.ID, userID: t.UserID, first: before.number + 1, number: before.number + 1,
		message: message(t, n.Note, by.Name, address), startBy: clock.At(now.Add(s.Patience)),
	}
	d.RunID = d.name(d.number)
	if err := insert(ctx, tx, d); err != nil {
		return Dispatch{}, err
	}
	if _, err := s.Jobs.Enqueue(ctx, tx, kindCourse, d.ID, nil); err != nil {
		return Dispatch{}, err
	}
	if err := s.Show(ctx, tx, d); err != nil {
		return Dispatch{}, err
	}
	return d, s.record(ctx, tx, dispatched, d, map[string]any{"note": n.Note != ""})
}

// Cancel takes a task back from its agent: nobody waits for the run any more,
// and it is stopped in the runtime as soon as that can be reached.
func (s *Service) Cancel(ctx context.Context, ref string) (Dispatch, error) {
	var d Dispatch
	by := actor.From(ctx)
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		id, err := s.TaskID(ctx, tx, ref)
		if err != nil {
			return err
		}
		was, err := s.drop(ctx, tx, id, Failure{Cancelled, "Taken back by " + by.Name + "."})
		if err != nil {
			return err
		}
		if was == nil {
			return ErrNotGoing.With("Read the task: its dispatch has ended, or there was none.")
		}
		d = *was
		if err := s.Show(ctx, tx, d); err != nil {
			return err
		}
		return s.record(ctx, tx, ended, d, nil)
	})
	if err != nil {
		return Dispatch{}, fmt.Errorf("cancel dispatch: %w", err)
	}
	return d, nil
}

// Withdraw takes a task back that goes into the archive, or away: then nothing of
// it is kept. It writes no event, and answers how the dispatch ended by that; nil
// when none was going on.
func (s *Service) Withdraw(ctx context.Context, tx *db.Tx, taskID string, gone bool) (*Dispatch, error) {
	why := Failure{Withdrawn, "The task went into the archive."}
	if gone {
		why.Detail = "The task was deleted."
	}
	d, err := s.drop(ctx, tx, taskID, why)
	if err == nil && gone {
		_, err = tx.Exec(ctx, `DELETE FROM dispatches WHERE task_id = ?`, taskID)
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw a task: %w", err)
	}
	return d, nil
}

// drop ends the dispatch of a task, if one goes on, and sees to it that its run
// is stopped.
func (s *Service) drop(ctx context.Context, tx *db.Tx, taskID string, why Failure) (*Dispatch, error) {
	d, err := last(ctx, tx, taskID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// It waits for what the job is writing; what is read after it stays so.
	if err := s.Jobs.Cancel(ctx, tx, kindCourse, d.ID); err != nil {
		return nil, err
	}
	if d, err = find(ctx, tx, d.ID); err != nil || !d.alive() {
		return nil, err
	}
	d.end(s.Now(), &why)
	if err := update(ctx, tx, d); err != nil {
		return nil, err
	}
	if d.sent {
		if _, err := s.Stops.Enqueue(ctx, tx, kindStop, d.RunID, d.orphan()); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// gaveUp ends a dispatch whose job has failed for good.
func (s *Service) gaveUp(ctx context.Context, tx *db.Tx, id string, cause error) error {
	d, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !d.alive() {
		return nil
	}
	if err != nil {
		return err
	}
	if d.sent {
		if _, err := s.Stops.Enqueue(ctx, tx, kindStop, d.RunID, d.orphan()); err != nil {
			return err
		}
	}
	s.Log.ErrorContext(ctx, "a dispatch was given up", "run", d.RunID, "err", cause)
	return s.close(ctx, tx, d, &Failure{Broken, "This service failed several times while it looked after it; its log says how."}, nil, "")
}

// close writes down how a dispatch ended: what the run used first, then what
// shows it, and what the log hears of it last.
func (s *Service) close(ctx context.Context, tx *db.Tx, d Dispatch, f *Failure, u *gateway.Usage, said string) error {
	now := s.Now()
	d.end(now, f)
	if err := update(ctx, tx, d); err != nil {
		return err
	}
	if u != nil && u.SessionID != "" && s.Used != nil {
		from := d.CreatedAt.Time
		if d.askedAt != nil {
			from = d.askedAt.Time
		}
		if err := s.Used(ctx, tx, Used{d.RunID, d.AgentID, d.SessionKey, d.Task, from, now, *u}); err != nil {
			return err
		}
	}
	if err := s.Show(ctx, tx, d); err != nil {
		return err
	}
	if err := s.tellInbox(ctx, tx, d); err != nil {
		return err
	}
	data := map[string]any{}
	if said != "" {
		data["answer"] = cut(plaintext.Lines(said), longestAnswer)
	}
	return s.record(ctx, tx, ended, d, data)
}

// longestAnswer is how much of what an agent says at the end is in the log, in runes.
const longestAnswer = 2000

// kindFailed is the kind of the item that a dispatch which failed becomes.
const kindFailed = "dispatch_failed"

func (s *Service) tellInbox(ctx context.Context, tx *db.Tx, d Dispatch) error {
	switch {
	case d.State == Ended && s.Settle != nil:
		return s.Settle(ctx, tx, d.cause(), d.AgentID+" has worked on it.")
	case d.State == Failed && s.Raise != nil && d.Error.Code != Withdrawn && d.Error.Code != Reassigned:
		return s.Raise(ctx, tx, Matter{
			Cause: d.cause(), Kind: kindFailed, Severity: "high", Subject: d.subject(),
			Title:  fmt.Sprintf("%s could not be worked on by %s", d.Task, d.AgentID),
			Detail: fmt.Sprintf("%s (`%s`, run `%s`)\n\nDispatch it again when that is settled.", d.Error.Detail, d.Error.Code, d.RunID),
		})
	}
	return nil
}

// record tells the log; nothing else may be written after it.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, d Dispatch, data map[string]any) error {
	all := map[string]any{"dispatch": d}
	maps.Copy(all, data)
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, d.subject(), all)
}

// moment lets some time pass.
func moment(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
