package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// world is a runtime with one job over some days, and the actual results.
type world struct {
	from, to time.Time
	job      gateway.Job
	truth    map[time.Time]State
	runs     []Run
	down     [][2]time.Time // when the runtime is unreachable
}

func (w world) up(t time.Time) bool {
	return !slices.ContainsFunc(w.down, func(d [2]time.Time) bool { return !t.Before(d[0]) && t.Before(d[1]) })
}

// drawWorld draws days around a clock change.
func drawWorld(t *rapid.T) world {
	zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "UTC", "Pacific/Apia"}).Draw(t, "zone")
	expr := rapid.SampledFrom([]string{"30 2 * * *", "0 9 * * *", "15 * * * *", "*/20 * * * *", "0,30 1-3 * * *", "59 23 * * *", "0 0 * * *"}).Draw(t, "expression")
	changes := []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), time.Date(2026, 4, 23, 22, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
	}
	w := world{truth: map[time.Time]State{}, job: gateway.Job{ID: "j", Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: expr, Zone: zone}}}
	w.from = rapid.SampledFrom(changes).Draw(t, "around").Add(-time.Duration(rapid.IntRange(20, 40).Draw(t, "hours before")) * time.Hour)
	w.to = w.from.Add(time.Duration(rapid.IntRange(30, 72).Draw(t, "hours")) * time.Hour)
	for range rapid.IntRange(0, 3).Draw(t, "times down") {
		from := w.from.Add(time.Duration(rapid.IntRange(0, 70*60).Draw(t, "down from")) * time.Minute)
		w.down = append(w.down, [2]time.Time{from, from.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "down for")) * time.Minute)})
	}
	p, _ := planOf(w.job)
	failures := 0 // in a row
	pauses := []time.Duration{0, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}
	for due := range p.times.Between(w.from, w.to) {
		began := due.Add(time.Duration(rapid.IntRange(0, 180).Draw(t, "delay")) * time.Second)
		fate := rapid.SampledFrom([]string{"ok", "ok", "ok", "error", "never", "skipped"}).Draw(t, "fate")
		if failures > 0 && fate == "never" {
			fate = "ok"
		}
		if fate == "never" || !w.up(began) {
			w.truth[due] = Missed
			if n := len(w.runs); n > 0 && due.Before(w.runs[n-1].EndedAt.Add(pauses[min(failures, len(pauses)-1)])) {
				w.truth[due] = Skipped // that run is in progress, or the runtime backs off after it
			}
			continue
		}
		r := Run{JobID: "j", StartedAt: clock.At(began), EndedAt: clock.At(began.Add(time.Duration(rapid.IntRange(0, 15*60).Draw(t, "took")) * time.Second)), Status: fate}
		w.runs, failures = append(w.runs, r), failures+1
		if fate != "error" {
			failures = 0
		}
		switch {
		case fate == "skipped":
			w.truth[due] = Skipped
		case fate == "error":
			w.truth[due] = Failed
		case began.Sub(due) > lateAfter:
			w.truth[due] = Late
		default:
			w.truth[due] = OnTime
		}
	}
	return w
}

// ledger is the ledger that a service keeps about a world.
type ledger struct {
	w     mirroredJob
	slots []Slot
	known time.Time
	facts facts
}

// poll reads the world, if it is reachable, and updates the ledger.
func (l *ledger) poll(t *rapid.T, w world, now time.Time) {
	const grace = 5 * time.Minute
	if w.up(now) {
		l.known = now
		l.facts.runs, l.facts.running = nil, time.Time{}
		for _, r := range w.runs {
			if !r.EndedAt.After(now) {
				l.facts.runs = append(l.facts.runs, r)
			} else if !r.StartedAt.After(now) {
				l.facts.running = r.StartedAt.Time
			}
		}
	}
	is, came := l.w.due(now, grace)
	l.w, l.slots = is, append(l.slots, came...)
	l.facts.now, l.facts.knownFrom, l.facts.knownTo, l.facts.since = now, w.from.Add(-time.Hour), l.known, l.w.since.Time
	before := slices.Clone(l.slots)
	l.slots = l.facts.judgeJob(l.w, l.slots)
	for i, s := range l.slots {
		was := before[i]
		if s.State == Missed && was.State != Missed && l.known.Before(s.Deadline.Time) {
			t.Fatalf("at %s, with all known up to %s, %s is missed", now, l.known, s.DueAt)
		}
		if was.final && s.differs(was) {
			t.Fatalf("at %s %s became %s, after it was settled as %s", now, s.DueAt, s.State, was.State)
		}
	}
}

// TestLedgerMatchesRuntime checks that in the end each slot is in the ledger once with the actual
// result, for random schedules, clock changes, results, absences and reads.
func TestLedgerMatchesRuntime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		text, _ := textOf(w.job)
		first, _, _ := observation{job: w.job, text: text, present: true, at: w.from}.apply(nil, 5*time.Minute)
		l := ledger{w: first}
		end := w.to.Add(15 * time.Hour)
		for _, d := range w.down { // the runtime is reachable in the end
			if d[1].After(end) {
				end = d[1]
			}
		}
		for now := w.from; now.Before(end); {
			step := rapid.SampledFrom([]int{5, 40, 300, 3000, 20000}).Draw(t, "seconds to the next look")
			now = now.Add(time.Duration(step) * time.Second)
			if now.Before(w.to) {
				l.poll(t, w, now)
			} else {
				now = end
			}
		}
		l.poll(t, w, w.to.Add(-time.Nanosecond))
		l.w.nextDue = nil // later slots are not in this world
		l.poll(t, w, end)
		got := map[time.Time]State{}
		for _, s := range l.slots {
			if _, twice := got[s.DueAt.Time]; twice {
				t.Fatalf("%s is in the ledger twice", s.DueAt)
			}
			got[s.DueAt.Time] = s.State
		}
		for due, want := range w.truth {
			if got[due] != want {
				t.Fatalf("%s in %s: the slot of %s is %q, and in truth it is %s", w.job.Schedule.Expr, w.job.Schedule.Zone, due, got[due], want)
			}
		}
		if len(got) != len(w.truth) {
			t.Fatalf("%d slots, want %d", len(got), len(w.truth))
		}
	})
}

// TestOneSlotADay checks that a daily job has one slot per day, including days with 23 and 25
// hours.
func TestOneSlotADay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for hour := range 4 {
			w := mirroredJob{present: true, job: gateway.Job{ID: "j", Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: fmt.Sprintf("30 %d * * *", hour), Zone: zone}}}
			w.since = clock.At(time.Date(2026, 1, 1, 12, 0, 0, 0, loc))
			w.nextDue = w.upcoming()
			days := map[string]int{}
			for now := w.since.Time; now.Before(w.since.AddDate(1, 0, 0)); now = now.Add(6 * time.Hour) {
				var slots []Slot
				w, slots = w.due(now, time.Minute)
				for _, s := range slots {
					days[s.DueAt.In(loc).Format(time.DateOnly)]++
				}
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s at %d:30: %d slots on %s", zone, hour, n, day)
				}
			}
			if len(days) != 364 && len(days) != 365 {
				t.Errorf("%s at %d:30: %d days", zone, hour, len(days))
			}
		}
	}
}
