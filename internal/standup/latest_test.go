package standup_test

import (
	"errors"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// A standup that somebody opened for tomorrow by mistake must not hide today's.
func TestLatestIsNoDayToCome(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		now := time.Date(2026, 11, 20, 11, 30, 0, 0, time.UTC)
		o.Now = func() time.Time { return now }
		want := func(date string) {
			t.Helper()
			m, err := o.Latest(t.Context(), "")
			if date == "" && !errors.Is(err, standup.ErrNotFound) || date != "" && (err != nil || m.Date != date) {
				t.Errorf("at %s the latest is %q, %v, want %q", now, m.Date, err, date)
			}
		}
		open := func(date, zone string) {
			t.Helper()
			if _, _, err := o.Open(signedIn(t), standup.New{Date: date, Timezone: zone}); err != nil {
				t.Fatal(err)
			}
		}
		open("2026-11-23", "UTC")
		open("2026-11-22", "Pacific/Kiritimati")
		want("")
		open("2026-11-19", "UTC")
		want("2026-11-19")
		open("2026-11-21", "Pacific/Kiritimati") // where it is that day already, 14 hours ahead
		want("2026-11-21")
		now = now.Add(-2 * time.Hour)
		want("2026-11-19")
		open("2026-11-20", "Pacific/Pago_Pago") // where it is still the 19th
		want("2026-11-19")
		now = now.Add(3 * 24 * time.Hour)
		want("2026-11-23")
	})
}
