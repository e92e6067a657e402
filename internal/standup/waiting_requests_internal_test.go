package standup

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Any number of followers of one standup cause only as many reads as one.
func TestFollowersShareReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sharedReader
		var all sync.WaitGroup
		readings := 0 // read runs one read at a time
		read := func(_ context.Context, last Standup) (Standup, error) {
			readings++
			time.Sleep(time.Millisecond)
			return Standup{Version: last.Version + 1}, nil
		}
		for range 100 {
			f := l.follow("m")
			all.Go(func() {
				defer f.leave()
				for range 10 {
					if m, err := f.read(t.Context(), read); err != nil || m.Version == 0 {
						t.Errorf("%+v, %v", m, err)
					}
					time.Sleep(pollInterval)
				}
			})
		}
		all.Wait()
		if readings < 10 || readings > 12 {
			t.Errorf("100 who looked 10 times read %d times", readings)
		}
		if len(l.meetings) != 0 {
			t.Errorf("%d meetings are kept for nobody", len(l.meetings))
		}
	})
}

// A follower never gets a state from before it registered.
func TestFollowerSeesNothingOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sharedReader
		status := Completed
		read := func(context.Context, Standup) (Standup, error) { return Standup{Status: status}, nil }
		one := l.follow("m")
		defer one.leave()
		time.Sleep(time.Millisecond)
		if m, err := one.read(t.Context(), read); m.Status != Completed || err != nil {
			t.Fatalf("%+v, %v", m, err)
		}
		time.Sleep(time.Millisecond)
		status = Running
		two := l.follow("m")
		defer two.leave()
		if m, err := two.read(t.Context(), read); m.Status != Running || err != nil {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// A follower that leaves during a read does not affect the others.
func TestFollowerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l sharedReader
		ctx, cancel := context.WithCancel(t.Context())
		one, two := l.follow("m"), l.follow("m")
		defer one.leave()
		defer two.leave()
		slow := func(ctx context.Context, _ Standup) (Standup, error) {
			select {
			case <-ctx.Done():
				return Standup{}, ctx.Err()
			case <-time.After(time.Hour):
				return Standup{ID: "m"}, nil
			}
		}
		go func() {
			_, _ = one.read(ctx, slow)
		}()
		synctest.Wait()
		gone, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := two.read(gone, slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits for a reading and leaves: %v", err)
		}
		cancel()
		if m, err := two.read(t.Context(), slow); m.ID != "m" || err != nil {
			t.Errorf("the other: %+v, %v", m, err)
		}
	})
}
