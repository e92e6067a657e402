package link

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The delays grow up to a limit and are random.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := func(jitter float64) Backoff {
		return Backoff{Jitter: func() float64 { return jitter }}.withDefaults()
	}
	ms := time.Millisecond
	for _, test := range []struct {
		failures    int
		pace        pace
		asked       time.Duration
		least, most time.Duration
	}{
		{1, steady, 0, 125 * ms, 250 * ms},
		{2, steady, 0, 250 * ms, 500 * ms},
		{5, steady, 0, 2000 * ms, 4000 * ms},
		{8, steady, 0, 15000 * ms, 30000 * ms},
		{1 << 30, steady, 0, 15000 * ms, 30000 * ms},
		{1, quick, 0, 125 * ms, 250 * ms},
		{9, quick, 0, 500 * ms, 1000 * ms},
		{1, slow, 0, 15000 * ms, 30000 * ms},
		{1, quick, 500 * ms, 500 * ms, 625 * ms},
		{8, steady, 500 * ms, 15000 * ms, 30000 * ms},
		{1, slow, 5 * time.Minute, 5 * time.Minute, 375 * time.Second},
		{1, slow, 1000 * time.Hour, maxDelay, maxDelay * 5 / 4},
	} {
		if got := b(0).delay(test.failures, test.pace, test.asked); got != test.least {
			t.Errorf("%+v: at least %s", test, got)
		}
		if got := b(1).delay(test.failures, test.pace, test.asked); got != test.most {
			t.Errorf("%+v: at most %s", test, got)
		}
	}
	seen := map[time.Duration]bool{}
	for range 20 {
		seen[Backoff{}.withDefaults().delay(8, steady, 0)] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 clients come back at only %d moments", len(seen))
	}
}

// Metrics and the dashboard show only the states in this list.
func TestStatesComplete(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[Status]().FieldByName("State")
	var names []string
	for _, s := range States() {
		names = append(names, string(s))
	}
	want := strings.Split(field.Tag.Get("enum"), ",")
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("States() = %v, want those of the API, %v", names, want)
	}
}
