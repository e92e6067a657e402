package clock_test

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/clock"
)

// A misread lifetime would log people out, or never.
func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[string]time.Duration{
		"7d": 7 * day, "24h": day, "30m": 30 * time.Minute, "45s": 45 * time.Second, "2w": 14 * day, "3600": time.Hour,
		"0": 0, "250ms": 250 * time.Millisecond, "007": 7 * time.Second, "9223372036854ms": 9223372036854 * time.Millisecond,
	} {
		if got, err := clock.ParseDuration(s); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", s, got, err, want)
		}
	}
	if got, err := clock.ParseDuration(" 1d "); err != nil || got != day {
		t.Errorf("blanks around it: %v, %v", got, err)
	}
	for _, s := range []string{
		"", "d", "-1", "-7d", "+7d", "7 d", "1.5h", "1h30m", "7D", "7y", "1e3", "٣d", "7days", "0x10", "1_000",
		"9223372036855ms", "15251w", "99999999999999999999", "9223372036854775807w",
	} {
		if got, err := clock.ParseDuration(s); err == nil {
			t.Errorf("%q is %v, want an error", s, got)
		}
	}
}

// Messages show durations in the format of the settings.
func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"2w": 14 * 24 * time.Hour, "36h": 36 * time.Hour, "90s": 90 * time.Second, "0s": 0, "1500ms": 1500 * time.Millisecond,
	} {
		if got := clock.FormatDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Accepted durations are not negative, do not overflow, and are read unchanged
// after formatting.
func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"7d", "24h", "30m", "45s", "2w", "3600", "0", "15250w", "9223372036854775807", "1ms", "-1", "m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := clock.ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("%q is %v", s, d)
		}
		digits := strings.TrimLeft(strings.TrimRight(strings.TrimSpace(s), "wdhms"), "0")
		if d == 0 != (digits == "") {
			t.Fatalf("%q is %v", s, d)
		}
		again, err := clock.ParseDuration(clock.FormatDuration(d))
		if err != nil || again != d {
			t.Fatalf("%q is %v, written %q, read %v, %v", s, d, clock.FormatDuration(d), again, err)
		}
	})
}
