package mcp

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"wardroom/internal/platform/fault"
)

// nextPrefix begins the part of every error that names the next call.
const nextPrefix = "Next: "

// nextCalls maps the codes of faults to what the agent should do next.
var nextCalls = map[string]string{
	"task_not_found":          "call whoami for the keys of your tasks.",
	"task_claimed":            "call next_task for another task.",
	"claim_lost":              "stop working on it, and call next_task.",
	"task_not_open":           "call next_task for another task.",
	"task_archived":           "call next_task for another task.",
	"dependencies_unfinished": "call next_task for another task, or report a blocker.",
	"assignee_unknown":        "call create_task again, with an agent_id or without assignee.",
	"too_many_questions":      "continue with other work, or call ask_human with withdraw.",
	"approval_not_found":      "call ask_human with the question to read its state.",
	"approval_decided":        "call ask_human with the question to read its state.",
	"idempotency_gone":        "change the text to create it again.",
	errNoStandup.Code:         "continue with your tasks: call next_task.",
	"standup_ended":           "continue with your tasks: call next_task.",
	"too_many_submissions":    "continue with your tasks: call next_task.",
	"not_a_participant":       "continue with your tasks: call next_task.",
}

// explain returns an error whose text is for the agent: what failed, why, and the next call. The
// text of an error that is not a fault appears only in the log.
func (s *Service) explain(ctx context.Context, tool string, err error) error {
	f := fault.Of(err)
	if f == nil {
		if !s.DB.Away("tools of agents", err) {
			s.Log.ErrorContext(ctx, "a tool failed", slog.String("tool", tool), slog.Any("err", err))
		}
		return errors.New(
			"internal: Wardroom failed to handle the call. " + nextPrefix + "wait a few seconds, then call " + tool + " again.",
		)
	}
	parts := []string{f.Code + ": " + f.Title}
	for _, field := range f.Fields {
		parts = append(parts, strings.TrimPrefix(field.Pointer, "/")+": "+field.Detail)
	}
	if len(f.Fields) == 0 && f.Detail != "" {
		parts = append(parts, f.Detail)
	}
	then := nextCalls[f.Code]
	if then == "" {
		then = "correct the arguments and call " + tool + " again."
	}
	return errors.New(clip(strings.Join(parts, " "), maxAnswer-200) + " " + nextPrefix + then)
}
