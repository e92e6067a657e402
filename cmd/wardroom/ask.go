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

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

type askCmd struct {
	client `embed:""`

	Question string   `arg:"" optional:"" help:"Plain text; \"-\" reads standard input. Repeat the call to read the state or the answer."`
	Option   []string `sep:"none" help:"An answer to choose from. Repeat the flag for up to 4."`
	Task     string   `help:"Key of the task that the question is about."`
	For      string   `help:"When the question expires, such as 8h or 30d. By default it waits until someone answers."`
	Session  string   `help:"Your session that gets the answer. Default: your main session."`
	Withdraw string   `help:"Instead of asking, take back the question with this ID."`
}

// Help returns the longer help.
func (askCmd) Help() string {
	return "The answer starts a turn in your session, so there is no need to wait for it."
}

// request returns the request that the command sends.
func (c askCmd) request(t terminal) (call, error) {
	question, err := text(t, c.Question)
	switch {
	case err != nil:
		return call{}, err
	case c.Withdraw != "" && (question != "" || len(c.Option) > 0):
		return call{}, usage(errors.New("--withdraw takes back a question. Ask another one with a second call"))
	case c.Withdraw != "":
		return call{method: http.MethodPost, path: "questions/" + url.PathEscape(c.Withdraw) + "/withdraw"}, nil
	case strings.TrimSpace(question) == "":
		return call{}, usage(errors.New("say what to ask, as in: wardroom ask \"Which port?\""))
	}
	body := map[string]any{"question": question}
	if len(c.Option) > 0 {
		body["options"] = c.Option
	}
	for name, value := range map[string]string{"task": c.Task, "session_key": c.Session} {
		if value != "" {
			body[name] = value
		}
	}
	if c.For != "" {
		life, err := clock.ParseDuration(c.For)
		if err != nil {
			return call{}, usage(fmt.Errorf("--for: %w", err))
		}
		body["until"] = clock.At(clock.Now().Add(life))
	}
	return call{method: http.MethodPost, path: "questions", body: body}, nil
}

// Run asks people a question, or prints the state of the same question that was asked before.
func (c askCmd) Run(ctx context.Context, t terminal) error {
	r, err := c.request(t)
	if err != nil {
		return err
	}
	got, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return printAnswer(c.client, t, got, printQuestion)
}

// askedQuestion is what the command prints of a question.
type askedQuestion struct {
	ID, State string
	ExpiresAt *clock.Time `json:"expires_at"`
	By        *struct{ Name string }
	Answers   map[string][]string
}

func printQuestion(w io.Writer, q askedQuestion) {
	by := "Someone"
	if q.By != nil {
		by = line(q.By.Name)
	}
	switch q.State {
	case "pending":
		fmt.Fprintf(w, "Question %s waits for an answer", q.ID)
		if q.ExpiresAt != nil {
			fmt.Fprintf(w, " until %s", formatTime(q.ExpiresAt))
		}
		fmt.Fprintln(w, ".")
	case "answered":
		var all []string
		for _, a := range q.Answers {
			all = slices.Concat(all, a)
		}
		fmt.Fprintf(w, "Question %s was answered by %s:\n%s\n", q.ID, by, plaintext.Lines(strings.Join(all, ", ")))
	case "skipped":
		fmt.Fprintf(w, "Question %s was skipped: %s leaves the decision to you.\n", q.ID, by)
	default:
		fmt.Fprintf(w, "Question %s is %s.\n", q.ID, line(q.State))
	}
}
