package mcp

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

// nextTask claims the next task, or renews the claim that the agent holds.
func (s *Service) nextTask(ctx context.Context, _ nothing) (string, error) {
	t, ok, err := s.Tasks.ClaimNext(ctx, task.ClaimOptions{Lease: claimTime, Resume: true})
	if err != nil {
		return "", err
	}
	if !ok {
		return "No task is waiting for you. Next: end this turn; call next_task again later.", nil
	}
	return s.show(ctx, t, fmt.Sprintf("Next: work on it. "+
		"Call report with claim %d: kind progress or blocker when there is news, and kind done when you are finished.", t.Claim.Token), false)
}

type taskInput struct {
	Task string `json:"task" jsonschema:"key, such as TASK-12"`
	Full bool   `json:"full,omitempty" jsonschema:"whole texts and 20 comments"`
}

func (s *Service) getTask(ctx context.Context, in taskInput) (string, error) {
	t, err := s.Tasks.Get(ctx, ref(in.Task))
	if err != nil {
		return "", err
	}
	return s.show(ctx, t, "Next: call report or comment with this key.", in.Full)
}

// show returns a task with its latest comments, newest first. Unless full is set, it shortens texts
// so that the answer has at most maxAnswer bytes.
func (s *Service) show(ctx context.Context, t task.Task, then string, full bool) (string, error) {
	comments, longest, most := 3, 200, maxAnswer-300
	if full {
		comments, longest, most = 20, 2_000, 0
	}
	by := actor.From(ctx)
	lines := []string{"title: " + plaintext.Line(t.Title)}
	if t.Blocked != nil {
		lines = append(lines, "blocked: "+plaintext.Cut(t.Blocked.Reason, longest, " …"))
	}
	if t.Branch != nil {
		lines = append(lines, "branch: "+plaintext.Line(*t.Branch))
	}
	if t.PRURL != nil {
		lines = append(lines, "pr_url: "+plaintext.Line(*t.PRURL))
	}
	for _, c := range t.NamedChecks() { // must be run exactly as written
		lines = append(lines, "check after the last change: "+plaintext.Line(c))
	}
	for _, c := range t.Criteria {
		lines = append(lines, "accepted if: "+plaintext.Cut(c.Text, longest, " …"))
	}
	if t.Description != "" {
		text := t.Description
		if !full {
			text = plaintext.Cut(text, 800, " …")
		}
		lines = append(lines, "description:", text)
	}
	if t.Comments > 0 {
		part, err := s.Tasks.Comments(ctx, t.ID, page.Want{Query: page.Query{Limit: comments}, Sort: "-created"})
		if err != nil {
			return "", err
		}
		for _, c := range part.Rows {
			lines = append(lines,
				fmt.Sprintf("comment by %s, %s:", plaintext.Line(c.AuthorName), c.CreatedAt.UTC().Format(clockTime)),
				plaintext.Cut(c.Body, longest, " …"))
		}
	}
	return t.Key + " (" + state(t, by) + "; " + ties(t, by) + ").\n" + quote(most, lines...) + then, nil
}

// ties describes whose task it is and what it depends on.
func ties(t task.Task, by actor.Actor) string {
	text := "assigned to someone else"
	switch {
	case t.AssigneeID == nil:
		text = "not assigned"
	case *t.AssigneeID == by.ID:
		text = "assigned to you"
	}
	if t.DueAt != nil {
		due, whole := t.DueAt.Day()
		if !whole {
			due = t.DueAt.UTC().Format(clockTime)
		}
		text += ", due " + due
	}
	if n := len(t.DependsOn); n > 0 {
		text += ", depends on " + strings.Join(t.DependsOn[:min(n, 5)], " ")
	}
	return text
}

type reportInput struct {
	Task       string    `json:"task" jsonschema:"key"`
	Kind       task.Kind `json:"kind" jsonschema:"ack, progress, blocker, or done"`
	Text       string    `json:"text,omitempty" jsonschema:"Markdown: news, reason, or result"`
	Checked    string    `json:"checked,omitempty" jsonschema:"for done: what, and how"`
	NotChecked string    `json:"not_checked,omitempty" jsonschema:"for done: what you did not check"`
	Branch     string    `json:"branch,omitempty"`
	PRURL      string    `json:"pr_url,omitempty"`
	Claim      int64     `json:"claim,omitempty" jsonschema:"of next_task"`
}

// words returns the text of the report. A report of finished work must say what was checked and
// what was not, so that a reviewer knows where to look.
func (in reportInput) words() (string, error) {
	checked, not := strings.TrimSpace(in.Checked), strings.TrimSpace(in.NotChecked)
	var bad fault.Fields
	for _, f := range [][2]string{{"checked", checked}, {"not_checked", not}} {
		switch done := in.Kind == task.Finished; {
		case done && f[1] == "":
			bad.Add("/"+f[0], "Required for done.")
		case !done && f[1] != "":
			bad.Add("/"+f[0], "Only for done. Put it into text.")
		}
	}
	if in.Kind != task.Finished || len(bad) > 0 {
		return in.Text, bad.Err()
	}
	return strings.TrimSpace(in.Text + "\n\nChecked: " + checked + "\n\nNot checked: " + not), nil
}

func (s *Service) report(ctx context.Context, in reportInput) (string, error) {
	text, err := in.words()
	if err != nil {
		return "", err
	}
	r := task.Report{Kind: in.Kind, Text: text, Branch: given(in.Branch), PRURL: given(in.PRURL)}
	if in.Claim != 0 {
		r.ClaimToken = &in.Claim
	}
	t, err := s.Tasks.Report(ctx, ref(in.Task), r)
	if err != nil {
		return "", err
	}
	then := "go on with the work."
	switch in.Kind {
	case task.Blocker:
		then = "stop working on it. Call next_task, or end this turn."
	case task.Finished:
		then = "call next_task, or end this turn."
	}
	return fmt.Sprintf("The report is on %s (%s). Next: %s", t.Key, state(t, actor.From(ctx)), then), nil
}

// ref returns the name of an object as it can be looked up: without characters that are invisible or
// that a database refuses.
func ref(s string) string { return plaintext.Line(s) }

// given returns nil for an omitted text.
func given(s string) *string {
	if s = plaintext.Line(s); s == "" {
		return nil
	}
	return &s
}
