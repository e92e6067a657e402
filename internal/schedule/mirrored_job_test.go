package schedule

import (
	"slices"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// hourly returns a job that runs every full hour.
func hourly(change func(*gateway.Job)) gateway.Job {
	j := gateway.Job{
		ID: "j", Name: "Hourly", AgentID: "cto", Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 * * * *", Zone: "UTC"},
		SessionTarget: "isolated", WakeMode: "now", Payload: gateway.JobPayload{Kind: "agentTurn", Message: "Look."}, Delivery: gateway.JobDelivery{Mode: "none"},
		CreatedAt: clock.At(at("01:00:00")), Revision: "r1",
	}
	if change != nil {
		change(&j)
	}
	return j
}

func sight(t *testing.T, j gateway.Job, when string) observation {
	t.Helper()
	text, err := textOf(j)
	if err != nil {
		t.Fatal(err)
	}
	return observation{job: j, text: text, present: true, at: at(when), knownTo: at("08:00:00")}
}

// times returns the times of slots.
func times(slots []Slot) []string {
	out := []string{}
	for _, s := range slots {
		out = append(out, s.DueAt.Format("15:04:05"))
	}
	return out
}

// TestSee checks that no slots are expected before a job is created, enabled or changed, and that
// slots due before a change are kept.
func TestSee(t *testing.T) {
	t.Parallel()
	const grace = 5 * time.Minute
	first, _, _ := sight(t, hourly(nil), "08:30:00").apply(nil, grace)
	off := func(j *gateway.Job) { j.Enabled = false }
	t.Run("a job that was there before us is expected from now on", func(t *testing.T) {
		if !first.since.Equal(at("08:30:00")) || !first.nextDue.Equal(at("09:00:00")) {
			t.Errorf("it is %+v", first)
		}
	})
	t.Run("a job that was made while we looked is expected from the beginning", func(t *testing.T) {
		w, _, _ := sight(t, hourly(func(j *gateway.Job) { j.CreatedAt = clock.At(at("08:59:59")) }), "09:00:01").apply(nil, grace)
		if !w.nextDue.Equal(at("09:00:00")) {
			t.Errorf("next is %s", w.nextDue)
		}
	})
	t.Run("a job that is off is not expected, and goes on from when it is on", func(t *testing.T) {
		w, slots, changed := sight(t, hourly(off), "08:40:00").apply(&first, grace)
		if w.nextDue != nil || len(slots) > 0 || !changed {
			t.Fatalf("off it is %+v", w)
		}
		v := sight(t, hourly(nil), "11:30:00")
		v.knownTo = at("11:29:00")
		w, slots, _ = v.apply(&w, grace)
		if !w.nextDue.Equal(at("12:00:00")) || len(slots) > 0 {
			t.Errorf("on again it is %+v with %v", w, times(slots))
		}
	})
	t.Run("a run changes nothing of what is expected", func(t *testing.T) {
		w, slots, changed := sight(t, hourly(func(j *gateway.Job) { j.State.LastRunAt = clock.Ptr(at("08:35:00")) }), "08:40:00").apply(&first, grace)
		if !w.since.Equal(first.since.Time) || !same(w.nextDue, first.nextDue) || len(slots) > 0 || !changed {
			t.Errorf("it is %+v", w)
		}
		if _, _, changed := sight(t, hourly(nil), "08:40:00").apply(&first, grace); changed {
			t.Error("the same job is written again")
		}
	})
	t.Run("what is in the ledger is not expected again", func(t *testing.T) {
		w, _ := first.due(at("09:00:01"), grace)
		w, slots, _ := sight(t, hourly(func(j *gateway.Job) { j.State.LastRunAt = clock.Ptr(at("09:00:00")) }), "09:02:00").apply(&w, grace)
		if !w.nextDue.Equal(at("10:00:00")) || len(slots) > 0 {
			t.Errorf("next is %s, with %v", w.nextDue, times(slots))
		}
	})
	for name, gone := range map[string]func(*observation){
		"is disabled": func(v *observation) { *v = sight(t, hourly(off), "11:30:00") },
		"is removed":  func(v *observation) { *v = observation{at: at("11:30:00")} },
	} {
		t.Run("what was due before it "+name+" is kept as far as anybody knows", func(t *testing.T) {
			var v observation
			gone(&v)
			v.knownTo = at("10:15:00")
			w, slots, _ := v.apply(&first, grace)
			if got := times(slots); !slices.Equal(got, []string{"09:00:00", "10:00:00"}) || w.nextDue != nil {
				t.Errorf("kept %v, then %v", got, w.nextDue)
			}
			v.began = at("11:00:01") // a scheduled run was observed
			if _, slots, _ = v.apply(&first, grace); len(slots) != 3 {
				t.Errorf("with a run kept %v", times(slots))
			}
		})
	}
	t.Run("a job that was removed and comes back is new", func(t *testing.T) {
		w, _, _ := observation{at: at("08:40:00"), knownTo: at("08:39:00")}.apply(&first, grace)
		w, slots, _ := sight(t, hourly(nil), "10:30:00").apply(&w, grace)
		if !w.nextDue.Equal(at("11:00:00")) || len(slots) > 0 {
			t.Errorf("it is %+v", w)
		}
	})
}

// TestSeeByTheRuntimesWord checks jobs whose next run only the runtime can compute.
func TestSeeByTheRuntimesWord(t *testing.T) {
	t.Parallel()
	const grace = time.Minute
	every := func(next string) gateway.Job {
		return hourly(func(j *gateway.Job) {
			j.Schedule = gateway.JobSchedule{Kind: "every", EveryMS: time.Hour.Milliseconds()}
			if next != "" {
				j.State.NextRunAt = clock.Ptr(at(next))
			}
		})
	}
	first, _, _ := sight(t, every("09:12:00"), "08:30:00").apply(nil, grace)
	if !first.nextDue.Equal(at("09:12:00")) {
		t.Fatalf("first is %s", first.nextDue)
	}
	t.Run("a time that is put off is no slot", func(t *testing.T) {
		w, slots, _ := sight(t, every("10:00:00"), "09:00:00").apply(&first, grace)
		if len(slots) > 0 || !w.nextDue.Equal(at("10:00:00")) {
			t.Errorf("slots %v, next %s", times(slots), w.nextDue)
		}
	})
	t.Run("a time that has come is one, whatever follows", func(t *testing.T) {
		v := sight(t, every("10:12:00"), "09:13:00")
		v.knownTo = at("09:12:30")
		w, slots, _ := v.apply(&first, grace)
		if !slices.Equal(times(slots), []string{"09:12:00"}) || !w.nextDue.Equal(at("10:12:00")) || !w.lastDue.Equal(at("09:12:00")) {
			t.Errorf("slots %v, next %s", times(slots), w.nextDue)
		}
	})
	t.Run("it is in the ledger once", func(t *testing.T) {
		w, slots := first.due(at("09:12:01"), grace)
		if len(slots) != 1 || w.nextDue != nil {
			t.Fatalf("slots %v, next %v", times(slots), w.nextDue)
		}
		w, slots, _ = sight(t, every("10:12:00"), "09:12:05").apply(&w, grace)
		if len(slots) > 0 || !w.nextDue.Equal(at("10:12:00")) {
			t.Errorf("then %v, next %v", times(slots), w.nextDue)
		}
	})
	t.Run("a time that is put off for no reason is one", func(t *testing.T) {
		days := func(j gateway.Job) gateway.Job {
			j.State.NextRunAt = clock.Ptr(at("09:12:00").AddDate(0, 0, 8))
			return j
		}
		cron := hourly(func(j *gateway.Job) { j.Schedule.Expr, j.State.NextRunAt = "0 9 L * *", clock.Ptr(at("09:12:00")) })
		zoneless := hourly(func(j *gateway.Job) { j.Schedule.Zone, j.State.NextRunAt = "", clock.Ptr(at("09:12:00")) })
		for _, j := range []gateway.Job{every("09:12:00"), cron, zoneless} {
			was, _, _ := sight(t, j, "08:30:00").apply(nil, grace)
			w, slots, _ := sight(t, days(j), "09:00:00").apply(&was, grace)
			if !slices.Equal(times(slots), []string{"09:12:00"}) || !w.nextDue.After(at("23:00:00")) {
				t.Errorf("%s: slots %v, next %s", j.Schedule.Kind, times(slots), w.nextDue)
			}
			ran := days(j)
			ran.State.LastRunAt = clock.Ptr(at("08:59:00")) // by hand, which starts a new interval
			if _, slots, _ := sight(t, ran, "09:00:00").apply(&was, grace); len(slots) > 0 {
				t.Errorf("%s: after a run, slots %v", j.Schedule.Kind, times(slots))
			}
		}
	})
	t.Run("what no clock decides is not expected", func(t *testing.T) {
		for why, change := range map[string]func(*gateway.Job){
			"a condition": func(j *gateway.Job) { j.Conditional = true }, "an event": func(j *gateway.Job) { j.Schedule.Kind = "on-exit" },
		} {
			if w, _, _ := sight(t, hourly(change), "08:30:00").apply(nil, grace); w.nextDue != nil {
				t.Errorf("%s: next is %s", why, w.nextDue)
			}
		}
	})
	t.Run("an expression of the runtime's own, or without a zone, is by its word", func(t *testing.T) {
		for _, change := range []func(*gateway.Job){func(j *gateway.Job) { j.Schedule.Zone = "" }, func(j *gateway.Job) { j.Schedule.Expr = "0 0 9 L * *" }} {
			j := hourly(change)
			j.State.NextRunAt = clock.Ptr(at("08:59:00"))
			if w, _, _ := sight(t, j, "08:30:00").apply(nil, grace); !w.nextDue.Equal(at("08:59:00")) {
				t.Errorf("next is %v", w.nextDue)
			}
		}
	})
}

// TestLongAbsence checks that after a long absence slots are added for a week at most, and for a
// limited number per job.
func TestLongAbsence(t *testing.T) {
	t.Parallel()
	w := mirroredJob{job: hourly(nil), present: true, since: clock.At(at("00:00:00").AddDate(0, -6, 0)), nextDue: clock.Ptr(at("00:00:00").AddDate(0, -6, 0))}
	is, slots := w.due(at("09:30:00"), time.Minute)
	if len(slots) != 7*24 || !is.nextDue.Equal(at("10:00:00")) || !slots[0].DueAt.Equal(at("10:00:00").AddDate(0, 0, -7)) {
		t.Errorf("%d slots from %s, next %s", len(slots), slots[0].DueAt, is.nextDue)
	}
	w.job.Schedule.Expr = "* * * * *"
	if _, slots := w.due(at("09:30:00"), time.Minute); len(slots) != maxSlotsAtOnce || !slots[maxSlotsAtOnce-1].DueAt.Equal(at("09:30:00")) {
		t.Errorf("%d slots", len(slots))
	}
}

// A ledger that was filled while the clock was years ahead must not keep a job unwatched until then.
func TestLedgerOfAWrongClock(t *testing.T) {
	t.Parallel()
	j := hourly(nil)
	w, _, _ := sight(t, j, "08:30:00").apply(nil, time.Minute)
	w.lastDue, w.nextDue = clock.Ptr(at("09:00:00").AddDate(10, 0, 0)), clock.Ptr(at("10:00:00").AddDate(10, 0, 0))
	is, slots, changed := sight(t, j, "08:40:00").apply(&w, time.Minute)
	if !changed || len(slots) > 0 || is.nextDue == nil || !is.nextDue.Equal(at("09:00:00")) {
		t.Errorf("next is %s, changed: %t, slots: %v", is.nextDue, changed, times(slots))
	}
	// A ledger that is a little ahead of a slow reading stays as it is.
	w.lastDue, w.nextDue = clock.Ptr(at("09:00:00")), clock.Ptr(at("10:00:00"))
	if is, _, changed := sight(t, j, "08:59:50").apply(&w, time.Minute); changed || !is.nextDue.Equal(at("10:00:00")) {
		t.Errorf("next is %s, changed: %t", is.nextDue, changed)
	}
}
