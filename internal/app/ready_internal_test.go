package app

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Probes come from every balancer every moment: together they must cost the
// database one query a second, and an answer must not be older than that.
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
			t.Errorf("100 at once asked %d times", asked)
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
			t.Errorf("when it is back: %v after %d", err, asked)
		}
	})
}

// A database that hangs must make us unready, not hang the probe; and it must
// not pile up checks.
func TestWatchedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := 0, make(chan struct{})
		w := &watched{check: func(ctx context.Context) error {
			asked++
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != readyLimit {
				t.Errorf("the check may take until %v", d)
			}
			<-release // whatever its context says
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

// Somebody who gives up takes nobody's answer with them.
func TestWatchedOutlivesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{check: func(ctx context.Context) error {
			time.Sleep(10 * time.Millisecond)
			return ctx.Err()
		}}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if err := w.ask(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("who left was told %v", err)
		}
		if err := w.ask(t.Context()); err != nil {
			t.Errorf("who stayed was told %v", err)
		}
	})
}
