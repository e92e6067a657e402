package task

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// mark names the state that the board is in: two lists of the same question
// that were read at the same mark show the same. Whatever changes tasks, or the
// names of those in them, is in the log, and the log's last number is read by
// its key. It is given with its time, because a database that was set back
// gives its numbers anew. Only claims end without anybody doing anything: the
// last one that has ended is in the mark until it is noted in the log.
//
// Read it before the list: a list that is newer than its mark is only read
// once more than needed.
func mark(ctx context.Context, q db.Queryer, now time.Time) (string, error) {
	var last int64
	var at, ended *clock.Time
	// Joined, PostgreSQL would read all events: it takes the counter for long.
	err := q.QueryRow(ctx, `
		SELECT c.last, (SELECT at FROM events WHERE id = c.last), (SELECT MAX(claim_until) FROM tasks WHERE claim_until IS NOT NULL AND claim_until <= ?)
		FROM event_counter c`, now).Scan(&last, &at, &ended)
	if err != nil {
		return "", fmt.Errorf("read the board's mark: %w", err)
	}
	micros := func(t *clock.Time) int64 {
		if t == nil {
			return 0
		}
		return t.UnixMicro()
	}
	return fmt.Sprintf("%d/%d/%d", last, micros(at), micros(ended)), nil
}
