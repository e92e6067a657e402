package standup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
	"wardroom/internal/standup"
)

// asked waits until an agent's run has started.
func (o *office) asked(t *testing.T, agent string) {
	t.Helper()
	wait(t, agent+" to be asked", func() bool { return o.runtime.Asked(agent) > 0 })
}

// longThought is the answer time of an agent whose run is interrupted. It is long, so that
// a slow machine interrupts it in time.
const longThought = 20 * time.Second

// shortTime is the agent timeout if one agent is silent. It is long enough for the others
// on a slow machine.
const shortTime = 4 * time.Second

// longAway is the length of an outage that must be detected, even on a slow machine.
const longAway = 8 * time.Second

// A broken connection during a run neither repeats the question nor causes a [Timeout].
func TestConnectionDrops(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Delay("cto", 500*time.Millisecond)
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cto")
		o.runtime.Drop()
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	})
}

// If the runtime restarts and the run is lost, the question is sent again under the next
// run id.
func TestRuntimeRestarts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Delay("cto", longThought)
		var runs []string
		o.runtime.Answer("cto", func(q demo.Question) string {
			runs = append(runs, q.RunID)
			return "Yesterday: a\nToday: b\nBlockers: none"
		})
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cto")
		o.runtime.Delay("cto", 0)
		o.runtime.Restart(1200 * time.Millisecond)
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 2, "cpo": 1, "cmo": 1, "coo": 1})
		if len(runs) == 0 || !strings.HasSuffix(runs[len(runs)-1], "-cto-2") {
			t.Errorf("runs %v, want the last under the next number", runs)
		}
	})
}

// If the runtime stays away longer than Grace, the standup fails but keeps its reports,
// and a retry asks only the remaining participants.
func TestRuntimeGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.Grace = 400 * time.Millisecond
		o.runtime.Delay("cpo", longThought)
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cpo")
		o.runtime.Delay("cpo", 0)
		o.runtime.Restart(longAway)
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Error, standup.GatewayUnreachable)
		if m.Reports[0].Status != standup.Answered || m.Reports[1].Status == standup.TimedOut {
			t.Errorf("reports %s, %s; want the first kept and no timeout", m.Reports[0].Status, m.Reports[1].Status)
		}
		wait(t, "the runtime", func() bool { return o.client.Status().State == "connected" })
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cmo": 1, "coo": 1})
	})
}

// A retry finds an answer in the history that arrived while Wardroom was down, whatever
// its length.
func TestAnswerFoundLater(t *testing.T) {
	t.Parallel()
	t.Run("short", func(t *testing.T) { answeredMeanwhile(t, "a") })
	t.Run("5,000 characters", func(t *testing.T) { answeredMeanwhile(t, strings.Repeat("word ", 1_000)+"a") })
	t.Run("over 128 KiB", func(t *testing.T) { answeredMeanwhile(t, strings.Repeat("word ", 28_000)+"a") })
}

func answeredMeanwhile(t *testing.T, yesterday string) {
	t.Helper()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Delay("cto", 400*time.Millisecond)
	var answered atomic.Bool
	o.runtime.Answer("cto", func(demo.Question) string {
		answered.Store(true)
		return "Yesterday: " + yesterday + "\nToday: b\nBlockers: none"
	})
	stop := work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	o.asked(t, "cto")
	stop() // Wardroom stops during cto's run
	wait(t, "cto to answer", answered.Load)
	next := o.service(o.DB)
	work(t, next)
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	if got := m.Reports[0].Yesterday; got == nil || *got != yesterday {
		t.Errorf("the report has another text than the %d bytes of the answer", len(yesterday))
	}
}

// A review that is not in the requested form is asked for once more, then used as the
// summary.
func TestReviewInProse(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Answer("coo", func(demo.Question) string { return "All is well, I think." })
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	o.wantAsked(t, map[string]int{"coo": 2})
	if m.Summary == nil || *m.Summary != "All is well, I think." {
		t.Errorf("summary %v, want the facilitator's words", m.Summary)
	}
}

const review = "Here it is:\n```json\n" + `{"summary":"Fine.","resolutions":[{"blocker":1,"resolution":"cto sends them"}],
"escalations":[{"title":"Pay the invoice","detail":"It is due.","task":null}],"action_items":[{"title":"Send the figures","assignee":"cto"}]}` + "\n```"

// The review takes effect once, even if the standup is run again.
func TestReviewTakesEffect(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Answer("cto", func(demo.Question) string { return "Yesterday: x\nToday: y\nBlockers: TASK-3 waits for figures" })
		o.runtime.Answer("coo", func(demo.Question) string { return review })
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Completed, "")
		if len(m.Blockers) == 0 || m.Blockers[0].Resolution == nil || *m.Blockers[0].Resolution != "cto sends them" {
			t.Errorf("blockers %+v, want the first resolved", m.Blockers)
		}
		if len(m.Escalations) != 1 || m.Escalations[0].Title != "Pay the invoice" {
			t.Errorf("escalations %+v", m.Escalations)
		}
		if len(m.ActionItems) != 1 || m.ActionItems[0].Task == nil || *m.ActionItems[0].Task != "TASK-101" {
			t.Errorf("action items %+v, want one with its task", m.ActionItems)
		}
		if _, err := o.Run(signedIn(t), m.ID, true); err != nil {
			t.Fatal(err)
		}
		again := o.end(t, m.ID)
		wantEnd(t, again, standup.Completed, "")
		if again.Attempt != 2 || len(o.made(t)) != 1 {
			t.Errorf("attempt %d made %v, want the second to make no task again", again.Attempt, o.made(t))
		}
		o.wantAsked(t, map[string]int{"cto": 2, "coo": 2})
		if len(again.Transcript) <= len(m.Transcript) {
			t.Error("the transcript of the first meeting is gone")
		}
	})
}

// A report that calls an unfinished task done gets a claim.
func TestClaims(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Answer("cto", func(demo.Question) string {
		return "## Yesterday\n- Finished TASK-999.\n## Today\n- rest\n## Blockers\nNone"
	})
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	if c := m.Reports[0].Claims; len(c) != 1 || c[0] != (standup.Claim{Task: "TASK-999", Says: "done", Board: "unknown"}) {
		t.Errorf("claims %+v, want TASK-999 marked", c)
	}
}

// An excessive report is stored in full, but only its first blockers and claims are used,
// and it does not crowd out other reports.
func TestRunawayReport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	o := newOffice(t, dbtest.New(t))
	o.Deadline = 10 * time.Minute
	o.runtime.Answer("cto", func(demo.Question) string {
		var yesterday, blockers strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&yesterday, "- Finished TASK-%d.\n", 1000+i)
			fmt.Fprintf(&blockers, "- reason %d\n", i)
		}
		return "## Yesterday\n" + yesterday.String() + "## Today\n- rest\n## Blockers\n" + blockers.String()
	})
	o.runtime.Answer("cmo", func(demo.Question) string { return "Yesterday: a\nToday: b\nBlockers: the printer" })
	asked := make(chan string, 1)
	o.runtime.Answer("coo", func(q demo.Question) string {
		asked <- q.Message
		return review
	})
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	taken := map[string]int{}
	for _, b := range m.Blockers {
		taken[b.AgentID]++
	}
	if taken["cto"] != 50 || taken["cmo"] != 1 || len(m.Reports[0].Claims) != 50 {
		t.Errorf("blockers %v and %d claims are taken up, want 50 of cto and 1 of cmo, and 50", taken, len(m.Reports[0].Claims))
	}
	if text := *m.Reports[0].Text; !strings.Contains(text, "reason 4999") || !strings.Contains(*m.Reports[0].Blockers, "reason 4999") {
		t.Error("the report itself is cut")
	}
	if message := <-asked; !strings.Contains(message, "> Yesterday: a") || !strings.Contains(message, "the printer") {
		t.Errorf("the facilitator does not get the report of cmo:\n%.3000s", message)
	}
}

// A cancel ends the standup at once, and a job stops the current run.
func TestCancel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Silence("cpo", true)
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cpo")
		m, err := o.Cancel(signedIn(t), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, m, standup.Error, standup.Cancelled)
		wait(t, "its run to be stopped", func() bool { return o.runtime.Busy() == 0 })
		if m.Reports[0].Status != standup.Answered {
			t.Error("what was said before the cancel is gone")
		}
		if _, err := o.Cancel(signedIn(t), m.ID); !errors.Is(err, standup.ErrIdle) {
			t.Errorf("second cancel: %v, want ErrIdle", err)
		}
		o.runtime.Silence("cpo", false)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 2})
	})
}

// A retry works right after the failure, before the queue has marked the previous job as
// done.
func TestRetryAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Silence("", true)
		o.AgentTimeout = shortTime
		kind, release := o.Kind(), make(chan struct{})
		var held atomic.Int32
		o.Jobs.Kinds[standup.JobKind] = job.Kind{Attempts: kind.Attempts, GaveUp: kind.GaveUp, Do: func(ctx context.Context, h *job.Held) error {
			err := kind.Do(ctx, h)
			if held.Add(1) == 1 {
				<-release
			}
			return err
		}}
		work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Error, standup.AgentsTimedOut)
		o.runtime.Silence("", false)
		_, err := o.Run(signedIn(t), m.ID, false)
		close(release)
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, o.end(t, m.ID), standup.Completed, "")
	})
}

// A cancel during the close fails and changes nothing.
func TestCancelWhileClosing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Answer("coo", func(demo.Question) string { return review })
		id := o.open(t).ID
		told := make(chan error, 1)
		var once sync.Once
		o.Tasks.Now = func() time.Time { // of the task that the close creates
			once.Do(func() {
				// Only one transaction writes at a time, so the cancel waits for this one.
				go func() { _, err := o.Cancel(signedIn(t), id); told <- err }()
			})
			return o.now()
		}
		work(t, o.Service)
		o.hold(t, id)
		if err := <-told; !errors.Is(err, standup.ErrIdle) {
			t.Errorf("cancel: %v, want ErrIdle", err)
		}
		m, err := o.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, m, standup.Completed, "")
		if len(m.ActionItems) != 1 {
			t.Errorf("action items %+v, want the one of the review", m.ActionItems)
		}
	})
}

// If the standup fails after an answer arrived but before its report is stored, a retry
// uses the answer.
func TestAnswerNotKeptYet(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Silence("cpo", true)
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cpo")
		if _, err := o.Cancel(signedIn(t), m.ID); err != nil {
			t.Fatal(err)
		}
		o.runtime.Silence("cpo", false)
		exec(t, d, `UPDATE standup_reports SET status = 'asked', text = NULL, answered_at = NULL WHERE agent_id = 'cto'`)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1})
	})
}

func exec(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// If a retry adds a report after the review was requested, the review is requested again.
func TestReviewOfRetry(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Grace = 300 * time.Millisecond
	o.runtime.Fail("cpo", "no credit")
	o.runtime.Answer("cpo", func(demo.Question) string { return "Yesterday: a\nToday: walnuts\nBlockers: none" })
	var mu sync.Mutex
	var last string
	o.runtime.Delay("coo", longThought)
	o.runtime.Answer("coo", func(q demo.Question) string {
		mu.Lock()
		defer mu.Unlock()
		last = q.Message
		return review
	})
	work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	o.asked(t, "coo")
	o.runtime.Delay("coo", 0)
	o.runtime.Restart(longAway)
	wantEnd(t, o.end(t, m.ID), standup.Error, standup.GatewayUnreachable)
	o.runtime.Fail("cpo", "")
	wait(t, "the runtime", func() bool { return o.client.Status().State == "connected" })
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(last, "walnuts") {
		t.Error("the review has not seen the report that came in with the retry")
	}
}

// A standup that was not run by the end of its day fails; one for a later day waits.
func TestCloseUnrun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		today := o.open(t)
		later, _, err := o.Open(signedIn(t), standup.New{Date: clockDay(o, 3)})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.CloseUnrun(signedIn(t)); err != nil {
			t.Fatal(err)
		}
		if m, err := o.Get(t.Context(), today.ID); err != nil || m.Status != standup.Running {
			t.Fatalf("closed on its own day: %s %v", m.Status, err)
		}
		o.mu.Lock()
		o.ahead = 24 * time.Hour
		o.mu.Unlock()
		if err := o.CloseUnrun(signedIn(t)); err != nil {
			t.Fatal(err)
		}
		m, err := o.Get(t.Context(), today.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantEnd(t, m, standup.Error, standup.NotRun)
		if m, err := o.Get(t.Context(), later.ID); err != nil || m.Status != standup.Running {
			t.Errorf("the one for another day is %s, %v", m.Status, err)
		}
	})
}

func clockDay(o *office, ahead int) string { return o.now().AddDate(0, 0, ahead).Format(time.DateOnly) }

// again replaces the queue of the background jobs, as a restart does.
func (o *office) again() {
	o.Jobs = job.New(o.DB, o.log, clock.Now)
	maps.Copy(o.Jobs.Kinds, o.Stops.Kinds())
	o.Jobs.Kinds[standup.JobKind] = o.Kind()
}
