package standup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
)

// longestAnswer is how much of one answer is kept, in bytes.
const longestAnswer = 200_000

// ask puts a question to an agent and comes back with how it ended. Whoever
// goes on after a crash finds the question where it was left, and the agent is
// not asked twice: the gateway knows it by its run id.
func (m *meeting) ask(ctx context.Context, agentID, purpose string, message func() string) (question, error) {
	all, err := questions(ctx, m.DB, m.id)
	if err != nil {
		return question{}, err
	}
	attempt, err := m.thisAttempt(ctx)
	if err != nil {
		return question{}, err
	}
	number := 0
	for _, q := range all {
		if q.AgentID != agentID {
			continue
		}
		number = max(number, q.Number)
		if q.Purpose != purpose {
			continue
		}
		if q.State == "open" {
			return m.converse(ctx, q, false)
		}
		if q.EndedAt != nil && !q.EndedAt.Before(attempt) && q.State != "lost" && q.State != "dropped" {
			return q, nil // this attempt has its answer already, from before a crash
		}
	}
	q, err := m.put(ctx, question{
		AgentID: agentID, Purpose: purpose, Number: number + 1, Message: message(),
		DeadlineAt: clock.At(m.Now().Add(m.AgentTimeout)),
	})
	if err != nil {
		return question{}, err
	}
	return m.converse(ctx, q, true)
}

// thisAttempt is when the attempt that is going on was started.
func (m *meeting) thisAttempt(ctx context.Context) (time.Time, error) {
	row, err := find(ctx, m.DB, m.id)
	if err != nil || row.StartedAt == nil {
		return time.Time{}, err
	}
	return row.StartedAt.Time, nil
}

// put writes a question down before it is sent.
func (m *meeting) put(ctx context.Context, q question) (question, error) {
	q.RunID = fmt.Sprintf("standup-%s-%s-%d", m.id, q.AgentID, q.Number)
	q.BootID, q.State = m.Runtime.Status().BootID, "open"
	err := m.step(ctx, "ask "+q.RunID, func(tx *db.Tx, row *Standup) error {
		now := m.Now()
		q.SessionKey = fmt.Sprintf("agent:%s:standup:%s", q.AgentID, row.Date)
		q.AskedAt = clock.At(now)
		if err := putQuestion(ctx, tx, m.id, q); err != nil {
			return err
		}
		for i, r := range row.Reports {
			if r.AgentID == q.AgentID && q.Purpose == "report" {
				r.Status, r.AskedAt = Asked, &q.AskedAt
				if err := putReport(ctx, tx, m.id, i, r); err != nil {
					return err
				}
			}
		}
		if err := update(ctx, tx, row, now); err != nil {
			return err
		}
		from := row.Facilitator
		if q.AgentID == row.Facilitator {
			from = service
		}
		if err := say(ctx, tx, m.id, now, "question", from, q.AgentID, q.Message); err != nil {
			return err
		}
		return record(ctx, tx, now, "standup.asked", *row, map[string]any{"agent_id": q.AgentID, "run_id": q.RunID})
	})
	return q, err
}

// converse brings a question to its end: it sends it, waits, and finds out
// after every interruption what became of it. fresh says that it was written
// down just now and cannot have been sent.
func (m *meeting) converse(ctx context.Context, q question, fresh bool) (question, error) {
	for {
		boot, err := m.connected(ctx, &q)
		if err != nil {
			return q, err
		}
		if !fresh {
			next, done, err := m.recover(ctx, q, boot)
			if away(err) {
				if err := m.pause(ctx); err != nil {
					return q, err
				}
				continue
			}
			if err != nil || done {
				return next, err
			}
			q = next
		}
		fresh = false
		a, err := m.converseOnce(ctx, &q)
		switch {
		case ctx.Err() != nil:
			return q, context.Cause(ctx)
		case errors.Is(err, gateway.ErrBusy) && m.Now().After(q.DeadlineAt.Time):
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut})
		case away(err):
			if err := m.pause(ctx); err != nil {
				return q, err
			}
		case err != nil:
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: err.Error()})
		case a.NotBegun:
			if err := m.pause(ctx); err != nil {
				return q, err
			}
		default:
			return m.finish(ctx, q, a)
		}
	}
}

// converseOnce sends the question and waits for its answer, on one connection.
func (m *meeting) converseOnce(ctx context.Context, q *question) (gateway.Answer, error) {
	const margin = 5 * time.Second // the runtime ends the run itself should we be gone by then
	left := q.DeadlineAt.Sub(m.Now())
	s, err := m.Runtime.Start(ctx, gateway.Question{
		RunID: q.RunID, AgentID: q.AgentID, SessionKey: q.SessionKey, Message: q.Message,
		Limit: max(left, time.Second) + margin,
	})
	if err != nil {
		return gateway.Answer{}, err
	}
	q.Accepted, q.BootID = true, s.BootID
	if err := m.save(ctx, *q); err != nil {
		return gateway.Answer{}, err
	}
	if s.Answer != nil {
		return *s.Answer, nil
	}
	a, err := m.Runtime.Wait(ctx, q.RunID, max(q.DeadlineAt.Sub(m.Now()), 0))
	if err != nil || a.Outcome != gateway.Running {
		return a, err
	}
	// Its time is over. It may have answered in this very moment: then the
	// answer counts.
	if _, err := m.Runtime.Stop(ctx, q.SessionKey, q.RunID); err != nil {
		return gateway.Answer{}, err
	}
	const moment = 2 * time.Second
	a, err = m.Runtime.Wait(ctx, q.RunID, moment)
	if err == nil && a.Outcome != gateway.Finished {
		a.Outcome = gateway.TimedOut
	}
	return a, err
}

// recover finds out what became of a question after an interruption. done says
// that it has ended; else it, or the one that follows it, is to be sent.
func (m *meeting) recover(ctx context.Context, q question, boot string) (next question, done bool, _ error) {
	t, err := m.Runtime.Find(ctx, q.SessionKey, q.RunID)
	if err != nil {
		return q, false, err
	}
	switch {
	case t.Answered:
		next, err = m.finish(ctx, q, t.Answer)
		return next, true, err
	case !t.Asked || t.Active:
		return q, false, nil // it never arrived, or is being answered: the same run id is safe
	case boot != q.BootID:
		next, err = m.askAnew(ctx, q)
		return next, false, err
	case m.Now().Sub(q.AskedAt.Time) > remembered:
		next, err = m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: "Its run ended without an answer."})
		return next, true, err
	}
	return q, false, nil // its run ended just now on this gateway, which will tell how
}

// remembered is how long the gateway surely knows a run that has ended; it
// keeps them for five minutes (observed in OpenClaw 2026.9.6). Sent again
// later, the question would be asked again.
const remembered = 4 * time.Minute

// askAnew follows up a question that arrived and whose run died unanswered with
// the gateway's process. Only then does the number of a run grow by itself.
func (m *meeting) askAnew(ctx context.Context, q question) (question, error) {
	lost := q
	lost.State, lost.EndedAt = "lost", clock.Ptr(m.Now())
	err := m.step(ctx, "lost "+q.RunID, func(tx *db.Tx, row *Standup) error {
		if err := putQuestion(ctx, tx, m.id, lost); err != nil {
			return err
		}
		return say(ctx, tx, m.id, m.Now(), "note", service, team,
			"The runtime restarted while "+q.AgentID+" was answering, and the answer is lost. "+q.AgentID+" is asked again.")
	})
	if err != nil {
		return q, err
	}
	return m.put(ctx, question{AgentID: q.AgentID, Purpose: q.Purpose, Number: q.Number + 1, Message: q.Message, DeadlineAt: q.DeadlineAt})
}

// finish writes down how a question ended.
func (m *meeting) finish(ctx context.Context, q question, a gateway.Answer) (question, error) {
	q.EndedAt = clock.Ptr(m.Now())
	text := answer.Clean(a.Text, longestAnswer)
	switch {
	case a.Outcome == gateway.Finished && text != "":
		q.State = "answered"
	case a.Outcome == gateway.TimedOut:
		q.State, text = "timed_out", timeoutText
	case a.Outcome == gateway.Finished:
		q.State, text = "failed", "The answer was empty."
	case a.Outcome == gateway.Stopped:
		q.State, text = "failed", "The run was stopped in the runtime."
	default:
		q.State, text = "failed", answer.Clean(a.Error, 2000)
		if text == "" {
			text = "The runtime does not say why."
		}
	}
	q.Text = &text
	if a.Usage != nil {
		q.CostNano = a.Usage.CostNanoUSD
	}
	return q, m.save(ctx, q)
}

// save stores how a question stands, while the meeting is ours.
func (m *meeting) save(ctx context.Context, q question) error {
	return m.job.Write(ctx, func(tx *db.Tx) error { return putQuestion(ctx, tx, m.id, q) })
}

// connected returns the gateway's boot id once there is a connection. A gateway
// that goes away after it took a question is waited for, and meanwhile the
// agent's clock stands still; one that was never there is not.
func (m *meeting) connected(ctx context.Context, q *question) (boot string, err error) {
	if st := m.Runtime.Status(); st.State == gateway.Connected || st.State == gateway.MissingScopes {
		return m.Runtime.Await(ctx)
	}
	patience, err := m.patience(ctx)
	if err != nil {
		return "", err
	}
	left := m.Now()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	boot, err = m.Runtime.Await(waiting)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", &Failure{GatewayUnreachable, fmt.Sprintf("The agent runtime was not reachable for %s: %s", patience, m.Runtime.Status().LastError)}
	case q == nil:
		return boot, nil
	}
	q.DeadlineAt = clock.At(q.DeadlineAt.Add(m.Now().Sub(left)))
	return boot, m.save(ctx, *q)
}

// patience is how long a gateway that is away is waited for.
func (m *meeting) patience(ctx context.Context) (time.Duration, error) {
	all, err := questions(ctx, m.DB, m.id)
	if err != nil {
		return 0, err
	}
	attempt, err := m.thisAttempt(ctx)
	for _, q := range all {
		if q.Accepted && !q.AskedAt.Before(attempt) {
			return m.Grace, err
		}
	}
	return m.Patience, err
}

// pause lets a moment pass before a request that was turned away is made again.
func (m *meeting) pause(ctx context.Context) error {
	t := time.NewTimer(500 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// away reports whether a request failed because the gateway was not there, so
// that it is to be waited for. A timeout counts: what became of the request is
// found out before it is sent again.
func away(err error) bool {
	return errors.Is(err, gateway.ErrUnreachable) || errors.Is(err, gateway.ErrTimeout) ||
		errors.Is(err, gateway.ErrUnauthorized) || errors.Is(err, gateway.ErrUnpaired) || errors.Is(err, gateway.ErrBusy)
}
