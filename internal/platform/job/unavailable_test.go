package job_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
)

// A database outage during a job does not count as a failure of the job.
func TestAwayIsNoFailure(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var times atomic.Int32
		q := newQueue(t, d)
		q.Kinds["work"] = job.Kind{Attempts: 1, Do: func(context.Context, *job.Held) error {
			if times.Add(1) == 1 {
				return fmt.Errorf("begin: %w", db.ErrBusy)
			}
			return nil
		}}
		enqueue(t, q, "work", "a")
		run(t, q)
		wait(t, "the second attempt", func() bool { return state(t, d, "a") == "done" })
		var failures int
		if err := d.QueryRow(t.Context(), `SELECT failures FROM jobs WHERE key = 'a'`).Scan(&failures); err != nil || failures != 0 || times.Load() != 2 {
			t.Errorf("%d failures after %d attempts, %v", failures, times.Load(), err)
		}
	})
}
