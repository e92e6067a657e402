package job_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

func newQueue(t *testing.T, d *db.DB) *job.Queue {
	q := job.New(d, slog.New(slog.NewTextHandler(t.Output(), nil)), clock.Now)
	q.Lease, q.Poll = 300*time.Millisecond, 10*time.Millisecond
	return q
}

// run runs the queue until the returned function is called or the test ends.
func run(t *testing.T, q *job.Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := q.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func enqueue(t *testing.T, q *job.Queue, kind, key string) bool {
	t.Helper()
	var added bool
	err := q.DB.Tx(t.Context(), func(tx *db.Tx) (err error) {
		added, err = q.Enqueue(t.Context(), tx, kind, key, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

func state(t *testing.T, d *db.DB, key string) (state string) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT state FROM jobs WHERE key = ? ORDER BY id DESC LIMIT 1`, key).Scan(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

// Two replicas look at the same jobs: each job must be done exactly once.
func TestEachJobOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const jobs = 40
		var done sync.Map
		var count atomic.Int32
		kinds := map[string]job.Kind{"work": {Do: func(_ context.Context, h *job.Held) error {
			if _, twice := done.LoadOrStore(h.Key, true); twice {
				t.Errorf("job %s was done twice", h.Key)
			}
			count.Add(1)
			return nil
		}}}
		first := newQueue(t, d)
		for i := range jobs {
			enqueue(t, first, "work", string(rune('A'+i)))
		}
		for _, q := range []*job.Queue{first, newQueue(t, d)} {
			q.Kinds = map[string]job.Kind{"work": kinds["work"]}
			run(t, q)
		}
		wait(t, "all jobs", func() bool { return count.Load() == jobs })
	})
}

// While a job is alive a second one of its kind and key is not added; afterwards it is.
func TestOneAlive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		release := make(chan struct{})
		q.Kinds["work"] = job.Kind{Do: func(context.Context, *job.Held) error { <-release; return nil }}
		if !enqueue(t, q, "work", "same") || enqueue(t, q, "work", "same") {
			t.Fatal("want the first added and the second not")
		}
		run(t, q)
		wait(t, "running", func() bool { return state(t, d, "same") == "running" })
		if enqueue(t, q, "work", "same") {
			t.Error("added beside a running one")
		}
		close(release)
		wait(t, "done", func() bool { return state(t, d, "same") == "done" })
		if !enqueue(t, q, "work", "same") {
			t.Error("not added after the first was done")
		}
	})
}

// A process dies in the middle: another goes on, and a step that was kept is
// not done again. What the dead one still writes does not count.
func TestTakeover(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var asked, finished atomic.Int32
		step := func(ctx context.Context, h *job.Held) error {
			n, err := job.Step(ctx, h, "ask", func(*db.Tx) (int, error) { return int(asked.Add(1)) * 7, nil })
			if n != 7 {
				t.Errorf("step returned %d, want 7, %v", n, err)
			}
			return err
		}
		// The dying process stops reporting: its queue is told to stop, but its
		// job goes on as if nobody had told it.
		died, survivor := newQueue(t, d), newQueue(t, d)
		died.Workers = 1 // busy with the ghost, so that the survivor gets the job
		ghost := make(chan struct{})
		ghostDone := make(chan error, 1)
		died.Kinds["work"] = job.Kind{Do: func(ctx context.Context, h *job.Held) error {
			if err := step(ctx, h); err != nil {
				return err
			}
			takeAway(t, d, h.ID)
			<-ghost
			err := h.Write(context.WithoutCancel(ctx), func(*db.Tx) error { t.Error("a ghost wrote"); return nil })
			ghostDone <- err
			return err
		}}
		survivor.Kinds["work"] = job.Kind{Do: func(ctx context.Context, h *job.Held) error {
			if h.Attempt < 2 {
				t.Errorf("attempt %d, want a later one", h.Attempt)
			}
			err := step(ctx, h)
			finished.Add(1)
			return err
		}}
		enqueue(t, died, "work", "meeting")
		run(t, died)
		wait(t, "the first step", func() bool { return asked.Load() == 1 })
		run(t, survivor)
		wait(t, "the takeover", func() bool { return finished.Load() == 1 })
		close(ghost)
		if err := <-ghostDone; !errors.Is(err, job.ErrLost) {
			t.Errorf("the ghost's write: %v, want ErrLost", err)
		}
		wait(t, "done", func() bool { return state(t, d, "meeting") == "done" })
		if asked.Load() != 1 {
			t.Errorf("asked %d times, want once", asked.Load())
		}
	})
}

// takeAway does to a lease what a dead process does: lets it end. The worker
// that claims it next is another, because this one is busy.
func takeAway(t *testing.T, d *db.DB, id string) {
	t.Helper()
	err := d.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(context.Background(), `UPDATE jobs SET owner = 'dead', lease_until = ? WHERE id = ?`, time.Now().Add(-time.Hour), id)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A service that stops hands its work back, so that the next goes on at once,
// and that does not count as a failure.
func TestHandBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		first, second := newQueue(t, d), newQueue(t, d)
		first.Lease, second.Lease = time.Hour, time.Hour
		started := make(chan struct{})
		first.Kinds["work"] = job.Kind{Attempts: 1, Do: func(ctx context.Context, _ *job.Held) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}}
		var attempt atomic.Int32
		second.Kinds["work"] = job.Kind{Attempts: 1, Do: func(_ context.Context, h *job.Held) error {
			attempt.Store(int32(h.Attempt))
			return nil
		}}
		enqueue(t, first, "work", "meeting")
		stop := run(t, first)
		<-started
		stop()
		if got := state(t, d, "meeting"); got != "ready" {
			t.Fatalf("after the stop it is %s, want ready", got)
		}
		run(t, second)
		wait(t, "the second process", func() bool { return attempt.Load() == 2 })
	})
}

// A cancelled job stops at once and what it still does is not kept.
func TestCancel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		started, ended := make(chan struct{}), make(chan error, 1)
		q.Kinds["work"] = job.Kind{Do: func(ctx context.Context, h *job.Held) error {
			close(started)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return h.Write(context.WithoutCancel(ctx), func(*db.Tx) error { t.Error("wrote after the cancel"); return nil })
		}}
		enqueue(t, q, "work", "meeting")
		run(t, q)
		<-started
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return q.Cancel(t.Context(), tx, "work", "meeting") }); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, job.ErrLost) {
			t.Errorf("cause %v, want ErrLost", err)
		}
		if got := state(t, d, "meeting"); got != "cancelled" {
			t.Errorf("state %s, want cancelled", got)
		}
	})
}

// What fails for good must say so to what it worked on; a panic is a failure.
func TestGiveUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		var told atomic.Value
		q.Kinds["work"] = job.Kind{
			Attempts: 1,
			Do:       func(context.Context, *job.Held) error { panic("no chairs") },
			GaveUp: func(_ context.Context, _ *db.Tx, key string, cause error) error {
				told.Store(key + ": " + cause.Error()[:len("panic: no chairs")])
				return nil
			},
		}
		enqueue(t, q, "work", "meeting")
		run(t, q)
		wait(t, "failed", func() bool { return state(t, d, "meeting") == "failed" })
		if told.Load() != "meeting: panic: no chairs" {
			t.Errorf("told %v", told.Load())
		}
	})
}

// Two replicas share a timer: a firing is one, and what was missed is one.
func TestTimerFiresOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var fired atomic.Int32
		for range 2 {
			q := newQueue(t, d)
			q.Timers = []job.Timer{{Name: "sweep", Every: time.Hour, Do: func(context.Context) error { fired.Add(1); return nil }}}
			run(t, q)
		}
		wait(t, "the first firing", func() bool { return fired.Load() > 0 })
		var next time.Time
		wait(t, "the timer's job to be gone", func() bool {
			var jobs int
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs`).Scan(&jobs); err != nil {
				t.Fatal(err)
			}
			return jobs == 0
		})
		if err := d.QueryRow(t.Context(), `SELECT next_at FROM job_timers WHERE name = 'sweep'`).Scan(&next); err != nil {
			t.Fatal(err)
		}
		if fired.Load() != 1 || time.Until(next) < 50*time.Minute {
			t.Errorf("fired %d times, next in %s; want once and in an hour", fired.Load(), time.Until(next))
		}
	})
}
