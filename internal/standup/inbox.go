package standup

import (
	"context"
	"slices"
	"strings"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/standup/answer"
)

// Kinds of effects that are inbox items.
const (
	kindEscalation = string(inbox.Escalation)
	kindOldBlocker = string(inbox.OldBlocker)
)

const (
	maxItemTitle  = 200   // characters of an item's title
	maxItemDetail = 4_000 // characters of an item's detail
	// highSeverityAge is the age, in days, at which an old blocker gets high severity.
	highSeverityAge = 7
)

// headline turns an agent's text into a title: a single line of plain text with at most maxItemTitle characters.
func headline(text string) string {
	return plaintext.Cut(plaintext.Line(text), maxItemTitle, "… [cut]")
}

// raise adds an item to the inbox, with plain texts of limited length.
func (s *Service) raise(ctx context.Context, tx *db.Tx, m inbox.NewItem) error {
	m.Title, m.Detail = headline(m.Title), answer.Clean(m.Detail, maxItemDetail)
	return s.Inbox.Raise(ctx, tx, m)
}

// failedCause returns the cause of the inbox item for a failed standup.
func (s Standup) failedCause() string { return "standup/" + s.ID + "/failed" }

// raiseFailed adds a failed standup to the inbox. If the standup was canceled, it instead resolves the inbox item of
// an earlier failed attempt.
func (s *Service) raiseFailed(ctx context.Context, tx *db.Tx, m Standup) error {
	if m.Failure.Code == Cancelled {
		return s.Inbox.ResolveCause(ctx, tx, m.failedCause(), m.Failure.Detail)
	}
	title := m.Title + " failed"
	if m.Failure.Code == NotRun {
		title = m.Title + " was not run"
	}
	detail := m.Failure.Detail + " (`" + m.Failure.Code + "`)\n\n" + m.remedy()
	return s.raise(ctx, tx, inbox.NewItem{
		Cause: m.failedCause(), Kind: inbox.StandupFailed, Severity: inbox.High, Title: title,
		Detail: detail, Subject: subject(m),
	})
}

// remedy returns the advice to show in the inbox item for a failed standup.
func (s Standup) remedy() string {
	switch {
	case s.Failure.Code == NotRun:
		return "You can still run it."
	case strings.Contains(s.Failure.Detail, "retry"):
		return "To retry, run it again."
	case slices.ContainsFunc(s.Reports, func(r Report) bool { return r.Status == Answered }):
		return "The reports received so far are kept. Run it again to ask for the missing ones."
	}
	return "Fix the cause, then run it again."
}

// subjectOf returns the subject of an inbox item. The subject is the task, or the standup
// if no task is given or the task does not exist.
func subjectOf(ctx context.Context, tx *db.Tx, row Standup, task *int64) (event.Subject, error) {
	if task == nil {
		return subject(row), nil
	}
	tasks, err := taskStates(ctx, tx, []int64{*task})
	if t := tasks[*task]; t.id != "" {
		return event.Subject{Kind: "task", ID: t.id, Name: *taskKey(task)}, err
	}
	return subject(row), err
}
