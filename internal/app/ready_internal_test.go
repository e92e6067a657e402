package app

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Frequent probes cost the database at most one query per second, and an answer is never
// older than that.
func TestWatchedAsksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, says := 0, error(nil)
		w := &watched{check: func(context.Context) error {
			time.Sleep(10 * time.Millisecond)
			asked++
			return says
		}}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := w.ask(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if asked != 1 {
			t.Errorf("100 concurrent calls ran %d checks", asked)
		}
		says = errors.New("gone")
		time.Sleep(readyFresh - time.Millisecond)
		if err := w.ask(t.Context()); err != nil || asked != 1 {
			t.Errorf("within the second: %v after %d", err, asked)
		}
		time.Sleep(time.Millisecond)
		if err := w.ask(t.Context()); !errors.Is(err, says) || asked != 2 {
			t.Errorf("after the second: %v after %d", err, asked)
		}
		says = nil
		time.Sleep(readyFresh)
		if err := w.ask(t.Context()); err != nil || asked != 3 {
			t.Errorf("after the recovery: %v after %d", err, asked)
		}
	})
}

// A hanging database makes the service unready. It must not block probes or pile up
// checks.
func TestWatchedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := 0, make(chan struct{})
		w := &watched{check: func(ctx context.Context) error {
			asked++
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != readyLimit {
				t.Errorf("the deadline of the check is %v", d)
			}
			<-release // ignores its context
			return nil
		}}
		for range 3 {
			start := time.Now()
			if err := w.ask(t.Context()); !errors.Is(err, errSlow) || time.Since(start) != readyLimit {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		}
		close(release)
		synctest.Wait()
		if err := w.ask(t.Context()); err != nil || asked != 1 {
			t.Errorf("when it answers: %v after %d", err, asked)
		}
	})
}

// A caller that gives up must not affect the others.
func TestWatchedOutlivesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{check: func(ctx context.Context) error {
			time.Sleep(10 * time.Millisecond)
			return ctx.Err()
		}}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if err := w.ask(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the canceled call returned %v", err)
		}
		if err := w.ask(t.Context()); err != nil {
			t.Errorf("the other call returned %v", err)
		}
	})
}
