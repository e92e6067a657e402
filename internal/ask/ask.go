// Package ask asks an agent a question once, even if Wardroom or the gateway dies while
// the agent answers, and stops runs that nobody waits for any more.
//
// A feature stores its question before Once sends it. The run ID is the gateway's
// idempotency key. After each interruption, Once first finds out from the session's
// history whether the question arrived and was answered. It sends a question again under
// a new run ID only if its run was lost when the gateway restarted.
package ask

import (
	"context"
	"errors"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Status() link.Status
	Await(ctx context.Context) (bootID string, err error)
	Start(ctx context.Context, q gateway.Question) (gateway.Started, error)
	Wait(ctx context.Context, runID string, limit time.Duration) (gateway.Answer, error)
	Find(ctx context.Context, sessionKey, runID string) (gateway.Trace, error)
	Stop(ctx context.Context, sessionKey, runID string) (stopped bool, err error)
}

// Question is a question as its feature has stored it.
type Question struct {
	Orphan
	AgentID, Message string
	BootID           string    // the gateway process that the question was last sent to
	Sent             bool      // the gateway may have received the question
	Accepted         bool      // the gateway accepted the question
	AskedAt          time.Time // when it was first sent or accepted
}

// Asker is the feature that asks a question. It stores each step and decides how long to
// wait. If one of its methods returns an error, Once returns that error.
type Asker interface {
	// Question returns the question in its stored state.
	Question() Question
	// Left returns the time until the question's deadline.
	Left() time.Duration
	// Sending is called before the question is sent. It returns the run's time limit.
	Sending(ctx context.Context) (limit time.Duration, err error)
	// Accepted stores that the gateway process bootID has accepted the question.
	Accepted(ctx context.Context, bootID string) error
	// Replace gives the question its next run ID, because the run was lost. If overtaken
	// is true, the gateway dropped the question before the agent received it.
	Replace(ctx context.Context, overtaken bool) error
	// Unavailable is called while the gateway is unavailable. It returns how long to wait
	// for it, or an error if Wardroom has waited long enough since the given time. The
	// time starts anew if the gateway is busy after it was unreachable, or the reverse.
	Unavailable(ctx context.Context, since time.Time, why error) (time.Duration, error)
	// Back is called when the gateway is connected after it was away for some time.
	Back(ctx context.Context, away time.Duration) error
}

// Unsure is the outcome of a run that ended without an answer while Wardroom was not
// waiting for it. Nothing tells how it ended.
const Unsure gateway.Outcome = "unsure"

// Result is how a question ended. Its Outcome is Finished, Failed, Stopped, TimedOut or
// Unsure.
type Result struct {
	gateway.Answer
	Rejected error // the gateway's refusal of a request, or nil; the Outcome is empty if it is set
	Orphaned bool  // the run may be in progress, so the caller must have it stopped
}

// Intervals and limits.
const (
	margin     = 5 * time.Second        // the gateway stops the run this long after the limit if Wardroom does not
	waitSlice  = 30 * time.Second       // duration of one wait for a run
	stopWait   = 2 * time.Second        // wait for the result of a stopped run
	endWait    = time.Second            // wait for the result of a run that ended unobserved
	retryPause = 500 * time.Millisecond // pause between attempts

	// maxOvertaken is how often the gateway may drop a question. It resumes an interrupted
	// turn only once, so if it drops more questions, it has another reason.
	maxOvertaken = 3
	// runRetention is how long the gateway certainly remembers an ended run. OpenClaw
	// 2026.9.6 remembers it for five minutes. After that, the same run ID starts a new run.
	runRetention = 4 * time.Minute
)

// asking is a question while Once asks it.
type asking struct {
	Runtime
	Asker
	now func() time.Time

	sent      bool      // the gateway may have received the question under its current run ID
	overtaken int       // how often the gateway dropped the question in favor of a resumed turn
	silent    time.Time // since when the gateway has been unavailable; zero if it is not
	busy      bool      // whether the gateway has been busy since then, rather than unreachable
}

// Once asks a question and returns how it ended. If the process dies meanwhile, the next
// process calls Once with the stored question.
func Once(ctx context.Context, g Runtime, now func() time.Time, by Asker) (Result, error) {
	a := &asking{Runtime: g, Asker: by, now: now, sent: by.Question().Sent}
	for {
		r, err := a.attempt(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		case link.IsUnavailable(err):
			if _, err = a.noteUnavailable(ctx, err); err == nil {
				err = Pause(ctx, retryPause)
			}
		}
		if err != nil {
			return Result{}, err
		}
		if r != nil {
			return *r, nil
		}
	}
}

// attempt makes one attempt to get the answer. It returns nil if another attempt is needed.
func (a *asking) attempt(ctx context.Context) (*Result, error) {
	boot, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	if a.sent {
		if r, err := a.resume(ctx, boot); r != nil || err != nil || a.sent {
			return r, err
		}
	}
	return a.send(ctx)
}

// connect waits for a connection and returns the ID of the gateway's process.
func (a *asking) connect(ctx context.Context) (boot string, _ error) {
	began := a.now()
	for wait := time.Millisecond; ; { // the first wait only looks whether there is a connection
		waiting, cancel := context.WithTimeout(ctx, wait)
		boot, err := a.Await(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			if wait, err = a.noteUnavailable(ctx, err); err != nil {
				return "", err
			}
			continue
		case wait > time.Millisecond:
			return boot, a.Back(ctx, a.now().Sub(began))
		}
		return boot, nil
	}
}

// noteUnavailable tells the Asker that the gateway is unavailable, and returns how long to wait for it.
func (a *asking) noteUnavailable(ctx context.Context, why error) (time.Duration, error) {
	if busy := errors.Is(why, link.ErrBusy); a.silent.IsZero() || busy != a.busy {
		a.silent, a.busy = a.now(), busy
	}
	return a.Unavailable(ctx, a.silent, why)
}

// send sends the question and waits for the end of its run on the same connection. Before it
// sends a question whose run was lost, it looks once more whether the gateway has resumed that
// run meanwhile. It returns nil if another attempt is needed.
func (a *asking) send(ctx context.Context) (*Result, error) {
	limit, err := a.Sending(ctx)
	if err != nil {
		return nil, err
	}
	q := a.Question()
	if len(q.Former) > 0 {
		switch t, _, err := a.trace(ctx, q); {
		case err != nil || t.Answered:
			return a.conclude(ctx, &t.Answer, err)
		case t.Other:
			return a.awaitOther(ctx)
		}
	}
	a.sent = true
	s, err := a.Start(ctx, gateway.Question{
		RunID: q.RunID, AgentID: q.AgentID, SessionKey: q.SessionKey, Message: q.Message,
		Limit: max(limit, time.Second) + margin,
	})
	switch {
	case err != nil && (link.IsUnavailable(err) || ctx.Err() != nil):
		return nil, err
	case err != nil:
		return &Result{Rejected: err}, nil //nolint:nilerr // the result has the error
	case s.Answer != nil && (s.Answer.NotBegun || s.Answer.Overtaken):
		return a.conclude(ctx, s.Answer, nil)
	}
	if err := a.accept(ctx, s.BootID); err != nil {
		return nil, err
	}
	if s.Answer != nil {
		return a.ended(ctx, s.Answer, nil)
	}
	return a.awaitEnd(ctx)
}

// accept stores that a gateway process has accepted the question, unless that is already stored.
func (a *asking) accept(ctx context.Context, boot string) error {
	a.silent = time.Time{}
	if q := a.Question(); q.Accepted && q.BootID == boot {
		return nil
	}
	return a.Accepted(ctx, boot)
}

// awaitEnd waits for an accepted run to end, and stops it at the deadline. It also checks
// whether the gateway has restarted, because a restarted gateway reports the runs that it
// has lost as still running.
func (a *asking) awaitEnd(ctx context.Context) (*Result, error) {
	q := a.Question()
	restarted := link.ErrUnreachable.With("The gateway restarted after it accepted the question.")
	for a.Left() > 0 {
		if a.Status().BootID != q.BootID {
			return nil, restarted
		}
		got, err := a.Wait(ctx, q.RunID, min(waitSlice, a.Left()))
		if err != nil || got.Outcome != gateway.Running {
			return a.ended(ctx, &got, err)
		}
	}
	if a.Status().BootID != q.BootID {
		return nil, restarted
	}
	// An answer that arrives before the stop still counts. If the stop is refused, the
	// wait shows that the run is in progress.
	if _, err := a.Stop(ctx, q.SessionKey, q.RunID); link.IsUnavailable(err) {
		return nil, err
	}
	got, err := a.Wait(ctx, q.RunID, stopWait)
	if err == nil && got.Outcome != gateway.Finished && got.Outcome != gateway.Running {
		got.Outcome = gateway.TimedOut
	}
	return a.ended(ctx, &got, err)
}

// ended returns the result of a run that has ended. If the gateway says that the run succeeded, but it used
// no model or said nothing, the session's history decides.
func (a *asking) ended(ctx context.Context, got *gateway.Answer, err error) (*Result, error) {
	u := got.Usage
	proven := got.Text != "" && u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite+u.Other > 0
	if err != nil || got.Outcome != gateway.Finished || proven {
		return a.conclude(ctx, got, err)
	}
	t, _, err := a.trace(ctx, a.Question())
	switch {
	case link.IsUnavailable(err) || ctx.Err() != nil:
		return nil, err
	case err == nil &&
		(t.Answer.Outcome == gateway.Failed || t.Answer.Outcome == gateway.TimedOut || t.Answer.Outcome == gateway.Stopped):
		got.Outcome, got.Text, got.Error = t.Answer.Outcome, "", t.Answer.Error
	}
	return a.conclude(ctx, got, nil)
}

// conclude returns the result of a run, or of a request about it. It returns an error if the
// gateway is unavailable, and nil if the question must be sent again.
func (a *asking) conclude(ctx context.Context, got *gateway.Answer, err error) (*Result, error) {
	switch {
	case err != nil && (link.IsUnavailable(err) || ctx.Err() != nil):
		return nil, err
	case err != nil:
		return &Result{Rejected: err, Orphaned: true}, nil //nolint:nilerr // the result has the error
	case got.NotBegun:
		return nil, link.ErrUnreachable.With("%s", got.Error)
	case got.Overtaken:
		return a.followOther(ctx, *got)
	case got.Outcome == gateway.Running:
		return a.timedOut(), nil
	case got.Outcome == gateway.Stopped && a.Left() <= 0:
		got.Outcome = gateway.TimedOut // Wardroom stopped it
	}
	return &Result{Answer: *got}, nil
}

// timedOut returns the result of a question whose run may outlive its deadline. It ended at the
// deadline, even if Wardroom was not running then.
func (a *asking) timedOut() *Result {
	r := &Result{Answer: gateway.Answer{Outcome: gateway.TimedOut}, Orphaned: true}
	if left := a.Left(); left < 0 {
		r.EndedAt = a.now().Add(left)
	}
	return r
}

// Pause waits until d has elapsed or ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
