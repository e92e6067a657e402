package standup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/event"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
	"wardroom/internal/standup/answer"
)

// The kinds of matters, and how much they press.
const (
	kindEscalation = "escalation"
	kindFailed     = "standup_failed"
	kindOldBlocker = "old_blocker"

	highSeverity   = "high"
	mediumSeverity = "medium"
)

const (
	maxItemTitle  = 200   // runes of a matter's title
	maxItemDetail = 4_000 // and of its detail
	// longAge is from which age on an old blocker presses, in days.
	highSeverityAge = 7
)

// headline makes a title of what an agent wrote: one line of plain text.
func headline(text string) string {
	return plaintext.Cut(plaintext.Line(text), maxItemTitle, "… [cut]")
}

// raise brings a matter to the inbox, if there is one.
func (s *Service) raise(ctx context.Context, tx *db.Tx, m InboxItem) error {
	if s.Raise == nil {
		return nil
	}
	m.Title, m.Detail = headline(m.Title), answer.Clean(m.Detail, maxItemDetail)
	if err := s.Raise(ctx, tx, m); err != nil {
		return fmt.Errorf("bring %s to the inbox: %w", m.Cause, err)
	}
	return nil
}

// settle tells the inbox that a cause has ended.
func (s *Service) resolve(ctx context.Context, tx *db.Tx, cause, why string) error {
	if s.Resolve == nil {
		return nil
	}
	if err := s.Resolve(ctx, tx, cause, why); err != nil {
		return fmt.Errorf("settle %s in the inbox: %w", cause, err)
	}
	return nil
}

// inTeam names the team where it has to be told from the executive one: the same
// agent may be held up by the same thing in both.
func (s Standup) inTeam() string {
	if s.Team == Executive {
		return ""
	}
	return " in the team " + s.Team
}

// failed is the cause of the matter that a standup could not be held.
func (s Standup) failedCause() string { return "standup/" + s.ID + "/failed" }

// tellFailed brings a standup that could not be held to the inbox. Who cancels
// it knows; what failed before is settled by that.
func (s *Service) raiseFailed(ctx context.Context, tx *db.Tx, m Standup) error {
	if m.Failure.Code == Cancelled {
		return s.resolve(ctx, tx, m.failedCause(), m.Failure.Detail)
	}
	title := m.Title + " could not be held"
	if m.Failure.Code == NotRun {
		title = m.Title + " was not held"
	}
	detail := m.Failure.Detail + " (`" + m.Failure.Code + "`)\n\n" + m.remedy()
	return s.raise(ctx, tx, InboxItem{
		Cause: m.failedCause(), Kind: kindFailed, Severity: highSeverity, Title: title, Detail: detail, Subject: subject(m),
	})
}

// remedy says what to do about a standup that could not be held, beside what its
// failure says.
func (s Standup) remedy() string {
	switch {
	case s.Failure.Code == NotRun:
		return "It can still be run."
	case strings.Contains(s.Failure.Detail, "retry"):
		return "To retry, run it again."
	case slices.ContainsFunc(s.Reports, func(r Report) bool { return r.Status == Answered }):
		return "The reports that came in are kept. Run it again to ask for what is missing."
	}
	return "Run it again once that is settled."
}

// subjectOf is what a matter is about: its task, else the standup.
func subjectOf(ctx context.Context, tx *db.Tx, row Standup, task *int64) (event.Subject, error) {
	if task == nil {
		return subject(row), nil
	}
	id, err := taskID(ctx, tx, *task)
	if err != nil || id == "" {
		return subject(row), err
	}
	return event.Subject{Kind: "task", ID: id, Name: *taskKey(task)}, nil
}
