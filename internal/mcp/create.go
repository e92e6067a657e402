package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/once"
	"wardroom/internal/task"
)

// recognized returns a context in which the services recognize a repeated call of a tool by its
// content, for as long as an idempotency key is valid.
func recognized(ctx context.Context, tool string, in any) (context.Context, *once.Request, error) {
	content, err := json.Marshal(in)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the arguments of %s: %w", tool, err)
	}
	r := once.New(actor.From(ctx).ID, "tool "+tool, string(content), content)
	return once.With(ctx, r), r, nil
}

type commentInput struct {
	Task string `json:"task" jsonschema:"key"`
	Text string `json:"text" jsonschema:"Markdown"`
}

func (s *Service) comment(ctx context.Context, in commentInput) (string, error) {
	in.Task = ref(in.Task)
	ctx, call, err := recognized(ctx, "comment", in)
	if err != nil {
		return "", err
	}
	if _, err := s.Tasks.Comment(ctx, in.Task, task.CommentText{Body: in.Text}); err != nil {
		return "", err
	}
	if call.Replayed() {
		return "You wrote this comment within the last 24 hours. Nothing was added.", nil
	}
	return "The comment was added.", nil
}

type createInput struct {
	Title       string        `json:"title"`
	Description string        `json:"description,omitempty" jsonschema:"Markdown"`
	Assignee    string        `json:"assignee,omitempty" jsonschema:"agent_id or email"`
	Priority    task.Priority `json:"priority,omitempty" jsonschema:"low, medium, high, or urgent"`
	Parent      string        `json:"parent,omitempty" jsonschema:"key"`
}

func (s *Service) createTask(ctx context.Context, in createInput) (string, error) {
	ctx, call, err := recognized(ctx, "create_task", in)
	if err != nil {
		return "", err
	}
	t, err := s.Tasks.Create(ctx, task.New{
		Title: in.Title, Description: in.Description, Assignee: given(in.Assignee),
		Priority: in.Priority, Parent: given(in.Parent),
	})
	if err != nil {
		return "", err
	}
	if call.Replayed() {
		return "You created this task within the last 24 hours: " + t.Key + ". Nothing was added.", nil
	}
	return "Created " + t.Key + ".", nil
}
