package clock_test

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
)

// A time that was stored while the clock was wrong must not last for years.
func TestHolds(t *testing.T) {
	now := time.Date(2026, 12, 10, 8, 0, 0, 0, time.UTC)
	for until, want := range map[time.Duration]bool{-time.Second: false, 0: false, time.Second: true, 15 * time.Minute: true, 16 * time.Minute: true, 17 * time.Minute: false, 87_600 * time.Hour: false} {
		if got := clock.Holds(now.Add(until), now, 15*time.Minute); got != want {
			t.Errorf("for %s: %v", until, got)
		}
	}
}

// A due day must be the same day for everyone, so it depends on no time zone once it is set.
func TestDueDay(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati"} {
		in, err := clock.Zone(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, hour := range []int{0, 12, 23} {
			due := clock.DueDay(time.Date(2026, 12, 10, hour, 30, 0, 0, in))
			if day, whole := due.Day(); day != "2026-12-10" || !whole {
				t.Errorf("%d:30 in %s is due %q, %v", hour, zone, day, whole)
			}
		}
	}
	if day, whole := clock.At(time.Date(2026, 12, 10, 18, 0, 0, 0, time.UTC)).Day(); whole {
		t.Errorf("a time is taken for the day %q", day)
	}
}
