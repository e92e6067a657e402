package standup

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
	"wardroom/internal/standup/answer"
	"wardroom/internal/usage"
)

// asker stores the steps of a question for ask.Once.
type asker struct {
	m      *meeting
	q      question
	former []string // runs of the same question that were lost, latest first
	sent   bool     // the question may have been sent before this process took over
}

// errBusy means that the gateway was too busy for too long to say how a question ended.
var errBusy = errors.New("the gateway was busy for too long")

// run sends the question, waits for its answer and returns the ended question.
func (a *asker) run(ctx context.Context) (question, error) {
	r, err := ask.Once(ctx, a.m.Runtime, a.m.Now, a)
	if errors.Is(err, errBusy) { // the others can still be asked
		r, err = ask.Result{Answer: gateway.Answer{Outcome: gateway.TimedOut}, Orphaned: true}, nil
	}
	if held, ok := errors.AsType[*heldError](err); ok { // the standup goes on with the others
		r, err = ask.Result{Rejected: held.why}, nil
	}
	if err != nil {
		return a.q, err
	}
	return a.finish(ctx, r)
}

// finish ends a question and stores it with its outcome.
func (a *asker) finish(ctx context.Context, r ask.Result) (question, error) {
	q := &a.q
	q.EndedAt = clock.Ptr(a.m.Now())
	r.Text, r.Error = a.m.Redact.Text(r.Text), a.m.Redact.Text(r.Error)
	text := answer.Clean(r.Text, maxAnswer)
	switch {
	case r.Outcome == gateway.Finished && text != "":
		q.State = questionAnswered
	case r.Outcome == gateway.TimedOut:
		q.State, text = questionTimedOut, timeoutText
	default:
		q.State, text = questionFailed, failureText(r)
	}
	q.Text = &text
	if u := r.Usage; u != nil {
		q.CostNano = u.CostNanoUSD
		q.Tokens = &Tokens{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Other}
	}
	return *q, a.save(ctx, r)
}

// failureText returns the reason why a question was not answered.
func failureText(r ask.Result) string {
	switch {
	case r.Rejected != nil:
		return answer.Clean(errorText(r.Rejected), 2000)
	case r.Outcome == gateway.Finished:
		return "The answer was empty."
	case r.Outcome == gateway.Stopped:
		return "The run was stopped in the runtime."
	case r.Outcome == ask.Unsure:
		return "The run ended without an answer."
	}
	if text := answer.Clean(r.Error, 2000); text != "" {
		return text
	}
	return "The runtime gave no reason."
}

// save stores a question with the usage of its run and, if the run is orphaned, has the run
// stopped. It fails if this process no longer holds the standup's job. If the question was
// dropped because the agent submitted its report, save leaves it in the state questionDropped and
// returns errSubmitted. It ignores usage that was read from a session's history. Such usage
// may belong to a resumed run, and the usage ledger records resumed runs separately.
func (a *asker) save(ctx context.Context, r ask.Result) error {
	m, q, submitted := a.m, a.q, false
	err := m.job.Write(ctx, func(tx *db.Tx) error {
		state, err := storedState(ctx, tx, q.RunID)
		if err != nil {
			return err
		}
		if submitted = state == questionDropped; submitted {
			q.State, q.EndedAt = state, clock.Ptr(m.Now())
		}
		if r.Orphaned {
			if err := m.Stops.Enqueue(ctx, tx, a.orphan()); err != nil {
				return err
			}
		}
		if u := r.Usage; u != nil && u.SessionID != "" {
			run := usage.Run{
				RunID: q.RunID, AgentID: q.AgentID, SessionKey: q.SessionKey, SessionID: u.SessionID,
				Source: usage.Standup, StandupID: m.id, StartedAt: q.AskedAt.Time, EndedAt: q.EndedAt.Time,
				Parts: []usage.Part{usage.PartOf(*u)},
			}
			if _, err := m.Usage.Note(ctx, tx, run); err != nil {
				return err
			}
		}
		return putQuestion(ctx, tx, m.id, q)
	})
	if err == nil && submitted {
		err = errSubmitted
	}
	return err
}

// former returns the runs of the lost questions that q replaced, latest first.
func (q question) former(all []question) (runs []string) {
	for n := q.Number - 1; n > 0; n-- {
		i := slices.IndexFunc(all, func(x question) bool {
			return x.AgentID == q.AgentID && x.Number == n && x.Purpose == q.Purpose && x.State == questionLost &&
				x.Message == q.Message
		})
		if i < 0 {
			break
		}
		runs = append(runs, all[i].RunID)
	}
	return runs
}

// orphan identifies the question's run.
func (a *asker) orphan() ask.Orphan {
	return ask.Orphan{SessionKey: a.q.SessionKey, RunID: a.q.RunID, Former: a.former}
}

// Question implements ask.Asker.
func (a *asker) Question() ask.Question {
	return ask.Question{
		Orphan: a.orphan(), AgentID: a.q.AgentID, Message: a.q.Message, BootID: a.q.BootID, Sent: a.sent,
		Accepted: a.q.Accepted, AskedAt: a.q.AskedAt.Time,
	}
}

// Left implements ask.Asker. A deadline that is too far away was set before the clock was set back, so that the timeout
// begins anew.
func (a *asker) Left() time.Duration {
	now := a.m.Now()
	if a.q.DeadlineAt.After(now.Add(a.m.AgentTimeout + clock.Skew)) {
		a.q.DeadlineAt = clock.At(now.Add(a.m.AgentTimeout))
	}
	return a.q.DeadlineAt.Sub(now)
}

// Sending implements ask.Asker.
func (a *asker) Sending(ctx context.Context) (time.Duration, error) {
	if err := a.m.Holds.Check(ctx, a.m.DB, a.q.AgentID); err != nil {
		return 0, &heldError{err}
	}
	return a.Left(), nil
}

// heldError means that a question was not sent because the agent is held.
type heldError struct{ why error }

func (e *heldError) Error() string { return e.why.Error() }

// Accepted implements ask.Asker.
func (a *asker) Accepted(ctx context.Context, bootID string) error {
	a.q.Accepted, a.q.BootID = true, bootID
	return a.save(ctx, ask.Result{})
}

// Replace marks the question as lost, notes the reason in the transcript, and creates a new
// question. If the agent has received the lost question, it gets the full timeout again.
func (a *asker) Replace(ctx context.Context, overtaken bool) error {
	m, lost := a.m, a.q
	deadline := clock.At(m.Now().Add(m.AgentTimeout))
	why := "The gateway restarted while " + lost.AgentID + " was answering, and the answer was lost. "
	if overtaken {
		deadline, why = lost.DeadlineAt,
			"The gateway was resuming interrupted work and rejected the question to "+lost.AgentID+". "
	}
	lost.State, lost.EndedAt = questionLost, clock.Ptr(m.Now())
	err := m.step(ctx, "lost "+lost.RunID, func(tx *db.Tx, _ *Standup) error {
		if err := putQuestion(ctx, tx, m.id, lost); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team, why+lost.AgentID+" is asked again.")
	})
	if err != nil {
		return fmt.Errorf("ask %s again: %w", lost.AgentID, err)
	}
	a.q, err = m.createQuestion(ctx, question{
		AgentID: lost.AgentID, Purpose: lost.Purpose, Number: lost.Number + 1, Message: lost.Message, DeadlineAt: deadline,
	})
	a.former = slices.Insert(a.former, 0, lost.RunID)
	return err
}

// Unavailable implements ask.Asker. The standup fails if the gateway accepts no question for
// longer than gatewayTimeout, even if it is connected. While the gateway responds that it is
// busy, only the agent timeout applies, and only to this question.
func (a *asker) Unavailable(ctx context.Context, since time.Time, why error) (time.Duration, error) {
	silent := a.m.Now().Sub(since)
	if errors.Is(why, link.ErrBusy) {
		if silent > a.m.AgentTimeout && a.Left() < 0 {
			return 0, errBusy
		}
		return time.Second, nil
	}
	patience, err := a.m.gatewayTimeout(ctx)
	if err == nil && (silent > patience || errors.Is(why, link.ErrNotConfigured)) {
		err = a.m.unreachable(patience, why)
	}
	return patience - silent, err
}

// minReportedOutage is the shortest gateway outage that the transcript mentions.
const minReportedOutage = 2 * time.Second

// Back implements ask.Asker. It extends the question's deadline by the time for which the
// gateway was away.
func (a *asker) Back(ctx context.Context, away time.Duration) error {
	m := a.m
	a.q.DeadlineAt = clock.At(a.q.DeadlineAt.Add(away))
	if err := a.save(ctx, ask.Result{}); err != nil || away < minReportedOutage {
		return err
	}
	return m.job.Write(ctx, func(tx *db.Tx) error {
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return err
		}
		if err := update(ctx, tx, &row, m.Now()); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team,
			fmt.Sprintf("The gateway was unavailable for %s. The timeout of %s was paused.", formatDuration(away), a.q.AgentID))
	})
}
