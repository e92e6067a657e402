package standup

import (
	"context"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// AgentAnswer is one agent's report in one standup.
type AgentAnswer struct {
	StandupID, Date, Team            string
	Status                           ReportStatus
	Yesterday, Today, Blockers, Text *string
	At                               *clock.Time // when the agent answered or, if it did not, when it was asked
}

// AnswersBy returns an agent's answers in the latest standups, newest first. It includes standups
// in which the agent was asked but did not answer.
func (s *Service) AnswersBy(ctx context.Context, agentID string, limit int) ([]AgentAnswer, error) {
	rows, err := s.DB.Query(ctx, answerSelect+` ORDER BY r.standup_id DESC LIMIT ?`, agentID, limit)
	return db.All(rows, err, scanAnswer)
}

// UnansweredBy returns the reports that an agent was asked for since the given time but
// did not submit, because it timed out or failed. They are sorted from newest to oldest.
func (s *Service) UnansweredBy(ctx context.Context, agentID string, since time.Time, limit int) ([]AgentAnswer, error) {
	rows, err := s.DB.Query(ctx, answerSelect+` AND r.status IN ('timed_out', 'failed') AND r.asked_at >= ? ORDER BY r.standup_id DESC LIMIT ?`, agentID, since, limit)
	return db.All(rows, err, scanAnswer)
}

const answerSelect = `SELECT s.id, s.date, s.team, r.status, r.yesterday, r.today, r.blockers, r.text, r.answered_at, r.asked_at
	FROM standup_reports r JOIN standups s ON s.id = r.standup_id WHERE r.agent_id = ? AND r.status NOT IN ('pending', 'missing')`

func scanAnswer(row db.Row) (s AgentAnswer, err error) {
	var asked *clock.Time
	err = row.Scan(&s.StandupID, &s.Date, &s.Team, &s.Status, &s.Yesterday, &s.Today, &s.Blockers, &s.Text, &s.At, &asked)
	if s.At == nil {
		s.At = asked
	}
	return s, err
}
