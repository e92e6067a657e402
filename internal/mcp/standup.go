package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/page"
	"wardroom/internal/standup"
)

// open is a running standup that includes the agent.
type open struct {
	id, team, date string
	answered       bool
}

// openStandup returns the running standup to which the agent's report belongs: the latest that
// waits for it, otherwise the latest that includes the agent. It returns errNoStandup if there is none.
func (s *Service) openStandup(ctx context.Context, agentID string) (open, error) {
	part, err := s.Standups.List(ctx, standup.Filter{Statuses: []standup.Status{standup.Running}},
		page.Want{Query: page.Query{Limit: openLooked}})
	if err != nil {
		return open{}, err
	}
	var found open
	for _, b := range part.Rows {
		for _, r := range b.Reports {
			got := open{b.ID, b.Team, b.Date, r.Status != standup.Pending && r.Status != standup.Asked}
			if r.AgentID == agentID && (found.id == "" || found.answered && !got.answered) {
				found = got
			}
		}
	}
	if found.id == "" {
		return open{}, errNoStandup
	}
	return found, nil
}

func isNoStandup(err error) bool { return errors.Is(err, errNoStandup) }

type standupInput struct {
	Yesterday string `json:"yesterday"`
	Today     string `json:"today"`
	Blockers  string `json:"blockers,omitempty" jsonschema:"empty if none"`
}

func (s *Service) submitReport(ctx context.Context, in standupInput) (string, error) {
	agentID := actor.From(ctx).AgentID
	to, err := s.openStandup(ctx, agentID)
	if err != nil {
		return "", err
	}
	r, err := s.Standups.SubmitReport(ctx, to.id, agentID, standup.Submission{
		Yesterday: in.Yesterday, Today: in.Today, Blockers: in.Blockers,
	})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Your report for the standup of %s (team %s) is stored.", to.date, to.team)
	if len(r.Claims) == 0 {
		return text, nil
	}
	var wrong []string
	for _, c := range r.Claims[:min(len(r.Claims), 5)] {
		wrong = append(wrong, fmt.Sprintf("%s: the report says %s, the board says %s", c.Task, c.Says, c.Board))
	}
	return text + " The board contradicts it: " + strings.Join(wrong, "; ") +
		". Next: report on these tasks, or submit a corrected report.", nil
}
