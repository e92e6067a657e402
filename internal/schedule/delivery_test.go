package schedule

import (
	"fmt"
	"testing"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A job that ran without its answer reaching anyone raises one item, which says where the answer
// is, and a delivered answer resolves it.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		ran := func(began, ended, id string, lost bool) {
			h.r.ended("j", began, ended, "ok", id)
			h.r.change(func() { h.r.runs[0].Undelivered, h.r.runs[0].SessionKey = lost, "agent:cto:cron:"+id })
		}
		want := func(items string) {
			t.Helper()
			i := h.items(inbox.JobUndelivered)[0]
			if got := fmt.Sprintf("%s %s %s x%d", i.Subject.ID, i.Run.SessionKey, i.State, i.Count); got != items {
				t.Errorf("at %s: %s, want %s", h.r.clock().Format("15:04:05"), got, items)
			}
		}
		h.at("08:30:00")
		ran("09:00:01", "09:01:00", "1", true)
		h.at("09:01:01")
		want("j agent:cto:cron:1 open x1")
		h.at("09:30:00") // reads the same run again
		want("j agent:cto:cron:1 open x1")
		ran("10:00:01", "10:01:00", "2", true)
		h.at("10:01:01")
		want("j agent:cto:cron:2 open x2")
		ran("11:00:01", "11:01:00", "3", false)
		h.at("11:01:01")
		want("j agent:cto:cron:2 resolved x2")
		ran("12:00:01", "12:01:00", "4", true)
		ran("13:00:01", "13:01:00", "5", false)
		h.at("13:01:01") // only the latest run of a read counts
		want("j agent:cto:cron:2 resolved x2")
		ran("14:00:01", "14:01:00", "6", true)
		h.at("14:01:01")
		want("j agent:cto:cron:6 open x3")
		h.r.change(func() { delete(h.r.jobs, "j") })
		h.at("14:05:00")
		want("j agent:cto:cron:6 resolved x3")
	})
}

// The first read of a long history reports no answer that was lost days ago.
func TestOldUndelivered(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	h := newFixture(t, d, hourly(nil))
	h.r.ended("j", "06:00:01", "06:01:00", "ok", "1")
	h.r.change(func() {
		r := &h.r.runs[0]
		r.Undelivered, r.RanAt.Time, r.EndedAt.Time = true, r.RanAt.Add(-undeliveredFor), r.EndedAt.Add(-undeliveredFor)
	})
	h.at("08:30:00")
	if got := h.inbox(); got != "" {
		t.Errorf("the inbox was told %q", got)
	}
}
