package task

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// A task that is due on a day is overdue when that day has passed on the team's clock, not on that of UTC.
func TestDueDayInFilters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := serviceAt(d, clock.Now)
		for _, title := range []string{"2026-12-09", "2026-12-10", "2026-12-11"} {
			day, _ := time.Parse(time.DateOnly, title)
			if _, err := s.Create(asService(t), New{Title: title, DueAt: new(clock.DueDay(day))}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Create(asService(t), New{Title: "04:00Z", DueAt: clock.Ptr(time.Date(2026, 12, 11, 4, 0, 0, 0, time.UTC))}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(asService(t), New{Title: "never"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ zone, at, before, from string }{
			{"America/Los_Angeles", "2026-12-11T07:59:00Z", "2026-12-09 04:00Z", "2026-12-10 2026-12-11"},
			{"America/Los_Angeles", "2026-12-11T08:00:00Z", "2026-12-09 2026-12-10 04:00Z", "2026-12-11"},
			{"Asia/Tokyo", "2026-12-10T14:59:00Z", "2026-12-09", "2026-12-10 04:00Z 2026-12-11"},
			{"Asia/Tokyo", "2026-12-10T15:00:00Z", "2026-12-09 2026-12-10", "04:00Z 2026-12-11"},
			{"UTC", "2026-12-11T04:00:00Z", "2026-12-09 2026-12-10", "04:00Z 2026-12-11"},
		} {
			s.Zone, _ = time.LoadLocation(c.zone)
			at, _ := time.Parse(time.RFC3339, c.at)
			found := func(f Filter) string {
				part, err := s.Cards(asService(t), f, page.Want{Sort: "due", Query: page.Query{Limit: 10}}, false)
				if err != nil {
					t.Fatal(err)
				}
				var titles []string
				for _, row := range part.Rows {
					one, _ := row.Task()
					titles = append(titles, one.Title)
				}
				return strings.Join(titles, " ")
			}
			if before, from := found(Filter{DueBefore: at}), found(Filter{DueAfter: at}); before != c.before || from != c.from {
				t.Errorf("at %s in %s: due before %q, want %q; from then %q, want %q", c.at, c.zone, before, c.before, from, c.from)
			}
		}
	})
}
