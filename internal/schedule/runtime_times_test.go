package schedule

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db/dbtest"
)

// TestTimesAreTheRuntimes checks that the computed times equal those of the runtime around the
// clock changes of five zones. The file has the times of OpenClaw 2026.9.6.
func TestTimesAreTheRuntimes(t *testing.T) {
	t.Parallel()
	var cases []struct {
		Expr, Zone string
		From, To   time.Time
		Minutes    []int // of the runs, after From
	}
	text, err := os.ReadFile("testdata/runtime_times.json")
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil || len(cases) < 100 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		p, why := planOf(gateway.Job{Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: c.Expr, Zone: c.Zone}})
		if why != "" || p.times.IsZero() {
			t.Fatalf("%s %s: %s", c.Expr, c.Zone, why)
		}
		var ours []int
		gaps := 0
		for at := p.times.Next(c.From); at.Before(c.To); at = p.times.Next(at) {
			if !p.times.Names(at) {
				gaps++ // expected only here: the runtime skips it, which is reported as missed
				continue
			}
			ours = append(ours, int(at.Sub(c.From)/time.Minute))
		}
		if !slices.Equal(ours, c.Minutes) || gaps > 1 {
			t.Errorf("%s in %s from %s, %d in a gap:\nours   %v\ntheirs %v", c.Expr, c.Zone, c.From, gaps, ours, c.Minutes)
		}
	}
}

// TestMissedInAGap checks the reason of a slot that is missed because clocks went forward.
func TestMissedInAGap(t *testing.T) {
	t.Parallel()
	night := time.Date(2027, 3, 28, 0, 30, 0, 0, time.UTC) // 01:30 in Berlin
	h := newFixture(t, dbtest.New(t), hourly(func(j *gateway.Job) {
		j.Schedule.Expr, j.Schedule.Zone, j.CreatedAt = "30 2 * * *", "Europe/Berlin", clock.At(night.Add(-24*time.Hour))
	}))
	look := func(now time.Time) {
		h.r.change(func() { h.r.now = now })
		r := reader{s: h.Service}
		if err := errors.Join(r.read(h.ctx()), h.Judge(h.ctx())); err != nil {
			t.Fatal(err)
		}
	}
	look(night)
	look(night.Add(time.Hour))
	slots, err := h.Slots(h.ctx(), SlotFilter{From: night, To: night.Add(time.Hour)}, nil, 10)
	if err != nil || len(slots) != 1 || slots[0].State != Missed || !strings.Contains(slots[0].Reason, "went forward") || !slots[0].DueAt.Equal(night.Add(30*time.Minute)) {
		t.Errorf("%+v, %v", slots, err)
	}
}
