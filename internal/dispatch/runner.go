package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/ask"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

// runner carries out a dispatch. It runs in the replica that holds the dispatch's job, and
// stores the steps for ask.Once.
type runner struct {
	*Service
	job   *job.Held
	d     Dispatch
	begun time.Time // when this process began to carry out the dispatch
}

// Intervals for a runner.
const (
	waitSlice  = 30 * time.Second // duration of one wait for the gateway
	graceWait  = 15 * time.Second // wait for the gateway after the time limit, to find out how the run ended
	agentPause = 5 * time.Second  // pause after the agent was not found
	heldPause  = 2 * time.Second  // pause after the agent was held
)

// run is the job function that carries out a dispatch until it ends.
func (s *Service) run(ctx context.Context, h *job.Held) error {
	d, err := find(ctx, s.DB, h.Key)
	if errors.Is(err, ErrNotFound) || err == nil && !d.active() {
		return nil // it ended before a crash, or was deleted with its task
	}
	if err != nil {
		return err
	}
	c := &runner{Service: s, job: h, d: d, begun: s.Now()}
	for {
		r, err := ask.Once(ctx, c.Runtime, c.Now, c)
		if err == nil && errors.Is(r.Rejected, link.ErrRefused) && c.d.State == task.Queued {
			if err = c.awaitAgent(ctx, r.Rejected); err == nil {
				continue
			}
		}
		if held, ok := errors.AsType[*heldError](err); ok {
			if err = c.awaitRelease(ctx, held); err == nil {
				continue
			}
		}
		f, failed := errors.AsType[*Failure](err)
		switch {
		case failed:
			r.Orphaned = c.d.sent
		case err != nil:
			return err
		default:
			f = failure(r, c.Limit)
		}
		return c.finish(ctx, f, r)
	}
}

// heldError means that the question was not sent because the agent is held.
type heldError struct{ why error }

func (e *heldError) Error() string { return e.why.Error() }

// awaitRelease waits before the next attempt to start a held agent. The dispatch's time to start
// begins anew, because the agent can be released at any time.
func (c *runner) awaitRelease(ctx context.Context, held *heldError) error {
	if c.d.State == task.Started {
		return &Failure{Stopped, errorText(held.why)}
	}
	c.d.startBy = clock.At(c.Now().Add(c.Patience))
	if err := c.setWaiting(ctx, errorText(held.why)); err != nil {
		return err
	}
	return ask.Pause(ctx, heldPause)
}

// finish records that the dispatch has ended. If its run is orphaned, finish also enqueues a
// job that stops the run.
func (c *runner) finish(ctx context.Context, f *Failure, r ask.Result) error {
	return c.job.Write(ctx, func(tx *db.Tx) error {
		if r.Orphaned {
			if err := c.Stops.Enqueue(ctx, tx, c.d.orphan()); err != nil {
				return err
			}
		}
		return c.close(ctx, tx, c.d, f, r.Answer)
	})
}

// awaitAgent handles a question that the gateway rejected. If the gateway does not list the
// agent, awaitAgent waits, because the agent may still be added. Any other rejection is
// final.
func (c *runner) awaitAgent(ctx context.Context, why error) error {
	c.d.sent = false // the gateway rejected it
	roster, err := c.Runtime.Agents(ctx)
	switch listed := slices.ContainsFunc(roster, func(a gateway.Agent) bool { return a.ID == c.d.AgentID }); {
	case link.IsUnavailable(err):
		if _, err := c.Unavailable(ctx, c.begun, err); err != nil {
			return err
		}
	case err != nil || listed:
		return &Failure{Refused, errorText(why)}
	case c.Left() <= 0:
		return &Failure{
			Unknown, fmt.Sprintf("The gateway has not listed the agent %s for %s.", c.d.AgentID, formatDuration(c.Patience)),
		}
	default:
		if err := c.setWaiting(ctx, "The gateway does not list the agent "+c.d.AgentID+"."); err != nil {
			return err
		}
	}
	return ask.Pause(ctx, min(agentPause, max(c.Left(), time.Second)))
}

// Question implements ask.Asker.
func (c *runner) Question() ask.Question {
	q := ask.Question{
		Orphan: c.d.orphan(), AgentID: c.d.AgentID, Message: c.d.message, BootID: c.d.bootID,
		Sent: c.d.sent, Accepted: c.d.State == task.Started, AskedAt: c.d.CreatedAt.Time,
	}
	if c.d.askedAt != nil {
		q.AskedAt = c.d.askedAt.Time
	}
	return q
}

// Left returns the time left for the dispatch to start or, once it has started, to end. A time that is too far away
// was set before the clock was set back, so that the limit begins anew.
func (c *runner) Left() time.Duration {
	by, limit, now := &c.d.startBy, c.Patience, c.Now()
	if c.d.State == task.Started && c.d.endBy != nil {
		by, limit = c.d.endBy, c.Limit
	}
	if by.After(now.Add(limit + clock.Skew)) {
		*by = clock.At(now.Add(limit))
	}
	return by.Sub(now)
}

// Sending ends the dispatch if the task must no longer be dispatched, and otherwise records
// that the question is about to be sent.
func (c *runner) Sending(ctx context.Context) (time.Duration, error) {
	if c.d.State == task.Started {
		if err := c.Holds.Check(ctx, c.DB, c.d.AgentID); err != nil {
			return 0, &heldError{err}
		}
		return c.Left(), c.checkEligible(ctx)
	}
	var f *Failure
	is := c.d
	is.sent, is.bootID = true, c.Runtime.Status().BootID
	err := c.job.Write(ctx, func(tx *db.Tx) (err error) {
		if f, err = c.ineligible(ctx, tx, c.d); err != nil || f != nil {
			return err
		}
		if err := c.Holds.Check(ctx, tx, c.d.AgentID); err != nil {
			return &heldError{err}
		}
		return update(ctx, tx, is)
	})
	switch {
	case err != nil:
		return 0, err
	case f != nil:
		return 0, f
	}
	c.d = is
	return c.Limit, nil
}

// Accepted records that the gateway has accepted the question. When that happens for the
// first time, the dispatch's time limit starts.
func (c *runner) Accepted(ctx context.Context, boot string) error {
	kind, now := "", c.Now()
	if c.d.State == task.Queued {
		kind = eventStarted
		c.d.State, c.d.Since, c.d.Waiting = task.Started, clock.At(now), nil
		c.d.askedAt, c.d.endBy = clock.Ptr(now), clock.Ptr(now.Add(c.Limit))
	}
	c.d.bootID = boot
	return c.write(ctx, kind)
}

// Replace gives the dispatch the task's next run ID. It ends the dispatch if the time limit
// has passed or the task must no longer be dispatched.
func (c *runner) Replace(ctx context.Context, _ bool) error {
	if c.d.State == task.Started && c.Left() <= 0 {
		return timedOut(c.Limit)
	}
	if err := c.checkEligible(ctx); err != nil {
		return err
	}
	c.d.number++
	c.d.RunID, c.d.sent, c.d.bootID = c.d.runID(c.d.number), true, c.Runtime.Status().BootID
	return c.write(ctx, eventStarted)
}

// checkEligible returns a Failure if the question must not be sent again. The dispatch continues if
// the task was merely reassigned, because the agent that has started the work keeps the task.
func (c *runner) checkEligible(ctx context.Context) error {
	f, err := c.ineligible(ctx, c.DB, c.d)
	if err == nil && f != nil && f.Code != Reassigned {
		err = f
	}
	return err
}

// Unavailable stores why the dispatch waits. It ends the dispatch if no connection will be made
// or the dispatch's time is up. After the time limit of a run, it waits a little longer.
func (c *runner) Unavailable(ctx context.Context, _ time.Time, why error) (time.Duration, error) {
	left := c.Left()
	if c.d.State == task.Started {
		left = max(left, min(c.begun.Sub(c.Now()), 0)) + graceWait // the clock may have been set back
	}
	switch {
	case left <= 0:
		return 0, c.unreachable(errorText(why))
	case errors.Is(why, link.ErrNotConfigured):
		return 0, &Failure{Unreachable, errorText(why)}
	}
	text := errorText(why)
	if st := c.Runtime.Status(); st.ConnectedAt == nil {
		text = st.LastError
	}
	return min(waitSlice, left), c.setWaiting(ctx, text)
}

// unreachable returns the failure of a dispatch that ended because the gateway was unreachable for
// too long.
func (c *runner) unreachable(why string) *Failure {
	switch {
	case c.d.State == task.Queued && c.d.sent:
		why = fmt.Sprintf("The gateway may have accepted the task, but was then unreachable for %s. If the agent is working on it, Wardroom stops the run when the gateway is back. %s", formatDuration(c.Patience), why)
	case c.d.State == task.Queued:
		why = fmt.Sprintf("The gateway did not accept the task within %s: %s", formatDuration(c.Patience), why)
	default:
		why = fmt.Sprintf(
			"The gateway accepted the task but was unreachable when the limit of %s ended, so the result is unknown. %s",
			formatDuration(c.Limit), why,
		)
	}
	return &Failure{Unreachable, cut(why, longestReason)}
}

// Back implements ask.Asker. The time limit of a run includes the time for which the gateway was away.
func (c *runner) Back(context.Context, time.Duration) error { return nil }

// setWaiting stores the reason why the dispatch has not started. It writes nothing if the reason is unchanged.
func (c *runner) setWaiting(ctx context.Context, why string) error {
	why = cut(plaintext.Line(why), longestReason)
	if c.d.State != task.Queued || why == "" || c.d.Waiting != nil && *c.d.Waiting == why {
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
		if err := c.show(ctx, tx, c.d); err != nil {
			return err
		}
		return c.record(ctx, tx, kind, c.d, nil)
	})
}
