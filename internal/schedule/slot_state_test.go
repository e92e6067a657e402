package schedule

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", "2026-11-20 "+text)
	if err != nil {
		panic(err)
	}
	return t
}

// ran returns a scheduled run with times of one day.
func ran(began, ended, status string) Run {
	return Run{JobID: "j", StartedAt: clock.At(at(began)), EndedAt: clock.At(at(ended)), Status: status}
}

func byHand(r Run) Run {
	r.Manual = true
	return r
}

// TestJudge checks the state of slots.
func TestJudge(t *testing.T) {
	t.Parallel()
	const grace = 5 * time.Minute
	for _, tt := range []struct {
		name    string
		now     string
		known   string // knownTo; now if empty
		since   string
		running string
		last    string
		errors  int64
		runs    []Run
		want    State
	}{
		{name: "whose time has just come is pending", now: "09:00:01", want: Pending},
		{name: "is pending until its grace is over", now: "09:04:59", want: Pending},
		{name: "without a run by then is missed", now: "09:05:00", want: Missed},
		{name: "is unknown when the runtime could not be asked since", now: "09:05:00", known: "09:04:59", want: Unknown},
		{name: "that ran is judged although the runtime is away", now: "09:30:00", known: "09:02:00", runs: []Run{ran("09:00:01", "09:01:00", "ok")}, want: OnTime},
		{name: "that runs is running", now: "09:20:00", running: "09:00:02", want: Running},
		{name: "whose run has ended a moment ago, and is not told of yet, is running", now: "09:20:00", last: "09:00:02", want: Running},
		{name: "during which only a run by hand has ended is missed", now: "09:20:00", last: "09:00:30", runs: []Run{byHand(ran("09:00:30", "09:01:00", "ok"))}, want: Missed},
		{name: "that went well is on time", now: "09:20:00", runs: []Run{ran("09:00:59", "09:10:00", "ok")}, want: OnTime},
		{name: "whose run began after a minute is late", now: "09:20:00", runs: []Run{ran("09:01:01", "09:10:00", "ok")}, want: Late},
		{name: "whose run began after its grace is late", now: "09:40:00", runs: []Run{ran("09:30:00", "09:31:00", "ok")}, want: Late},
		{name: "whose run failed has failed", now: "09:20:00", runs: []Run{ran("09:00:00", "09:10:00", "error")}, want: Failed},
		{name: "whose run was tried again went well", now: "09:20:00", runs: []Run{ran("09:00:00", "09:00:10", "error"), ran("09:00:40", "09:01:00", "ok")}, want: OnTime},
		{name: "that the runtime skipped is skipped", now: "09:20:00", runs: []Run{ran("09:00:00", "09:00:00", "skipped")}, want: Skipped},
		{name: "is not that of a run by hand", now: "09:20:00", runs: []Run{byHand(ran("09:00:30", "09:01:00", "ok"))}, want: Missed},
		{name: "is not that of a run of the slot before", now: "09:20:00", runs: []Run{ran("08:00:00", "08:01:00", "ok")}, want: Missed},
		{name: "is not that of a run of the slot after", now: "10:20:00", runs: []Run{ran("10:00:00", "10:01:00", "ok")}, want: Missed},
		{name: "during the run before is skipped", now: "09:20:00", runs: []Run{ran("08:00:00", "09:01:00", "ok")}, want: Skipped},
		{name: "during the run before, which goes on, is skipped", now: "09:20:00", running: "08:00:01", want: Skipped},
		{name: "of a job that was changed before the end of its grace is skipped", now: "09:20:00", since: "09:02:00", want: Skipped},
		{name: "of a job that was changed has nothing of its later runs", now: "09:20:00", since: "09:02:00", runs: []Run{ran("09:03:00", "09:04:00", "ok")}, want: Skipped},
		{name: "while the runtime waits after failures is skipped", now: "09:20:00", errors: 5, runs: []Run{ran("08:00:00", "08:30:00", "error")}, want: Skipped},
		{name: "after the runtime's wait is missed", now: "09:20:00", errors: 1, runs: []Run{ran("08:00:00", "08:30:00", "error")}, want: Missed},
	} {
		t.Run("a slot "+tt.name, func(t *testing.T) {
			f := facts{now: at(tt.now), knownFrom: at("00:00:00"), knownTo: at(cmp.Or(tt.known, tt.now)), since: at(cmp.Or(tt.since, "07:00:00")), errors: tt.errors, runs: tt.runs}
			if tt.running != "" {
				f.running = at(tt.running)
			}
			if tt.last != "" {
				f.last = at(tt.last)
			}
			s := slotOf(gateway.Job{ID: "j"}, at("09:00:00"), grace)
			got := f.judge(s, at("10:00:00"))
			if got.State != tt.want {
				t.Fatalf("it is %s (%s), want %s", got.State, got.Reason, tt.want)
			}
			explained := map[State]bool{Missed: true, Failed: true, Skipped: true, Unknown: true}[got.State]
			if (got.Reason != "") != explained {
				t.Errorf("the reason is %q", got.Reason)
			}
			if again := f.judge(got, at("10:00:00")); again.differs(got) {
				t.Errorf("once more it is %+v, was %+v", again, got)
			}
		})
	}
}

// TestSettled checks which slots are final and which are checked again.
func TestSettled(t *testing.T) {
	t.Parallel()
	const grace = 5 * time.Minute
	job := gateway.Job{ID: "j"}
	f := facts{now: at("09:05:00"), knownFrom: at("00:00:00"), knownTo: at("09:05:00"), since: at("07:00:00")}
	missed := f.judge(slotOf(job, at("09:00:00"), grace), at("15:00:00"))
	if missed.State != Missed || missed.final || missed.recheckAt == nil || !missed.recheckAt.Equal(at("10:05:00")) {
		t.Fatalf("it is %+v", missed)
	}
	t.Run("a gateway that comes back makes up for it", func(t *testing.T) {
		back := f
		back.now, back.knownTo, back.runs = at("09:50:00"), at("09:50:00"), []Run{ran("09:40:00", "09:45:00", "ok")}
		if got := back.judge(missed, at("15:00:00")); got.State != Late || !got.final {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("after an hour it stays missed", func(t *testing.T) {
		later := f
		later.now, later.knownTo = at("10:05:00"), at("10:05:00")
		got := later.judge(missed, at("15:00:00"))
		if got.State != Missed || !got.final || got.recheckAt != nil {
			t.Fatalf("it is %+v", got)
		}
		later.runs = []Run{ran("10:10:00", "10:11:00", "ok")}
		if again := later.judge(got, at("15:00:00")); again.State != Missed {
			t.Errorf("then it is %+v", again)
		}
	})
	t.Run("the next slot ends it", func(t *testing.T) {
		later := f
		later.now, later.knownTo = at("09:30:00"), at("09:30:00")
		if got := later.judge(missed, at("09:30:00")); !got.final {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("what the runtime does not remember stays unknown", func(t *testing.T) {
		forgot := f
		forgot.knownFrom = at("09:01:00")
		if got := forgot.judge(slotOf(job, at("09:00:00"), grace), at("15:00:00")); got.State != Unknown || !got.final || !strings.Contains(got.Reason, "history") {
			t.Errorf("it is %+v", got)
		}
	})
}

// TestSpread checks that a slot delayed by the gateway is neither late nor missed.
func TestSpread(t *testing.T) {
	t.Parallel()
	job := gateway.Job{ID: "j", Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 * * * *", Zone: "UTC", StaggerMS: (5 * time.Minute).Milliseconds()}}
	s := slotOf(job, at("09:00:00"), time.Minute)
	f := facts{now: at("09:05:59"), knownTo: at("09:05:59"), since: at("07:00:00")}
	if got := f.judge(s, at("10:00:00")); got.State != Pending {
		t.Errorf("after its spread it is %s", got.State)
	}
	f.now, f.knownTo, f.runs = at("09:10:00"), at("09:10:00"), []Run{ran("09:05:30", "09:06:00", "ok")}
	if got := f.judge(s, at("10:00:00")); got.State != OnTime {
		t.Errorf("run at the end of its spread it is %s", got.State)
	}
	f.runs = nil
	if got := f.judge(s, at("10:00:00")); got.State != Missed {
		t.Errorf("without a run it is %s", got.State)
	}
}
