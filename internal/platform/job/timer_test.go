package job_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
)

// jobsLeft returns the number of jobs; those of timers are deleted once they are
// done.
func jobsLeft(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Two replicas share a timer: each firing runs once, and several missed firings
// become one.
func TestTimerFiresOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var fired atomic.Int32
		for range 2 {
			q := newQueue(t, d)
			q.Timers = []job.Timer{{Name: "sweep", Every: time.Hour, Do: func(context.Context) error { fired.Add(1); return nil }}}
			run(t, q)
		}
		wait(t, "the first firing", func() bool { return fired.Load() > 0 })
		var next time.Time
		wait(t, "the timer's job to be gone", func() bool { return jobsLeft(t, d) == 0 })
		if err := d.QueryRow(t.Context(), `SELECT next_at FROM job_timers WHERE name = 'sweep'`).Scan(&next); err != nil {
			t.Fatal(err)
		}
		if fired.Load() != 1 || time.Until(next) < 50*time.Minute {
			t.Errorf("fired %d times, next in %s; want once and in an hour", fired.Load(), time.Until(next))
		}
	})
}

// A clock that was years ahead and is corrected must not stop a timer.
func TestTimerAfterClockChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES ('sweep', ?)`, time.Now().AddDate(5, 0, 0))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var fired atomic.Int32
		q := newQueue(t, d)
		q.Timers = []job.Timer{{Name: "sweep", Every: time.Hour, Do: func(context.Context) error { fired.Add(1); return nil }}}
		run(t, q)
		wait(t, "the firing", func() bool { return fired.Load() > 0 })
		var next time.Time
		if err := d.QueryRow(t.Context(), `SELECT next_at FROM job_timers WHERE name = 'sweep'`).Scan(&next); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(next); left < 50*time.Minute || left > time.Hour {
			t.Errorf("next in %s, want in an hour", left)
		}
	})
}

// A scheduled timer does not fire at startup, and then fires once for all replicas.
// Missed firings run once, and a next time stored for another schedule is replaced.
func TestTimerAtATime(t *testing.T) {
	t.Parallel()
	far, err := cron.Parse("0 0 29 2 *", "Europe/Berlin") // not due during this test
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		note := func(name string, next time.Time) {
			err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES (?, ?)`, name, next)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		due := far.Next(time.Now())
		note("missed", due.AddDate(-4, 0, 0))
		note("moved", time.Now().Add(time.Hour))
		note("put back", due.AddDate(40, 0, 0))
		var mu sync.Mutex
		fired := map[string]int{}
		times := func(name string) int {
			mu.Lock()
			defer mu.Unlock()
			return fired[name]
		}
		for range 2 {
			q := newQueue(t, d)
			for _, name := range []string{"missed", "moved", "put back", "new"} {
				q.Timers = append(q.Timers, job.Timer{Name: name, At: far, Do: func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					fired[name]++
					return nil
				}})
			}
			q.Timers = append(q.Timers, job.Timer{Name: "beat", Every: time.Nanosecond, Do: func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				fired["beat"]++
				return nil
			}})
			run(t, q)
		}
		wait(t, "the missed firing", func() bool { return times("missed") > 0 })
		wait(t, "further rounds", func() bool { return times("beat") > 3 })
		rows, err := d.Query(t.Context(), `SELECT name, next_at FROM job_timers WHERE name <> 'beat'`)
		next := map[string]time.Time{}
		_, err = db.All(rows, err, func(row db.Row) (name string, err error) {
			var at time.Time
			err = row.Scan(&name, &at)
			next[name] = at
			return name, err
		})
		if err != nil || len(next) != 4 {
			t.Fatalf("%v, %v", next, err)
		}
		for name, at := range next {
			if !at.Equal(due) {
				t.Errorf("%s is next at %s, want %s", name, at, due)
			}
		}
		if times("missed") != 1 || times("moved")+times("put back")+times("new") != 0 {
			t.Errorf("fired %v, want what was missed, once", fired)
		}
	})
}

// A scheduled timer must fire again on the same day if the process stops or dies,
// or the run fails. A timer with an interval must not.
func TestFiringIsNotLost(t *testing.T) {
	t.Parallel()
	far, err := cron.Parse("0 0 29 2 *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	missed := far.Next(time.Now()).AddDate(-4, 0, 0)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES ('nightly', ?)`, missed)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		began := make(chan struct{})
		stopped := newQueue(t, d)
		stopped.Timers = []job.Timer{{Name: "nightly", At: far, Do: func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}}}
		stop := run(t, stopped)
		<-began
		stop()
		// The next process dies during the firing as well.
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			n, err := tx.Exec(t.Context(), `UPDATE jobs SET state = 'running', owner = 'dead', lease_until = ?`, time.Now().Add(-time.Minute))
			if err == nil && n != 1 {
				t.Errorf("%d firings were handed back", n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var fired, beaten atomic.Int32
		q := newQueue(t, d)
		q.Timers = []job.Timer{
			{Name: "nightly", At: far, Do: func(context.Context) error {
				if fired.Add(1) == 1 {
					return errors.New("not now")
				}
				return nil
			}},
			{Name: "hourly", Every: time.Hour, Do: func(context.Context) error { beaten.Add(1); return errors.New("not now") }},
		}
		run(t, q)
		wait(t, "the firing after the one that failed", func() bool { return fired.Load() == 2 })
		wait(t, "its end", func() bool { return jobsLeft(t, d) == 0 })
		if n := beaten.Load(); n != 1 {
			t.Errorf("what comes again by itself was tried %d times, want once", n)
		}
	})
}

// A timer without an interval or schedule, or with both, is rejected at startup.
func TestTimerNeedsATime(t *testing.T) {
	t.Parallel()
	q := newQueue(t, dbtest.New(t))
	q.Timers = []job.Timer{{Name: "never", Do: func(context.Context) error { return nil }}}
	if err := q.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("got %v", err)
	}
}
