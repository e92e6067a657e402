package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// This file is about turns that the gateway resumes by itself: after a restart
// it goes on with what it was doing in a session, as a run of its own (OpenClaw
// 2026.9.6, about 3 s after it is ready). What the agent says then answers our
// question, and a question that we send in that moment is turned away.

// overtakenMost is how often a question may be turned away because its session
// changed. A gateway resumes a turn once; more often than that, something else
// keeps changing the session.
const maxRejections = 3

// look finds out what became of a question. An answer that the gateway's resumed
// turn gave to the same question, also under an earlier number, is taken as this
// one's. While wait says so, a turn that may bring it is waited for; late says
// that the agent's time was over before that turn was. asked tells wait that the
// agent has seen the question, under this number or an earlier one.
func (m *meeting) findOutcome(ctx context.Context, q question, wait func(t gateway.Trace, asked bool) bool) (_ gateway.Trace, late bool, _ error) {
	for {
		t, asked, err := m.findTrace(ctx, q)
		if err != nil || t.Answered || !wait(t, asked) {
			return t, false, err
		}
		if m.Now().After(q.DeadlineAt.Time) {
			return t, true, nil
		}
		if err := m.shortDelay(ctx); err != nil {
			return t, false, err
		}
	}
}

// find looks a question up in its session's history, and where it has no
// answer, also those before it that were lost and asked for the same. asked says
// that the history has one of them.
func (m *meeting) findTrace(ctx context.Context, q question) (t gateway.Trace, asked bool, _ error) {
	t, err := m.Runtime.Find(ctx, q.SessionKey, q.RunID)
	asked = t.Asked
	if err != nil || t.Answered || q.Number == 1 {
		return t, asked, err
	}
	all, err := questions(ctx, m.DB, m.id)
	if err != nil {
		return t, asked, err
	}
	for n := q.Number - 1; n > 0; n-- {
		i := slices.IndexFunc(all, func(x question) bool {
			return x.AgentID == q.AgentID && x.Number == n && x.Purpose == q.Purpose && x.State == "lost" && x.Message == q.Message
		})
		if i < 0 {
			break
		}
		before, err := m.Runtime.Find(ctx, all[i].SessionKey, all[i].RunID)
		if err != nil || before.Answered {
			return before, true, err
		}
		asked = asked || before.Asked
		t.Resumed = cmp.Or(t.Resumed, before.Resumed)
	}
	return t, asked, nil
}

// overtaken follows up a question that was turned away because its session
// changed. Nobody is asked again while an answer may come or is there; else the
// question goes out under the next number, because the gateway answers the old
// one with the same failure from now on. The agent's time goes on. done says
// that the question has ended.
func (m *meeting) retryRejected(ctx context.Context, q question, a gateway.Answer, again bool) (next question, done bool, _ error) {
	if err := m.shortDelay(ctx); err != nil {
		return q, false, err
	}
	t, late, err := m.findOutcome(ctx, q, func(t gateway.Trace, _ bool) bool { return t.Other })
	switch {
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		next, err = m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: errorText(err)})
		return next, true, err
	case err != nil:
		return q, false, err
	case t.Answered:
		next, err = m.finish(ctx, q, t.Answer)
		return next, true, err
	case late || m.Now().After(q.DeadlineAt.Time):
		next, err = m.timeOutResumed(ctx, q, t)
		return next, true, err
	case !again:
		next, err = m.finish(ctx, q, a)
		return next, true, err
	}
	next, err = m.replaceQuestion(ctx, q, q.DeadlineAt,
		"The runtime was resuming interrupted work and turned the question to "+q.AgentID+" away. "+q.AgentID+" is asked again.")
	return next, false, err
}

// outOfTime ends a question whose resumed turn did not answer within the
// agent's time, and stops that turn where its run is known.
func (m *meeting) timeOutResumed(ctx context.Context, q question, t gateway.Trace) (question, error) {
	if t.Other && t.Resumed != "" {
		if _, err := m.Runtime.Stop(ctx, q.SessionKey, t.Resumed); err != nil {
			m.Log.WarnContext(ctx, "run could not be stopped", "run", t.Resumed, "err", err)
		}
	}
	return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut})
}

// putAnew writes down that a question is lost, why, and the one that follows it.
func (m *meeting) replaceQuestion(ctx context.Context, q question, deadline clock.Time, why string) (question, error) {
	lost := q
	lost.State, lost.EndedAt = "lost", clock.Ptr(m.Now())
	err := m.step(ctx, "lost "+q.RunID, func(tx *db.Tx, _ *Standup) error {
		if err := putQuestion(ctx, tx, m.id, lost); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team, why)
	})
	if err != nil {
		return q, fmt.Errorf("ask %s anew: %w", q.AgentID, err)
	}
	return m.createQuestion(ctx, question{AgentID: q.AgentID, Purpose: q.Purpose, Number: q.Number + 1, Message: q.Message, DeadlineAt: deadline})
}

// moment lets half a second pass.
func (m *meeting) shortDelay(ctx context.Context) error {
	t := time.NewTimer(500 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
