package job_test

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
)

// Work that was planned or taken while the clock was wrong must not wait for years.
func TestJobsOfAWrongClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		q.Kinds["work"] = job.Kind{Do: func(context.Context, *job.Held) error { return nil }}
		enqueue(t, q, "work", "planned")
		enqueue(t, q, "work", "taken")
		enqueue(t, q, "work", "backed off")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			for query, at := range map[string]time.Time{
				`UPDATE jobs SET run_at = ? WHERE key = 'planned'`:                                                    time.Now().AddDate(10, 0, 0),
				`UPDATE jobs SET state = 'running', owner = 'gone', attempt = 1, lease_until = ? WHERE key = 'taken'`: time.Now().AddDate(10, 0, 0),
				`UPDATE jobs SET run_at = ? WHERE key = 'backed off'`:                                                 time.Now().Add(10 * time.Minute),
			} {
				if _, err := tx.Exec(t.Context(), query, at.UTC()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, q)
		for _, key := range []string{"planned", "taken"} {
			wait(t, key, func() bool { return state(t, d, key) == "done" })
		}
		if got := state(t, d, "backed off"); got != "ready" {
			t.Errorf("a job that really waits is %s", got)
		}
	})
}
