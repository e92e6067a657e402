package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// A demo that remembers another past at its second start would count everything
// twice, and one whose jobs all went well would show nothing of what a ledger is for.
func TestPast(t *testing.T) {
	past := Past{
		Until: time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC), Days: 3,
		Work: []Work{{AgentID: "cto", Key: "TASK-10", Title: "Search is slow"}},
	}
	read := func() (ids []string, sums map[string]int64, jobs []gateway.Job, runs []gateway.JobRun) {
		r := open(t, Options{Now: func() time.Time { return past.Until }})
		if err := r.Remember(past); err != nil {
			t.Fatal(err)
		}
		c := connected(t, r)
		rows, err := c.ListSessions(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rows.Rows {
			ids = append(ids, s.Key+" "+s.ID)
			if s.UpdatedAt.After(past.Until) {
				t.Errorf("%s was used at %s, which has not come", s.Key, s.UpdatedAt)
			}
		}
		sums = map[string]int64{}
		for _, s := range r.sessions {
			for _, m := range s.messages {
				if m.spent != nil {
					sums[s.key] += m.spent.cost()
				}
			}
		}
		if jobs, err = c.Jobs(t.Context(), gateway.JobsWanted{}); err == nil {
			runs, _, err = c.JobRuns(t.Context(), gateway.JobRunsWanted{Limit: 200})
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(ids)
		return ids, sums, jobs, runs
	}
	ids, sums, jobs, runs := read()
	again, sumsAgain, _, _ := read()
	if diff := cmp.Diff(ids, again) + cmp.Diff(sums, sumsAgain); diff != "" {
		t.Errorf("the second look finds something else:\n%s", diff)
	}
	failed, late := 0, 0
	for i, run := range runs {
		if run.Status == "error" {
			failed++
		}
		if run.RanAt.Second() > 20 {
			late++
		}
		if i > 0 && run.EndedAt.After(runs[i-1].EndedAt.Time) {
			t.Errorf("run %d ended at %s, after the one before it in the history", i, run.EndedAt)
		}
	}
	if len(jobs) != len(habits()) || len(runs) < 40 || failed != 1 || late != 1 {
		t.Errorf("%d jobs with %d runs, %d of them failed and %d late", len(jobs), len(runs), failed, late)
	}
	for _, j := range jobs {
		if !j.Enabled || j.State.NextRunAt == nil || j.State.NextRunAt.Before(past.Until) {
			t.Errorf("%s runs next at %v", j.Name, j.State.NextRunAt)
		}
	}
}

// What nobody sees move is not believed to be live.
func TestLive(t *testing.T) {
	r := open(t, Options{})
	c := connected(t, r)
	events, stop := c.Events(1000)
	defer stop()
	if err := c.SubscribeSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Live(time.Millisecond)
	begun, calls := map[string]bool{}, 0
	for late := time.After(patience); len(begun) < 3 || calls < 3; {
		select {
		case e := <-events:
			if e.Name == "session.message" {
				if h, ok := c.Heard(e); ok {
					begun[h.SessionKey] = true
					calls++
				}
			}
		case <-late:
			t.Fatalf("%d sessions, %d messages", len(begun), calls)
		}
	}
}
