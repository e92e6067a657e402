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

// maxAnswer is the maximum length of an answer in characters. Longer answers are truncated.
const maxAnswer = 200_000

// ask sends a question to an agent, waits until the question has been answered or has failed, and
// returns it. After a crash, ask continues with the stored question instead of asking twice; the
// gateway recognizes the run id. The since parameter excludes stored questions that ended earlier.
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
			if !q.Accepted { // it may never have been sent, so the full timeout applies
				q.DeadlineAt = clock.At(m.Now().Add(m.AgentTimeout))
			}
			return m.awaitAnswer(ctx, q, false)
		}
		if q.EndedAt != nil && !q.EndedAt.Before(since.Time) && q.State != "lost" && q.State != "dropped" {
			return q, nil // already answered, before a crash
		}
	}
	q, err := m.createQuestion(ctx, question{
		AgentID: agentID, Purpose: purpose, Number: number + 1, Message: message(),
		DeadlineAt: clock.At(m.Now().Add(m.AgentTimeout)),
	})
	if err != nil {
		return question{}, err
	}
	return m.awaitAnswer(ctx, q, true)
}

// attemptStart returns the start time of the current attempt.
func (m *meeting) attemptStart(ctx context.Context) (time.Time, error) {
	row, err := find(ctx, m.DB, m.id)
	if err != nil || row.StartedAt == nil {
		return time.Time{}, err
	}
	return row.StartedAt.Time, nil
}

// createQuestion stores a question before it is sent.
func (m *meeting) createQuestion(ctx context.Context, q question) (question, error) {
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
					return errSubmitted
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
		if err := appendLine(ctx, tx, m.id, now, "question", from, q.AgentID, q.Message); err != nil {
			return err
		}
		return record(ctx, tx, now, "standup.asked", *row, map[string]any{"agent_id": q.AgentID, "run_id": q.RunID})
	})
	return q, err
}

// runQuestion sends a question, waits for its answer and returns the ended question. After every
// interruption it first looks up the outcome in the runtime. The caller sets fresh for a question
// that was just created and therefore cannot have been sent yet.
func (m *meeting) runQuestion(ctx context.Context, q question, fresh bool) (question, error) {
	overtaken := 0
	var unread time.Time // when the gateway first was too busy to return the session's history
	for {
		boot, err := m.awaitGateway(ctx, &q)
		if err != nil {
			return q, err
		}
		if !fresh {
			next, done, err := m.resumeQuestion(ctx, q, boot)
			if m.historyUnreadable(err, q, &unread) {
				m.stopRuns(ctx, []question{q})
				return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut}) // the others can still be asked
			}
			if gatewayAway(err) {
				if err := m.pause(ctx, err); err != nil {
					return q, err
				}
				continue
			}
			if done && err == nil {
				m.silentSince = time.Time{} // the gateway responds; a later outage is a new one
			}
			if err != nil || done {
				return next, err
			}
			q = next
		}
		fresh = false
		a, err := m.sendAndWait(ctx, &q)
		switch {
		case errors.Is(err, job.ErrLost) || ctx.Err() != nil:
			m.stopCancelled(ctx, q)
			return q, cmp.Or(context.Cause(ctx), err)
		case errors.As(err, &notRecordedError{}):
			return q, err // the agent is working; the next attempt of the job finds its answer
		case errors.Is(err, gateway.ErrBusy) && m.Now().After(q.DeadlineAt.Time):
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.TimedOut})
		case gatewayAway(err):
			if err := m.pause(ctx, err); err != nil {
				return q, err
			}
		case err != nil:
			return m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: errorText(err)})
		case a.Overtaken:
			overtaken++
			next, done, err := m.retryRejected(ctx, q, a, overtaken < maxRejections)
			if gatewayAway(err) {
				err = m.pause(ctx, err)
			}
			if err != nil || done {
				return next, err
			}
			fresh = next.RunID != q.RunID // otherwise the gateway was unavailable: look up the same question again
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

// historyUnreadable reports whether to stop waiting for a busy gateway: the question's deadline has passed, and the
// gateway has been busy for longer than the agent timeout. It updates *since, the time at which the gateway became
// busy.
func (m *meeting) historyUnreadable(err error, q question, since *time.Time) bool {
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

// notRecordedError is a database error that occurred after the gateway accepted a question.
// It does not mean that the gateway or the agent failed.
type notRecordedError struct{ error }

func (u notRecordedError) Unwrap() error { return u.error }

// sendAndWait sends the question and waits for its answer on one connection.
func (m *meeting) sendAndWait(ctx context.Context, q *question) (gateway.Answer, error) {
	const margin = 5 * time.Second // lets the runtime end the run if Wardroom has stopped by then
	left := q.DeadlineAt.Sub(m.Now())
	s, err := m.Runtime.Start(ctx, gateway.Question{
		RunID: q.RunID, AgentID: q.AgentID, SessionKey: q.SessionKey, Message: q.Message,
		Limit: max(left, time.Second) + margin,
	})
	if err != nil {
		return gateway.Answer{}, err
	}
	if s.Answer == nil || !s.Answer.NotBegun {
		m.silentSince = time.Time{}
	}
	q.Accepted, q.BootID = true, s.BootID
	if err := m.save(ctx, *q); err != nil {
		return gateway.Answer{}, notRecordedError{err}
	}
	if s.Answer != nil {
		return *s.Answer, nil
	}
	a, err := m.wait(ctx, *q, max(q.DeadlineAt.Sub(m.Now()), 0))
	if err != nil || a.Outcome != gateway.Running {
		return a, err
	}
	// The timeout has passed. An answer that arrives before the stop still counts.
	if _, err := m.Runtime.Stop(ctx, q.SessionKey, q.RunID); gatewayAway(err) {
		return gateway.Answer{}, err
	} else if err != nil {
		m.Log.WarnContext(ctx, "cannot stop run", "run", q.RunID, "err", err)
	}
	const moment = 2 * time.Second
	a, err = m.Runtime.Wait(ctx, q.RunID, moment)
	if err == nil && a.Outcome != gateway.Finished {
		a.Outcome = gateway.TimedOut
	}
	return a, err
}

// wait waits for an accepted run to end. It fails with gateway.ErrUnreachable if the
// gateway has restarted in the meantime, because a restarted gateway has lost the run but
// would report it as running until the timeout.
func (m *meeting) wait(ctx context.Context, q question, limit time.Duration) (gateway.Answer, error) {
	restarted := gateway.ErrUnreachable.With("The gateway restarted after it accepted the question.")
	if m.Runtime.Status().BootID != q.BootID {
		return gateway.Answer{}, restarted
	}
	a, err := m.Runtime.Wait(ctx, q.RunID, limit)
	if err == nil && a.Outcome == gateway.Running && m.Runtime.Status().BootID != q.BootID {
		return gateway.Answer{}, restarted
	}
	return a, err
}

// resumeQuestion looks up a question's outcome after an interruption. If done is false, the caller
// must send the returned question, which is q or its replacement.
func (m *meeting) resumeQuestion(ctx context.Context, q question, boot string) (next question, done bool, _ error) {
	t, late, err := m.findOutcome(ctx, q, func(t gateway.Trace, asked bool) bool {
		return asked && t.Other && (boot != q.BootID || !t.Active)
	})
	switch {
	case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
		next, err = m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: errorText(err)})
		return next, true, err // the others can still be asked
	case err != nil:
		return q, false, err
	case t.Answered:
		next, err = m.finish(ctx, q, t.Answer)
		return next, true, err
	case late:
		next, err = m.timeOutResumed(ctx, q, t)
		return next, true, err
	case !t.Asked || t.Active:
		return q, false, nil // it never arrived, or is running: sending the same run id again is safe
	case boot != q.BootID:
		next, err = m.askAgain(ctx, q)
		return next, false, err
	case m.Now().Sub(q.AskedAt.Time) > runRetention:
		next, err = m.finish(ctx, q, gateway.Answer{Outcome: gateway.Failed, Error: "The run ended without an answer."})
		return next, true, err
	}
	return q, false, nil // its run has just ended on this gateway, which still has the outcome
}

// stopCancelled stops a run that started while its standup was being canceled, too late
// for Cancel to stop it. It does not stop a run that another process has taken over.
func (m *meeting) stopCancelled(ctx context.Context, q question) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	all, err := questions(ctx, m.DB, m.id)
	i := slices.IndexFunc(all, func(x question) bool { return x.RunID == q.RunID && x.State == "dropped" && !x.Accepted })
	if err != nil || i < 0 {
		return // the job's next holder continues it, or it was already stopped
	}
	// Cancel may be stopping the run at this moment.
	a, err := m.Runtime.Wait(ctx, q.RunID, time.Second)
	if err == nil && a.Outcome == gateway.Running {
		m.stopRuns(ctx, all[i:i+1])
	}
}

// runRetention is the time for which the gateway is certain to remember an ended run.
// OpenClaw 2026.9.6 keeps runs for five minutes; after that, sending the same run id
// starts a new run.
const runRetention = 4 * time.Minute

// askAgain replaces a question whose run was lost when the gateway restarted. The agent
// gets the full timeout for the new question.
func (m *meeting) askAgain(ctx context.Context, q question) (question, error) {
	return m.replaceQuestion(ctx, q, clock.At(m.Now().Add(m.AgentTimeout)),
		"The gateway restarted while "+q.AgentID+" was answering, and the answer was lost. "+q.AgentID+" is asked again.")
}

// dropOutdatedReviews drops review questions that an earlier attempt left open, if a report has
// arrived since they were asked.
func (m *meeting) dropOutdatedReviews(ctx context.Context, tx *db.Tx, row Standup) ([]question, error) {
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

// finish ends a question and stores it with its outcome.
func (m *meeting) finish(ctx context.Context, q question, a gateway.Answer) (question, error) {
	q.EndedAt = clock.Ptr(m.Now())
	text := answer.Clean(a.Text, maxAnswer)
	switch {
	case a.Outcome == gateway.Finished && text != "":
		q.State = "answered"
	case a.Outcome == gateway.TimedOut || a.Outcome == gateway.Stopped && !q.EndedAt.Before(q.DeadlineAt.Time):
		// A run that was stopped after its deadline was stopped by Wardroom, before the
		// connection broke or the process ended.
		q.State, text = "timed_out", timeoutText
	case a.Outcome == gateway.Finished:
		q.State, text = "failed", "The answer was empty."
	case a.Outcome == gateway.Stopped:
		q.State, text = "failed", "The run was stopped in the runtime."
	default:
		q.State, text = "failed", answer.Clean(a.Error, 2000)
		if text == "" {
			text = "The runtime gave no reason."
		}
	}
	q.Text = &text
	if u := a.Usage; u != nil {
		q.CostNano = u.CostNanoUSD
		q.Tokens = &Tokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Other}
	}
	return q, m.saveWithUsage(ctx, q, a.Usage)
}

// save stores a question, or fails if this process no longer holds the standup's job. If the
// question was dropped because the agent submitted its report, save leaves it in the state
// "dropped" and returns errSubmitted.
func (m *meeting) save(ctx context.Context, q question) error { return m.saveWithUsage(ctx, q, nil) }

// saveWithUsage is like save, but also records the usage of an ended run. It ignores
// usage that was read from a session's history. Such usage may belong to a resumed run,
// and the usage ledger records resumed runs separately.
func (m *meeting) saveWithUsage(ctx context.Context, q question, u *gateway.Usage) error {
	filed := false
	err := m.job.Write(ctx, func(tx *db.Tx) error {
		state, err := questionState(ctx, tx, q.RunID)
		if err != nil {
			return err
		}
		is := q
		if filed = state == "dropped"; filed {
			is.State, is.EndedAt = state, clock.Ptr(m.Now())
		}
		if u != nil && u.SessionID != "" && q.EndedAt != nil && m.RecordUsage != nil {
			used := RunUsage{m.id, q.RunID, q.AgentID, q.SessionKey, q.AskedAt.Time, q.EndedAt.Time, *u}
			if err := m.RecordUsage(ctx, tx, used); err != nil {
				return err
			}
		}
		return putQuestion(ctx, tx, m.id, is)
	})
	if err == nil && filed {
		err = errSubmitted
	}
	return err
}

// awaitGateway waits for a connection and returns the gateway's boot id. If the gateway was
// disconnected when the wait began, q's deadline is extended by the time spent waiting, unless q is
// nil.
func (m *meeting) awaitGateway(ctx context.Context, q *question) (boot string, err error) {
	st := m.Runtime.Status()
	there := st.State == gateway.Connected || st.ConnectedAt != nil
	patience, err := m.gatewayTimeout(ctx)
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
		return "", &Failure{GatewayUnreachable, fmt.Sprintf("The gateway was unreachable for %s: %s %s",
			formatDuration(patience), sentence(m.Runtime.Status().LastError), retryHint)}
	case q == nil || there:
		return boot, nil
	}
	gap := m.Now().Sub(left)
	q.DeadlineAt = clock.At(q.DeadlineAt.Add(gap))
	return boot, m.job.Write(ctx, func(tx *db.Tx) error {
		if err := putQuestion(ctx, tx, m.id, *q); err != nil || gap < minReportedOutage {
			return err
		}
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return err
		}
		if err := update(ctx, tx, &row, m.Now()); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team,
			fmt.Sprintf("The gateway was unavailable for %s. The timeout of %s was paused.", formatDuration(gap), q.AgentID))
	})
}

// minReportedOutage is the shortest gateway outage that the transcript mentions.
const minReportedOutage = 2 * time.Second

// retryHint is appended to the error messages for failures that a retry can fix.
const retryHint = "A retry asks only for what is missing."

// gatewayTimeout returns the maximum time to wait for the gateway: Grace if the gateway has
// accepted a question during this attempt, otherwise Patience.
func (m *meeting) gatewayTimeout(ctx context.Context) (time.Duration, error) {
	all, err := questions(ctx, m.DB, m.id)
	if err != nil {
		return 0, err
	}
	attempt, err := m.attemptStart(ctx)
	for _, q := range all {
		if q.Accepted && !q.AskedAt.Before(attempt) {
			return m.Grace, err
		}
	}
	return m.Patience, err
}

// pause waits briefly before a failed request is retried. It returns a Failure if the gateway has accepted no question
// for longer than gatewayTimeout, even if it is connected. While the gateway responds that it is busy, only the agent
// timeout applies.
func (m *meeting) pause(ctx context.Context, why error) error {
	if errors.Is(why, gateway.ErrBusy) {
		m.silentSince = time.Time{} // the gateway responded
	} else {
		if m.silentSince.IsZero() {
			m.silentSince = m.Now()
		}
		patience, err := m.gatewayTimeout(ctx)
		if err != nil {
			return err
		}
		if m.Now().Sub(m.silentSince) > patience {
			return &Failure{GatewayUnreachable, fmt.Sprintf("The gateway accepted no question for %s: %s %s", formatDuration(patience), errorText(why), retryHint)}
		}
	}
	return m.shortDelay(ctx)
}

// gatewayAway reports whether a request failed because the gateway was unavailable. Such a request can be retried.
func gatewayAway(err error) bool { return gateway.IsUnavailable(err) }
