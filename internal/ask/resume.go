package ask

import (
	"context"
	"time"

	"wardroom/internal/gateway"
)

// This file finds out what happened to a question after an interruption. After a restart,
// the gateway continues an interrupted turn as a new run (OpenClaw 2026.9.6: about 3 s
// after it is ready). The answer of that run answers the question, and the gateway drops
// questions that are sent to the session at that moment.

// resume finds out what happened to a question that may have been sent before an
// interruption. It sets a.sent to false if the question must be sent. Otherwise it returns
// how the question ended, or nil if that is not known yet.
func (a *asking) resume(ctx context.Context, boot string) (*Result, error) {
	q := a.Question()
	t, seen, err := a.trace(ctx, q)
	same := boot == q.BootID
	switch {
	case err != nil || t.Answered:
		return a.conclude(ctx, &t.Answer, err)
	case t.Active && (same || !t.Other):
		if err := a.accept(ctx, boot); err != nil {
			return nil, err
		}
		return a.awaitEnd(ctx)
	case t.Active, seen && t.Other && !same: // the gateway is resuming the turn
		return a.waitForOther(ctx)
	case !seen && q.Accepted && same && t.Other:
		return a.queued(ctx, q)
	case !seen && q.Accepted && same && a.now().Sub(q.AskedAt) > runRetention:
		return a.settle(ctx, t, boot) // it is no longer in the history
	case !seen && q.Accepted && !same && a.Left() <= 0:
		return a.timedOut(), nil
	case !seen: // it never arrived, or the gateway still knows its run ID
		a.sent = false
		return nil, nil
	case !same && (t.Answer.Outcome == "" || t.Answer.Outcome == gateway.Stopped):
		a.sent = false // it was lost when the gateway restarted
		return nil, a.Replace(ctx, false)
	}
	return a.settle(ctx, t, boot)
}

// waitForOther waits briefly for another run in the session, which may be answering the question.
func (a *asking) waitForOther(ctx context.Context) (*Result, error) {
	if a.Left() <= 0 {
		return a.timedOut(), nil
	}
	a.silent = time.Time{}
	return nil, Pause(ctx, retryPause)
}

// trace searches the session's history for the question and for the lost runs of the same
// question. It returns the trace that has the answer, or else the question's own. It also
// reports whether the agent has received the question.
func (a *asking) trace(ctx context.Context, q Question) (t gateway.Trace, seen bool, err error) {
	for i, id := range q.runs() {
		found, err := a.Find(ctx, q.SessionKey, id)
		if err != nil || found.Answered {
			return found, true, err
		}
		if i == 0 {
			t = found
		}
	}
	return t, t.Asked || t.Active || t.Answer.Outcome != "", nil
}

// queued waits briefly for a question that may be queued behind another run in its session.
func (a *asking) queued(ctx context.Context, q Question) (*Result, error) {
	if a.Left() <= 0 {
		return a.timedOut(), nil
	}
	got, err := a.Wait(ctx, q.RunID, min(waitSlice, a.Left()))
	if err == nil && got.Outcome == gateway.Running {
		return nil, nil
	}
	return a.ended(ctx, &got, err)
}

// settle returns the result of a run that ended without leaving an answer in the session's
// history. It asks the gateway for the result, which is available for a few minutes. It
// does not send the question again, because the agent would repeat the work.
func (a *asking) settle(ctx context.Context, t gateway.Trace, boot string) (*Result, error) {
	if err := a.accept(ctx, boot); err != nil {
		return nil, err
	}
	got, err := a.Wait(ctx, a.Question().RunID, endWait)
	if got.Outcome == gateway.Running {
		got = t.Answer
	}
	if got.Outcome == "" || got.Outcome == gateway.Running {
		got.Outcome = Unsure
	}
	return a.ended(ctx, &got, err)
}

// followOther handles a question that the gateway dropped because it was resuming an
// interrupted turn in the same session. It waits for the answer of that turn. If there is
// none, the question gets a new run ID, because the gateway would drop the old one again.
func (a *asking) followOther(ctx context.Context, dropped gateway.Answer) (*Result, error) {
	if err := Pause(ctx, retryPause); err != nil {
		return nil, err
	}
	if r, err := a.awaitOther(ctx); r != nil || err != nil {
		return r, err
	}
	if a.overtaken++; a.overtaken == maxOvertaken {
		return &Result{Answer: dropped}, nil
	}
	a.sent = false
	return nil, a.Replace(ctx, true)
}

// awaitOther waits until no other run is in progress in the session. It returns how the question
// ended if such a run has answered it or its time is up, and otherwise nil.
func (a *asking) awaitOther(ctx context.Context) (*Result, error) {
	for {
		t, _, err := a.trace(ctx, a.Question())
		switch {
		case err != nil || t.Answered:
			return a.conclude(ctx, &t.Answer, err)
		case a.Left() <= 0:
			return a.timedOut(), nil
		case !t.Other:
			return nil, nil
		}
		a.silent = time.Time{}
		if err := Pause(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}
