package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/money"
	"wardroom/internal/standup/answer"
)

// Senders and receivers in the transcript that are not agents.
const (
	service = "wardroom"
	team    = "team"
)

// errDeadline is the cancellation cause of a context that ends at the standup's deadline.
var errDeadline = errors.New("the standup exceeded its deadline")

// meeting is one attempt to run a standup. All of its state is in the database, so that
// another process can continue the attempt at any point. It writes to the database through
// its job, so that writes fail as soon as another process has taken over the job.
type meeting struct {
	*Service
	job *job.Held
	id  string

	// These are the team's limits as of the start of this attempt. They shadow the fields
	// with the same names in Service.
	AgentTimeout time.Duration
	Deadline     time.Duration
}

// runJob is the job function that runs a standup to completion, starting from its stored state.
func (s *Service) runJob(ctx context.Context, h *job.Held) error {
	m := &meeting{Service: s, job: h, id: h.Key}
	row, err := find(ctx, s.DB, m.id)
	if errors.Is(err, ErrNotFound) || err == nil && row.Status != Running {
		return nil // it was deleted or has ended
	}
	if err != nil {
		return err
	}
	m.AgentTimeout, m.Deadline = cmp.Or(row.agentTimeout, s.AgentTimeout), cmp.Or(row.deadline, s.Deadline)
	inner := ctx
	if row.DeadlineAt != nil {
		left := min(row.DeadlineAt.Sub(s.Now()), m.Deadline) // the clock may have been set back since
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeoutCause(ctx, left, errDeadline)
		defer cancel()
	}
	err = m.run(inner)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(inner), errDeadline) {
		err = &Failure{
			DeadlinePassed,
			fmt.Sprintf("It did not finish within its deadline of %s. %s", formatDuration(m.Deadline), retryHint),
		}
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		return err
	}
	return m.end(ctx, failure)
}

// run executes the phases of the standup. A *Failure means that the standup failed.
func (m *meeting) run(ctx context.Context) error {
	if err := m.gather(ctx); err != nil {
		return err
	}
	if err := m.collect(ctx); err != nil {
		return err
	}
	review, err := m.review(ctx)
	if err != nil {
		return err
	}
	return m.close(ctx, review)
}

// end marks the standup as failed.
func (m *meeting) end(ctx context.Context, f *Failure) error {
	return m.job.Write(ctx, func(tx *db.Tx) error {
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return err
		}
		return m.fail(ctx, tx, &row, f)
	})
}

// step calls fn with the current standup, in a transaction. Steps are identified by their
// names, and each step runs only once per attempt.
func (m *meeting) step(ctx context.Context, name string, fn func(tx *db.Tx, row *Standup) error) error {
	_, err := job.Step(ctx, m.job, name, func(tx *db.Tx) (struct{}, error) {
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return struct{}{}, err
		}
		if err := row.load(ctx, tx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, fn(tx, &row)
	})
	return err
}

// gather stores the participants' evidence and people's decisions, then checks that there is a participant to ask
// and that the gateway is available. The evidence is stored first, so that it is kept even
// if the checks fail. Reports that have already been given keep their evidence.
func (m *meeting) gather(ctx context.Context) error {
	row, err := m.Get(ctx, m.id)
	if err != nil {
		return err
	}
	members, err := m.Accounts.AgentUsers(ctx, m.DB)
	if err != nil {
		return err
	}
	evidence, err := m.evidence(ctx, row)
	if err != nil {
		return err
	}
	decisions, err := m.decisions(ctx, row)
	if err != nil {
		return fmt.Errorf("read decisions: %w", err)
	}
	err = m.step(ctx, "gather", func(tx *db.Tx, row *Standup) error {
		var expected, here, missing []string
		for i, r := range row.Reports {
			name := nameOf(members, r.AgentID)
			switch r.Status {
			case Answered:
				here = append(here, name)
				continue
			case Asked:
				expected = append(expected, name)
				continue
			}
			r.Status, r.Name, r.Evidence = Pending, name, evidence[r.AgentID]
			if !has(members, r.AgentID) {
				r.Status, r.Evidence = Missing, nil
				missing = append(missing, name)
			} else {
				expected = append(expected, name)
			}
			if err := putReport(ctx, tx, m.id, i, r); err != nil {
				return err
			}
		}
		row.Phase, row.Decisions = Collecting, decisions
		if err := update(ctx, tx, row, m.Now()); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team, rollCall(expected, here, missing))
	})
	if err != nil {
		return err
	}
	if f := m.quorum(row, members); f != nil {
		return f
	}
	return m.checkGateway(ctx)
}

// rollCall returns the note that says who is expected to report, who has reported, and who is skipped.
func rollCall(expected, here, missing []string) string {
	text := "Expected: " + cmp.Or(strings.Join(expected, ", "), "none") + "."
	switch {
	case len(expected) == 0 && len(here) > 0:
		text = "All reports are already in."
	case len(here) > 0:
		text += " Already in: " + strings.Join(here, ", ") + "."
	}
	if len(missing) > 0 {
		text += " Skipped because they have no active account: " + strings.Join(missing, ", ") + "."
	}
	return text
}

// quorum returns a Failure if the facilitator is missing or if all participants are
// missing. Otherwise it returns nil.
func (m *meeting) quorum(row Standup, members []account.AgentUser) *Failure {
	if !has(members, row.Facilitator) {
		return &Failure{
			NoActiveAgents,
			fmt.Sprintf("The facilitator %q has no active agent account. Create one with role agent and agent_id %s.",
				row.Facilitator, row.Facilitator),
		}
	}
	for _, r := range row.Reports {
		if has(members, r.AgentID) || r.Status == Answered {
			return nil
		}
	}
	return &Failure{
		NoActiveAgents, "No participant has an active agent account. Create one for each, with role agent and its agent_id.",
	}
}

func has(members []account.AgentUser, agentID string) bool {
	return slices.ContainsFunc(members, func(x account.AgentUser) bool { return x.AgentID == agentID })
}

// checkGateway fails unless a gateway is configured and connected.
func (m *meeting) checkGateway(ctx context.Context) error {
	if m.Runtime.Status().State == link.NotConfigured {
		return &Failure{
			GatewayNotConfigured, "No gateway is configured. Connect one in the dashboard under Settings → Gateway.",
		}
	}
	patience, err := m.gatewayTimeout(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := m.Runtime.Await(waiting); err != nil && ctx.Err() == nil {
		return m.unreachable(patience, err)
	}
	return context.Cause(ctx)
}

// collect asks the participants, one at a time.
func (m *meeting) collect(ctx context.Context) error {
	row, err := m.Get(ctx, m.id)
	if err != nil {
		return err
	}
	open, err := openBlockersByAgent(ctx, m.DB, row)
	if err != nil {
		return err
	}
	for i, r := range row.Reports {
		if r.Status != Pending && r.Status != Asked {
			continue
		}
		since := row.StartedAt
		if r.Status == Asked {
			since = r.AskedAt // its answer may already be stored, even from before a retry
		}
		q, err := m.ask(ctx, r.AgentID, "report", since, func() string {
			return reportPrompt(row, r) + reminder(open[r.AgentID])
		})
		if errors.Is(err, errSubmitted) {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.storeAnswer(ctx, i, q); err != nil {
			return err
		}
	}
	if row, err = m.Get(ctx, m.id); err != nil {
		return err
	}
	if !slices.ContainsFunc(row.Reports, func(r Report) bool { return r.Status == Answered }) {
		return &Failure{AgentsTimedOut, "No participant answered. A retry asks them again."}
	}
	return nil
}

// storeAnswer stores the outcome of an ended question as the i-th participant's report.
func (m *meeting) storeAnswer(ctx context.Context, i int, q question) error {
	return m.step(ctx, "keep "+q.RunID, func(tx *db.Tx, row *Standup) error {
		r := row.Reports[i]
		if r.SubmittedAt != nil {
			return nil // it was submitted after the question had ended
		}
		var line string
		kind := "answer"
		switch q.State {
		case questionAnswered:
			r.Status = Answered
			r.parseAnswer(*q.Text, q.CostNano)
			if err := r.checkClaims(ctx, tx, m.id); err != nil {
				return err
			}
			line = *q.Text
		case questionTimedOut:
			text := timeoutText
			r.Status, r.Text, kind = TimedOut, &text, "timeout"
			line = timeoutText + " No answer within " + formatDuration(m.AgentTimeout) +
				". The standup continues without this report."
		default:
			r.Status, line, kind = Failed, noReport+sentence(*q.Text), "failure"
		}
		r.AnsweredAt = q.EndedAt
		if err := putReport(ctx, tx, m.id, i, r); err != nil {
			return err
		}
		if err := update(ctx, tx, row, m.Now()); err != nil {
			return err
		}
		if err := appendLine(ctx, tx, m.id, q.EndedAt.Time, kind, r.AgentID, row.Facilitator, line); err != nil {
			return err
		}
		return record(ctx, tx, m.Now(), "standup.reported", *row, map[string]any{"agent_id": r.AgentID, "status": r.Status})
	})
}

// parseAnswer sets the report's parts and cost from an answer.
func (r *Report) parseAnswer(text string, cost *int64) {
	r.setParts(text, answer.ParseReport(text))
	if cost != nil {
		r.CostUSD = (*money.Nano)(cost)
	}
}

// setParts sets the report's text and its parsed parts.
func (r *Report) setParts(text string, parsed answer.Parsed) {
	r.Text, r.Other = &text, nil
	r.Yesterday, r.Today, r.Blockers = parsed.Yesterday, parsed.Today, parsed.Blockers
	if parsed.Other != "" {
		r.Other = &parsed.Other
	}
}

// checkClaims sets two fields of the report: Claims, the statements that the board
// contradicts, and Omitted, the finished tasks that the report does not mention.
func (r *Report) checkClaims(ctx context.Context, q db.Queryer, standupID string) (err error) {
	if r.Claims, err = contradictions(ctx, q, *r); err != nil {
		return err
	}
	before, err := lastReport(ctx, q, standupID, r.AgentID)
	r.Omitted = r.omissions(before.text)
	return err
}

// beginReview stores which blockers the reports name, and that the review begins.
func (m *meeting) beginReview(ctx context.Context) error {
	return m.step(ctx, "review", func(tx *db.Tx, row *Standup) error {
		if err := m.dropOutdatedReviews(ctx, tx, *row); err != nil {
			return err
		}
		ended, err := m.takeBlockers(ctx, tx, row)
		if err != nil {
			return err
		}
		row.Phase = Reviewing
		if err := update(ctx, tx, row, m.Now()); err != nil {
			return err
		}
		return m.resolveEnded(ctx, tx, *row, ended)
	})
}

// review asks the facilitator to review the reports. If the answer is not in the requested
// form, review asks once more. If the second answer is not in that form either, its text
// becomes the summary.
func (m *meeting) review(ctx context.Context) (answer.Review, error) {
	if err := m.beginReview(ctx); err != nil {
		return answer.Review{}, err
	}
	row, err := m.Get(ctx, m.id)
	if err != nil {
		return answer.Review{}, err
	}
	known, err := m.escalated(ctx, m.DB, row)
	if err != nil {
		return answer.Review{}, err
	}
	items, err := m.openItems(ctx, m.DB, row)
	if err != nil {
		return answer.Review{}, err
	}
	var said string
	for _, purpose := range []string{"review", "repeat"} {
		q, err := m.ask(ctx, row.Facilitator, purpose, row.StartedAt, func() string {
			return reviewPrompt(row, known, items, purpose == "repeat")
		})
		if err != nil {
			return answer.Review{}, err
		}
		if q.State != questionAnswered && said != "" {
			break // use the first answer
		}
		switch q.State {
		case questionAnswered:
		case questionTimedOut:
			return answer.Review{}, &Failure{
				FacilitatorTimedOut,
				fmt.Sprintf("%s did not answer within %s. The reports are kept; a retry asks only for the review.", row.Facilitator,
					formatDuration(m.AgentTimeout)),
			}
		default:
			return answer.Review{}, &Failure{
				FacilitatorTimedOut,
				fmt.Sprintf("%s could not review the reports: %s The reports are kept; a retry asks only for the review.",
					row.Facilitator, sentence(*q.Text)),
			}
		}
		if r, ok := answer.ParseReview(*q.Text); ok {
			return r, nil
		}
		said = *q.Text
	}
	return answer.Review{Summary: answer.Clean(said, 10_000)}, nil
}
