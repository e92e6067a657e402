package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

type taskCmd struct {
	client `embed:""`

	List    taskListCmd    `cmd:"" help:"List tasks: without flags, your own that are not done."`
	Next    taskNextCmd    `cmd:"" help:"Claim the next task, or renew the claim that you hold. Exits with 4 if no task waits."`
	Show    taskShowCmd    `cmd:"" help:"Print a task with its latest comments. With --json, print the task."`
	Report  taskReportCmd  `cmd:"" help:"Report on a task. Repeating the last report has no effect."`
	Comment taskCommentCmd `cmd:"" help:"Comment on a task. The same comment is added once in 24 hours."`
	Create  taskCreateCmd  `cmd:"" help:"Create a task. The same task is created once in 24 hours."`
}

// boardTask is what the commands print of a task.
type boardTask struct {
	Key, Title, Description, Status, Priority string
	Criteria                                  []struct{ Text, Check string }
	Checks                                    []string
	Blocked                                   *struct{ Reason string }
	Claim                                     *struct {
		Name      string
		ExpiresAt clock.Time `json:"expires_at"`
		Token     int64
	}
}

// line is text of people and agents as it can be written to a terminal.
func line(s string) string { return plaintext.Line(s) }

// state returns the task's key, title and state in one line.
func (b boardTask) state() string {
	s := fmt.Sprintf("%s (%s, %s)", b.Key, b.Status, b.Priority)
	if b.Blocked != nil {
		s += ", blocked: " + line(b.Blocked.Reason)
	}
	if b.Claim != nil {
		s += fmt.Sprintf(", claimed by %s until %s", line(b.Claim.Name), formatTime(&b.Claim.ExpiresAt))
	}
	return s
}

func printTask(w io.Writer, b boardTask) {
	fmt.Fprintf(w, "%s\n%s\n", b.state(), line(b.Title))
	if b.Description != "" {
		fmt.Fprintf(w, "\n%s\n", plaintext.Lines(b.Description))
	}
	if len(b.Criteria) > 0 {
		fmt.Fprint(w, "\nAccepted if:\n")
	}
	checks := slices.Clone(b.Checks)
	for _, c := range b.Criteria {
		fmt.Fprintf(w, "- %s\n", line(c.Text))
		if c.Check != "" && !slices.Contains(checks, c.Check) {
			checks = append(checks, c.Check)
		}
	}
	if len(checks) > 0 {
		fmt.Fprint(w, "\nChecks after the last change:\n")
	}
	for _, c := range checks {
		fmt.Fprintf(w, "    %s\n", line(c))
	}
}

type taskListCmd struct {
	Status   []string `help:"Columns: ${enum}." enum:"backlog,todo,in_progress,review,done" default:"todo,in_progress,review"`
	Assignee string   `default:"me" help:"An agent_id, an email, \"me\", \"none\", or \"all\"."`
	Limit    int      `default:"100" help:"Maximum number of tasks, up to 500."`
}

// Run lists tasks.
func (c taskListCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	q := url.Values{"status": {strings.Join(c.Status, ",")}, "limit": {fmt.Sprint(c.Limit)}}
	if c.Assignee != "all" {
		q.Set("assignee", c.Assignee)
	}
	got, err := parent.Task.do(ctx, call{method: http.MethodGet, path: "tasks", query: q})
	if err != nil {
		return err
	}
	return printAnswer(parent.Task.client, t, got, func(w io.Writer, all []boardTask) {
		table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "KEY\tSTATUS\tPRIORITY\tTITLE")
		for _, b := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", b.Key, b.Status, b.Priority, line(b.Title))
		}
		_ = table.Flush() // the terminal is gone
	})
}

type taskNextCmd struct {
	Lease string `default:"1h" help:"How long the claim lasts, such as 15m or 24h."`
}

// errNoTask means that there is nothing to claim.
var errNoTask = statusError{errors.New("no task is waiting for you. Try again later"), exitNotFound}

// Run claims the next task.
func (c taskNextCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	lease, err := clock.ParseDuration(c.Lease)
	if err != nil {
		return usage(fmt.Errorf("--lease: %w", err))
	}
	body := map[string]any{"lease_seconds": int(lease / time.Second), "resume": true}
	got, err := parent.Task.do(ctx, call{method: http.MethodPost, path: "tasks/claim", body: body})
	if err != nil {
		return err
	}
	if len(got.body) > 0 {
		return printAnswer(parent.Task.client, t, got, printTask)
	}
	if parent.Task.JSON {
		fmt.Fprintln(t.out, "null")
	}
	return errNoTask
}

// taskKey is the argument that names a task.
type taskKey struct {
	Task string `arg:"" help:"Key of the task, such as TASK-12."`
}

// path returns the path of a route about the task.
func (k taskKey) path(more string) string { return "tasks/" + url.PathEscape(k.Task) + more }

type taskShowCmd struct {
	taskKey `embed:""`
}

// Run prints a task.
func (c taskShowCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	got, err := parent.Task.do(ctx, call{method: http.MethodGet, path: c.path("")})
	if err != nil {
		return err
	}
	if err := printAnswer(parent.Task.client, t, got, printTask); err != nil || parent.Task.JSON {
		return err
	}
	got, err = parent.Task.do(ctx, call{
		method: http.MethodGet, path: c.path("/comments"), query: url.Values{"sort": {"-created"}, "limit": {"20"}},
	})
	if err != nil {
		return err
	}
	type comment struct {
		Author    string `json:"author_name"`
		Body      string
		CreatedAt clock.Time `json:"created_at"`
	}
	return printAnswer(parent.Task.client, t, got, func(w io.Writer, all []comment) {
		for _, m := range all {
			fmt.Fprintf(w, "\nComment by %s, %s:\n%s\n", line(m.Author), formatTime(&m.CreatedAt), plaintext.Lines(m.Body))
		}
	})
}

type taskReportCmd struct {
	taskKey `embed:""`

	Kind       string `arg:"" enum:"ack,progress,blocker,done" help:"ack when you start, progress for news, blocker when you cannot continue, done when you are finished."`
	Text       string `arg:"" optional:"" help:"The news, the reason, or the result, as Markdown; \"-\" reads standard input."`
	Checked    string `help:"For done: what you checked, and how. Required."`
	NotChecked string `help:"For done: what you did not check. Required."`
	Branch     string `help:"Branch of the work."`
	PRURL      string `name:"pr-url" help:"URL of the pull request."`
	ClaimToken int64  `help:"Token of your claim; the report is refused if the claim is lost."`
}

// words returns the text of the report. One of finished work must say what was checked and what was not.
func (c taskReportCmd) words(t terminal) (string, error) {
	words, err := text(t, c.Text)
	switch given := c.Checked != "" || c.NotChecked != ""; {
	case err != nil:
		return "", err
	case c.Kind == "done" && (c.Checked == "" || c.NotChecked == ""):
		return "", usage(errors.New(
			"a report of finished work needs --checked and --not-checked, so that a reviewer knows where to look",
		))
	case c.Kind != "done" && given:
		return "", usage(errors.New("--checked and --not-checked are only for done. Put them into the text"))
	case given:
		words = strings.TrimSpace(words + "\n\nChecked: " + c.Checked + "\n\nNot checked: " + c.NotChecked)
	}
	return words, nil
}

// Run reports on a task.
func (c taskReportCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	words, err := c.words(t)
	if err != nil {
		return err
	}
	body := map[string]any{"kind": c.Kind, "text": words}
	for name, value := range map[string]string{"branch": c.Branch, "pr_url": c.PRURL} {
		if value != "" {
			body[name] = value
		}
	}
	if c.ClaimToken != 0 {
		body["claim_token"] = c.ClaimToken
	}
	got, err := parent.Task.do(ctx, call{method: http.MethodPost, path: c.path("/reports"), body: body})
	if err != nil {
		return err
	}
	return printAnswer(parent.Task.client, t, got, func(w io.Writer, b boardTask) {
		fmt.Fprintf(w, "The report is on %s.\n", b.state())
	})
}

type taskCommentCmd struct {
	taskKey `embed:""`

	Text  string `arg:"" help:"Markdown; \"-\" reads standard input. @agent_id mentions someone."`
	Again bool   `help:"Add the comment even if you added the same one within 24 hours."`
}

// Run comments on a task.
func (c taskCommentCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	words, err := text(t, c.Text)
	if err != nil {
		return err
	}
	return parent.Task.create(ctx, t, c.Again, c.path("/comments"), map[string]any{"body": words},
		func(boardTask) string { return "The comment" })
}

type taskCreateCmd struct {
	Title       string `arg:"" help:"Title of the task."`
	Description string `help:"Markdown; \"-\" reads standard input."`
	Assignee    string `help:"An agent_id or email."`
	Priority    string `help:"low, medium, high, or urgent."`
	Parent      string `help:"Key of the parent task."`
	Again       bool   `help:"Create the task even if you created the same one within 24 hours."`
}

// Run creates a task.
func (c taskCreateCmd) Run(ctx context.Context, parent *cli, t terminal) error {
	about, err := text(t, c.Description)
	if err != nil {
		return err
	}
	body := map[string]any{"title": c.Title}
	for name, value := range map[string]string{
		"description": about, "assignee_id": c.Assignee, "priority": c.Priority, "parent_id": c.Parent,
	} {
		if value != "" {
			body[name] = value
		}
	}
	return parent.Task.create(ctx, t, c.Again, "tasks", body, func(b boardTask) string { return b.Key })
}

// create sends a request that creates something, and prints what became of it.
func (c client) create(
	ctx context.Context, t terminal, again bool, path string, body any, name func(boardTask) string,
) error {
	key, err := keyOf(again, path, body)
	if err != nil {
		return err
	}
	got, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, key: key})
	if err != nil {
		return err
	}
	return printAnswer(c, t, got, func(w io.Writer, b boardTask) {
		if got.replayed {
			fmt.Fprintf(w, "%s is there since the same call within the last 24 hours. Nothing was added.\n", name(b))
			return
		}
		fmt.Fprintf(w, "%s was added.\n", name(b))
	})
}
