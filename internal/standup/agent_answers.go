package standup

import (
	"context"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// AgentAnswer is one agent's report in one standup.
type AgentAnswer struct {
	AgentID, StandupID, Date, Team   string
	Status                           ReportStatus
	Yesterday, Today, Blockers, Text *string
	At                               *clock.Time // when the agent answered or, if it did not, when it was asked
}

// AnswersBy returns an agent's answers in the latest standups, newest first. It includes standups
// in which the agent was asked but did not answer.
func (s *Service) AnswersBy(ctx context.Context, agentID string, limit int) ([]AgentAnswer, error) {
	rows, err := s.DB.Query(ctx, answerSelect+`= ? ORDER BY r.standup_id DESC LIMIT ?`, agentID, limit)
	return db.All(rows, err, scanAnswer)
}

// LatestAnswers returns the answer of each agent in its latest standup, by agent.
func (s *Service) LatestAnswers(ctx context.Context, agentIDs []string) (map[string]AgentAnswer, error) {
	latest := make(map[string]AgentAnswer, len(agentIDs))
	if len(agentIDs) == 0 {
		return latest, nil
	}
	// With = instead of a range, PostgreSQL would search the reports of all agents for an agent without reports.
	_, args := db.In(agentIDs)
	rows, err := s.DB.Query(ctx, `WITH ids (agent_id) AS (VALUES (CAST(? AS TEXT))`+strings.Repeat(", (?)", len(args)-1)+`),
		latest AS (SELECT agent_id, (SELECT l.standup_id FROM standup_reports l WHERE l.agent_id >= ids.agent_id AND l.agent_id <= ids.agent_id
			AND l.status NOT IN ('pending', 'missing') ORDER BY l.agent_id DESC, l.standup_id DESC LIMIT 1) AS standup_id FROM ids)
		SELECT `+answerColumns+` FROM latest JOIN standup_reports r ON r.standup_id = latest.standup_id AND r.agent_id = latest.agent_id
		JOIN standups s ON s.id = r.standup_id`, args...)
	all, err := db.All(rows, err, scanAnswer)
	for _, a := range all {
		latest[a.AgentID] = a
	}
	return latest, err
}

// UnansweredBy returns the reports that the agents were asked for since the given time but
// did not submit, because they timed out or failed. They are sorted from newest to oldest.
func (s *Service) UnansweredBy(
	ctx context.Context, agentIDs []string, since time.Time, limit int,
) ([]AgentAnswer, error) {
	in, args := db.In(agentIDs)
	rows, err := s.DB.Query(ctx,
		answerSelect+in+` AND r.status IN ('timed_out', 'failed') AND r.asked_at >= ? ORDER BY r.standup_id DESC LIMIT ?`,
		append(args, since, limit)...)
	return db.All(rows, err, scanAnswer)
}

const (
	answerColumns = `r.agent_id, s.id, s.date, s.team, r.status, r.yesterday, r.today, r.blockers, r.text, r.answered_at, r.asked_at`
	answerSelect  = `SELECT ` + answerColumns + `
	FROM standup_reports r JOIN standups s ON s.id = r.standup_id WHERE r.status NOT IN ('pending', 'missing') AND r.agent_id `
)

func scanAnswer(row db.Row) (s AgentAnswer, err error) {
	var asked *clock.Time
	err = row.Scan(&s.AgentID, &s.StandupID, &s.Date, &s.Team, &s.Status, &s.Yesterday, &s.Today, &s.Blockers, &s.Text,
		&s.At, &asked)
	if s.At == nil {
		s.At = asked
	}
	return s, err
}
