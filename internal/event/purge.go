package event

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// passing is when an event happened, of those that go with time, and null for
// the others: what happened to tasks is their history and stays, and so does the
// audit. The index events_passing is made of exactly this text.
const passing = `(CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END)`

const (
	countPassing = `SELECT COUNT(*), MIN(` + passing + `) FROM events WHERE ` + passing + ` < ?`
	purgePassing = `
		WITH gone AS (SELECT id FROM events WHERE ` + passing + ` < ? ORDER BY ` + passing + `, id LIMIT ?)
		DELETE FROM events WHERE id IN (SELECT id FROM gone) RETURNING id`
)

// CountPassing tells how many events Purge would remove in all, and when the
// oldest of them happened; that is the zero time when there are none.
func CountPassing(ctx context.Context, q db.Queryer, before time.Time) (n int64, oldest time.Time, err error) {
	var at *clock.Time
	if err := q.QueryRow(ctx, countPassing, before).Scan(&n, &at); err != nil {
		return 0, oldest, fmt.Errorf("count old events: %w", err)
	}
	if at != nil {
		oldest = at.Time
	}
	return n, oldest, nil
}

// Purge removes activity that happened before then, the oldest first and at most
// limit of it, and says how much that was: less than limit when nothing is left.
// Events about tasks and those of the audit stay. Streams that come back from
// before what is gone are told that they missed something.
func Purge(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, purgePassing, before, limit)
	ids, err := db.All(rows, err, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) })
	if err != nil {
		return 0, fmt.Errorf("remove old events: %w", err)
	}
	var last int64
	for _, id := range ids {
		last = max(last, id)
	}
	// Last, because it locks what every new event waits for.
	return int64(len(ids)), Forgot(ctx, tx, last)
}
