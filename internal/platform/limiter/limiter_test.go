package limiter_test

import (
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
