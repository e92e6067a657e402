package dispatch

import (
	"context"
	"fmt"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// staleItem is an inbox item that no longer needs attention, because its task is done, archived or deleted.
type staleItem struct{ cause, why string }

// ResolveStale resolves the inbox items for failed dispatches whose tasks are done,
// archived or deleted, except for items that a person has reopened. It runs every few
// seconds.
func (s *Service) ResolveStale(ctx context.Context) error {
	if pending, err := staleItems(ctx, s.DB); err != nil || len(pending) == 0 {
		return err // usually there is nothing to write
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		pending, err := staleItems(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range pending {
			if err := s.Inbox.ResolveCause(ctx, tx, m.cause, m.why); err != nil {
				return err
			}
		}
		return nil
	})
}

// staleItems returns up to 100 unresolved inbox items about failed dispatches of tasks that are
// done, archived or deleted. It omits items that a user has reopened. After the returned items are
// resolved, the next call returns more.
func staleItems(ctx context.Context, q db.Queryer) ([]staleItem, error) {
	rows, err := q.Query(ctx, `
		SELECT i.cause, i.subject_name, CASE WHEN t.id IS NULL THEN 'was deleted' WHEN t.archived_at IS NOT NULL THEN 'is in the archive' ELSE 'is done' END
		FROM inbox_items i LEFT JOIN tasks t ON t.id = i.subject_id
		WHERE i.kind = ? AND i.state <> 'resolved' AND (t.id IS NULL OR t.archived_at IS NOT NULL OR t.status = 'done')
			AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = i.id AND e.kind = 'inbox.reopened' AND e.at >= i.last_at
				AND e.actor_id <> ?)
		LIMIT 100`, inbox.DispatchFailed, actor.System.ID)
	all, err := db.All(rows, err, func(row db.Row) (m staleItem, err error) {
		var name, is string
		err = row.Scan(&m.cause, &name, &is)
		m.why = name + " " + is + "."
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("find stale inbox items: %w", err)
	}
	return all, nil
}
