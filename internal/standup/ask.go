package standup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/ask"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// maxAnswer is the maximum length of an answer in characters. Longer answers are truncated.
const maxAnswer = 200_000

// ask sends a question to an agent, waits until the question has been answered or has failed, and
// returns it. After a crash, ask continues with the stored question instead of asking twice; the
// gateway recognizes the run id. The since parameter excludes stored questions that ended earlier.
func (m *meeting) ask(
	ctx context.Context, agentID, purpose string, since *clock.Time, message func() string,
) (question, error) {
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
		if q.State == questionOpen {
			if !q.Accepted { // it may never have been sent, so the full timeout applies
				q.DeadlineAt = clock.At(m.Now().Add(m.AgentTimeout))
			}
			return m.awaitAnswer(ctx, &asker{m: m, q: q, former: q.former(all), sent: true})
		}
		if q.EndedAt != nil && !q.EndedAt.Before(since.Time) && q.State != questionLost && q.State != questionDropped {
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
	return m.awaitAnswer(ctx, &asker{m: m, q: q})
}

// createQuestion stores a question before it is sent.
func (m *meeting) createQuestion(ctx context.Context, q question) (question, error) {
	q.RunID = fmt.Sprintf("standup-%s-%s-%d", m.id, q.AgentID, q.Number)
	q.BootID, q.State = m.Runtime.Status().BootID, questionOpen
	err := m.step(ctx, "ask "+q.RunID, func(tx *db.Tx, row *Standup) error {
		now := m.Now()
		q.SessionKey = row.sessionKey(q.AgentID)
		q.AskedAt = clock.At(now)
		if err := putQuestion(ctx, tx, m.id, q); err != nil {
			return err
		}
		for i, r := range row.Reports {
			if r.AgentID == q.AgentID && q.Purpose == "report" {
				if r.SubmittedAt != nil {
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

// dropOutdatedReviews drops review questions that an earlier attempt left open, if a report has
// arrived since they were asked.
func (m *meeting) dropOutdatedReviews(ctx context.Context, tx *db.Tx, row Standup) error {
	return m.dropQuestions(ctx, tx, m.id, func(q question) bool {
		return q.Purpose != "report" && slices.ContainsFunc(row.Reports, func(r Report) bool {
			return r.Status == Answered && r.AnsweredAt.After(q.AskedAt.Time)
		})
	})
}

// anyQuestion selects all questions.
func anyQuestion(question) bool { return true }

// dropQuestions drops a standup's open questions that the selected function accepts, and has
// their runs stopped.
func (s *Service) dropQuestions(ctx context.Context, tx *db.Tx, standupID string, selected func(question) bool) error {
	all, err := questions(ctx, tx, standupID)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.State != questionOpen || !selected(q) {
			continue
		}
		q.State, q.EndedAt = questionDropped, clock.Ptr(s.Now())
		if err := putQuestion(ctx, tx, standupID, q); err != nil {
			return err
		}
		if err := s.Stops.Enqueue(ctx, tx, ask.Orphan{
			SessionKey: q.SessionKey, RunID: q.RunID, Former: q.former(all),
		}); err != nil {
			return err
		}
	}
	return nil
}

// submissionPollInterval is the interval at which awaitAnswer checks whether the report has
// been submitted. Usually the wait ends earlier, because submitting a report stops the run. If
// the runtime is unavailable, only polling ends the wait.
const submissionPollInterval = time.Second

// awaitAnswer asks a question and waits for its outcome. It returns errSubmitted if the report is
// submitted first.
func (m *meeting) awaitAnswer(ctx context.Context, a *asker) (question, error) {
	if a.q.Purpose != "report" {
		return a.run(ctx)
	}
	waiting, end := context.WithCancelCause(ctx)
	over, agentID := make(chan struct{}), a.q.AgentID // run may replace the question
	go func() {
		defer close(over)
		m.watchSubmission(waiting, agentID, end)
	}()
	got, err := a.run(waiting)
	end(nil)
	<-over
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(waiting), errSubmitted) {
		err = errSubmitted
	}
	return got, err
}

// watchSubmission calls the function end as soon as the agent's report has been submitted.
func (m *meeting) watchSubmission(ctx context.Context, agentID string, end context.CancelCauseFunc) {
	tick := time.NewTicker(submissionPollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all, err := reports(ctx, m.DB, m.id)
		if err != nil {
			continue // the database is unavailable; the next write returns the error
		}
		if slices.ContainsFunc(all, func(r Report) bool { return r.AgentID == agentID && r.SubmittedAt != nil }) {
			end(errSubmitted)
			return
		}
	}
}

// retryHint is appended to the error messages for failures that a retry can fix.
const retryHint = "A retry asks only for what is missing."

// gatewayTimeout returns the maximum time to wait for the gateway: Grace if the gateway has
// accepted a question during this attempt, otherwise Patience.
func (m *meeting) gatewayTimeout(ctx context.Context) (time.Duration, error) {
	var accepted bool
	err := m.DB.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM standups s JOIN standup_questions q ON q.standup_id = s.id
			WHERE s.id = ? AND q.accepted AND q.asked_at >= s.started_at)`, m.id).Scan(&accepted)
	if accepted {
		return m.Grace, err
	}
	return m.Patience, err
}

// unreachable returns the failure of a standup for which the gateway was unavailable for too long.
func (m *meeting) unreachable(patience time.Duration, why error) *Failure {
	what, reason := "accepted no question", errorText(why)
	if st := m.Runtime.Status(); st.ConnectedAt == nil {
		what, reason = "was unreachable", sentence(st.LastError)
	}
	return &Failure{
		GatewayUnreachable, fmt.Sprintf("The gateway %s for %s: %s %s", what, formatDuration(patience), reason, retryHint),
	}
}
