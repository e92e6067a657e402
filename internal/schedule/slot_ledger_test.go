package schedule

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

const (
	raisedMissed   = "raised job_missed of j"
	raisedFailed   = "raised job_failed of j"
	resolvedMissed = "resolved job_missed of j"
	resolvedFailed = "resolved job_failed of j"
)

// TestJudgeSlots checks that missed and failed slots raise an inbox item, and that a later success
// resolves it.
func TestJudgeSlots(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.want("", "")
		h.at("09:00:01")
		h.want("09:00 pending", "")
		h.r.change(func() { h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.State.RunningAt = clock.Ptr(at("09:00:00")) }) })
		h.at("09:01:00")
		h.want("09:00 running", "")
		h.r.change(func() { h.r.jobs["j"] = hourly(nil) })
		h.r.ended("j", "09:00:00", "09:02:00", "ok", "1")
		h.at("09:02:01")
		h.want("09:00 on_time", "")
		h.at("10:04:59")
		h.want("09:00 on_time, 10:00 pending", "")
		h.at("10:05:00")
		h.want("09:00 on_time, 10:00 missed", raisedMissed)
		h.at("10:05:10")
		h.want("09:00 on_time, 10:00 missed", "")
		h.r.ended("j", "11:00:02", "11:01:00", "error", "2")
		h.at("11:01:01")
		h.want("09:00 on_time, 10:00 missed, 11:00 failed", raisedFailed)
		h.r.ended("j", "11:20:00", "11:21:00", "ok", "manual:j:1")
		h.at("11:21:01")
		h.want("09:00 on_time, 10:00 missed, 11:00 failed", resolvedMissed+"; "+resolvedFailed)
		h.r.ended("j", "12:03:00", "12:04:00", "ok", "3")
		h.at("12:04:01")
		h.want("09:00 on_time, 10:00 missed, 11:00 failed, 12:00 late", "")
		h.at("13:05:00")
		h.want("09:00 on_time, 10:00 missed, 11:00 failed, 12:00 late, 13:00 missed", "reopened job_missed of j")
		h.r.ended("j", "14:00:01", "14:00:02", "ok", "4")
		h.at("14:00:03")
		h.want("09:00 on_time, 10:00 missed, 11:00 failed, 12:00 late, 13:00 missed, 14:00 on_time", resolvedMissed)

		events, err := event.Read(h.ctx(), d, event.Filter{Class: event.Activity, Kinds: []string{"slot.*"}}, page.Want{})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, e := range events.Rows {
			kinds = append(kinds, e.Kind)
		}
		if got := strings.Join(kinds, " "); got != "slot.missed slot.failed slot.missed" {
			t.Errorf("the activity has %q", got)
		}
		part, err := h.Runs(h.ctx(), "j", page.Want{Query: page.Query{Limit: 2}})
		if err != nil || len(part.Rows) != 2 || part.Rows[0].RunID != "4" || part.Rows[1].RunID != "3" || part.Next == "" {
			t.Errorf("runs %+v, %v", part, err)
		}
	})
}

// TestMissedIsRunByHand checks that a successful manual run resolves the item of a missed slot for
// good.
func TestMissedIsRunByHand(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.at("09:05:01")
		h.want("09:00 missed", raisedMissed)
		h.r.change(func() { h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.State.RunningAt = clock.Ptr(at("09:30:00")) }) })
		h.at("09:30:01")
		h.want("09:00 missed", "")
		h.r.change(func() { h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.State.LastRunAt = clock.Ptr(at("09:30:00")) }) })
		h.at("09:31:00") // ended, but not in the history yet
		h.want("09:00 missed", "")
		h.r.ended("j", "09:30:00", "09:31:00", "ok", "manual:j:1")
		h.at("09:31:01")
		h.want("09:00 missed", resolvedMissed)
		h.at("09:45:00")
		h.want("09:00 missed", "")
		h.r.ended("j", "10:00:01", "10:01:00", "ok", "2")
		h.at("10:06:00")
		h.want("09:00 missed, 10:00 on_time", "")
	})
}

// TestPurgedRunSettlesNothing checks that a purged run that is still in the runtime's history is
// not treated as new.
func TestPurgedRunSettlesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.ended("j", "08:40:00", "08:41:00", "ok", "manual:j:1")
		h.at("08:41:01")
		h.r.ended("j", "09:00:01", "09:01:00", "error", "1")
		h.at("09:01:01")
		h.inbox()
		err := d.Tx(h.ctx(), func(tx *db.Tx) error {
			_, err := h.PurgeOld(h.ctx(), tx, at("08:50:00"), 100)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		h.at("09:30:00")
		h.want("09:00 failed", "")
		if part, err := h.Runs(h.ctx(), "j", page.Want{}); err != nil || len(part.Rows) != 1 {
			t.Errorf("runs %+v, %v", part, err)
		}
	})
}

// TestGoodRunBeforeTrouble checks that a success resolves its item although the same read finds
// later failures.
func TestGoodRunBeforeTrouble(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.ended("j", "09:00:01", "09:01:00", "error", "1")
		h.at("09:01:01")
		h.want("09:00 failed", raisedFailed)
		h.r.ended("j", "10:00:01", "10:01:00", "ok", "2")
		h.at("11:06:00")
		h.want("09:00 failed, 10:00 on_time, 11:00 missed", resolvedFailed+"; "+raisedMissed)
		h.r.ended("j", "12:00:01", "12:01:00", "ok", "3")
		h.r.ended("j", "13:00:01", "13:01:00", "error", "4")
		h.at("13:01:01")
		h.want("09:00 failed, 10:00 on_time, 11:00 missed, 12:00 on_time, 13:00 failed", resolvedMissed+"; reopened job_failed of j")
		h.r.ended("j", "14:00:01", "14:01:00", "ok", "5")
		h.r.ended("j", "15:00:01", "15:01:00", "error", "6")
		h.at("15:01:01")
		h.inbox()
		h.r.ended("j", "16:00:01", "16:01:00", "ok", "7")
		h.at("16:01:01")
		if got := h.inbox(); got != resolvedFailed {
			t.Errorf("at the end the inbox was told %q", got)
		}
	})
}

// TestJudgeAway checks that slots are unknown while the runtime is unreachable, and that its
// history decides afterwards.
func TestJudgeAway(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.change(func() { h.r.away = link.ErrUnreachable.With("It is off.") })
		h.at("09:10:00")
		h.at("10:10:00")
		h.want("09:00 unknown, 10:00 unknown", "")
		jobs, known, err := h.List(h.ctx(), Filter{}, "", 10)
		if err != nil || len(jobs) != 1 || jobs[0].Live || known.Away != "It is off." || !known.AsOf.Equal(at("08:30:00")) || len(jobs[0].NextRuns) != 10 {
			t.Errorf("meanwhile the jobs are %+v, %+v, %v", jobs, known, err)
		}
		h.r.ended("j", "09:00:00", "09:01:00", "ok", "1") // it continued while disconnected and then ended
		h.r.change(func() { h.r.away, h.r.on = nil, 2 })
		h.at("10:20:00")
		h.want("09:00 on_time, 10:00 missed", raisedMissed)
		h.r.ended("j", "10:22:00", "10:23:00", "ok", "2") // the recovery run
		h.at("10:23:01")
		h.want("09:00 on_time, 10:00 late", resolvedMissed)
	})
}

// TestTroubleIsAsOldAsItIs checks that items have the time of the slot or the failure, not of its
// detection.
func TestTroubleIsAsOldAsItIs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.ended("j", "10:00:00", "10:07:00", "error", "1")
		h.at("15:30:00")
		missed, failed := h.items(inbox.JobMissed)[0], h.items(inbox.JobFailed)[0]
		if !missed.FirstAt.Equal(at("09:00:00")) || !missed.LastAt.Equal(at("15:00:00")) || missed.Count != 2 || !failed.LastAt.Equal(at("10:07:00")) {
			t.Errorf("the inbox has %+v and %+v", missed, failed)
		}
	})
}

// TestJudgeChanged checks that disabled, changed and removed jobs raise no items.
func TestJudgeChanged(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.at("09:00:01")
		h.r.change(func() { h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.Enabled = false }) })
		h.at("09:02:00")
		h.at("12:30:00")
		h.want("09:00 skipped", "")
		h.r.change(func() { h.r.jobs["j"] = hourly(nil) })
		h.at("12:31:00")
		h.at("12:59:00")
		h.want("09:00 skipped", "")
		h.at("13:05:00")
		h.want("09:00 skipped, 13:00 missed", raisedMissed)
		h.r.change(func() { delete(h.r.jobs, "j") })
		h.at("13:06:00")
		h.at("15:06:00")
		h.want("09:00 skipped, 13:00 missed", resolvedMissed)
		if _, err := h.Get(h.ctx(), "j"); err == nil {
			t.Error("it is still there")
		}
	})
}

// TestJudgeOneTime checks a job that the runtime deletes after its only run.
func TestJudgeOneTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		once := hourly(func(j *gateway.Job) {
			j.Schedule = gateway.JobSchedule{Kind: "at", At: "2026-11-20T09:00:00Z"}
			j.State.NextRunAt = clock.Ptr(at("09:00:00"))
		})
		h := newFixture(t, d, once)
		h.at("08:59:59")
		h.r.change(func() { delete(h.r.jobs, "j") })
		h.r.ended("j", "09:00:00", "09:00:02", "ok", "1")
		h.at("09:00:03")
		h.want("09:00 on_time", "")
	})
}

// TestJudgeOnce checks that two replicas raise one item.
func TestJudgeOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var jobs []gateway.Job
		for n := range 20 {
			jobs = append(jobs, hourly(func(j *gateway.Job) { j.ID = fmt.Sprint("j", n) }))
		}
		h := newFixture(t, d, jobs...)
		h.at("08:30:00")
		h.r.change(func() { h.r.now = at("09:05:00") })
		var work sync.WaitGroup
		for range 6 {
			replica := h.replica(d)
			work.Go(func() {
				if err := (&reader{s: replica}).read(h.ctx()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if err := h.Judge(h.ctx()); err != nil {
			t.Fatal(err)
		}
		if got := h.inbox(); strings.Count(got, "raised") != 20 || strings.Count(got, ";") != 19 {
			t.Errorf("the inbox was told %s", got)
		}
	})
}

// TestAnOlderListUndoesNothing checks that a list that was read before a change does not undo it.
func TestAnOlderListUndoesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		old := reader{s: h.Service}
		h.r.change(func() { h.r.now = at("08:40:00") })
		was, err := old.fetch(h.ctx(), h.r.clock())
		if err != nil {
			t.Fatal(err)
		}
		h.r.change(func() { h.r.now = at("08:40:01") })
		off := false
		if _, err := h.Change(h.ctx(), "j", Change{Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		if err := h.store(h.ctx(), was); err != nil {
			t.Fatal(err)
		}
		j, err := h.Get(h.ctx(), "j")
		if err != nil || j.Enabled || j.Watched || len(j.NextRuns) > 0 {
			t.Errorf("it is %+v, %v", j, err)
		}
	})
}

// TestPurge checks that old slots are deleted and unknown ones are kept.
func TestPurge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.ended("j", "09:00:00", "09:01:00", "ok", "1")
		h.at("09:02:00")
		h.r.change(func() { h.r.away = link.ErrUnreachable })
		h.at("10:06:00")
		n, oldest, err := h.CountOld(h.ctx(), at("12:00:00"))
		if err != nil || n != 2 || !oldest.Equal(at("09:00:00")) {
			t.Errorf("a slot and its run: %d from %s, %v", n, oldest, err)
		}
		for _, want := range []int64{n, 0} { // the number from CountOld
			var gone int64
			err = d.Tx(h.ctx(), func(tx *db.Tx) (err error) {
				gone, err = h.PurgeOld(h.ctx(), tx, at("12:00:00"), 100)
				return err
			})
			if err != nil || gone != want {
				t.Errorf("%d went, want %d, %v", gone, want, err)
			}
		}
		h.want("10:00 unknown", "")
		if part, err := h.Runs(h.ctx(), "j", page.Want{}); err != nil || len(part.Rows) > 0 {
			t.Errorf("runs %+v, %v", part, err)
		}
	})
}

// BenchmarkJudge measures a check of a thousand jobs.
func BenchmarkJudge(b *testing.B) {
	for name, due := range map[string]bool{"nothing is due": false, "all are due and have run": true} {
		b.Run(name, func(b *testing.B) {
			var took time.Duration
			for range b.N {
				took += judgeThousand(b, due)
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/check")
		})
	}
}

// judgeThousand checks a thousand jobs once and returns the duration.
func judgeThousand(t testing.TB, due bool) time.Duration {
	d := dbtest.New(t)
	h := &fixture{r: newRuntime()}
	h.Service = h.replica(d)
	ctx := t.Context()
	var runs []gateway.JobRun
	for n := range 1000 {
		j := hourly(func(j *gateway.Job) { j.ID = fmt.Sprint("j", n) })
		h.r.jobs[j.ID] = j
		runs = append(runs, gateway.JobRun{JobID: j.ID, Status: "ok", RanAt: clock.At(at("09:00:01")), EndedAt: clock.At(at("09:00:30"))})
	}
	r := reader{s: h.Service}
	if err := r.read(ctx); err != nil {
		t.Fatal(err)
	}
	h.r.now = at("08:59:00")
	if due {
		h.r.now, h.r.runs = at("09:01:00"), runs
		seen, err := r.fetch(ctx, h.r.now)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store(ctx, seen); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := h.Judge(ctx); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	slots, err := h.Slots(ctx, SlotFilter{From: at("00:00:00"), To: h.r.now.Add(time.Millisecond)}, nil, 2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slots {
		if s.State != OnTime {
			t.Fatalf("a slot is %s", s.State)
		}
	}
	if want := map[bool]int{true: 1000}[due]; len(slots) != want {
		t.Fatalf("%d slots, want %d", len(slots), want)
	}
	return took
}
