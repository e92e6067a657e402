package task

import (
	"context"
	"fmt"
	"time"

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
	return s.watch(ctx, longBlocked, func(ctx context.Context, q db.Queryer) ([]endedCause, error) {
		return endedItems(ctx, q, inbox.TaskBlocked, `t.blocked_reason IS NULL`, "is no longer blocked")
	})
}

// watch raises the inbox items that the function due returns, and resolves those whose causes have
// ended. Each call of due or ended returns at most 100 items.
func (s *Service) watch(
	ctx context.Context, due func(context.Context, db.Queryer, time.Time) ([]inbox.NewItem, error),
	ended func(context.Context, db.Queryer) ([]endedCause, error),
) error {
	now := s.Now()
	items, err := due(ctx, s.DB, now)
	if err != nil {
		return err
	}
	over, err := ended(ctx, s.DB)
	if err != nil || len(items)+len(over) == 0 {
		return err
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		// Read again: another replica may have handled them meanwhile.
		items, err := due(ctx, tx, now)
		if err != nil {
			return err
		}
		over, err := ended(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range items {
			if err := s.Inbox.Raise(ctx, tx, m); err != nil {
				return err
			}
		}
		for _, e := range over {
			if err := s.Inbox.ResolveCause(ctx, tx, e.cause, e.why); err != nil {
				return err
			}
		}
		return nil
	})
}

// blockedItem returns the inbox item for a task that stays blocked.
func (t Task) blockedItem(now time.Time) inbox.NewItem {
	b := t.Blocked
	m := inbox.NewItem{
		Cause: blockedCause + t.ID, Kind: inbox.TaskBlocked, Severity: ordinary, At: b.Since.Time, Subject: t.Subject(),
		Title: fmt.Sprintf("%s is still blocked: %s", t.Key, b.Reason),
		Detail: fmt.Sprintf("Blocked by %s since %s:\n\n%s\n\nResolve the cause, or unblock the task.", b.By,
			b.Since.Format(time.DateOnly), quoted(b.Reason)),
	}
	if now.Sub(b.Since.Time) >= blockedVeryLong {
		m.Severity = pressing
	}
	return m
}

// blockedCause is the prefix of the cause of an inbox item for a blocked task.
// The task's ID follows it.
const blockedCause = "task/blocked/"

// longBlocked returns the inbox items for up to 100 tasks that must be raised because they have been
// blocked for a long time. A task must be raised if no item has been raised since it was blocked, or
// if its open item now needs a higher severity. Once these tasks have been raised, the next call
// returns further ones.
func longBlocked(ctx context.Context, q db.Queryer, now time.Time) ([]inbox.NewItem, error) {
	rows, err := q.Query(ctx, `
		SELECT t.id, t.number, t.blocked_reason, t.blocked_since, t.blocked_by FROM tasks t
		WHERE t.blocked_reason IS NOT NULL AND t.archived_at IS NULL AND t.blocked_since <= ? AND (
			NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.subject_id = t.id AND i.kind IN (?, ?, ?)
				AND (i.last_at >= t.blocked_since OR i.state <> 'resolved'))
			OR t.blocked_since <= ? AND EXISTS (SELECT 1 FROM inbox_items i WHERE i.cause = '`+blockedCause+`' || t.id AND i.state <> 'resolved' AND i.severity = ?))
		LIMIT 100`, clock.At(now.Add(-blockedLong)), inbox.Escalation, inbox.OldBlocker, inbox.TaskBlocked, clock.At(now.Add(-blockedVeryLong)), ordinary)
	all, err := db.All(rows, err, func(row db.Row) (inbox.NewItem, error) {
		t := Task{Blocked: &Blocked{}}
		err := row.Scan(&t.ID, &t.number, &t.Blocked.Reason, &t.Blocked.Since, &t.Blocked.By)
		t.Key = keyOf(t.number)
		return t.blockedItem(now), err
	})
	if err != nil {
		return nil, fmt.Errorf("find tasks that stay blocked: %w", err)
	}
	return all, nil
}

// endedCause is the cause of an inbox item that no longer applies, with the reason.
type endedCause struct{ cause, why string }

// endedItems finds up to 100 inbox items of a kind to resolve, because their task is archived or
// deleted, or the SQL condition holds. The text is says in the reason what the condition means.
// endedItems skips items that a person has reopened.
func endedItems(ctx context.Context, q db.Queryer, kind inbox.Kind, condition, is string) ([]endedCause, error) {
	rows, err := q.Query(ctx, `
		SELECT i.cause, i.subject_name, t.id IS NULL, t.archived_at IS NOT NULL
		FROM inbox_items i LEFT JOIN tasks t ON t.id = i.subject_id
		WHERE i.kind = ? AND i.state <> 'resolved' AND (t.id IS NULL OR t.archived_at IS NOT NULL OR `+condition+`)
			AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = i.id AND e.kind = 'inbox.reopened' AND e.at >= i.last_at
				AND e.actor_id <> ?)
		LIMIT 100`, kind, actor.System.ID)
	all, err := db.All(rows, err, func(row db.Row) (e endedCause, err error) {
		var name string
		var gone, archived bool
		err = row.Scan(&e.cause, &name, &gone, &archived)
		why := is
		switch {
		case gone:
			why = "was deleted"
		case archived:
			why = "is archived"
		}
		e.why = name + " " + why + "."
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("find inbox items of kind %s whose cause has ended: %w", kind, err)
	}
	return all, nil
}
