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
	"wardroom/internal/platform/job"
	"wardroom/internal/standup/answer"
)

// longestAnswer is how much of one answer is kept, in characters.
const longestAnswer = 200_000

// ask puts a question to an agent and comes back with how it ended. Whoever
// goes on after a crash finds the question where it was left, and the agent is
// not asked twice: the gateway knows it by its run id. What ended before since
// does not count.
func (m *meeting) ask(ctx context.Context, agentID, purpose string, since *clock.Time, message func() string) (question, error) {
	all, err := questions(ctx, m.DB, m.id)
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
			if !q.Accepted { // it may never have been sent, however long ago that was
				q.DeadlineAt = clock.At(m.Now().Add(m.AgentTimeout))
			}
			return m.heed(ctx, q, false)
		}
		if q.EndedAt != nil && !q.EndedAt.Before(since.Time) && q.State != "lost" && q.State != "dropped" {
			return q, nil // its answer is here already, from before a crash
		}
	}
	q, err := m.put(ctx, question{
		AgentID: agentID, Purpose: purpose, Number: number + 1, Message: message(),
		DeadlineAt: clock.At(m.Now().Add(m.AgentTimeout)),
	})
	if err != nil {
		return question{}, err
	}
	return m.heed(ctx, q, true)
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
		q.SessionKey = row.sessionKey(q.AgentID)
		q.AskedAt = clock.At(now)
		if err := putQuestion(ctx, tx, m.id, q); err != nil {
			return err
		}
		for i, r := range row.Reports {
			if r.AgentID == q.AgentID && q.Purpose == "report" {
				if r.FiledAt != nil {
					return errFiled
				}
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
	overtaken := 0
	var unread time.Time // since when the gateway is too busy to show the session's history
	for {
		boot, err := m.connected(ctx, &q)
		if err != nil {
			return q, err
		}
		if !fresh {
			next, done, err := m.recover(ctx, q, boot)
			if m.unreadable(err, q, &unread) {
				m.stopRuns(ctx, []question{q})
				return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut}) // the others can still be asked
			}
			if away(err) {
				if err := m.pause(ctx, err); err != nil {
					return q, err
				}
				continue
			}
			if done && err == nil {
				m.mute = time.Time{} // it answers, and its next absence is another one
			}
			if err != nil || done {
				return next, err
			}
			q = next
		}
		fresh = false
		a, err := m.converseOnce(ctx, &q)
		switch {
		case errors.Is(err, job.ErrLost) || ctx.Err() != nil:
			m.forsake(ctx, q)
			return q, cmp.Or(context.Cause(ctx), err)
		case errors.As(err, &unwritten{}):
			return q, err // the agent is at it: whoever goes on with the job finds its answer
		case errors.Is(err, gateway.ErrBusy) && m.Now().After(q.DeadlineAt.Time):
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut})
		case away(err):
			if err := m.pause(ctx, err); err != nil {
				return q, err
			}
		case err != nil:
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: words(err)})
		case a.Overtaken:
			overtaken++
			next, done, err := m.overtaken(ctx, q, a, overtaken < overtakenMost)
			if away(err) {
				err = m.pause(ctx, err)
			}
			if err != nil || done {
				return next, err
			}
			fresh = next.RunID != q.RunID // else the gateway went away, and we look again when it is back
			q = next
		case a.NotBegun:
			if err := m.pause(ctx, gateway.ErrUnreachable.With("%s", a.Error)); err != nil {
				return q, err
			}
		default:
			return m.finish(ctx, q, a)
		}
	}
}

// unreadable says that the gateway was too busy for the whole of an agent's time to
// show what became of a question. since is when it first was, and is noted here.
func (m *meeting) unreadable(err error, q question, since *time.Time) bool {
	if !errors.Is(err, gateway.ErrBusy) {
		*since = time.Time{}
		return false
	}
	now := m.Now()
	if since.IsZero() {
		*since = now
	}
	return now.Sub(*since) > m.AgentTimeout && now.After(q.DeadlineAt.Time)
}

// unwritten says that a question was taken and that this could not be written
// down: the fault of the database, and not of the runtime or the agent.
type unwritten struct{ error }

func (u unwritten) Unwrap() error { return u.error }

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
	if s.Answer == nil || !s.Answer.NotBegun {
		m.mute = time.Time{}
	}
	q.Accepted, q.BootID = true, s.BootID
	if err := m.save(ctx, *q); err != nil {
		return gateway.Answer{}, unwritten{err}
	}
	if s.Answer != nil {
		return *s.Answer, nil
	}
	a, err := m.wait(ctx, *q, max(q.DeadlineAt.Sub(m.Now()), 0))
	if err != nil || a.Outcome != gateway.Running {
		return a, err
	}
	// Its time is over. It may have answered in this very moment: then the
	// answer counts.
	if _, err := m.Runtime.Stop(ctx, q.SessionKey, q.RunID); away(err) {
		return gateway.Answer{}, err
	} else if err != nil {
		m.Log.WarnContext(ctx, "run could not be stopped", "run", q.RunID, "err", err)
	}
	const moment = 2 * time.Second
	a, err = m.Runtime.Wait(ctx, q.RunID, moment)
	if err == nil && a.Outcome != gateway.Finished {
		a.Outcome = gateway.TimedOut
	}
	return a, err
}

// wait waits for the end of a run that was taken. A gateway that has restarted
// since does not know the run and would say for all of the agent's time that it
// goes on; the connection may be back before we have noticed that it was gone.
func (m *meeting) wait(ctx context.Context, q question, limit time.Duration) (gateway.Answer, error) {
	restarted := gateway.ErrUnreachable.With("The gateway restarted after it took the question.")
	if m.Runtime.Status().BootID != q.BootID {
		return gateway.Answer{}, restarted
	}
	a, err := m.Runtime.Wait(ctx, q.RunID, limit)
	if err == nil && a.Outcome == gateway.Running && m.Runtime.Status().BootID != q.BootID {
		return gateway.Answer{}, restarted
	}
	return a, err
}

// recover finds out what became of a question after an interruption. done says
// that it has ended; else it, or the one that follows it, is to be sent.
func (m *meeting) recover(ctx context.Context, q question, boot string) (next question, done bool, _ error) {
	t, late, err := m.look(ctx, q, func(t gateway.Trace, asked bool) bool {
		return asked && t.Other && (boot != q.BootID || !t.Active)
	})
	switch {
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		next, err = m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: words(err)})
		return next, true, err // the others can still be asked
	case err != nil:
		return q, false, err
	case t.Answered:
		next, err = m.finish(ctx, q, t.Answer)
		return next, true, err
	case late:
		next, err = m.outOfTime(ctx, q, t)
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

// forsake stops a run that began while its standup was cancelled: who cancelled
// it could not stop what had not begun. A run that another process goes on
// with is left alone.
func (m *meeting) forsake(ctx context.Context, q question) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	all, err := questions(ctx, m.DB, m.id)
	i := slices.IndexFunc(all, func(x question) bool { return x.RunID == q.RunID && x.State == "dropped" && !x.Accepted })
	if err != nil || i < 0 {
		return // the next holder looks after it, or who dropped it has stopped it
	}
	// Who cancelled it may be stopping it right now.
	a, err := m.Runtime.Wait(ctx, q.RunID, time.Second)
	if err == nil && a.Outcome == gateway.Running {
		m.stopRuns(ctx, all[i:i+1])
	}
}

// remembered is how long the gateway surely knows a run that has ended; it
// keeps them for five minutes (observed in OpenClaw 2026.9.6). Sent again
// later, the question would be asked again.
const remembered = 4 * time.Minute

// askAnew follows up a question that arrived and whose run died unanswered with
// the gateway's process. Only then does the number of a run grow by itself. The
// agent begins anew, with the whole of its time.
func (m *meeting) askAnew(ctx context.Context, q question) (question, error) {
	return m.putAnew(ctx, q, clock.At(m.Now().Add(m.AgentTimeout)),
		"The runtime restarted while "+q.AgentID+" was answering, and the answer is lost. "+q.AgentID+" is asked again.")
}

// dropReviews ends the reviews that an earlier attempt left open and that know
// less than there is now.
func (m *meeting) dropReviews(ctx context.Context, tx *db.Tx, row Standup) ([]question, error) {
	all, err := questions(ctx, tx, m.id)
	if err != nil {
		return nil, err
	}
	outdated := slices.DeleteFunc(all, func(q question) bool {
		return q.State != "open" || q.Purpose == "report" || !slices.ContainsFunc(row.Reports, func(r Report) bool {
			return r.Status == Answered && r.AnsweredAt.After(q.AskedAt.Time)
		})
	})
	for _, q := range outdated {
		q.State, q.EndedAt = "dropped", clock.Ptr(m.Now())
		if err := putQuestion(ctx, tx, m.id, q); err != nil {
			return nil, err
		}
	}
	return outdated, nil
}

// finish writes down how a question ended.
func (m *meeting) finish(ctx context.Context, q question, a gateway.Answer) (question, error) {
	q.EndedAt = clock.Ptr(m.Now())
	text := answer.Clean(a.Text, longestAnswer)
	switch {
	case a.Outcome == gateway.Finished && text != "":
		q.State = "answered"
	case a.Outcome == gateway.TimedOut || a.Outcome == gateway.Stopped && !q.EndedAt.Before(q.DeadlineAt.Time):
		// A run that was stopped after its time was stopped by us, before the
		// connection broke or the process died.
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
	if u := a.Usage; u != nil {
		q.CostNano = u.CostNanoUSD
		q.Tokens = &Tokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Other}
	}
	return q, m.saveUsed(ctx, q, a.Usage)
}

// save stores how a question stands, while the meeting is ours. One that was
// dropped meanwhile stays so, because its report was filed: that is errFiled,
// and what its run cost is kept.
func (m *meeting) save(ctx context.Context, q question) error { return m.saveUsed(ctx, q, nil) }

// saveUsed is save for a run that has ended with what it used. Only what the run
// itself said at its end goes into the ledger from here: what stands in a history
// may be of the run that the runtime resumed, and is counted there.
func (m *meeting) saveUsed(ctx context.Context, q question, u *gateway.Usage) error {
	filed := false
	err := m.job.Write(ctx, func(tx *db.Tx) error {
		state, err := standing(ctx, tx, q.RunID)
		if err != nil {
			return err
		}
		is := q
		if filed = state == "dropped"; filed {
			is.State, is.EndedAt = state, clock.Ptr(m.Now())
		}
		if u != nil && u.SessionID != "" && q.EndedAt != nil && m.Used != nil {
			used := Used{m.id, q.RunID, q.AgentID, q.SessionKey, q.AskedAt.Time, q.EndedAt.Time, *u}
			if err := m.Used(ctx, tx, used); err != nil {
				return err
			}
		}
		return putQuestion(ctx, tx, m.id, is)
	})
	if err == nil && filed {
		err = errFiled
	}
	return err
}

// connected returns the gateway's boot id once there is a connection. A gateway
// that goes away after it took a question is waited for, and meanwhile the
// agent's clock stands still; one that was never there is not.
func (m *meeting) connected(ctx context.Context, q *question) (boot string, err error) {
	st := m.Runtime.Status()
	there := st.State == gateway.Connected || st.ConnectedAt != nil
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
		return "", &Failure{GatewayUnreachable, fmt.Sprintf("The agent runtime was not reachable for %s: %s %s",
			length(patience), sentence(m.Runtime.Status().LastError), whatIsMissing)}
	case q == nil || there:
		return boot, nil
	}
	gap := m.Now().Sub(left)
	q.DeadlineAt = clock.At(q.DeadlineAt.Add(gap))
	return boot, m.job.Write(ctx, func(tx *db.Tx) error {
		if err := putQuestion(ctx, tx, m.id, *q); err != nil || gap < noticed {
			return err
		}
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return err
		}
		if err := update(ctx, tx, &row, m.Now()); err != nil {
			return err
		}
		return say(ctx, tx, m.id, m.Now(), "note", service, team,
			fmt.Sprintf("The agent runtime was away for %s, in which the time of %s stood still.", length(gap), q.AgentID))
	})
}

// noticed is how long the gateway is away before the transcript tells of it: who
// reads it wonders about a gap, and not about a connection that was made anew.
const noticed = 2 * time.Second

// whatIsMissing is what to do when the runtime is back, or there is more time.
const whatIsMissing = "A retry asks only for what is missing."

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
// When that has gone on for too long the gateway is away, whatever the state of
// the connection. One that is busy is bounded by the agent's time.
func (m *meeting) pause(ctx context.Context, why error) error {
	if errors.Is(why, gateway.ErrBusy) {
		m.mute = time.Time{} // it answered
	} else {
		if m.mute.IsZero() {
			m.mute = m.Now()
		}
		patience, err := m.patience(ctx)
		if err != nil {
			return err
		}
		if m.Now().Sub(m.mute) > patience {
			return &Failure{GatewayUnreachable, fmt.Sprintf("The agent runtime took no question for %s: %s %s", length(patience), words(why), whatIsMissing)}
		}
	}
	return m.moment(ctx)
}

// away reports whether a request failed because the gateway was not there, so
// that it is to be waited for.
func away(err error) bool { return gateway.IsUnavailable(err) }
