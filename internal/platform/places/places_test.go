package places_test

import (
	"testing"

	"wardroom/internal/platform/places"
)

// One caller could hold all places, or a place that was given back twice would
// let in more than there is room for.
func TestPlaces(t *testing.T) {
	var p places.Places
	take := func(caller string, want bool) (leave func()) {
		t.Helper()
		leave, ok := p.Take(caller, 3, 2)
		if ok != want {
			t.Fatalf("a place for %s: %t, want %t", caller, ok, want)
		}
		return leave
	}
	first := take("ada", true)
	take("ada", true)
	take("ada", false) // she has two
	take("bob", true)
	take("cy", false) // all are taken
	first()
	first()
	take("cy", true)
	take("ada", false)
}
