package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Matter is something that needs a human: it becomes an item of the inbox.
type Matter struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
}

const (
	// kindBlocked is the kind of the item that a task becomes which stays blocked.
	kindBlocked = "task_blocked"
	// blockedLong is after how long a blocked task goes to a human, as what holds an
	// agent up in standups does, and blockedVeryLong after how long it presses.
	blockedLong, blockedVeryLong = 2 * 24 * time.Hour, 7 * 24 * time.Hour

	ordinary, pressing = "medium", "high"
)

// WatchBlocked brings tasks that stay blocked to the inbox, and settles the items
// of those that go on. What a standup has brought up of a task since it is blocked
// is not brought up again, nor what a person has resolved. It is timed work, and
// writes nothing when there is nothing to say.
func (s *Service) WatchBlocked(ctx context.Context) error {
	if s.Raise == nil || s.Settle == nil {
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
		// Once more, because another process may have done it meanwhile.
		stuck, err := longBlocked(ctx, tx, now)
		if err != nil {
			return err
		}
		moving, err := unblocked(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range stuck {
			if err := s.Raise(ctx, tx, t.matter(now)); err != nil {
				return err
			}
		}
		for _, m := range moving {
			if err := s.Settle(ctx, tx, m.cause, m.why); err != nil {
				return err
			}
		}
		return nil
	})
}

// stuckTask is a task that has been blocked for long.
type stuckTask struct {
	id, key string
	Blocked
}

func (t stuckTask) matter(now time.Time) Matter {
	m := Matter{
		Cause: blockedCause + t.id, Kind: kindBlocked, Severity: ordinary,
		Title:   fmt.Sprintf("%s stays blocked: %s", t.key, t.Reason),
		Detail:  fmt.Sprintf("%s said so on %s:\n\n> %s\n\nHelp, or say on the task that it can go on.", t.By, t.Since.Format(time.DateOnly), strings.ReplaceAll(t.Reason, "\n", "\n> ")),
		Subject: event.Subject{Kind: "task", ID: t.id, Name: t.key},
	}
	if now.Sub(t.Since.Time) >= blockedVeryLong {
		m.Severity = pressing
	}
	return m
}

// blockedCause, with the task's id, is what makes one item of a task.
const blockedCause = "task/blocked/"

// longBlocked reads some of the tasks that have to be brought up, the next ones
// at the next call: those of which nobody was told since they are blocked, and
// those that press by now.
func longBlocked(ctx context.Context, q db.Queryer, now time.Time) ([]stuckTask, error) {
	rows, err := q.Query(ctx, `
		SELECT t.id, t.number, t.blocked_reason, t.blocked_since, t.blocked_by FROM tasks t
		WHERE t.blocked_reason IS NOT NULL AND t.archived_at IS NULL AND t.blocked_since <= ? AND (
			NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.subject_id = t.id AND i.kind IN ('escalation', 'old_blocker', 'task_blocked')
				AND (i.last_at >= t.blocked_since OR i.state <> 'resolved'))
			OR t.blocked_since <= ? AND EXISTS (SELECT 1 FROM inbox_items i WHERE i.cause = '`+blockedCause+`' || t.id AND i.state <> 'resolved' AND i.severity = ?))
		LIMIT 100`, clock.At(now.Add(-blockedLong)), clock.At(now.Add(-blockedVeryLong)), ordinary)
	all, err := db.All(rows, err, func(row db.Row) (t stuckTask, err error) {
		var number int64
		err = row.Scan(&t.id, &number, &t.Reason, &t.Since, &t.By)
		t.key = keyOf(number)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for tasks that stay blocked: %w", err)
	}
	return all, nil
}

// ended is an item of the inbox whose cause has ended.
type ended struct{ cause, why string }

// unblocked reads some of the items of tasks that are blocked no more, but for
// those that a person has opened again.
func unblocked(ctx context.Context, q db.Queryer) ([]ended, error) {
	rows, err := q.Query(ctx, `
		SELECT i.cause, i.subject_name, CASE WHEN t.id IS NULL THEN 'was deleted' WHEN t.archived_at IS NOT NULL THEN 'is in the archive' ELSE 'is not blocked any more' END
		FROM inbox_items i LEFT JOIN tasks t ON t.id = i.subject_id
		WHERE i.kind = ? AND i.state <> 'resolved' AND (t.id IS NULL OR t.archived_at IS NOT NULL OR t.blocked_reason IS NULL)
			AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = i.id AND e.kind = 'inbox.reopened' AND e.at >= i.last_at
				AND e.actor_id <> ?)
		LIMIT 100`, kindBlocked, actor.System.ID)
	all, err := db.All(rows, err, func(row db.Row) (e ended, err error) {
		var name, is string
		err = row.Scan(&e.cause, &name, &is)
		e.why = name + " " + is + "."
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for items of tasks that go on: %w", err)
	}
	return all, nil
}
