package task

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Decision is a person's answer to what holds up a task.
type Decision struct {
	Text     string `json:"text" minLength:"1" maxLength:"4000" doc:"What to do, as Markdown. @agent_id and @name mention a user, except in code."`
	Unblock  *bool  `json:"unblock,omitempty" doc:"Whether the decision removes what blocks the task. Default: true."`
	Dispatch bool   `json:"dispatch,omitempty" doc:"Whether to dispatch the task to its agent now, with the text as a note. Requires the dispatch_tasks permission."`
}

// maxDecision is the maximum length of a decision, or of the text that sends a task back, in
// characters. The text must fit into the note of a dispatch.
const maxDecision = 4000

// ErrMayNotDispatch means that the caller is not allowed to dispatch tasks.
var ErrMayNotDispatch = fault.New(fault.Forbidden, "dispatch_not_allowed", "You may not send tasks to agents.")

// Event kinds for what people decide about tasks. The events do not contain the text, which is in
// the comment that they name.
const (
	decided  = "task.decided"
	approved = "task.approved"
	sentBack = "task.sent_back"
)

// blockage returns the kinds of inbox items that ask a person what to do about a task.
func blockage() []inbox.Kind {
	return []inbox.Kind{inbox.Escalation, inbox.OldBlocker, inbox.TaskBlocked}
}

// Decide records a person's decision about a task, in one transaction. The text becomes a comment.
// Unless unblock is false, the task is unblocked, the standups' blockers that name it end, and the
// inbox items about them are resolved with the text as the note. Otherwise these items are
// acknowledged. If requested, the task is dispatched to its agent with the text.
func (s *Service) Decide(ctx context.Context, ref string, d Decision) (Task, error) {
	return s.writeOnce(ctx, "decide on task", func(tx *db.Tx) (Task, error) {
		text, err := decisionText(d.Text)
		if err != nil {
			return Task{}, err
		}
		if d.Dispatch && !actor.From(ctx).Role.May(actor.DispatchTasks) {
			return Task{}, ErrMayNotDispatch.With(
				"Decide without dispatching the task, or ask the owner or an admin to send it to its agent.",
			)
		}
		unblock, c := d.Unblock == nil || *d.Unblock, Change{}
		if unblock {
			c.Blocked = patch.Clear[BlockedReason]()
		}
		t, err := s.commentAndChange(ctx, tx, ref, text, c, decided, map[string]any{"unblock": unblock})
		if err != nil {
			return Task{}, err
		}
		if err := s.answerBlockage(ctx, tx, t, text, unblock); err != nil {
			return Task{}, err
		}
		if d.Dispatch {
			if err := s.Send(ctx, tx, t.ID, text); err != nil {
				return Task{}, err
			}
		}
		return find(ctx, tx, t.ID)
	})
}

// decisionText sanitizes a text. It fails if the text is blank or too long.
func decisionText(text string) (string, error) {
	var bad fault.Fields
	text = strings.TrimSpace(plaintext.Lines(text))
	if n := utf8.RuneCountInString(text); n == 0 || n > maxDecision {
		bad.Add("/text", "Must not be blank, and must be at most %d characters.", maxDecision)
	}
	return text, bad.Err()
}

// commentAndChange adds a comment to a task and applies a change. It records an event of the given
// kind, which contains the comment's ID and the entries in data.
func (s *Service) commentAndChange(
	ctx context.Context, tx *db.Tx, ref, text string, c Change, kind string, data map[string]any,
) (Task, error) {
	made, err := s.CommentIn(ctx, tx, ref, CommentText{Body: text})
	if err != nil {
		return Task{}, err
	}
	old, err := find(ctx, tx, made.TaskID)
	if err != nil {
		return Task{}, err
	}
	t, err := s.changed(ctx, tx, old, c)
	if err != nil {
		return Task{}, err
	}
	data["comment_id"] = made.ID
	t, events, err := s.save(ctx, tx, old, t, kind, data)
	if err != nil {
		return Task{}, err
	}
	return t, s.record(ctx, tx, events)
}

// answerBlockage resolves the inbox items about what blocks a task and ends its blockers in
// standups. If the decision does not unblock the task, it only acknowledges the items.
func (s *Service) answerBlockage(ctx context.Context, tx *db.Tx, t Task, text string, unblock bool) error {
	if !unblock {
		return s.Inbox.AckAbout(ctx, tx, t.ID, blockage()...)
	}
	if err := s.Inbox.ResolveAbout(ctx, tx, t.ID, text, blockage()...); err != nil {
		return err
	}
	return s.EndBlockers(ctx, tx, t.Key, text)
}

// writeOnce is like write for an action with an idempotency key. The function fn records its events
// itself.
func (s *Service) writeOnce(ctx context.Context, what string, fn func(*db.Tx) (Task, error)) (Task, error) {
	t, err := db.Do(ctx, s.DB, what, func(tx *db.Tx) (Task, error) {
		return once.Do(ctx, tx, s.Now(), find, func(t Task) string { return t.ID }, func() (Task, error) { return fn(tx) })
	})
	return t.withoutExpiredClaim(s.Now()), err
}

// Decided is a decision that was made with Decide, as read from the event log.
type Decided struct {
	Key, Title string // of the task
	AgentID    string // of the task's assignee; empty if it is not an agent
	By         string // name of the person
	Text       string // empty if the comment was deleted
	Unblock    bool
	At         time.Time
}

// DecisionsSince returns the newest decisions, at most 50, that people have made since the given
// time, oldest first. It omits decisions about tasks that were deleted. Standups use it.
func (s *Service) DecisionsSince(ctx context.Context, since time.Time) ([]Decided, error) {
	// The inner query bounds what is read, however many decisions there are.
	rows, err := s.DB.Query(ctx, `SELECT at, actor_name, subject_id, data FROM (
		SELECT id, at, actor_name, subject_id, data FROM events WHERE kind = ? AND class = 'activity' ORDER BY id DESC LIMIT ?) AS newest
		WHERE at >= ? ORDER BY id`, decided, maxListed, since)
	type found struct {
		Decided

		taskID, commentID string
	}
	all, err := db.All(rows, err, func(row db.Row) (d found, err error) {
		var at clock.Time
		var data string
		if err := row.Scan(&at, &d.By, &d.taskID, &data); err != nil {
			return d, err
		}
		var said struct {
			Unblock   bool   `json:"unblock"`
			CommentID string `json:"comment_id"`
		}
		err = json.Unmarshal([]byte(data), &said)
		d.At, d.Unblock, d.commentID = at.Time, said.Unblock, said.CommentID
		return d, err
	})
	if err != nil {
		return nil, err
	}
	out := []Decided{}
	for _, d := range all {
		var number int64
		err := s.DB.QueryRow(ctx, `
			SELECT t.number, t.title, COALESCE(u.agent_id, ''), COALESCE(c.body, '')
			FROM tasks t LEFT JOIN users u ON u.id = t.assignee_id LEFT JOIN comments c ON c.id = ?
			WHERE t.id = ?`, d.commentID, d.taskID).Scan(&number, &d.Title, &d.AgentID, &d.Text)
		if db.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		d.Key = keyOf(number)
		out = append(out, d.Decided)
	}
	return out, nil
}
