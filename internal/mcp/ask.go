package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/approval"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

type askInput struct {
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty" jsonschema:"at most 4"`
	Task     string   `json:"task,omitempty" jsonschema:"that it is about"`
	Hours    float64  `json:"hours,omitempty" jsonschema:"until it expires, at most 720"`
	Session  string   `json:"session,omitempty" jsonschema:"yours, for the answer; default: main"`
	Withdraw string   `json:"withdraw,omitempty" jsonschema:"ID of a question to take back"`
}

const maxHours = 30 * 24

// askHuman asks people a question, or returns the state of the same question that was asked before.
func (s *Service) askHuman(ctx context.Context, in askInput) (string, error) {
	if id := ref(in.Withdraw); id != "" {
		q, err := s.Questions.Withdraw(ctx, id)
		if err != nil {
			return "", err
		}
		return "Question " + q.ID + " is withdrawn. Next: go on without an answer.", nil
	}
	a := approval.Ask{Question: in.Question, Options: in.Options, Task: ref(in.Task), Session: in.Session}
	var bad fault.Fields
	switch {
	case in.Hours < 0 || in.Hours > maxHours:
		bad.Add("/hours", "Must be positive, and at most %d.", maxHours)
	case in.Hours > 0:
		a.Until = clock.Ptr(s.Questions.Now().Add(time.Duration(in.Hours * float64(time.Hour))))
	}
	if err := bad.Err(); err != nil {
		return "", err
	}
	q, _, err := s.Questions.Ask(ctx, a)
	if err != nil {
		return "", err
	}
	return told(q), nil
}

// told returns the state of a question for the agent that asked it.
func told(q approval.Question) string {
	text := "Question " + q.ID
	switch q.State {
	case approval.Pending:
		text += " waits for a person"
		if q.ExpiresAt != nil {
			text += " until " + q.ExpiresAt.UTC().Format(clockTime)
		}
		return text + ". The answer starts a turn in " + q.SessionKey + ". Next: do other work or end this turn; don't wait."
	case approval.Answered:
		return fmt.Sprintf("%s was answered by %s at %s.\n%sNext: continue the work that waited for it.", text, q.By.Name,
			q.EndedAt.UTC().Format(clockTime), quote(0, clip(answers(q), maxAnswer-500)))
	case approval.Skipped:
		return text + ": " + q.By.Name +
			" leaves the decision to you. Next: decide, and say in a comment or report what you decided."
	}
	return text + " is " + string(q.State) + ". Next: decide yourself, or ask in other words."
}

// answers returns the text of the answers.
func answers(q approval.Question) string {
	var all []string
	for _, p := range q.Parts {
		all = append(all, q.Answers[p.ID]...)
	}
	return strings.Join(all, ", ")
}
