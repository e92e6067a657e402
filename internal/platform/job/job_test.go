package job_test

import (
	"context"
	"errors"
	"fmt"
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
	// Even a busy machine renews such leases in time. Tests that need an expired lease
	// write one to the database.
	q.Lease, q.Poll = 5*time.Second, 10*time.Millisecond
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
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
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

// Two replicas poll the same jobs: each job must run exactly once.
func TestEachJobOnce(t *testing.T) {
	t.Parallel()
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
		replicas := []*job.Queue{first}
		if d.Engine() == db.Postgres { // only one process can own an SQLite file
			replicas = append(replicas, newQueue(t, d))
		}
		for _, q := range replicas {
			q.Kinds = map[string]job.Kind{"work": kinds["work"]}
			run(t, q)
		}
		wait(t, "all jobs", func() bool { return count.Load() == jobs })
	})
}

// While a job is alive, a second one of its kind and key is not added.
func TestOneAlive(t *testing.T) {
	t.Parallel()
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

// If a process dies, another one continues, and stored steps do not run again.
// Later writes of the dead process have no effect.
func TestTakeover(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var asked, finished atomic.Int32
		step := func(ctx context.Context, h *job.Held) error {
			n, err := job.Step(ctx, h, "ask", func(*db.Tx) (int, error) { return int(asked.Add(1)) * 7, nil })
			if n != 7 {
				t.Errorf("step returned %d, want 7, %v", n, err)
			}
			return err
		}
		// The dying process stops reporting: its queue is stopped, but its job
		// continues as if it had not noticed.
		died, survivor := newQueue(t, d), newQueue(t, d)
		died.Workers = 1 // busy with the old job, so that the survivor gets it
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

// takeAway expires a lease, as a dead process does. The next worker to claim it is
// another one, because this one is busy.
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

// A process that stops hands its jobs back, so that another continues at once. That
// does not count as a failure.
func TestHandBack(t *testing.T) {
	t.Parallel()
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

// A canceled job stops at once, and its later writes are not stored.
func TestCancel(t *testing.T) {
	t.Parallel()
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

// A job that fails for good must report it to what it worked on. A panic counts as
// a failure.
func TestGiveUp(t *testing.T) {
	t.Parallel()
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

// A process that is too slow to renew its leases, as on a busy machine, keeps its jobs: none runs twice, and none is
// given up as if processes had died.
func TestLateHeartbeat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		var begun atomic.Int32
		release := make(chan struct{})
		q.Kinds["work"] = job.Kind{Do: func(ctx context.Context, _ *job.Held) error {
			begun.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return context.Cause(ctx)
		}}
		q.Kinds["more"] = job.Kind{Do: func(context.Context, *job.Held) error { return nil }}
		enqueue(t, q, "work", "meeting")
		run(t, q)
		wait(t, "the first attempt", func() bool { return begun.Load() == 1 })
		for n := range 6 { // one more than the failures after which a job is given up
			expired := time.Now().Add(-time.Hour)
			err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE jobs SET lease_until = ? WHERE kind = 'work'`, expired)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint("after ", n)
			enqueue(t, q, "more", key)
			wait(t, "the jobs that are due to be claimed", func() bool { return state(t, d, key) == "done" })
		}
		wait(t, "the lease to be renewed", func() bool {
			var until clock.Time
			if err := d.QueryRow(t.Context(), `SELECT lease_until FROM jobs WHERE kind = 'work'`).Scan(&until); err != nil {
				t.Fatal(err)
			}
			return until.After(time.Now())
		})
		close(release)
		wait(t, "the end", func() bool { return state(t, d, "meeting") == "done" })
		if n := begun.Load(); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}

// An error text from outside must not prevent storing the outcome.
func TestHostileErrorText(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		q.Lease = time.Hour
		q.Kinds["work"] = job.Kind{Attempts: 1, Do: func(context.Context, *job.Held) error { return errors.New("a\x00b\xff") }}
		enqueue(t, q, "work", "x")
		run(t, q)
		wait(t, "failed", func() bool { return state(t, d, "x") == "failed" })
	})
}

// If a job is canceled and enqueued again in one transaction, the new job must not
// be stopped instead of the old one.
func TestReplace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		var begun, lost atomic.Int32
		release := make(chan struct{})
		q.Kinds["work"] = job.Kind{Do: func(ctx context.Context, _ *job.Held) error {
			begun.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
				lost.Add(1)
			}
			return ctx.Err()
		}}
		enqueue(t, q, "work", "x")
		run(t, q)
		wait(t, "first", func() bool { return begun.Load() == 1 })
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := q.Enqueue(t.Context(), tx, "work", "other", nil); err != nil {
				return err
			}
			tx.Committed(func() { wait(t, "all to begin", func() bool { return begun.Load() == 3 }) })
			if err := q.Cancel(t.Context(), tx, "work", "x"); err != nil {
				return err
			}
			_, err := q.Enqueue(t.Context(), tx, "work", "x", nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		wait(t, "done", func() bool { return state(t, d, "x") == "done" })
		if lost.Load() > 1 {
			t.Errorf("%d were stopped, want the first alone", lost.Load())
		}
	})
}

// A queue must not claim more jobs than it has workers, whatever plan PostgreSQL
// uses: the others would wait while other replicas are idle.
func TestTakesWhatItCanDo(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		q.Workers = 1
		var begun atomic.Int32
		release := make(chan struct{})
		q.Kinds["work"] = job.Kind{Do: func(context.Context, *job.Held) error {
			begun.Add(1)
			<-release
			return nil
		}}
		enqueue(t, q, "work", "first")
		// With statistics of one row, the plan of "id IN (… LIMIT …)" is a loop that runs
		// the subquery for every row.
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `ANALYZE jobs`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			enqueue(t, q, "work", string(rune('a'+i)))
		}
		run(t, q)
		wait(t, "one to begin", func() bool { return begun.Load() > 0 })
		var running int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs WHERE state = 'running'`).Scan(&running); err != nil {
			t.Fatal(err)
		}
		if running != 1 {
			t.Errorf("%d jobs were taken with one worker", running)
		}
		close(release)
		wait(t, "all", func() bool { return begun.Load() == 21 })
	})
}

// During an upgrade, the older replica must leave jobs of unknown kinds alone.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := newQueue(t, d)
		q.Kinds["known"] = job.Kind{Do: func(context.Context, *job.Held) error { return nil }}
		enqueue(t, q, "of a later version", "later")
		enqueue(t, q, "known", "now")
		run(t, q)
		wait(t, "the known job", func() bool { return state(t, d, "now") == "done" })
		if got := state(t, d, "later"); got != "ready" {
			t.Errorf("the unknown job is %s, want it left for who knows it", got)
		}
	})
}
