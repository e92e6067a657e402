package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Errors returned when a task can be neither approved nor sent back.
var (
	ErrNotInReview = fault.New(fault.Conflict, "task_not_in_review", "The task is not in review.")
	// ErrRunActive means that the result may still change.
	ErrRunActive = fault.New(fault.Conflict, "task_run_active", "The agent's run on the task has not ended.")
)

// Approve moves a task from review to done, which resolves its inbox item.
func (s *Service) Approve(ctx context.Context, ref string) (Task, error) {
	return s.writeOnce(ctx, "approve task", func(tx *db.Tx) (Task, error) {
		old, err := findInReview(ctx, tx, ref)
		if err != nil {
			return Task{}, err
		}
		t, err := s.changed(ctx, tx, old, Change{Status: new(Done)})
		if err != nil {
			return Task{}, err
		}
		t, events, err := s.save(ctx, tx, old, t, approved, nil)
		if err != nil {
			return Task{}, err
		}
		return t, s.record(ctx, tx, events)
	})
}

// Return is the body of a request to send a task back.
type Return struct {
	Text string `json:"text" minLength:"1" maxLength:"4000" doc:"What is missing, as Markdown. @agent_id and @name mention a user, except in code."`
}

// SendBack moves a task from review to in_progress, which resolves its inbox item, with the text as a
// comment. If the task is assigned to an agent, a gateway is configured, and the caller may
// dispatch tasks, the task is dispatched again in its session, with the text as a note.
func (s *Service) SendBack(ctx context.Context, ref string, r Return) (Task, error) {
	return s.writeOnce(ctx, "send task back", func(tx *db.Tx) (Task, error) {
		text, err := decisionText(r.Text)
		if err != nil {
			return Task{}, err
		}
		old, err := findInReview(ctx, tx, ref)
		if err != nil {
			return Task{}, err
		}
		t, err := s.commentAndChange(ctx, tx, old.ID, text, Change{Status: new(InProgress)}, sentBack, map[string]any{})
		if err != nil {
			return Task{}, err
		}
		if actor.From(ctx).Role.May(actor.DispatchTasks) {
			if err := s.Send(ctx, tx, t.ID, text); err != nil && !withoutReceiver(err) {
				return Task{}, err
			}
		}
		return find(ctx, tx, t.ID)
	})
}

// withoutReceiver reports whether a task could not be dispatched because it has no agent, or because
// no gateway is configured.
func withoutReceiver(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Is(ErrNoAgent) || f.Kind == fault.Unavailable)
}

// findInReview returns a task that is in review and not archived. It fails with ErrNotInReview if the
// task is in another column, and with ErrRunActive while it is with its agent.
func findInReview(ctx context.Context, tx *db.Tx, ref string) (Task, error) {
	t, err := findOpen(ctx, tx, ref)
	switch {
	case err != nil:
	case t.Status != Review:
		err = ErrNotInReview.With("Its status is %s, so someone may have moved it. Reload the task.",
			t.Status).Fact("status", t.Status)
	case t.Dispatch.active():
		err = ErrRunActive.With("Wait for run %s of agent %s to end, or stop it by canceling the dispatch.", t.Dispatch.RunID,
			t.Dispatch.AgentID).
			Fact("dispatch", t.Dispatch)
	}
	return t, err
}

const (
	// The severity of the inbox item for a task in review rises after reviewLong, and again after
	// reviewVeryLong.
	reviewLong, reviewVeryLong = 24 * time.Hour, 3 * 24 * time.Hour

	// reviewCause is the prefix of the cause of an inbox item for a task in review. The task's ID
	// follows it.
	reviewCause = "task/review/"
)

// inReview reports whether the task waits for a person's review.
func (t Task) inReview() bool { return t.Status == Review && t.ArchivedAt == nil }

// trackReview keeps the inbox item of a task in step with a change from old to t: it raises the item
// when the task enters review, updates its texts, and resolves it when the task leaves review. The
// item belongs to Wardroom: if the move is undone, the item returns.
func (s *Service) trackReview(ctx context.Context, tx *db.Tx, old, t Task, kind string, data map[string]any) error {
	if !old.inReview() && !t.inReview() {
		return nil
	}
	by := actor.From(ctx).Name
	if !t.inReview() {
		return s.Inbox.ResolveCause(ctx, tx, reviewCause+t.ID, by+" "+leftReview(kind, t)+".")
	}
	text, reported := data["text"].(string)
	if old.inReview() && old.Title == t.Title && old.MovedAt.Equal(t.MovedAt.Time) && !reported {
		return nil
	}
	said := reportOf(by, text)
	if !reported {
		var err error
		if said, err = lastReportOn(ctx, tx, t.ID); err != nil {
			return fmt.Errorf("read the last report on %s: %w", t.Key, err)
		}
	}
	return s.Inbox.Raise(ctx, tx, t.reviewItem(said, s.Now()))
}

// leftReview says how a task left review with an event of the given kind.
func leftReview(kind string, t Task) string {
	switch {
	case kind == approved:
		return "approved it"
	case kind == sentBack:
		return "sent it back"
	case t.ArchivedAt != nil:
		return "archived it"
	}
	return "moved it to " + strings.ReplaceAll(string(t.Status), "_", " ")
}

// WatchReviews is a periodic job that raises the severity of the inbox items for tasks that stay in
// review. It also raises the items of tasks that entered review in a version of Wardroom that raised
// them only after a day. It does not raise an item again if a person has resolved it. It writes
// nothing if there is nothing to do.
func (s *Service) WatchReviews(ctx context.Context) error {
	return s.watch(ctx, s.dueReviews, func(ctx context.Context, q db.Queryer) ([]endedCause, error) {
		// A task that has returned to review since waits for another review.
		return endedItems(ctx, q, inbox.TaskReview, `t.status <> 'review' OR t.moved_at > i.last_at`, "has left review")
	})
}

// dueReviews returns the inbox items for up to 100 tasks in review that must be raised: the task has
// no open item and no person has resolved one since it moved to review, or its open item now needs a
// higher severity.
func (s *Service) dueReviews(ctx context.Context, q db.Queryer, now time.Time) ([]inbox.NewItem, error) {
	open := `EXISTS (SELECT 1 FROM inbox_items i WHERE i.cause = '` + reviewCause +
		`' || t.id AND i.state <> 'resolved' AND i.severity IN `
	rows, err := q.Query(ctx, `
		SELECT t.id, t.number, t.title, t.moved_at FROM tasks t
		WHERE t.status = 'review' AND t.archived_at IS NULL AND (
			NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.cause = '`+reviewCause+`' || t.id
				AND (i.state <> 'resolved' OR i.last_at >= t.moved_at AND i.resolver_id <> ?))
			OR t.moved_at <= ? AND `+open+`('low'))
			OR t.moved_at <= ? AND `+open+`('low', 'medium')))
		LIMIT 100`, actor.System.ID, clock.At(now.Add(-reviewLong)), clock.At(now.Add(-reviewVeryLong)))
	tasks, err := db.All(rows, err, func(row db.Row) (t Task, err error) {
		err = row.Scan(&t.ID, &t.number, &t.Title, &t.MovedAt)
		t.Key = keyOf(t.number)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("find tasks in review: %w", err)
	}
	var items []inbox.NewItem
	for _, t := range tasks {
		said, err := lastReportOn(ctx, q, t.ID)
		if err != nil {
			return nil, fmt.Errorf("read the last report on %s: %w", t.Key, err)
		}
		items = append(items, t.reviewItem(said, now))
	}
	return items, nil
}

// reviewItem returns the inbox item for a task in review. The text said is the last report on the
// task, quoted; it may be empty.
func (t Task) reviewItem(said string, now time.Time) inbox.NewItem {
	m := inbox.NewItem{
		Cause: reviewCause + t.ID, Kind: inbox.TaskReview, Severity: inbox.Low, At: t.MovedAt.Time, Subject: t.Subject(),
		Title: fmt.Sprintf("%s is waiting for review: %s", t.Key, t.Title),
		Detail: fmt.Sprintf("In review since %s.\n\n%sApprove the task, or send it back.",
			t.MovedAt.UTC().Format("2006-01-02 15:04 UTC"), said),
	}
	switch age := now.Sub(t.MovedAt.Time); {
	case age >= reviewVeryLong:
		m.Severity = pressing
	case age >= reviewLong:
		m.Severity = ordinary
	}
	return m
}

// lastReportOn returns the last report on a task with its author, as quoted Markdown that ends with
// an empty line. It returns an empty string if there is no report, or if the report has no text.
func lastReportOn(ctx context.Context, q db.Queryer, taskID string) (string, error) {
	var by, data string
	err := q.QueryRow(ctx,
		`SELECT actor_name, data FROM events WHERE subject_id = ? AND kind = 'task.reported' ORDER BY id DESC LIMIT 1`,
		taskID).Scan(&by, &data)
	if db.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var said struct{ Text string }
	if err := json.Unmarshal([]byte(data), &said); err != nil || said.Text == "" {
		return "", err
	}
	return reportOf(by, said.Text), nil
}

// reportOf returns a report with its author, as quoted Markdown that ends with an empty line.
func reportOf(by, text string) string { return by + " reported:\n\n" + quoted(text) + "\n\n" }

// quoted returns a text as a Markdown quotation.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
