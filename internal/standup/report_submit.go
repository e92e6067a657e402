package standup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/standup/answer"
)

// This file handles reports that clients submit without being asked.

// Errors returned by SubmitReport.
var (
	ErrParticipant = fault.New(fault.NotFound, "not_a_participant",
		"The agent is not a participant in this standup.")
	ErrNotOwnReport       = fault.New(fault.Forbidden, "not_your_report", "An agent can submit only its own report.")
	ErrTooManySubmissions = fault.New(fault.Conflict, "too_many_submissions",
		"The agent has submitted its report too many times.")
	ErrEnded = fault.New(fault.Conflict, "standup_ended", "The standup has ended.")
)

// errSubmitted means that a report was submitted while Wardroom was asking the agent for
// it. The submitted report is used, and the question is dropped.
var errSubmitted = errors.New("the report was submitted")

// Submission is a submitted report. It contains either a single text, which is parsed like an
// agent's answer, or the three parts of a report.
type Submission struct {
	Text      string `json:"text,omitempty" maxLength:"200000" doc:"The complete report in Markdown. It is parsed into its parts like an answer."`
	Yesterday string `json:"yesterday,omitempty" maxLength:"50000" doc:"Markdown. Send yesterday, today and blockers instead of text."`
	Today     string `json:"today,omitempty" maxLength:"50000"`
	Blockers  string `json:"blockers,omitempty" maxLength:"50000" doc:"Markdown. Empty or 'None' if nothing is blocked."`
}

// read returns the report's text and parts. If fields are invalid, it returns an error
// that lists them.
func (f Submission) read() (text string, parts answer.Parsed, _ error) {
	var bad fault.Fields
	text = strings.TrimSpace(answer.Clean(f.Text, maxAnswer))
	yesterday, today, blockers := answer.Clean(f.Yesterday, maxAnswer), answer.Clean(f.Today, maxAnswer),
		answer.Clean(f.Blockers, maxAnswer)
	inParts := strings.TrimSpace(yesterday+today+blockers) != ""
	switch {
	case text == "" && !inParts:
		bad.Add("/text", "The report is empty. Send either \"text\" or \"yesterday\", \"today\", and \"blockers\".")
	case text != "" && inParts:
		bad.Add("/text", "Send either \"text\" or \"yesterday\", \"today\", and \"blockers\", not both.")
	case inParts:
		text, parts = answer.Join(yesterday, today, blockers)
	default:
		parts = answer.ParseReport(text)
	}
	return text, parts, bad.Err()
}

// SubmitReport stores a participant's report before or during the standup. The standup then
// does not ask the agent; if the agent is already being asked, its run is stopped. A new report
// replaces the previous one, which remains in the transcript. Submitting the same report again
// changes nothing. SubmitReport returns ErrNotOwnReport if an agent submits another agent's
// report, ErrEnded after the standup has ended, and ErrTooManySubmissions after too many
// reports.
func (s *Service) SubmitReport(ctx context.Context, id, agentID string, f Submission) (Report, error) {
	by := actor.From(ctx)
	if by.Role == actor.Agent && by.AgentID != agentID {
		return Report{}, ErrNotOwnReport.With("You are making this request as agent %q.", by.AgentID)
	}
	if by.Role == actor.Agent {
		f = Submission{s.Redact.Text(f.Text), s.Redact.Text(f.Yesterday), s.Redact.Text(f.Today), s.Redact.Text(f.Blockers)}
	}
	text, parts, err := f.read()
	if err != nil {
		return Report{}, err
	}
	evidence, err := s.evidenceForSubmission(ctx, id, agentID)
	if err != nil {
		return Report{}, fmt.Errorf("submit report: %w", err)
	}
	var submitted Report
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		row, err := findWhole(ctx, tx, id)
		if err != nil {
			return err
		}
		submitted, err = s.submitReport(ctx, tx, row, Report{AgentID: agentID, Evidence: evidence, SubmittedBy: &by.Name},
			text, parts)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("submit report: %w", err)
	}
	return submitted, nil
}

// evidenceForSubmission gathers the evidence for a submitted report. It returns nil if the report
// already has evidence, or if the standup is not running or does not include the agent.
func (s *Service) evidenceForSubmission(ctx context.Context, id, agentID string) (*Evidence, error) {
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	i := row.reportIndex(agentID)
	if i < 0 || row.Reports[i].Evidence != nil || row.Status != Running {
		return nil, nil //nolint:nilnil // nothing to gather
	}
	sessionCtx, cancel := context.WithTimeout(ctx, sessionCountTimeout)
	defer cancel()
	return s.evidenceOf(ctx, sessionCtx, id, agentID)
}

// reportIndex returns the index of an agent's report, or -1.
func (s Standup) reportIndex(agentID string) int {
	return slices.IndexFunc(s.Reports, func(r Report) bool { return r.AgentID == agentID })
}

// acceptsReport returns the reason why an agent's report cannot be submitted, or nil if it can.
func (s Standup) acceptsReport(agentID string) error {
	switch {
	case s.reportIndex(agentID) < 0:
		return ErrParticipant.With("The participants are the agents in the standup's reports.")
	case s.Status == Error:
		return ErrEnded.With("The standup %s. Run it again, and submit the report while it is running.", s.ended())
	case s.Status != Running:
		return ErrEnded.With("The standup %s. Submit the report to the next standup.", s.ended())
	}
	return nil
}

// submitReport stores a submitted report and drops the open question that asks for it.
func (s *Service) submitReport(
	ctx context.Context, tx *db.Tx, row Standup, from Report, text string, parts answer.Parsed,
) (Report, error) {
	if err := row.acceptsReport(from.AgentID); err != nil {
		return Report{}, err
	}
	i := row.reportIndex(from.AgentID)
	r, now := row.Reports[i], s.Now()
	if r.SubmittedAt != nil && *r.SubmittedBy == *from.SubmittedBy && *r.Text == text {
		return r, nil
	}
	if err := checkSubmissionLimit(ctx, tx, row.ID, r.AgentID); err != nil {
		return Report{}, err
	}
	if r.Evidence == nil {
		r.Evidence = from.Evidence
	}
	r.Status, r.AnsweredAt, r.SubmittedAt, r.SubmittedBy = Answered, clock.Ptr(now), clock.Ptr(now), from.SubmittedBy
	r.setParts(text, parts)
	if err := r.checkClaims(ctx, tx, row.ID); err != nil {
		return Report{}, err
	}
	if err := putReport(ctx, tx, row.ID, i, r); err != nil {
		return Report{}, err
	}
	err := s.dropQuestions(ctx, tx, row.ID, func(q question) bool {
		return q.AgentID == r.AgentID && q.Purpose == "report"
	})
	if err != nil {
		return Report{}, err
	}
	if err := update(ctx, tx, &row, now); err != nil {
		return Report{}, err
	}
	if err := s.recordSubmission(ctx, tx, row, r); err != nil {
		return Report{}, err
	}
	return r, record(ctx, tx, now, "standup.reported", row, map[string]any{
		"agent_id": r.AgentID, "status": r.Status, "submitted": true,
	})
}

// maxAnswers is the maximum number of answers that a standup accepts from an agent. There
// is a limit because the transcript contains the full text of every answer.
const maxAnswers = 30

// checkSubmissionLimit fails with ErrTooManySubmissions if the standup already contains
// maxAnswers answers from the agent.
func checkSubmissionLimit(ctx context.Context, tx *db.Tx, standupID, agentID string) error {
	var n int
	err := tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM standup_transcript WHERE standup_id = ? AND kind = 'answer' AND from_id = ?`, standupID, agentID).Scan(&n)
	if err == nil && n >= maxAnswers {
		err = ErrTooManySubmissions.With("The agent has already sent %d answers in this standup, and Wardroom uses the last one. Report anything new in the next standup.", n)
	}
	return err
}

// recordSubmission adds a submitted report to the transcript, with the name of its submitter.
func (s *Service) recordSubmission(ctx context.Context, tx *db.Tx, row Standup, r Report) error {
	note := fmt.Sprintf("%s submitted the report of %s.", *r.SubmittedBy, r.AgentID)
	if row.Phase == Reviewing {
		note += " The review had already started, so " + row.Facilitator + " may not have seen it."
	}
	if err := appendLine(ctx, tx, row.ID, r.SubmittedAt.Time, "note", service, team, note); err != nil {
		return err
	}
	return appendLine(ctx, tx, row.ID, r.SubmittedAt.Time, "answer", r.AgentID, row.Facilitator, *r.Text)
}
