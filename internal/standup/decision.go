package standup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// Decision is what a person decided about a task since the team's last standup.
type Decision struct {
	Task    string     `json:"task" doc:"The task's key."`
	Title   string     `json:"title" doc:"The task's title."`
	Text    string     `json:"text" doc:"The start of the decision; empty if its comment was deleted."`
	Unblock bool       `json:"unblock" doc:"Whether the decision unblocked the task."`
	By      string     `json:"by" doc:"Name of the person."`
	At      clock.Time `json:"at"`
	Agents  []string   `json:"agents" nullable:"false" doc:"The agents concerned: the task's assignee, and those who reported the task as a blocker."`
}

// maxDecision is the maximum length of a stored decision in characters.
const maxDecision = 1000

// decisions returns what people decided since the team's last completed standup. It omits tasks that
// concern only agents outside the team.
func (s *Service) decisions(ctx context.Context, row Standup) ([]Decision, error) {
	if s.Decided == nil {
		return []Decision{}, nil
	}
	since, err := lastStart(ctx, s.DB, row)
	if db.IsNotFound(err) {
		since, err = s.Now().Add(-defaultEvidenceWindow), nil
	}
	if err != nil {
		return nil, err
	}
	all, err := s.Decided(ctx, since)
	if err != nil || len(all) == 0 {
		return []Decision{}, err
	}
	blockers, err := blockersFor(ctx, s.DB, row.Team, row.ID, since)
	if err != nil {
		return nil, fmt.Errorf("read blockers: %w", err)
	}
	members := []string{row.Facilitator}
	for _, r := range row.Reports {
		members = append(members, r.AgentID)
	}
	list := []Decision{}
	for _, d := range all {
		for _, l := range blockers {
			if equalPtr(l.Task, taskNumber(d.Task)) {
				d.Agents = append(d.Agents, l.Agents...)
			}
		}
		slices.Sort(d.Agents)
		d.Agents = slices.Compact(d.Agents)
		ours := slices.ContainsFunc(d.Agents, func(id string) bool { return slices.Contains(members, id) })
		if ours || len(d.Agents) == 0 {
			d.Text = plaintext.Cut(d.Text, maxDecision, " …")
			list = append(list, d)
		}
	}
	return list, nil
}

// lastStart returns the time at which the team's last completed standup, other than row, started.
func lastStart(ctx context.Context, q db.Queryer, row Standup) (time.Time, error) {
	var at clock.Time
	err := q.QueryRow(ctx, `SELECT started_at FROM standups WHERE team = ? AND status = 'completed' AND started_at IS NOT NULL AND id <> ?
		ORDER BY date DESC LIMIT 1`, row.Team, row.ID).Scan(&at)
	return at.Time, err
}

// decisionLines formats decisions as lines for a data block. If agentID is not empty, it omits those
// that do not concern this agent.
func decisionLines(list []Decision, agentID string) []string {
	var lines []string
	for _, d := range list {
		if agentID != "" && !slices.Contains(d.Agents, agentID) {
			continue
		}
		line := fmt.Sprintf("%s decided on %s about %s (%s)", oneLine(d.By), d.At.UTC().Format("2006-01-02 15:04 UTC"), d.Task, oneLine(d.Title))
		if d.Unblock {
			line += ", which is unblocked"
		}
		if d.Text != "" {
			line += ": " + plaintext.Cut(strings.ReplaceAll(plaintext.Line(d.Text), "---", "–"), maxDecision, " …")
		}
		lines = append(lines, line)
	}
	return lines
}

// decided lists the decisions for the digest.
func (s Standup) decided() []string {
	var out []string
	for _, d := range s.Decisions {
		out = append(out, fmt.Sprintf("%s (%s)", d.Task, escapeLine(d.By)))
	}
	return out
}
