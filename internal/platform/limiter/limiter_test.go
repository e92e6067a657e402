package limiter_test

import (
	"context"
	"errors"
	"testing"

	"wardroom/internal/platform/limiter"
)

// One caller must not take every slot, and a slot released twice counts once.
func TestLimiter(t *testing.T) {
	var l limiter.Limiter
	acquire := func(caller string, want bool) (release func()) {
		t.Helper()
		release, ok := l.Acquire(caller, 3, 2)
		if ok != want {
			t.Fatalf("a slot for %s: %t, want %t", caller, ok, want)
		}
		return release
	}
	first := acquire("ada", true)
	acquire("ada", true)
	acquire("ada", false) // she has two
	acquire("bob", true)
	acquire("cy", false) // all are taken
	first()
	first()
	acquire("cy", true)
	acquire("ada", false)
}

// Callers with one key wait for each other, and those who stop waiting leave the queue.
func TestQueue(t *testing.T) {
	var q limiter.Queue
	leave, err := q.Enter(t.Context(), "a", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := q.Enter(t.Context(), "b", 1, 1); err != nil {
		t.Error(err)
	} else {
		other()
	}
	if _, err := q.Enter(t.Context(), "a", 1, 0); !errors.Is(err, limiter.ErrFull) {
		t.Errorf("in a full queue: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Enter(ctx, "a", 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("two at once: %v", err)
	}
	leave()
	if n := q.Keys(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}
