package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/plaintext"
)

// runner carries out a dispatch. It runs in the replica that holds the dispatch's job.
type runner struct {
	*Service
	job       *job.Held
	d         Dispatch
	overtaken int  // how often the gateway dropped the question in favor of a resumed turn
	graceUsed bool // whether it has waited for the gateway once after the time limit
}

// Intervals and limits for a runner.
const (
	waitSlice  = 30 * time.Second       // duration of one wait for the gateway or a run
	retryPause = 500 * time.Millisecond // pause between attempts
	graceWait  = 15 * time.Second       // wait for the gateway after the time limit, to find out how the run ended
	agentPause = 5 * time.Second        // pause after the agent was not found
	margin     = 5 * time.Second        // the gateway stops the run this long after the limit if Wardroom does not
	stopWait   = 2 * time.Second        // wait for the result of a stopped run
	endWait    = time.Second            // wait for the result of a run that ended unobserved

	maxOvertaken = 3
)

// errEnded means that the dispatch has ended and its end has been stored.
var errEnded = errors.New("the dispatch has ended")

// run is the job function that carries out a dispatch until it ends.
func (s *Service) run(ctx context.Context, h *job.Held) error {
	d, err := find(ctx, s.DB, h.Key)
	if errors.Is(err, ErrNotFound) || err == nil && !d.active() {
		return nil // it ended before a crash, or was deleted with its task
	}
	if err != nil {
		return err
	}
	c := &runner{Service: s, job: h, d: d}
	for err == nil {
		err = c.advance(ctx)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// advance makes one attempt to complete the dispatch on the current connection. It returns
// nil if another attempt is needed.
func (c *runner) advance(ctx context.Context) error {
	boot, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if c.d.sent {
		ask, err := c.recover(ctx, boot)
		if gateway.IsUnavailable(err) {
			return c.pause(ctx, err)
		}
		if err != nil || !ask {
			return err
		}
	}
	a, err := c.askAndWait(ctx)
	switch {
	case errors.Is(err, job.ErrLost) || ctx.Err() != nil:
		return context.Cause(ctx)
	case gateway.IsUnavailable(err):
		return c.pause(ctx, err)
	case errors.Is(err, gateway.ErrRefused) && c.d.State == Queued:
		return c.handleRejection(ctx, err)
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		return c.finish(ctx, &Failure{Refused, errorText(err)}, gateway.Answer{})
	case err != nil:
		return err
	case a.NotBegun:
		return c.pause(ctx, gateway.ErrUnreachable.With("%s", a.Error))
	}
	return c.conclude(ctx, a)
}

// connected waits for a connection to the gateway and returns the id of the gateway's
// process. If the dispatch's time runs out first, connected ends the dispatch.
func (c *runner) connected(ctx context.Context) (boot string, err error) {
	for {
		some := min(waitSlice, c.left())
		if c.d.State == Started && some <= 0 && !c.graceUsed {
			some, c.graceUsed = graceWait, true
		}
		waiting, cancel := context.WithTimeout(ctx, max(some, time.Millisecond))
		if c.Runtime.Status().ConnectedAt == nil {
			if err := c.setWaiting(ctx, c.Runtime.Status().LastError); err != nil {
				cancel()
				return "", err
			}
		}
		boot, err = c.Runtime.Await(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil:
			return boot, nil
		case c.left() <= 0:
			return "", c.finish(ctx, c.unreachable(errorText(err)), gateway.Answer{})
		}
		if errors.Is(err, gateway.ErrNotConfigured) { // no connection will be made
			return "", c.finish(ctx, &Failure{Unreachable, errorText(err)}, gateway.Answer{})
		}
	}
}

// unreachable returns the failure of a dispatch that ended because the gateway was unreachable for
// too long.
func (c *runner) unreachable(why string) *Failure {
	switch {
	case c.d.State == Queued && c.d.sent:
		return &Failure{Unreachable, cut(fmt.Sprintf("The gateway may have accepted the task, but was then unreachable for %s. If the agent is working on it, Wardroom stops the run when the gateway is back. %s", formatDuration(c.Patience), why), longestReason)}
	case c.d.State == Queued:
		return &Failure{Unreachable, cut(fmt.Sprintf("The gateway did not accept the task within %s: %s", formatDuration(c.Patience), why), longestReason)}
	}
	return &Failure{Unreachable, cut(fmt.Sprintf("The gateway accepted the task but was unreachable when the limit of %s ended, so the result is unknown. %s", formatDuration(c.Limit), why), longestReason)}
}

// left returns the time left for the dispatch to start or, once it has started, to end.
func (c *runner) left() time.Duration {
	by := c.d.startBy
	if c.d.State == Started && c.d.endBy != nil {
		by = *c.d.endBy
	}
	return by.Sub(c.Now())
}

// setWaiting stores the reason why the dispatch has not started. It writes nothing if the reason is unchanged.
func (c *runner) setWaiting(ctx context.Context, why string) error {
	why = cut(plaintext.Line(why), longestReason)
	if c.d.State != Queued || why == "" || c.d.Waiting != nil && *c.d.Waiting == why {
		return nil
	}
	c.d.Waiting = &why
	return c.write(ctx, eventWaiting)
}

// write stores the dispatch. Unless kind is empty, it also records an event of that kind.
func (c *runner) write(ctx context.Context, kind string) error {
	return c.job.Write(ctx, func(tx *db.Tx) error {
		if err := update(ctx, tx, c.d); err != nil {
			return err
		}
		if kind == "" {
			return nil
		}
		if err := c.Show(ctx, tx, c.d); err != nil {
			return err
		}
		return c.record(ctx, tx, kind, c.d, nil)
	})
}

// finish records that the dispatch has ended, and then returns errEnded. If the run may
// still be in progress or start later, finish also enqueues a job that stops the run.
func (c *runner) finish(ctx context.Context, f *Failure, a gateway.Answer) error {
	err := c.job.Write(ctx, func(tx *db.Tx) error {
		if f != nil && c.d.sent && slices.Contains([]Code{Unreachable, TimedOut, Withdrawn, Reassigned, Deactivated, Refused}, f.Code) {
			if _, err := c.Stops.Enqueue(ctx, tx, kindStop, c.d.RunID, c.d.orphan()); err != nil {
				return err
			}
		}
		return c.close(ctx, tx, c.d, f, a.Usage, a.Text)
	})
	if err == nil {
		err = errEnded
	}
	return err
}

// conclude ends the dispatch with the result of its run. If the gateway dropped the
// question before the agent received it, conclude calls handleOvertaken instead.
func (c *runner) conclude(ctx context.Context, a gateway.Answer) error {
	if a.Overtaken {
		return c.handleOvertaken(ctx, a)
	}
	return c.finish(ctx, outcome(a, c.left() <= 0, c.Limit), a)
}

// pause waits before the next attempt. If the dispatch's time is up, pause ends the dispatch instead.
func (c *runner) pause(ctx context.Context, why error) error {
	if c.left() <= 0 && (c.d.State == Queued || c.graceUsed) {
		return c.finish(ctx, c.unreachable(errorText(why)), gateway.Answer{})
	}
	if err := c.setWaiting(ctx, errorText(why)); err != nil {
		return err
	}
	return sleep(ctx, retryPause)
}

// handleRejection handles a question that the gateway rejected. If the gateway does not
// list the agent, handleRejection waits, because the agent may still be added. Any other
// rejection is final.
func (c *runner) handleRejection(ctx context.Context, why error) error {
	c.d.sent = false // the gateway rejected it
	roster, err := c.Runtime.Agents(ctx)
	if gateway.IsUnavailable(err) {
		return c.pause(ctx, err)
	}
	for _, a := range roster {
		if err != nil || a.ID == c.d.AgentID {
			return c.finish(ctx, &Failure{Refused, errorText(why)}, gateway.Answer{})
		}
	}
	if err != nil {
		return c.finish(ctx, &Failure{Refused, errorText(why)}, gateway.Answer{})
	}
	if c.left() <= 0 {
		return c.finish(ctx, &Failure{Unknown, fmt.Sprintf("The gateway has not listed the agent %s for %s.", c.d.AgentID, formatDuration(c.Patience))}, gateway.Answer{})
	}
	if err := c.setWaiting(ctx, "The gateway does not list the agent "+c.d.AgentID+"."); err != nil {
		return err
	}
	return sleep(ctx, min(agentPause, max(c.left(), retryPause)))
}

// askAndWait sends the question and waits for its run to end. It uses a single connection.
func (c *runner) askAndWait(ctx context.Context) (gateway.Answer, error) {
	limit := c.Limit
	if c.d.State == Started {
		limit = max(c.left(), time.Second)
	} else if err := c.prepare(ctx); err != nil {
		return gateway.Answer{}, err
	}
	s, err := c.Runtime.Start(ctx, gateway.Question{
		RunID: c.d.RunID, AgentID: c.d.AgentID, SessionKey: c.d.SessionKey, Message: c.d.message, Limit: limit + margin,
	})
	if err != nil {
		return gateway.Answer{}, err
	}
	if s.Answer != nil && (s.Answer.NotBegun || s.Answer.Overtaken) {
		return *s.Answer, nil
	}
	if err := c.accepted(ctx, s.BootID); err != nil {
		return gateway.Answer{}, err
	}
	if s.Answer != nil {
		return *s.Answer, nil
	}
	return c.await(ctx)
}

// prepare records that the question is about to be sent, or ends the dispatch if the task
// must no longer be dispatched.
func (c *runner) prepare(ctx context.Context) error {
	var code Code
	var why string
	boot := c.Runtime.Status().BootID
	err := c.job.Write(ctx, func(tx *db.Tx) (err error) {
		if code, why, err = c.Ineligible(ctx, tx, c.d.taskID, c.d.userID); err != nil || code != "" {
			return err
		}
		is := c.d
		is.sent, is.bootID = true, boot
		return update(ctx, tx, is)
	})
	switch {
	case err != nil:
		return err
	case code != "":
		return c.finish(ctx, &Failure{code, why}, gateway.Answer{})
	}
	c.d.sent, c.d.bootID = true, boot
	return nil
}

// accepted records that the gateway has accepted the question. When that happens for the
// first time, the dispatch's time limit starts.
func (c *runner) accepted(ctx context.Context, boot string) error {
	if c.d.State == Started && c.d.bootID == boot {
		return nil
	}
	kind, now := "", c.Now()
	if c.d.State == Queued {
		kind = eventStarted
		c.d.State, c.d.Since, c.d.Waiting = Started, clock.At(now), nil
		c.d.askedAt, c.d.endBy = clock.Ptr(now), clock.Ptr(now.Add(c.Limit))
	}
	c.d.bootID = boot
	return c.write(ctx, kind)
}

// await waits for an accepted run to end. It also checks whether the gateway has
// restarted, because a restarted gateway reports the runs that it has lost as still
// running.
func (c *runner) await(ctx context.Context) (gateway.Answer, error) {
	restarted := gateway.ErrUnreachable.With("The gateway restarted after it accepted the task.")
	for c.left() > 0 {
		if c.Runtime.Status().BootID != c.d.bootID {
			return gateway.Answer{}, restarted
		}
		a, err := c.Runtime.Wait(ctx, c.d.RunID, min(waitSlice, c.left()))
		if err != nil || a.Outcome != gateway.Running {
			return a, err
		}
	}
	if c.Runtime.Status().BootID != c.d.bootID {
		return gateway.Answer{}, restarted
	}
	// The time limit has passed. If the run ended just now, its result still counts.
	if _, err := c.Runtime.Stop(ctx, c.d.SessionKey, c.d.RunID); gateway.IsUnavailable(err) {
		return gateway.Answer{}, err
	} else if err != nil {
		c.Log.WarnContext(ctx, "could not stop a run", "run", c.d.RunID, "err", err)
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, stopWait)
	if err == nil && a.Outcome != gateway.Finished {
		a.Outcome = gateway.TimedOut
	}
	return a, err
}

// recover finds out what happened to a question that may have been sent before an
// interruption. If it returns true, the caller must send the question with the run id in
// c.d, which may have changed. Otherwise recover has already ended the dispatch or waited
// for its run.
func (c *runner) recover(ctx context.Context, boot string) (ask bool, _ error) {
	t, seen, err := c.findRuns(ctx)
	switch {
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		return false, c.finish(ctx, &Failure{Refused, errorText(err)}, gateway.Answer{})
	case err != nil:
		return false, err
	case t.Answered:
		return false, c.conclude(ctx, t.Answer)
	case t.Active:
		if err := c.accepted(ctx, boot); err != nil {
			return false, err
		}
		a, err := c.await(ctx)
		if err != nil {
			return false, err
		}
		return false, c.conclude(ctx, a)
	case t.Other && seen && boot != c.d.bootID: // the gateway is resuming the interrupted turn
		if c.left() <= 0 {
			return false, c.outOfTime(ctx, t)
		}
		return false, sleep(ctx, retryPause)
	case !seen && c.d.State == Started && boot == c.d.bootID && t.Other: // it may be queued behind the other run
		return false, c.queued(ctx)
	case !seen && c.d.State == Started && boot == c.d.bootID:
		return false, c.finishUnanswered(ctx, t, boot) // accepted, but no longer in the history
	case !seen && c.d.State == Started && c.left() <= 0:
		return false, c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	case !seen:
		return true, c.checkEligible(ctx) // it never arrived, so the same run id is safe
	case boot != c.d.bootID && (t.Answer.Outcome == "" || t.Answer.Outcome == gateway.Stopped):
		return c.askAgain(ctx) // it was lost when the gateway restarted
	}
	return false, c.finishUnanswered(ctx, t, boot)
}

// queued waits briefly for the answer to a question that may be queued behind another run in its
// session. If there is no answer by then, queued returns nil, and recover checks the question again
// later.
func (c *runner) queued(ctx context.Context) error {
	if c.left() <= 0 {
		return c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, min(waitSlice, c.left()))
	if err != nil || a.Outcome == gateway.Running {
		return err
	}
	return c.conclude(ctx, a)
}

// finishUnanswered ends a dispatch whose run ended without leaving an answer in the session's
// history. It asks the gateway for the run's result, which is available for a few minutes. It
// does not send the question again, because the agent would repeat the work.
func (c *runner) finishUnanswered(ctx context.Context, t gateway.Trace, boot string) error {
	if err := c.accepted(ctx, boot); err != nil {
		return err
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, endWait)
	if err != nil {
		return err
	}
	if a.Outcome == gateway.Running {
		a = t.Answer
	}
	if a.Outcome == "" || a.Outcome == gateway.Running {
		a = gateway.Answer{Outcome: gateway.Failed, Error: "The run ended without an answer while Wardroom was disconnected."}
	}
	return c.conclude(ctx, a)
}

// findRuns searches the session's history for this dispatch's current question and the questions
// that it replaced. It also reports whether the agent has seen the current question or answered any
// of these questions.
func (c *runner) findRuns(ctx context.Context) (t gateway.Trace, seen bool, err error) {
	for n := c.d.number; n >= c.d.first; n-- {
		found, err := c.Runtime.Find(ctx, c.d.SessionKey, c.d.runID(n))
		if err != nil || found.Answered {
			return found, true, err
		}
		if n == c.d.number {
			t = found
			seen = t.Asked || t.Active || t.Answer.Outcome != ""
		} else if t.Resumed == "" {
			t.Resumed = found.Resumed
		}
	}
	return t, seen, nil
}

// askAgain replaces a question whose run was lost when the gateway restarted. It returns
// true if the question must now be sent under its new run id. If the time limit has passed
// or the task must no longer be dispatched, askAgain ends the dispatch.
func (c *runner) askAgain(ctx context.Context) (bool, error) {
	if c.d.State == Started && c.left() <= 0 {
		return false, c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	}
	if err := c.checkEligible(ctx); err != nil {
		return false, err
	}
	c.d.number++
	c.d.RunID, c.d.sent, c.d.bootID = c.d.runID(c.d.number), true, c.Runtime.Status().BootID
	return true, c.write(ctx, eventStarted)
}

// checkEligible ends the dispatch if its question must not be sent again. The dispatch continues if
// the task was merely reassigned, because the agent that has started the work keeps the task.
func (c *runner) checkEligible(ctx context.Context) error {
	code, why, err := c.Ineligible(ctx, c.DB, c.d.taskID, c.d.userID)
	if err == nil && (code == Withdrawn || code == Deactivated) {
		err = c.finish(ctx, &Failure{code, why}, gateway.Answer{})
	}
	return err
}

// handleOvertaken handles a question that the gateway dropped because it was resuming an
// interrupted turn in the same session. If the question must be sent again, it gets a new
// run id, because the gateway keeps reporting the old run id as dropped.
func (c *runner) handleOvertaken(ctx context.Context, a gateway.Answer) error {
	if err := sleep(ctx, retryPause); err != nil {
		return err
	}
	t, _, err := c.findRuns(ctx)
	switch {
	case gateway.IsUnavailable(err):
		return c.pause(ctx, err)
	case err != nil:
		return c.finish(ctx, &Failure{Refused, errorText(err)}, gateway.Answer{})
	case t.Answered:
		return c.conclude(ctx, t.Answer)
	case c.left() <= 0:
		return c.outOfTime(ctx, t)
	case t.Other:
		return nil // recover waits for the other run
	}
	if c.overtaken++; c.overtaken > maxOvertaken {
		return c.finish(ctx, outcome(a, false, c.Limit), a)
	}
	_, err = c.askAgain(ctx)
	return err
}

// outOfTime ends the dispatch as timed out, because a turn that the gateway resumed took
// too long. It also stops that turn if the turn's run is known.
func (c *runner) outOfTime(ctx context.Context, t gateway.Trace) error {
	if t.Other && t.Resumed != "" {
		if _, err := c.Runtime.Stop(ctx, c.d.SessionKey, t.Resumed); err != nil {
			c.Log.WarnContext(ctx, "could not stop a run", "run", t.Resumed, "err", err)
		}
	}
	return c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
}
