package event

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// purgeableAt is the SQL expression for the time of an event that can be purged. It is null for
// events that are kept: those about tasks and those in the audit log. To use the index
// events_passing, a query must contain exactly this expression.
const purgeableAt = `(CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END)`

const (
	countPurgeable  = `SELECT COUNT(*), MIN(` + purgeableAt + `) FROM events WHERE ` + purgeableAt + ` < ?`
	deletePurgeable = `
		WITH gone AS (SELECT id FROM events WHERE ` + purgeableAt + ` < ? ORDER BY ` + purgeableAt + `, id LIMIT ?)
		DELETE FROM events WHERE id IN (SELECT id FROM gone) RETURNING id`
)

// CountPurgeable returns the number of events that Purge would remove in total, and the time of the
// oldest one. If there are no such events, it returns the zero time.
func CountPurgeable(ctx context.Context, q db.Queryer, before time.Time) (n int64, oldest time.Time, err error) {
	var at *clock.Time
	if err := q.QueryRow(ctx, countPurgeable, before).Scan(&n, &at); err != nil {
		return 0, oldest, fmt.Errorf("count old events: %w", err)
	}
	if at != nil {
		oldest = at.Time
	}
	return n, oldest, nil
}

// Purge deletes up to limit purgeable events older than the given time, oldest first, and returns
// how many it deleted. If that is fewer than limit, no such events are left. Clients that resume a
// stream from a deleted event receive a reset.
func Purge(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, deletePurgeable, before, limit)
	ids, err := db.All(rows, err, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) })
	if err != nil {
		return 0, fmt.Errorf("remove old events: %w", err)
	}
	var last int64
	for _, id := range ids {
		last = max(last, id)
	}
	return int64(len(ids)), RecordPurge(ctx, tx, last)
}
