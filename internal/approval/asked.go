package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/account"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/task"
)

// Limits of questions that agents ask through Wardroom.
const (
	maxQuestion = 2000                // characters
	maxOption   = 200                 // characters
	maxOptions  = 4                   // of a question
	maxWaiting  = 20                  // questions of one agent
	maxLife     = 30 * 24 * time.Hour // of a question that expires
)

// ErrTooMany means that the agent asks too much.
var ErrTooMany = fault.New(fault.Conflict, "too_many_questions",
	"Too many of the agent's questions wait for an answer.")

// answerPart is the ID of the only part of a question that was asked through Wardroom.
const answerPart = "answer"

// Ask is a question of an agent to a person.
type Ask struct {
	Question string      `json:"question" minLength:"1" maxLength:"2000" doc:"Plain text."`
	Options  []string    `json:"options,omitempty" maxItems:"4" maxLength:"200" doc:"Answers to choose from, each with at most 200 characters. Other words are always accepted."`
	Task     string      `json:"task,omitempty" maxLength:"64" doc:"The task that the question is about, as ID or key. The answer becomes a comment on it."`
	Session  string      `json:"session_key,omitempty" maxLength:"512" doc:"The agent's session in which the answer starts a turn. Default, also if the session is gone: its main session."`
	Until    *clock.Time `json:"until,omitempty" doc:"When the question expires, at most 30 days from now. Default: never."`
}

// clean sanitizes the question of an agent and checks everything but its task.
func (a *Ask) clean(agentID string, now time.Time, redact func(string) string) error {
	var bad fault.Fields
	a.Question = redact(strings.TrimSpace(plaintext.Lines(a.Question)))
	if n := utf8.RuneCountInString(a.Question); n == 0 || n > maxQuestion {
		bad.Add("/question", "Must not be blank, and must be at most %d characters.", maxQuestion)
	}
	if len(a.Options) > maxOptions {
		bad.Add("/options", "Must be at most %d.", maxOptions)
	}
	options := make([]string, len(a.Options))
	for i, o := range a.Options {
		options[i] = redact(plaintext.Line(o))
		if n := utf8.RuneCountInString(options[i]); n == 0 || n > maxOption || slices.Contains(options[:i], options[i]) {
			bad.Add(fmt.Sprintf("/options/%d", i), "Must not be blank or repeated, and must be at most %d characters.",
				maxOption)
		}
	}
	a.Options = options
	own := "agent:" + strings.ToLower(agentID) + ":"
	switch a.Session = strings.ToLower(plaintext.Line(a.Session)); {
	case a.Session == "":
		a.Session = own + "main"
	case !strings.HasPrefix(a.Session, own):
		bad.Add("/session_key", "Must be a session of yours, such as %smain.", own)
	}
	if a.Until != nil && (!a.Until.After(now) || a.Until.After(now.Add(maxLife))) {
		bad.Add("/until", "Must be in the future, and at most 30 days from now.")
	}
	return bad.Err()
}

// row returns the question as it is stored.
func (a Ask) row(by actor.Actor, now time.Time) (row, error) {
	part := gateway.QuestionPart{ID: answerPart, Text: a.Question, Options: []gateway.QuestionOption{}, Other: true}
	for _, o := range a.Options {
		part.Options = append(part.Options, gateway.QuestionOption{Label: o})
	}
	// Not the time of expiry, so that an agent that repeats the call may compute it anew.
	content, err := json.Marshal([]any{by.ID, a.Question, a.Options, a.Task, a.Session})
	if err != nil {
		return row{}, err
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return row{
		Request: Request{
			ID: db.NewID(), State: Pending, AgentID: by.AgentID, SessionKey: a.Session, Task: a.Task, CreatedAt: clock.At(now),
			ExpiresAt: a.Until, Shown: digest, kind: kindQuestion, asked: asked{author: by.ID, content: digest},
		},
		parts: []gateway.QuestionPart{part},
	}, nil
}

// Ask stores a question of the agent in ctx to people. If the agent has asked the same before, and the
// question still waits or ended less than 24 hours ago, Ask returns that question and false.
func (s *Service) Ask(ctx context.Context, a Ask) (Question, bool, error) {
	by, now := actor.From(ctx), s.Now()
	if err := a.clean(by.AgentID, now, s.Redact.Text); err != nil {
		return Question{}, false, err
	}
	var is row
	made := false
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		a := a // the transaction may run again
		if a.Task = plaintext.Line(a.Task); a.Task == "" {
			a.Task = taskOf(a.Session)
		} else if a.Task, err = s.openTask(ctx, tx, a.Task); err != nil {
			return err
		}
		r, err := a.row(by, now)
		if err != nil {
			return err
		}
		is, made, err = s.insertAsked(ctx, tx, r)
		return err
	})
	if err != nil {
		return Question{}, false, fmt.Errorf("ask people: %w", err)
	}
	return is.asQuestion(), made, nil
}

// openTask returns the key of a task that is not archived.
func (s *Service) openTask(ctx context.Context, q db.Queryer, ref string) (string, error) {
	t, err := s.Tasks.Find(ctx, q, ref)
	if err == nil && t.ArchivedAt != nil {
		err = task.ErrArchived.With("Restore it, or ask without a task.")
	}
	return t.Key, err
}

// taskOf returns the key of the task that a session works on, such as TASK-7 for
// agent:cto:task:task-7:2, or an empty string.
func taskOf(sessionKey string) string {
	parts := strings.Split(sessionKey, ":")
	if len(parts) < 4 || parts[0] != "agent" || parts[2] != "task" {
		return ""
	}
	return strings.ToUpper(parts[3])
}

// insertAsked stores a question and raises its inbox item, unless the same question is there.
func (s *Service) insertAsked(ctx context.Context, tx *db.Tx, r row) (is row, made bool, err error) {
	since := r.CreatedAt.Add(-once.Life)
	if is, err = sameContent(ctx, tx, r, since); !errors.Is(err, ErrNotFound) {
		return is, false, err
	}
	n, err := countAsked(ctx, tx, r.asked.author)
	if err != nil {
		return row{}, false, err
	}
	if n >= maxWaiting {
		return row{}, false, ErrTooMany.With("%d questions wait. Withdraw one, or wait for answers.", n)
	}
	made, err = insert(ctx, tx, r)
	if err == nil && !made { // another replica was first
		is, err = sameContent(ctx, tx, r, since)
	}
	if err != nil || !made {
		return is, false, err
	}
	if err := s.audit(ctx, tx, "question.asked", r, map[string]any{}); err != nil {
		return row{}, false, err
	}
	agent := account.AgentName(ctx, tx, r.AgentID)
	return r, true, s.Inbox.Raise(ctx, tx, r.item(agent, inbox.High, r.title(agent), r.detail(), ""))
}

// Withdraw takes back a question of the agent in ctx.
func (s *Service) Withdraw(ctx context.Context, id string) (Question, error) {
	by := actor.From(ctx)
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		r, err := find(ctx, tx, id)
		if err == nil && (!r.asked.is() || r.asked.author != by.ID) {
			err = ErrNotFound.With("You can withdraw only your own questions.")
		}
		if err != nil || r.State == Withdrawn {
			return err
		}
		r.State = Withdrawn
		if err := s.endAsked(ctx, tx, r); err != nil {
			return err
		}
		return s.audit(ctx, tx, "question.withdrawn", r, map[string]any{})
	})
	if err != nil {
		return Question{}, err
	}
	return s.GetQuestion(ctx, id)
}

// answerAsked ends a question with a person's answer. The same transaction comments on the question's
// task and enqueues the delivery, so that an answer is never lost and never given twice.
func (s *Service) answerAsked(ctx context.Context, r row, a Answer) error {
	by := actor.From(ctx)
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		is, err := find(ctx, tx, r.ID)
		switch {
		case err != nil:
			return err
		case is.State == Pending && a.Shown != is.Shown:
			return ErrChanged.With("Reload the request and decide again.")
		case is.State == Pending && is.expiredAt(s.Now()):
			is.State = Expired
			return is.ended(account.AgentName(ctx, tx, is.AgentID))
		}
		is.State, is.answers, is.By = Answered, a.Answers, &Decider{ID: by.ID, Name: by.Name, Role: string(by.Role)}
		if len(a.Answers) == 0 {
			is.State = Skipped
		}
		is.asked.delivery = Due
		if err := s.endAsked(ctx, tx, is); err != nil {
			return err
		}
		if is.Task != "" {
			text := is.comment(account.AgentName(ctx, tx, is.AgentID))
			_, err := s.Tasks.CommentIn(ctx, tx, is.Task, task.CommentText{Body: text})
			if err != nil && !errors.Is(err, task.ErrNotFound) && !errors.Is(err, task.ErrArchived) {
				return err
			}
		}
		if _, err := s.Jobs.Enqueue(ctx, tx, kindDeliver, is.ID, nil); err != nil {
			return err
		}
		return s.audit(ctx, tx, "approval.answered", is, map[string]any{
			"role": string(by.Role), "answers": a.Answers, "shown": a.Shown,
		})
	})
}

// endAsked stores how a question has ended and brings the inbox up to date. It returns ErrDecided if the
// question had ended before.
func (s *Service) endAsked(ctx context.Context, tx *db.Tx, r row) error {
	r.EndedAt = clock.Ptr(s.Now())
	ended, err := end(ctx, tx, r)
	if err != nil {
		return err
	}
	if !ended {
		is, err := find(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		return is.ended(account.AgentName(ctx, tx, is.AgentID))
	}
	return s.tidy(ctx, tx, r)
}

// answer returns the text of a person's answer.
func (r row) answer() string { return strings.Join(r.answers[answerPart], ", ") }

// comment returns the answer as a comment on the question's task. The question is in a code block, so
// that it mentions nobody in the person's name.
func (r row) comment(agent string) string {
	question := "Question of " + agent + ":\n\n" + fenced(r.headline()) + "\n\n"
	if r.State == Skipped {
		return question + "I leave the decision to " + agent + "."
	}
	return question + r.answer()
}

// expireAsked ends the questions that have expired.
func (s *Service) expireAsked(ctx context.Context) error {
	all, err := overdue(ctx, s.DB, s.Now())
	for _, r := range all {
		r.State = Expired
		err = errors.Join(err, s.DB.Tx(ctx, func(tx *db.Tx) error {
			if err := s.endAsked(ctx, tx, r); !errors.Is(err, ErrDecided) {
				return err
			}
			return nil
		}))
	}
	if err != nil {
		return fmt.Errorf("expire questions: %w", err)
	}
	return nil
}
