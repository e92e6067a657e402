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

// course is a dispatch on its way to its end, in the process that holds its job.
type course struct {
	*Service
	job       *job.Held
	d         Dispatch
	overtaken int  // how often the runtime turned the question away for work that it resumed
	looked    bool // whether it has waited for the gateway once although its time was over
}

// The pace of a course.
const (
	slice    = 30 * time.Second // how long one wait for a run is
	breath   = 500 * time.Millisecond
	chance   = 15 * time.Second // in which the gateway may tell how a run ended whose time was over while nobody listened
	another  = 5 * time.Second  // after an agent was not there
	margin   = 5 * time.Second  // the runtime ends the run itself should we be gone by then
	farewell = 2 * time.Second  // in which a stopped run says how it ended
	settling = time.Second      // in which a run that ended while nobody listened does

	overtakenMost = 3
)

// errEnded says that the dispatch has ended and is written down.
var errEnded = errors.New("the dispatch has ended")

// bring brings a dispatch to its end.
func (s *Service) bring(ctx context.Context, h *job.Held) error {
	d, err := find(ctx, s.DB, h.Key)
	if errors.Is(err, ErrNotFound) || err == nil && !d.alive() {
		return nil // it ended before a crash, or went with its task
	}
	if err != nil {
		return err
	}
	c := &course{Service: s, job: h, d: d}
	for err == nil {
		err = c.advance(ctx)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// advance takes the dispatch one step further: one connection, one question.
func (c *course) advance(ctx context.Context) error {
	boot, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if c.d.sent {
		ask, err := c.recover(ctx, boot)
		if gateway.Away(err) {
			return c.pause(ctx, err)
		}
		if err != nil || !ask {
			return err
		}
	}
	a, err := c.converse(ctx)
	switch {
	case errors.Is(err, job.ErrLost) || ctx.Err() != nil:
		return context.Cause(ctx)
	case gateway.Away(err):
		return c.pause(ctx, err)
	case errors.Is(err, gateway.ErrRefused) && c.d.State == Queued:
		return c.refused(ctx, err)
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		return c.finish(ctx, &Failure{Refused, words(err)}, gateway.Answer{})
	case err != nil:
		return err
	case a.NotBegun:
		return c.pause(ctx, gateway.ErrUnreachable.With("%s", a.Error))
	}
	return c.conclude(ctx, a)
}

// connected waits for the gateway, for as long as the dispatch has time.
func (c *course) connected(ctx context.Context) (boot string, err error) {
	for {
		some := min(slice, c.left())
		if c.d.State == Started && some <= 0 && !c.looked {
			some, c.looked = chance, true
		}
		waiting, cancel := context.WithTimeout(ctx, max(some, time.Millisecond))
		if c.Runtime.Status().ConnectedAt == nil {
			if err := c.waits(ctx, c.Runtime.Status().LastError); err != nil {
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
			return "", c.finish(ctx, c.gone(words(err)), gateway.Answer{})
		}
		if errors.Is(err, gateway.ErrNotConfigured) { // it will not come
			return "", c.finish(ctx, &Failure{Unreachable, words(err)}, gateway.Answer{})
		}
	}
}

// gone is the failure that the gateway was away for too long.
func (c *course) gone(why string) *Failure {
	switch {
	case c.d.State == Queued && c.d.sent:
		return &Failure{Unreachable, cut(fmt.Sprintf("The agent runtime may have taken it, and could not be asked for %s. Should the agent work on it, that is stopped as soon as the runtime is back. %s", length(c.Patience), why), longestReason)}
	case c.d.State == Queued:
		return &Failure{Unreachable, cut(fmt.Sprintf("The agent runtime could not take it for %s: %s", length(c.Patience), why), longestReason)}
	}
	return &Failure{Unreachable, cut(fmt.Sprintf("The agent runtime took it and was away when its time of %s was over: what became of it is unknown. %s", length(c.Limit), why), longestReason)}
}

// left is the time that it has to begin or, once it has begun, to end.
func (c *course) left() time.Duration {
	by := c.d.startBy
	if c.d.State == Started && c.d.endBy != nil {
		by = *c.d.endBy
	}
	return by.Sub(c.Now())
}

// waits notes why it has not begun, when that is news.
func (c *course) waits(ctx context.Context, why string) error {
	why = cut(plaintext.Line(why), longestReason)
	if c.d.State != Queued || why == "" || c.d.Waiting != nil && *c.d.Waiting == why {
		return nil
	}
	c.d.Waiting = &why
	return c.write(ctx, waits)
}

// write stores how the dispatch stands, and tells the log unless kind is empty.
func (c *course) write(ctx context.Context, kind string) error {
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

// finish writes down how it ended. A run that may go on where nobody could look, or
// begin yet, is stopped as soon as somebody can.
func (c *course) finish(ctx context.Context, f *Failure, a gateway.Answer) error {
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

// conclude ends the dispatch as its run ended, unless the gateway gave the run up
// before the agent began on it.
func (c *course) conclude(ctx context.Context, a gateway.Answer) error {
	if a.Overtaken {
		return c.overtook(ctx, a)
	}
	return c.finish(ctx, outcome(a, c.left() <= 0, c.Limit), a)
}

// pause lets a moment pass before what was turned away is tried again, and ends
// the dispatch when its time is over.
func (c *course) pause(ctx context.Context, why error) error {
	if c.left() <= 0 && (c.d.State == Queued || c.looked) {
		return c.finish(ctx, c.gone(words(why)), gateway.Answer{})
	}
	if err := c.waits(ctx, words(why)); err != nil {
		return err
	}
	return moment(ctx, breath)
}

// refused finds out why the gateway will not ask: an agent that it does not know
// may come, anything else stays.
func (c *course) refused(ctx context.Context, why error) error {
	c.d.sent = false // it was turned away
	roster, err := c.Runtime.Agents(ctx)
	if gateway.Away(err) {
		return c.pause(ctx, err)
	}
	for _, a := range roster {
		if err != nil || a.ID == c.d.AgentID {
			return c.finish(ctx, &Failure{Refused, words(why)}, gateway.Answer{})
		}
	}
	if err != nil {
		return c.finish(ctx, &Failure{Refused, words(why)}, gateway.Answer{})
	}
	if c.left() <= 0 {
		return c.finish(ctx, &Failure{Unknown, fmt.Sprintf("The runtime did not know the agent %s for %s.", c.d.AgentID, length(c.Patience))}, gateway.Answer{})
	}
	if err := c.waits(ctx, "The runtime does not know the agent "+c.d.AgentID+"."); err != nil {
		return err
	}
	return moment(ctx, min(another, max(c.left(), breath)))
}

// converse sends the question and waits for the end of its run, on one connection.
func (c *course) converse(ctx context.Context) (gateway.Answer, error) {
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

// prepare notes that the question leaves, unless the task is not to be handed
// over any more.
func (c *course) prepare(ctx context.Context) error {
	var code Code
	var why string
	boot := c.Runtime.Status().BootID
	err := c.job.Write(ctx, func(tx *db.Tx) (err error) {
		if code, why, err = c.Unwanted(ctx, tx, c.d.taskID, c.d.userID); err != nil || code != "" {
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

// accepted notes that the gateway has the question. Its time begins when it took
// it first.
func (c *course) accepted(ctx context.Context, boot string) error {
	if c.d.State == Started && c.d.bootID == boot {
		return nil
	}
	kind, now := "", c.Now()
	if c.d.State == Queued {
		kind = began
		c.d.State, c.d.Since, c.d.Waiting = Started, clock.At(now), nil
		c.d.askedAt, c.d.endBy = clock.Ptr(now), clock.Ptr(now.Add(c.Limit))
	}
	c.d.bootID = boot
	return c.write(ctx, kind)
}

// await waits for the end of a run that was taken. A gateway that has restarted
// since does not know the run, and would say for ever that it goes on.
func (c *course) await(ctx context.Context) (gateway.Answer, error) {
	restarted := gateway.ErrUnreachable.With("The gateway restarted after it took the task.")
	for c.left() > 0 {
		if c.Runtime.Status().BootID != c.d.bootID {
			return gateway.Answer{}, restarted
		}
		a, err := c.Runtime.Wait(ctx, c.d.RunID, min(slice, c.left()))
		if err != nil || a.Outcome != gateway.Running {
			return a, err
		}
	}
	if c.Runtime.Status().BootID != c.d.bootID {
		return gateway.Answer{}, restarted
	}
	// Its time is over. It may have ended in this very moment: then that counts.
	if _, err := c.Runtime.Stop(ctx, c.d.SessionKey, c.d.RunID); gateway.Away(err) {
		return gateway.Answer{}, err
	} else if err != nil {
		c.Log.WarnContext(ctx, "run could not be stopped", "run", c.d.RunID, "err", err)
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, farewell)
	if err == nil && a.Outcome != gateway.Finished {
		a.Outcome = gateway.TimedOut
	}
	return a, err
}

// recover finds out what became of a question that may have been sent before an
// interruption. ask says that it is to be sent, under the same run id or the one
// that follows it; else it was brought to its end, or is waited for.
func (c *course) recover(ctx context.Context, boot string) (ask bool, _ error) {
	t, seen, err := c.look(ctx)
	switch {
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		return false, c.finish(ctx, &Failure{Refused, words(err)}, gateway.Answer{})
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
	case t.Other && seen && boot != c.d.bootID: // the runtime resumes the interrupted turn by itself
		if c.left() <= 0 {
			return false, c.outOfTime(ctx, t)
		}
		return false, moment(ctx, breath)
	case !seen && c.d.State == Started && boot == c.d.bootID && t.Other: // it may wait behind what goes on there
		return false, c.queued(ctx)
	case !seen && c.d.State == Started && boot == c.d.bootID:
		return false, c.over(ctx, t, boot) // it was taken, and is not to be found any more
	case !seen && c.d.State == Started && c.left() <= 0:
		return false, c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	case !seen:
		return true, c.stillWanted(ctx) // it never arrived: the same run id is safe
	case boot != c.d.bootID && (t.Answer.Outcome == "" || t.Answer.Outcome == gateway.Stopped):
		return c.askAnew(ctx) // it was lost with the gateway's process
	}
	return false, c.over(ctx, t, boot)
}

// queued waits for a question that stands behind other work. The gateway tells when
// it is stopped there; whether it has begun is looked at again.
func (c *course) queued(ctx context.Context) error {
	if c.left() <= 0 {
		return c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, min(slice, c.left()))
	if err != nil || a.Outcome == gateway.Running {
		return err
	}
	return c.conclude(ctx, a)
}

// over ends a dispatch whose run has ended without an answer. The gateway knows
// for some minutes how; sent again later, the task would be worked on again.
func (c *course) over(ctx context.Context, t gateway.Trace, boot string) error {
	if err := c.accepted(ctx, boot); err != nil {
		return err
	}
	a, err := c.Runtime.Wait(ctx, c.d.RunID, settling)
	if err != nil {
		return err
	}
	if a.Outcome == gateway.Running {
		a = t.Answer
	}
	if a.Outcome == "" || a.Outcome == gateway.Running {
		a = gateway.Answer{Outcome: gateway.Failed, Error: "Its run ended without an answer while nobody listened."}
	}
	return c.conclude(ctx, a)
}

// look reads the history of the session for the present question and those of
// the same dispatch before it. seen says that the agent has one of them.
func (c *course) look(ctx context.Context) (t gateway.Trace, seen bool, err error) {
	for n := c.d.number; n >= c.d.first; n-- {
		found, err := c.Runtime.Find(ctx, c.d.SessionKey, c.d.name(n))
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

// askAnew follows up a question whose run died with the gateway's process: only
// then the number of a run grows. What was done meanwhile is not begun anew.
func (c *course) askAnew(ctx context.Context) (bool, error) {
	if c.d.State == Started && c.left() <= 0 {
		return false, c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
	}
	if err := c.stillWanted(ctx); err != nil {
		return false, err
	}
	c.d.number++
	c.d.RunID, c.d.sent, c.d.bootID = c.d.name(c.d.number), true, c.Runtime.Status().BootID
	return true, c.write(ctx, began)
}

// stillWanted ends a dispatch that is not to be sent again. What was given to
// another meanwhile stays with the agent that works on it.
func (c *course) stillWanted(ctx context.Context) error {
	code, why, err := c.Unwanted(ctx, c.DB, c.d.taskID, c.d.userID)
	if err == nil && (code == Withdrawn || code == Deactivated) {
		err = c.finish(ctx, &Failure{code, why}, gateway.Answer{})
	}
	return err
}

// overtook follows up a question that was turned away because its session
// changed in that moment: the gateway resumes interrupted turns by itself, and
// answers the old run id with that failure from now on.
func (c *course) overtook(ctx context.Context, a gateway.Answer) error {
	if err := moment(ctx, breath); err != nil {
		return err
	}
	t, _, err := c.look(ctx)
	switch {
	case gateway.Away(err):
		return c.pause(ctx, err)
	case err != nil:
		return c.finish(ctx, &Failure{Refused, words(err)}, gateway.Answer{})
	case t.Answered:
		return c.conclude(ctx, t.Answer)
	case c.left() <= 0:
		return c.outOfTime(ctx, t)
	case t.Other:
		return nil // it is looked at again, and waited for
	}
	if c.overtaken++; c.overtaken > overtakenMost {
		return c.finish(ctx, outcome(a, false, c.Limit), a)
	}
	_, err = c.askAnew(ctx)
	return err
}

// outOfTime ends a dispatch whose resumed turn took too long, and stops that turn
// where its run is known.
func (c *course) outOfTime(ctx context.Context, t gateway.Trace) error {
	if t.Other && t.Resumed != "" {
		if _, err := c.Runtime.Stop(ctx, c.d.SessionKey, t.Resumed); err != nil {
			c.Log.WarnContext(ctx, "run could not be stopped", "run", t.Resumed, "err", err)
		}
	}
	return c.conclude(ctx, gateway.Answer{Outcome: gateway.TimedOut})
}
