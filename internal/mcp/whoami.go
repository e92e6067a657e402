package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

type nothing struct{}

// whoami tells an agent its name, its open tasks, and whether a standup waits for its report.
func (s *Service) whoami(ctx context.Context, _ nothing) (string, error) {
	by := actor.From(ctx)
	s.noteUse(ctx, true)
	all, err := s.Tasks.Of(ctx, by.AgentID, time.Now())
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(t task.Task) bool { return t.Status != task.InProgress && t.Status != task.Todo })
	slices.SortStableFunc(all, func(a, b task.Task) int { return cmp.Compare(place(b), place(a)) })
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s (agent_id %s). You have %d open tasks", plaintext.Line(by.Name), by.AgentID, len(all))
	if len(all) > mostTasks {
		fmt.Fprintf(&b, "; the first %d", mostTasks)
		all = all[:mostTasks]
	}
	b.WriteString(".\n")
	if len(all) > 0 {
		lines := make([]string, len(all))
		for i, t := range all {
			lines[i] = t.Key + ", " + state(t, by) + ": " + plaintext.Cut(plaintext.Line(t.Title), 80, " …")
		}
		b.WriteString(quote(maxAnswer-400, lines...))
	}
	waiting, err := s.openStandup(ctx, by.AgentID)
	switch {
	case err == nil && !waiting.answered:
		fmt.Fprintf(&b, "The standup of %s (team %s) waits for your report. Next: call submit_standup_report.\n",
			waiting.date, waiting.team)
	case err != nil && !isNoStandup(err):
		return "", err
	default:
		b.WriteString("No standup waits for your report. Next: call get_task for one of your tasks, or next_task.\n")
	}
	return b.String(), nil
}

// place returns the number of the task's column.
func place(t task.Task) int { return slices.Index(task.Statuses(), t.Status) }

// state describes a task's state from the view of the caller.
func state(t task.Task, by actor.Actor) string {
	words := []string{string(t.Status), string(t.Priority)}
	if t.Blocked != nil {
		words = append(words, "blocked")
	}
	if t.WaitingOn > 0 {
		words = append(words, "waiting for other tasks")
	}
	if d := t.Dispatch; d != nil && d.AgentID == by.AgentID && (d.State == task.Queued || d.State == task.Started) {
		words = append(words, "sent to you")
	}
	switch {
	case t.Claim == nil:
	case t.Claim.By == by.ID:
		words = append(words, "claimed by you until "+t.Claim.ExpiresAt.UTC().Format(clockTime))
	default:
		words = append(words, "claimed by another user")
	}
	return strings.Join(words, ", ")
}

// clockTime is the format of times in answers.
const clockTime = "2006-01-02 15:04 UTC"
