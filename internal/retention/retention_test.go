package retention

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
)

// A day too many or an hour too much is data that somebody still wanted.
func TestDaysAgo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		zone, now string
		days      int
		want      string
	}{
		"today is what the clocks of the zone say":         {"Europe/Berlin", "2026-11-20T23:30:00Z", 1, "2026-11-19T23:00:00Z"},
		"and not what those of UTC say":                    {"UTC", "2026-11-20T23:30:00Z", 1, "2026-11-19T00:00:00Z"},
		"behind UTC it is still yesterday":                 {"America/New_York", "2026-11-20T04:59:59Z", 1, "2026-11-18T05:00:00Z"},
		"the first moment of a day counts for it":          {"Europe/Berlin", "2026-11-20T23:00:00Z", 7, "2026-11-13T23:00:00Z"},
		"the last moment of a day counts for it":           {"Europe/Berlin", "2026-11-20T22:59:59.999Z", 7, "2026-11-12T23:00:00Z"},
		"a week back over the beginning of summer time":    {"Europe/Berlin", "2026-04-01T10:00:00Z", 7, "2026-03-24T23:00:00Z"},
		"a week back within summer time":                   {"Europe/Berlin", "2026-04-06T10:00:00Z", 7, "2026-03-29T22:00:00Z"},
		"just after midnight, a week of 167 hours ago":     {"Europe/Berlin", "2026-03-31T22:30:00Z", 7, "2026-03-24T23:00:00Z"},
		"just before midnight, a week of 169 hours ago":    {"Europe/Berlin", "2026-10-28T22:30:00Z", 7, "2026-10-20T22:00:00Z"},
		"on the day on which summer time begins":           {"Europe/Berlin", "2026-03-29T10:00:00Z", 1, "2026-03-27T23:00:00Z"},
		"a week back over the end of summer time":          {"Europe/Berlin", "2026-10-28T10:00:00Z", 7, "2026-10-20T22:00:00Z"},
		"on the day on which summer time ends":             {"Europe/Berlin", "2026-10-25T23:30:00Z", 1, "2026-10-24T22:00:00Z"},
		"where the clocks skip midnight, the day is later": {"America/Havana", "2026-03-09T12:00:00Z", 1, "2026-03-08T05:00:00Z"},
		"where they show midnight twice, it is the first":  {"America/Havana", "2026-11-02T12:00:00Z", 1, "2026-11-01T04:00:00Z"},
		"over the turn of a leap year":                     {"Asia/Tokyo", "2028-03-01T00:00:00Z", 1, "2028-02-28T15:00:00Z"},
		"as far back as the settings allow":                {"Europe/Lisbon", "2026-11-20T12:00:00Z", 36500, "1926-12-15T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := clock.Zone(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339Nano, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			got, err := daysAgo(now, zone, tt.days)
			if err != nil || got.Format(time.RFC3339Nano) != tt.want {
				t.Errorf("%d days before %s begin at %s, %v; want %s", tt.days, tt.now, got.Format(time.RFC3339Nano), err, tt.want)
			}
		})
	}
}

// Batches that grow too boldly keep everybody waiting, and those that never
// grow take all night.
func TestNextSize(t *testing.T) {
	t.Parallel()
	run := func(perRow time.Duration) (size int, longest time.Duration) {
		size = firstBatch
		for range 100 {
			took := 2*time.Millisecond + time.Duration(size)*perRow
			longest = max(longest, took)
			size = nextSize(size, took)
		}
		return size, longest
	}
	for perRow, want := range map[time.Duration][2]int{
		time.Microsecond:       {mostBatch, mostBatch},
		20 * time.Microsecond:  {150, 500},
		200 * time.Microsecond: {20, 50},
		time.Millisecond:       {5, 12},
		time.Second:            {leastBatch, leastBatch},
	} {
		size, longest := run(perRow)
		if size < want[0] || size > want[1] {
			t.Errorf("at %s a row a batch ends up with %d rows, want %v", perRow, size, want)
		}
		if perRow <= 200*time.Microsecond && longest > tooLong {
			t.Errorf("at %s a row a batch took %s", perRow, longest)
		}
	}
}
