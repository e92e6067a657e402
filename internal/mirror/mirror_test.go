package mirror

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtime is a fake gateway whose subscriptions the test ends.
type runtime struct {
	mu   sync.Mutex
	subs []chan link.Event
	read int // events decoded
}

func (r *runtime) Events(buffer int) (<-chan link.Event, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := make(chan link.Event, buffer)
	r.subs = append(r.subs, ch)
	return ch, func() {}
}

func (r *runtime) Content(e link.Event) gateway.Content {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read++
	return gateway.Content{Active: e.Name}
}

// Each reader gets every event in order, decoded once, and learns when events were missed.
func TestFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, got := &runtime{}, [2][]string{}
		f := Follower{Runtime: r}
		for i := range got {
			f.Readers = append(f.Readers, func(e Event) {
				if e.Resync {
					e.Active = "resync"
				}
				got[i] = append(got[i], e.Active)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			r.subs[0] <- link.Event{Name: name}
		}
		close(r.subs[0]) // the readers were too slow
		time.Sleep(RetryFirst + time.Millisecond)
		synctest.Wait()
		r.subs[1] <- link.Event{Name: "c"}
		synctest.Wait()
		cancel()
		running.Wait()
		want := []string{"a", "b", "resync", "c", "resync"}
		if diff := cmp.Diff([2][]string{want, want}, got); diff != "" || r.read != 3 {
			t.Errorf("%d events were decoded (-want +got):\n%s", r.read, diff)
		}
	})
}

// A loop waits longer after each failure, works at once when woken, and logs a series of failures
// once.
func TestLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var at []time.Duration
		begin, broken := time.Now(), errors.New("broken")
		result := broken
		l := Loop{Name: "things", Log: slog.New(slog.NewTextHandler(&log, nil)), Rest: time.Millisecond, Pass: func(context.Context) (time.Duration, error) {
			at = append(at, time.Since(begin).Round(time.Second)/time.Second)
			return time.Minute, result
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var wake Signal
		running.Go(func() { l.Run(ctx, &wake) })
		time.Sleep(time.Minute) // nothing happens before the first wake-up
		begin = time.Now()
		wake.Wake()
		time.Sleep(100 * time.Second)
		synctest.Wait()
		want := []time.Duration{0, 1, 3, 7, 15, 31, 61, 91}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("after failures (-want +got):\n%s", diff)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "reader=things err=broken") {
			t.Errorf("%d lines were logged:\n%s", n, &log)
		}
		at, begin, result = nil, time.Now(), nil
		wake.Wake()
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{0, 60}, at); diff != "" {
			t.Errorf("without failures (-want +got):\n%s", diff)
		}
		cancel()
		running.Wait()
	})
}

// A loop that waits for another replica's claim retries steadily, and an unreachable gateway is not
// logged.
func TestLoopIsQuiet(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var result error
	l := Loop{DB: dbtest.New(t), Log: slog.New(slog.NewTextHandler(&log, nil)), Pass: func(context.Context) (time.Duration, error) { return 0, result }}
	for range 10 {
		result = ErrClaimed
		if next := l.Step(t.Context()); next != claimedRetry {
			t.Errorf("the claim is tried again after %s", next)
		}
	}
	for _, result = range []error{link.ErrUnreachable.With("Nothing listens."), db.ErrBusy} {
		l.Step(t.Context())
	}
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", &log)
	}
	result = link.ErrBusy
	if l.Step(t.Context()); log.Len() == 0 {
		t.Error("a busy gateway was not logged")
	}
}

// Two replicas never hold a claim at once, and an expired or released one can be taken.
func TestClaim(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const update = `UPDATE archive_state SET owner = ?, until = ? WHERE name = 'archive' AND (owner = ? OR until IS NULL OR until < ? OR ?)`
		now := time.Now()
		replica := func() *Claim {
			c := NewClaim(d, update, time.Minute, func() time.Time { return now })
			c.Alone = false
			return c
		}
		a, b := replica(), replica()
		want := func(c *Claim, want error) {
			t.Helper()
			if err := c.Hold(t.Context()); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		release := func(c *Claim) {
			t.Helper()
			if err := c.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want(a, nil)
		want(b, ErrClaimed)
		release(b) // has no effect, because b never held it
		want(b, ErrClaimed)
		want(a, nil)
		release(a)
		want(b, nil)
		release(a) // b holds it now
		want(a, ErrClaimed)
		release(b)
		want(a, nil)
		// A claim of a wrong clock does not last for years.
		a.Ends, b.Ends = `SELECT until FROM archive_state WHERE name = 'archive'`, `SELECT until FROM archive_state WHERE name = 'archive'`
		want(b, ErrClaimed)
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE archive_state SET until = ? WHERE name = 'archive'`, now.AddDate(10, 0, 0))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want(b, nil)
		want(a, ErrClaimed)
		release(b)
		want(a, nil)
		if d.Engine() == db.SQLite {
			now = now.Add(2 * time.Minute)
			want(b, nil) // the lease has ended
			alone := replica()
			alone.Alone = true // a new process on the same file
			want(alone, nil)
			want(b, ErrClaimed)
		}
	})
}

// The archive must see a session that was in the list only briefly.
func TestSkippedSessions(t *testing.T) {
	t.Parallel()
	var s Sessions
	put := func(keys ...string) {
		var rows []gateway.Session
		for _, key := range keys {
			rows = append(rows, gateway.Session{Key: key})
		}
		s.Put(rows, clock.At(time.Unix(1, 0)))
	}
	if _, fresh := s.Take(); fresh {
		t.Error("there is a list before the first one")
	}
	take := func(want string) []gateway.Session {
		t.Helper()
		list, fresh := s.Take()
		got := ""
		for _, g := range list.Rows {
			got += g.Key
		}
		got += "|"
		for _, g := range list.Skipped {
			got += g.Key
		}
		if got != want || !fresh {
			t.Errorf("got %s, fresh %t, want %s", got, fresh, want)
		}
		return list.Skipped
	}
	put("a", "b")
	put("b", "c")
	put("a")
	skipped := take("a|bc")
	s.PutBack(skipped)
	take("a|bc")
	put("c")
	take("c|") // the reader has seen a
	if _, fresh := s.Take(); fresh {
		t.Error("a list is fresh twice")
	}
}

// A waiting request returns at a change, or says what took too long.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Changes
		ready := false
		await := func(ctx context.Context) error {
			return c.Await(ctx, time.Second, "things", func() (bool, error) { return ready, nil })
		}
		if err := await(t.Context()); !errors.Is(err, link.ErrTimeout) || !strings.Contains(err.Error(), "Reading the things took longer than 1s.") {
			t.Errorf("without a change: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := await(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- await(t.Context()) }()
		synctest.Wait()
		ready = true
		c.Broadcast()
		if err := <-done; err != nil {
			t.Errorf("after a change: %v", err)
		}
	})
}
