package standup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/standup/answer"
)

// This file is about reports that are handed in rather than asked for.

// The failures of handing in a report.
var (
	ErrParticipant        = fault.New(fault.NotFound, "not_a_participant", "The agent takes no part in this standup.")
	ErrNotOwnReport       = fault.New(fault.Forbidden, "not_your_report", "An agent hands in its own report only.")
	ErrTooManySubmissions = fault.New(fault.Conflict, "too_many_filings", "The report was handed in too often.")
	ErrEnded              = fault.New(fault.Conflict, "standup_ended", "The standup has ended.")
)

// errFiled ends a question whose answer was handed in meanwhile: the filed one
// counts, and nobody waits for the other.
var errSubmitted = errors.New("the report was filed meanwhile")

// Filing is a report that is handed in: as one text, which is read like an
// answer, or as its three parts.
type Filing struct {
	Text      string `json:"text,omitempty" maxLength:"200000" doc:"The whole report in Markdown; it is read into its parts like an answer."`
	Yesterday string `json:"yesterday,omitempty" maxLength:"50000" doc:"Markdown. This and the next two stand instead of text."`
	Today     string `json:"today,omitempty" maxLength:"50000"`
	Blockers  string `json:"blockers,omitempty" maxLength:"50000" doc:"Empty, or words such as None, when there are none."`
}

// read gives the text of the report and its parts, or says what is wrong.
func (f Filing) read() (text string, parts answer.Parsed, _ error) {
	var bad fault.Fields
	text = strings.TrimSpace(answer.Clean(f.Text, maxAnswer))
	yesterday, today, blockers := answer.Clean(f.Yesterday, maxAnswer), answer.Clean(f.Today, maxAnswer), answer.Clean(f.Blockers, maxAnswer)
	inParts := strings.TrimSpace(yesterday+today+blockers) != ""
	switch {
	case text == "" && !inParts:
		bad.Add("/text", "Say something, here or in yesterday, today and blockers.")
	case text != "" && inParts:
		bad.Add("/text", "Send either the text or the three parts.")
	case inParts:
		text, parts = answer.Join(yesterday, today, blockers)
	default:
		parts = answer.ParseReport(text)
	}
	return text, parts, bad.Err()
}

// File hands in the report of a participant, before the meeting or while it goes
// on: the agent is not asked then, and when it is being asked, that run is
// stopped. It takes the place of what there was; the transcript keeps that. An
// agent may hand in its own only: ErrNotYours. After the end it is ErrEnded, and
// after many it is ErrFilings. The same report by the same caller again changes nothing.
func (s *Service) SubmitReport(ctx context.Context, id, agentID string, f Filing) (Report, error) {
	by := actor.From(ctx)
	if by.Role == actor.Agent && by.AgentID != agentID {
		return Report{}, ErrNotOwnReport.With("You are %q.", by.AgentID)
	}
	text, parts, err := f.read()
	if err != nil {
		return Report{}, err
	}
	evidence, err := s.evidenceForSubmission(ctx, id, agentID)
	if err != nil {
		return Report{}, fmt.Errorf("file report: %w", err)
	}
	var filed Report
	var open []question
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		row, err := s.lock(ctx, tx, id)
		if err == nil {
			err = row.acceptsReport(agentID) // before anything is written: see Cancel
		}
		if err != nil {
			return err
		}
		// The meeting writes under its job and not under our lock.
		if err := job.Hold(ctx, tx, jobKind, id); err != nil {
			return err
		}
		if row, err = s.lock(ctx, tx, id); err != nil {
			return err
		}
		filed, open, err = s.submitReport(ctx, tx, row, Report{AgentID: agentID, Evidence: evidence, FiledBy: &by.Name}, text, parts)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("file report: %w", err)
	}
	s.stopRuns(ctx, open)
	return filed, nil
}

// evidenceToFile is the evidence for a report that is handed in, or nil when it
// has some already: it is gathered once.
func (s *Service) evidenceForSubmission(ctx context.Context, id, agentID string) (*Evidence, error) {
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	i := row.reportIndex(agentID)
	if i < 0 || row.Reports[i].Evidence != nil || row.Status != Running {
		return nil, nil //nolint:nilnil // there is none to gather
	}
	sessionCtx, cancel := context.WithTimeout(ctx, sessionCountTimeout)
	defer cancel()
	return s.evidenceOf(ctx, sessionCtx, id, agentID)
}

// place is where in the order an agent's report is, or -1.
func (s Standup) reportIndex(agentID string) int {
	return slices.IndexFunc(s.Reports, func(r Report) bool { return r.AgentID == agentID })
}

// takes says why no report of an agent can be handed in, or nil.
func (s Standup) acceptsReport(agentID string) error {
	switch {
	case s.reportIndex(agentID) < 0:
		return ErrParticipant.With("Its reports say who does.")
	case s.Status == Error:
		return ErrEnded.With("It %s. Run it again: while it goes on, reports can be filed.", s.ended())
	case s.Status != Running:
		return ErrEnded.With("It %s. What is new belongs into the next one.", s.ended())
	}
	return nil
}

// file writes a report down that was handed in, and ends the question for it.
func (s *Service) submitReport(ctx context.Context, tx *db.Tx, row Standup, from Report, text string, parts answer.Parsed) (Report, []question, error) {
	if err := row.acceptsReport(from.AgentID); err != nil {
		return Report{}, nil, err
	}
	i := row.reportIndex(from.AgentID)
	r, now := row.Reports[i], s.Now()
	if r.FiledAt != nil && *r.FiledBy == *from.FiledBy && *r.Text == text {
		return r, nil, nil
	}
	if err := checkSubmissionLimit(ctx, tx, row.ID, r.AgentID); err != nil {
		return Report{}, nil, err
	}
	if r.Evidence == nil {
		r.Evidence = from.Evidence
	}
	r.Status, r.AnsweredAt, r.FiledAt, r.FiledBy = Answered, clock.Ptr(now), clock.Ptr(now), from.FiledBy
	r.setParts(text, parts)
	if err := r.checkClaims(ctx, tx, row.ID); err != nil {
		return Report{}, nil, err
	}
	if err := putReport(ctx, tx, row.ID, i, r); err != nil {
		return Report{}, nil, err
	}
	open, err := dropReportQuestion(ctx, tx, row.ID, r.AgentID, now)
	if err != nil {
		return Report{}, nil, err
	}
	if err := update(ctx, tx, &row, now); err != nil {
		return Report{}, nil, err
	}
	if err := s.recordSubmission(ctx, tx, row, r); err != nil {
		return Report{}, nil, err
	}
	return r, open, record(ctx, tx, now, "standup.reported", row, map[string]any{"agent_id": r.AgentID, "status": r.Status, "filed": true})
}

// mostAnswers is how often an agent is heard in one standup before no more reports
// of it are taken: the transcript keeps each of them whole.
const maxAnswers = 30

func checkSubmissionLimit(ctx context.Context, tx *db.Tx, standupID, agentID string) error {
	var n int
	err := tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM standup_transcript WHERE standup_id = ? AND kind = 'answer' AND from_id = ?`, standupID, agentID).Scan(&n)
	if err == nil && n >= maxAnswers {
		err = ErrTooManySubmissions.With("The transcript has %d of them. What the last one says counts; what is new belongs into the next standup.", n)
	}
	return err
}

// dropReport ends the open question for an agent's report, if there is one.
func dropReportQuestion(ctx context.Context, tx *db.Tx, standupID, agentID string, now time.Time) ([]question, error) {
	all, err := questions(ctx, tx, standupID)
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(all, func(q question) bool {
		return q.AgentID != agentID || q.Purpose != "report" || q.State != "open"
	})
	for _, q := range open {
		q.State, q.EndedAt = "dropped", clock.Ptr(now)
		if err := putQuestion(ctx, tx, standupID, q); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// sayFiled notes in the transcript what was handed in, and by whom.
func (s *Service) recordSubmission(ctx context.Context, tx *db.Tx, row Standup, r Report) error {
	note := fmt.Sprintf("%s filed the report of %s.", *r.FiledBy, r.AgentID)
	if row.Phase == Reviewing {
		note += " The review had begun; " + row.Facilitator + " may not know it."
	}
	if err := appendLine(ctx, tx, row.ID, r.FiledAt.Time, "note", service, team, note); err != nil {
		return err
	}
	return appendLine(ctx, tx, row.ID, r.FiledAt.Time, "answer", r.AgentID, row.Facilitator, *r.Text)
}

// lookForFiled is how often a meeting that waits for an answer looks whether it
// was filed. Mostly the stopped run ends the waiting before that; not when the
// runtime is away.
const submissionPollInterval = time.Second

// heed brings a question to its end, unless its report is filed meanwhile: then
// it is errFiled.
func (m *meeting) awaitAnswer(ctx context.Context, q question, fresh bool) (question, error) {
	if q.Purpose != "report" {
		return m.runQuestion(ctx, q, fresh)
	}
	waiting, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		m.watchSubmission(waiting, q.AgentID, end)
	}()
	got, err := m.runQuestion(waiting, q, fresh)
	end(nil)
	<-over
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(waiting), errSubmitted) {
		err = errSubmitted
	}
	return got, err
}

// lookOut ends the waiting for an agent's answer when its report was filed.
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
			continue // the database is away; whoever writes will be told
		}
		if slices.ContainsFunc(all, func(r Report) bool { return r.AgentID == agentID && r.FiledAt != nil }) {
			end(errSubmitted)
			return
		}
	}
}
