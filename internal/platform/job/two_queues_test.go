package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
)

// A queue with long jobs must neither delay the timers of another queue nor take over
// its timers and jobs, even if it starts later.
func TestTwoQueues(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		release := make(chan struct{})
		var ticks, works, waits atomic.Int32
		short, long := newQueue(t, d), newQueue(t, d)
		short.Workers, long.Workers = 1, 1
		short.Timers = []job.Timer{{Name: "tick", Every: 20 * time.Millisecond, Do: func(context.Context) error { ticks.Add(1); return nil }}}
		short.Kinds["work"] = job.Kind{Do: func(context.Context, *job.Held) error { works.Add(1); return nil }}
		long.Kinds["wait"] = job.Kind{Do: func(ctx context.Context, _ *job.Held) error {
			waits.Add(1)
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}
		enqueue(t, long, "wait", "hours")
		run(t, long)
		wait(t, "the long job to begin", func() bool { return waits.Load() == 1 })
		run(t, short)
		enqueue(t, short, "work", "now")
		wait(t, "the work and the timer", func() bool { return works.Load() == 1 && ticks.Load() >= 5 })
		close(release)
		wait(t, "the long job to end", func() bool { return state(t, d, "hours") == "done" })
		if n := waits.Load(); n != 1 {
			t.Errorf("the long job was begun %d times: the other queue's start took it for a dead process's", n)
		}
	})
}
