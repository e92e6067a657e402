package standup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// Decision is what a person decided since the team's last standup: about a task, or by resolving an
// escalation with a note.
type Decision struct {
	Task    *string    `json:"task" doc:"The task's key; null for an escalation that names no task."`
	Title   string     `json:"title" doc:"The title of the task, or of the escalation if there is no task."`
	Text    string     `json:"text" doc:"The start of the decision; empty if its comment was deleted."`
	Unblock bool       `json:"unblock" doc:"Whether the decision unblocked the task."`
	By      string     `json:"by" doc:"Name of the person."`
	At      clock.Time `json:"at"`
	Agents  []string   `json:"agents" nullable:"false" doc:"The agents concerned: the task's assignee, and those who reported the task as a blocker."`
}

// maxDecision is the maximum length of a stored decision in characters.
const maxDecision = 1000

// decisions returns what people decided since the team's last completed standup, oldest first. It
// omits tasks that concern only agents outside the team.
func (s *Service) decisions(ctx context.Context, row Standup) ([]Decision, error) {
	since, err := lastStart(ctx, s.DB, row)
	if db.IsNotFound(err) {
		since, err = s.Now().Add(-defaultEvidenceWindow), nil
	}
	if err != nil {
		return nil, err
	}
	decided, err := s.Tasks.DecisionsSince(ctx, since)
	if err != nil {
		return nil, err
	}
	list := make([]Decision, 0, len(decided))
	for _, t := range decided {
		d := Decision{
			Task: &t.Key, Title: t.Title, Text: t.Text, Unblock: t.Unblock, By: t.By, At: clock.At(t.At), Agents: []string{},
		}
		if t.AgentID != "" {
			d.Agents = append(d.Agents, t.AgentID)
		}
		list = append(list, d)
	}
	answers, err := s.answers(ctx, row, since)
	if err != nil {
		return nil, fmt.Errorf("read answers to escalations: %w", err)
	}
	for _, d := range answers {
		known := slices.ContainsFunc(list, func(k Decision) bool { return d.Task != nil && equalPtr(k.Task, d.Task) })
		if !known {
			list = append(list, d)
		}
	}
	if err := s.addBlocked(ctx, row, since, list); err != nil {
		return nil, fmt.Errorf("read blockers: %w", err)
	}
	list = slices.DeleteFunc(list, func(d Decision) bool {
		return len(d.Agents) > 0 && !slices.ContainsFunc(d.Agents, row.has)
	})
	slices.SortStableFunc(list, func(a, b Decision) int { return a.At.Compare(b.At.Time) })
	return list, nil
}

// has reports whether an agent leads or takes part in the standup.
func (s Standup) has(agentID string) bool {
	return agentID == s.Facilitator || slices.ContainsFunc(s.Reports, func(r Report) bool { return r.AgentID == agentID })
}

// addBlocked adds to each decision the agents who reported its task as a blocker, and shortens its
// text.
func (s *Service) addBlocked(ctx context.Context, row Standup, since time.Time, list []Decision) error {
	if len(list) == 0 {
		return nil
	}
	blockers, err := blockersFor(ctx, s.DB, row.Team, row.ID, since)
	for i := range list {
		d := &list[i]
		for _, l := range blockers {
			if d.Task != nil && equalPtr(taskKey(l.Task), d.Task) {
				d.Agents = append(d.Agents, l.Agents...)
			}
		}
		slices.Sort(d.Agents)
		d.Agents = slices.Compact(d.Agents)
		d.Text = plaintext.Cut(d.Text, maxDecision, " …")
	}
	return err
}

// answers returns up to 50 of the team's recent escalations that a person has resolved with a note
// since the given time.
func (s *Service) answers(ctx context.Context, row Standup, since time.Time) ([]Decision, error) {
	known, err := s.escalated(ctx, s.DB, row)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	args := []any{since, actor.System.ID}
	for _, e := range known {
		args = append(args, e.Subject)
	}
	rows, err := s.DB.Query(ctx, `
		SELECT title, subject_kind, subject_name, resolution, resolver_name, resolved_at FROM inbox_items
		WHERE state = 'resolved' AND resolved_at >= ? AND resolver_id <> ? AND resolution <> ''
			AND cause IN (?`+strings.Repeat(`, ?`, len(known)-1)+`) ORDER BY resolved_at, id LIMIT 50`, args...)
	return db.All(rows, err, func(r db.Row) (d Decision, err error) {
		var kind, name string
		err = r.Scan(&d.Title, &kind, &name, &d.Text, &d.By, &d.At)
		if kind == "task" {
			d.Task = &name
		}
		d.Agents = []string{}
		return d, err
	})
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
		about := "\"" + oneLine(d.Title) + "\""
		if d.Task != nil {
			about = *d.Task + " (" + oneLine(d.Title) + ")"
		}
		line := fmt.Sprintf("%s decided on %s about %s", oneLine(d.By), d.At.UTC().Format("2006-01-02 15:04 UTC"), about)
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
		about := escapeLine(d.Title)
		if d.Task != nil {
			about = *d.Task
		}
		out = append(out, fmt.Sprintf("%s (%s)", about, escapeLine(d.By)))
	}
	return out
}
