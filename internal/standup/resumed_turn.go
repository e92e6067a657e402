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

// This file handles turns that the gateway resumes on its own. After a restart, the
// gateway continues an interrupted turn as a new run (OpenClaw 2026.9.6: about 3 s
// after it is ready). The answer of that run answers Wardroom's question, and the
// gateway rejects questions sent to the session at that moment.

// maxRejections is the maximum number of times that a question may be rejected because its
// session changed. A session changes when the gateway resumes an interrupted turn. The
// gateway does that only once, so further rejections have another cause.
const maxRejections = 3

// findOutcome looks up the outcome of the question q in the runtime. The answer may also come from a resumed turn, or
// from a lost question that q replaced. If there is no answer yet, findOutcome calls wait, and looks again if wait
// returns true. The asked argument is true if the history contains q or a question that q replaced. If q's deadline
// passes first, late is true.
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

// findTrace looks up a question in its session's history. If the question is unanswered, findTrace
// also looks up the lost questions that it replaced. It also reports whether the history contains
// any of these questions.
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

// retryRejected handles a question that the gateway rejected because its session changed. It first waits for an answer
// from a resumed turn. If none arrives and again is true, it replaces the question with one that has a new run id and
// the same deadline; the gateway would reject the old run id again. Otherwise it ends the question and returns true.
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
		"The gateway was resuming interrupted work and rejected the question to "+q.AgentID+". "+q.AgentID+" is asked again.")
	return next, false, err
}

// timeOutResumed ends a question whose resumed turn did not answer before the deadline. If
// the run of the resumed turn is known, timeOutResumed stops it.
func (m *meeting) timeOutResumed(ctx context.Context, q question, t gateway.Trace) (question, error) {
	if t.Other && t.Resumed != "" {
		if _, err := m.Runtime.Stop(ctx, q.SessionKey, t.Resumed); err != nil {
			m.Log.WarnContext(ctx, "cannot stop run", "run", t.Resumed, "err", err)
		}
	}
	return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut})
}

// replaceQuestion marks a question as lost, notes the reason in the transcript and creates
// a new question that replaces it.
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
		return q, fmt.Errorf("ask %s again: %w", q.AgentID, err)
	}
	return m.createQuestion(ctx, question{AgentID: q.AgentID, Purpose: q.Purpose, Number: q.Number + 1, Message: q.Message, DeadlineAt: deadline})
}

// shortDelay waits for half a second or until ctx ends.
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
