package dispatch

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
)

// A run that failed hours ago, while Wardroom was away, must not be shown as failed a minute ago.
func TestEndTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	asked := clock.At(ago(4 * time.Hour))
	for name, tt := range map[string]struct {
		asked *clock.Time
		ended time.Time
		want  time.Time
	}{
		"hours ago":                {&asked, ago(3 * time.Hour), ago(3 * time.Hour)},
		"unknown":                  {&asked, time.Time{}, ago(0)},
		"by a clock that is ahead": {&asked, ago(-time.Minute), ago(0)},
		"of an earlier run":        {&asked, ago(5 * time.Hour), ago(0)},
		"never asked":              {nil, ago(3 * time.Hour), ago(0)},
	} {
		d := Dispatch{askedAt: tt.asked}
		if got := d.endTime(tt.ended, now); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
