package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const (
	// A task that stays blocked for blockedLong is raised in the inbox; after
	// blockedVeryLong, the severity of its inbox item becomes high. Standups
	// escalate blockers at the same age of two days.
	blockedLong, blockedVeryLong = 2 * 24 * time.Hour, 7 * 24 * time.Hour

	ordinary, pressing = inbox.Medium, inbox.High
)

// WatchBlocked is a periodic job that raises inbox items for tasks that stay
// blocked, and resolves the items for tasks that are no longer blocked. It does
// not raise an item if a standup has already raised one for the same blocker,
// or if a person has resolved the item. It writes nothing if there is nothing
// to do.
func (s *Service) WatchBlocked(ctx context.Context) error {
	if s.Raise == nil || s.Resolve == nil {
		return nil
	}
	now := s.Now()
	stuck, err := longBlocked(ctx, s.DB, now)
	if err != nil {
		return err
	}
	moving, err := unblocked(ctx, s.DB)
	if err != nil || len(stuck)+len(moving) == 0 {
		return err
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		// Read again: another replica may have handled them meanwhile.
		stuck, err := longBlocked(ctx, tx, now)
		if err != nil {
			return err
		}
		moving, err := unblocked(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range stuck {
			if err := s.Raise(ctx, tx, t.inboxItem(now)); err != nil {
				return err
			}
		}
		for _, m := range moving {
			if err := s.Resolve(ctx, tx, m.cause, m.why); err != nil {
				return err
			}
		}
		return nil
	})
}

// blockedTask is a task that has been blocked for at least blockedLong.
type blockedTask struct {
	id, key string
	Blocked
}

func (t blockedTask) inboxItem(now time.Time) inbox.NewItem {
	m := inbox.NewItem{
		Cause: blockedCause + t.id, Kind: inbox.TaskBlocked, Severity: ordinary,
		Title:   fmt.Sprintf("%s is still blocked: %s", t.key, t.Reason),
		Detail:  fmt.Sprintf("Blocked by %s since %s:\n\n> %s\n\nResolve the cause, or unblock the task.", t.By, t.Since.Format(time.DateOnly), strings.ReplaceAll(t.Reason, "\n", "\n> ")),
		Subject: event.Subject{Kind: "task", ID: t.id, Name: t.key},
	}
	if now.Sub(t.Since.Time) >= blockedVeryLong {
		m.Severity = pressing
	}
	return m
}

// blockedCause is the prefix of the cause of an inbox item for a blocked task.
// The task's ID follows it.
const blockedCause = "task/blocked/"

// longBlocked returns up to 100 tasks that must be raised in the inbox because they have
// been blocked for a long time. A task must be raised if no item has been raised since it
// was blocked, or if its open item now needs a higher severity. Once these tasks have
// been raised, the next call returns further ones.
func longBlocked(ctx context.Context, q db.Queryer, now time.Time) ([]blockedTask, error) {
	rows, err := q.Query(ctx, `
		SELECT t.id, t.number, t.blocked_reason, t.blocked_since, t.blocked_by FROM tasks t
		WHERE t.blocked_reason IS NOT NULL AND t.archived_at IS NULL AND t.blocked_since <= ? AND (
			NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.subject_id = t.id AND i.kind IN (?, ?, ?)
				AND (i.last_at >= t.blocked_since OR i.state <> 'resolved'))
			OR t.blocked_since <= ? AND EXISTS (SELECT 1 FROM inbox_items i WHERE i.cause = '`+blockedCause+`' || t.id AND i.state <> 'resolved' AND i.severity = ?))
		LIMIT 100`, clock.At(now.Add(-blockedLong)), inbox.Escalation, inbox.OldBlocker, inbox.TaskBlocked, clock.At(now.Add(-blockedVeryLong)), ordinary)
	all, err := db.All(rows, err, func(row db.Row) (t blockedTask, err error) {
		var number int64
		err = row.Scan(&t.id, &number, &t.Reason, &t.Since, &t.By)
		t.key = keyOf(number)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("find tasks that stay blocked: %w", err)
	}
	return all, nil
}

// endedCause is the cause of an inbox item that no longer applies, with the reason.
type endedCause struct{ cause, why string }

// unblocked finds up to 100 inbox items to resolve, because their task is no longer blocked, is
// archived or was deleted. It skips items that a person has reopened.
func unblocked(ctx context.Context, q db.Queryer) ([]endedCause, error) {
	rows, err := q.Query(ctx, `
		SELECT i.cause, i.subject_name, CASE WHEN t.id IS NULL THEN 'was deleted' WHEN t.archived_at IS NOT NULL THEN 'is archived' ELSE 'is no longer blocked' END
		FROM inbox_items i LEFT JOIN tasks t ON t.id = i.subject_id
		WHERE i.kind = ? AND i.state <> 'resolved' AND (t.id IS NULL OR t.archived_at IS NOT NULL OR t.blocked_reason IS NULL)
			AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = i.id AND e.kind = 'inbox.reopened' AND e.at >= i.last_at
				AND e.actor_id <> ?)
		LIMIT 100`, inbox.TaskBlocked, actor.System.ID)
	all, err := db.All(rows, err, func(row db.Row) (e endedCause, err error) {
		var name, is string
		err = row.Scan(&e.cause, &name, &is)
		e.why = name + " " + is + "."
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("find inbox items of unblocked tasks: %w", err)
	}
	return all, nil
}
