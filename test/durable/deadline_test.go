package durable

import (
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A standup whose deadline passes while the service is down ends with that reason, and
// its open run is stopped.
func TestDeadlineWhileDead(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			const deadline = 15 * time.Second
			x := newTrial(t, plant(t, engine), map[string]string{"STANDUP_DEADLINE": deadline.String(), "STANDUP_AGENT_TIMEOUT": "12s"})
			x.runtime.Silence("cpo", true)
			x.start()
			x.connected()
			x.open()
			struck := wire{method: "agent.wait", run: "-cpo-1"}.prepare(x)
			x.mustRun()
			struck()
			until(t, "the meeting's time to be over", 60*time.Second, func() bool { return time.Since(x.killed) > deadline })
			back := time.Now()
			x.start()
			r := x.end()
			x.inTimeSince(r, back)
			x.whole(r, outcome{
				status: "error", code: "deadline", reports: "answered asked pending", lines: "note note note question answer question error",
				asked: map[string]int{"cmo": 0, "coo": 0}, tasks: -1,
			})
			until(t, "the open run to be stopped", 60*time.Second, func() bool { return x.runtime.Busy() == 0 })
			x.connected()
		})
	}
}

// A standup that crashes the service each time it is continued must be given up with that
// reason. A retry continues with its results.
func TestGivenUpAfterFiveDeaths(t *testing.T) {
	t.Parallel()
	x := newTrial(t, plant(t, db.SQLite), nil)
	x.start()
	x.connected()
	x.open()
	struck := wire{method: "agent", run: "-cpo-1", lost: true}.prepare(x)
	x.mustRun()
	struck()
	for range 4 {
		struck := wire{method: "agent", run: "-cpo-1", lost: true}.prepare(x)
		x.start()
		struck()
	}
	x.start()
	r := x.end()
	if r.Failure == nil || r.Failure.Code != "internal" || r.Reports[0].Status != "answered" || x.runtime.Asked("cpo") != 0 {
		t.Errorf("the standup is %s, %+v, with the reports %+v", r.Status, r.Failure, r.Reports)
	}
	x.nothingTwice(1, 1)
	x.settled()
	x.connected()
	x.mustRun()
	until(t, "the end of the retry", 60*time.Second, func() bool { return x.count(`SELECT COUNT(*) FROM standups WHERE status = 'completed'`) == 1 })
	if r = x.get(); r.Attempt != 2 || x.runtime.Asked("cto") != 1 || x.runtime.Asked("cpo") != 1 {
		t.Errorf("attempt %d, in which the cto was asked %d times and the cpo %d times", r.Attempt, x.runtime.Asked("cto"), x.runtime.Asked("cpo"))
	}
}
