package usage

import (
	"fmt"
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestPrevious checks that a period is compared with the one of equal length before it, and only up
// to the same time of day while it is not over.
func TestPrevious(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 27, 14, 30, 0, 0, berlin) // the clocks went back on 25 Oct
	for _, c := range []struct{ from, to, wantFrom, wantTo string }{
		{"2026-10-27", "2026-10-28", "2026-10-26T00:00+01:00", "2026-10-26T14:30+01:00"},
		{"2026-10-21", "2026-10-28", "2026-10-14T00:00+02:00", "2026-10-20T14:30+02:00"},
		{"2026-10-20", "2026-10-27", "2026-10-13T00:00+02:00", "2026-10-20T00:00+02:00"},
		{"2026-10-01", "2026-10-28", "2026-09-04T00:00+02:00", "2026-09-30T14:30+02:00"},
		{"2026-10-27T12:00:00Z", "2026-10-27T13:00:00Z", "2026-10-27T12:00+01:00", "2026-10-27T13:00+01:00"},
		{"2026-10-27T13:00:00Z", "2026-10-27T15:00:00Z", "2026-10-27T12:00+01:00", "2026-10-27T12:30+01:00"},
	} {
		p, err := readPeriod(c.from, c.to, "Europe/Berlin", now)
		if err != nil {
			t.Fatal(err)
		}
		from, to := p.previous(now)
		text := func(at time.Time) string { return at.In(berlin).Format("2006-01-02T15:04Z07:00") }
		if text(from) != c.wantFrom || text(to) != c.wantTo {
			t.Errorf("before %s to %s: %s to %s, want %s to %s", c.from, c.to, text(from), text(to), c.wantFrom, c.wantTo)
		}
	}
}

// TestCompare checks that the comparison and the forecast use only days that the ledger covers. A
// report that compared with unknown days would show a rise that never happened.
func TestCompare(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		p.Now, p.Zone = func() time.Time { return now }, time.UTC
		asked := func(from, to string, with Extras) Report {
			t.Helper()
			r, err := p.readReport(t.Context(), &ReportInput{From: from, To: to, Group: ByAgent}, with)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := asked("2026-11-20", "2026-11-21", Extras{Compare: true}); r.Previous != nil || r.Forecast != nil {
			t.Errorf("an empty ledger is compared: %+v %+v", r.Previous, r.Forecast)
		}
		run := func(at time.Time, nanos int64) {
			p.note(t, Run{RunID: fmt.Sprint(at), AgentID: "cto", EndedAt: at, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}, Cost: costOf(nanos)}}})
		}
		for day := 14; day <= 19; day++ { // the first day is full, because it starts at midnight
			start := time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)
			run(start, 100)
			run(start.Add(18*time.Hour), 500)
		}
		run(now.Add(-time.Hour), 150)

		r := asked("2026-11-20", "2026-11-21", Extras{Compare: true})
		if r.Previous == nil || *r.Previous.CostUSD != 100 || !r.Previous.To.Equal(now.AddDate(0, 0, -1)) {
			t.Errorf("today is compared with %+v, want 100 up to noon of the day before", r.Previous)
		}
		want := Forecast{
			From: clock.At(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), To: clock.At(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)),
			SoFar: 6*600 + 150, PerDay: 600, Days: 6, Cost: 6*600 + 150 + 600*21/2,
		}
		if r.Forecast == nil || *r.Forecast != want {
			t.Errorf("the forecast is %+v, want %+v", r.Forecast, want)
		}
		if r := asked("2026-11-17", "2026-11-20", Extras{Compare: true}); r.Previous == nil || *r.Previous.CostUSD != 3*600 || r.Forecast != nil {
			t.Errorf("a past period: %+v %+v", r.Previous, r.Forecast)
		}
		if r := asked("2026-11-16", "2026-11-20", Extras{Compare: true}); r.Previous != nil {
			t.Errorf("compared with days before the first row: %+v", r.Previous)
		}
		if r := asked("2026-11-20", "2026-11-21", Extras{}); r.Previous != nil || r.Forecast != nil {
			t.Error("a report compares without being asked to")
		}
		now = time.Date(2026, 11, 16, 23, 0, 0, 0, time.UTC) // 2 full days
		if r := asked("2026-11-16", "2026-11-17", Extras{Compare: true}); r.Forecast != nil {
			t.Errorf("a forecast from 2 days: %+v", r.Forecast)
		}
	})
}
