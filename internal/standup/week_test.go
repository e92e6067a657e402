package standup_test

import (
	"fmt"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/standup"
)

// A week in whose middle the clocks go forward, or back, is seven mornings at
// nine, each with the date of its own, and what holds somebody up is a day older
// on each: a day too many or too few would be believed.
func TestWeek(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first       string
		early, late int // the hour in UTC on the first day, and on the last
	}{
		"summer time begins": {first: "2027-03-25", early: 8, late: 7},
		"summer time ends":   {first: "2027-10-28", early: 7, late: 8},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				o, inbox := quiet(t, d)
				var err error
				if o.Zone, err = time.LoadLocation("Europe/Berlin"); err != nil {
					t.Fatal(err)
				}
				o.task(t, 3, "in_progress", "")
				o.says("cto", "- TASK-3 waits for figures")
				work(t, o.Service)
				first, _ := time.Parse(time.DateOnly, c.first)
				var hours []int
				for i := range 7 {
					day := first.AddDate(0, 0, i).Format(time.DateOnly)
					o.morning(t, day)
					m := o.meet(t)
					hours = append(hours, m.CreatedAt.UTC().Hour())
					if m.Date != day || m.Timezone != "Europe/Berlin" || len(m.Blockers) != 1 {
						t.Fatalf("on %s: %s in %s, %+v", day, m.Date, m.Timezone, m.Blockers)
					}
					if b := m.Blockers[0]; b.AgeDays != i || b.FirstSeen != c.first || len(b.Days) != i+1 || (b.EscalatedOn != nil) != (i >= 2) {
						t.Errorf("on %s: %+v", day, b)
					}
				}
				if hours[0] != c.early || hours[6] != c.late {
					t.Errorf("nine o'clock was at %v in UTC", hours)
				}
				inbox.want(t, "old_blocker x5 open cto is held up: TASK-3 waits for figures")
				all, err := o.List(t.Context(), standup.Filter{From: c.first}, page.Want{})
				if err != nil || len(all.Rows) != 7 {
					t.Errorf("%d records of the week, %v", len(all.Rows), err)
				}
			})
		})
	}
}

// morning sets the clock to a minute past nine in the morning of a day in the office's zone, as
// its clocks show it.
func (o *office) morning(t *testing.T, date string) {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15", fmt.Sprintf("%s %02d", date, 9), o.Zone)
	if err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ahead = time.Until(at) + time.Minute
}
