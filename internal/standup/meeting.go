package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/money"
	"wardroom/internal/standup/answer"
)

// Who speaks in the transcript besides the agents, and to whom.
const (
	service = "wardroom"
	team    = "team"
)

// errDeadline ends a meeting that took too long.
var errDeadline = errors.New("the meeting took too long")

// meeting is one attempt to hold a standup. All of its state is in the
// database, so that another process can go on with it at any point; what it
// writes goes through its job, so that it stops counting when it is taken over.
type meeting struct {
	*Service
	job *job.Held
	id  string

	// The team's, as they were when this attempt was started, whatever becomes of
	// the team and of the settings meanwhile. They hide the service's.
	AgentTimeout time.Duration
	Deadline     time.Duration

	silentSince time.Time // since when the gateway has taken no question; zero while it does
}

// hold is the job: it holds the meeting from wherever it stands to its end.
func (s *Service) runJob(ctx context.Context, h *job.Held) error {
	m := &meeting{Service: s, job: h, id: h.Key}
	row, err := find(ctx, s.DB, m.id)
	if errors.Is(err, ErrNotFound) || err == nil && row.Status != Running {
		return nil // it was deleted or ended meanwhile
	}
	if err != nil {
		return err
	}
	m.AgentTimeout, m.Deadline = cmp.Or(row.agentTimeout, s.AgentTimeout), cmp.Or(row.deadline, s.Deadline)
	inner := ctx
	if row.DeadlineAt != nil {
		left := row.DeadlineAt.Sub(s.Now())
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeoutCause(ctx, left, errDeadline)
		defer cancel()
	}
	err = m.run(inner)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(inner), errDeadline) {
		err = &Failure{DeadlinePassed, fmt.Sprintf("It was not over after %s, which is all the time that a meeting has. %s", formatDuration(m.Deadline), retryHint)}
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok {
		return err
	}
	return m.end(ctx, failure)
}

// run is the meeting. A *Failure says why it could not be held.
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

// end closes a meeting that could not be held, and stops what an agent may
// still be working at.
func (m *meeting) end(ctx context.Context, f *Failure) error {
	all, err := questions(ctx, m.DB, m.id)
	if err != nil {
		return err
	}
	if f.Code != GatewayUnreachable {
		m.stopRuns(ctx, slices.DeleteFunc(all, func(q question) bool { return q.State != "open" }))
	}
	return m.job.Write(ctx, func(tx *db.Tx) error {
		row, err := find(ctx, tx, m.id)
		if err != nil {
			return err
		}
		return m.fail(ctx, tx, &row, f)
	})
}

// step runs fn once in the life of this attempt, with the standup as it stands.
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

// gather notes who is expected and what is known of their work, and then sees
// that there is somebody to ask and that the gateway is there: a meeting that
// fails by that has its facts all the same. Whoever has reported keeps their
// evidence as it was.
func (m *meeting) gather(ctx context.Context) error {
	row, err := m.Get(ctx, m.id)
	if err != nil {
		return err
	}
	members, err := m.Members(ctx)
	if err != nil {
		return err
	}
	evidence, err := m.evidence(ctx, row)
	if err != nil {
		return err
	}
	err = m.step(ctx, "gather", func(tx *db.Tx, row *Standup) error {
		var expected, here, missing []string
		for i, r := range row.Reports {
			switch r.Status {
			case Answered:
				here = append(here, r.AgentID)
				continue
			case Asked:
				expected = append(expected, r.AgentID)
				continue
			}
			r.Status, r.Name, r.Evidence = Pending, nameOf(members, r.AgentID), evidence[r.AgentID]
			if !has(members, r.AgentID) {
				r.Status, r.Evidence = Missing, nil
				missing = append(missing, r.AgentID)
			} else {
				expected = append(expected, r.AgentID)
			}
			if err := putReport(ctx, tx, m.id, i, r); err != nil {
				return err
			}
		}
		text := "Expected: " + cmp.Or(strings.Join(expected, ", "), "nobody") + "."
		switch {
		case len(expected) == 0 && len(here) > 0:
			text = "All reports are here already."
		case len(here) > 0:
			text += " Here already: " + strings.Join(here, ", ") + "."
		}
		if len(missing) > 0 {
			text += " Missing, because they have no active account: " + strings.Join(missing, ", ") + "."
		}
		row.Phase = Collecting
		if err := update(ctx, tx, row, m.Now()); err != nil {
			return err
		}
		return appendLine(ctx, tx, m.id, m.Now(), "note", service, team, text)
	})
	if err != nil {
		return err
	}
	if f := m.quorum(row, members); f != nil {
		return f
	}
	return m.checkGateway(ctx)
}

// quorum says why there is nobody to hold the meeting with, or nil.
func (m *meeting) quorum(row Standup, members []Member) *Failure {
	if !has(members, row.Facilitator) {
		return &Failure{NoActiveAgents, fmt.Sprintf("The facilitator %q has no active agent account. Make one with role agent and agent_id %s.", row.Facilitator, row.Facilitator)}
	}
	for _, r := range row.Reports {
		if has(members, r.AgentID) || r.Status == Answered {
			return nil
		}
	}
	return &Failure{NoActiveAgents, "None of the participants has an active agent account. Make one for each, with role agent and its agent_id."}
}

func has(members []Member, agentID string) bool {
	return slices.ContainsFunc(members, func(x Member) bool { return x.AgentID == agentID })
}

// present sees that the gateway is there before anybody is asked.
func (m *meeting) checkGateway(ctx context.Context) error {
	if m.Runtime.Status().State == gateway.NotConfigured {
		return &Failure{GatewayNotConfigured, "No agent runtime is configured. Set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN in this service's environment or its .env, and restart it."}
	}
	_, err := m.awaitGateway(ctx, nil)
	return err
}

// collect asks the participants, one after the other.
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
			since = r.AskedAt // its answer may be here already, even from before a retry
		}
		q, err := m.ask(ctx, r.AgentID, "report", since, func() string { return reportPrompt(row, r) + reminder(open[r.AgentID]) })
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
		return &Failure{AgentsTimedOut, "None of the participants answered. A retry asks them again."}
	}
	return nil
}

// keep turns the end of a question into the report of the i-th participant.
func (m *meeting) storeAnswer(ctx context.Context, i int, q question) error {
	return m.step(ctx, "keep "+q.RunID, func(tx *db.Tx, row *Standup) error {
		r := row.Reports[i]
		if r.FiledAt != nil {
			return nil // it was filed after the question had ended
		}
		var line string
		kind := "answer"
		switch q.State {
		case "answered":
			r.Status = Answered
			r.parseAnswer(*q.Text, q.CostNano)
			if err := r.checkClaims(ctx, tx, m.id); err != nil {
				return err
			}
			line = *q.Text
		case "timed_out":
			text := timeoutText
			r.Status, r.Text, kind = TimedOut, &text, "timeout"
			line = timeoutText + " No answer within " + formatDuration(m.AgentTimeout) + ". The meeting goes on without this report."
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

// fill parses an answer into the parts of the report.
func (r *Report) parseAnswer(text string, cost *int64) {
	r.setParts(text, answer.ParseReport(text))
	if cost != nil {
		n := money.Nano(*cost)
		r.CostUSD = &n
	}
}

// take takes over an answer that was read into its parts.
func (r *Report) setParts(text string, parsed answer.Parsed) {
	r.Text, r.Other = &text, nil
	r.Yesterday, r.Today, r.Blockers = parsed.Yesterday, parsed.Today, parsed.Blockers
	if parsed.Other != "" {
		r.Other = &parsed.Other
	}
}

// weigh holds the report against the board and the evidence.
func (r *Report) checkClaims(ctx context.Context, q db.Queryer, standupID string) (err error) {
	if r.Claims, err = contradictions(ctx, q, *r); err != nil {
		return err
	}
	before, err := lastReport(ctx, q, standupID, r.AgentID)
	r.Omitted = r.omissions(before.text)
	return err
}

// review lets the facilitator read the reports. An answer that is not in the
// form is asked for once more, and then taken as the summary it is.
func (m *meeting) review(ctx context.Context) (answer.Review, error) {
	var outdated []question
	err := m.step(ctx, "review", func(tx *db.Tx, row *Standup) (err error) {
		if outdated, err = m.dropOutdatedReviews(ctx, tx, *row); err != nil {
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
	if err != nil {
		return answer.Review{}, err
	}
	m.stopRuns(ctx, outdated)
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
		q, err := m.ask(ctx, row.Facilitator, purpose, row.StartedAt, func() string { return reviewPrompt(row, known, items, purpose == "repeat") })
		if err != nil {
			return answer.Review{}, err
		}
		if q.State != "answered" && said != "" {
			break // the first answer is what there is
		}
		switch q.State {
		case "answered":
		case "timed_out":
			return answer.Review{}, &Failure{FacilitatorTimedOut, fmt.Sprintf("%s did not answer within %s. The reports are kept; a retry asks for the review alone.", row.Facilitator, formatDuration(m.AgentTimeout))}
		default:
			return answer.Review{}, &Failure{FacilitatorTimedOut, fmt.Sprintf("%s could not review the reports: %s The reports are kept; a retry asks for the review alone.", row.Facilitator, sentence(*q.Text))}
		}
		if r, ok := answer.ParseReview(*q.Text); ok {
			return r, nil
		}
		said = *q.Text
	}
	return answer.Review{Summary: answer.Clean(said, 10_000)}, nil
}
