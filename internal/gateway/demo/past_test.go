package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// until is the end of the past in these tests, a Friday.
var until = time.Date(2026, 11, 20, 14, 37, 0, 0, time.UTC)

// samplePast returns a past with a gap of one hour, in which another runtime ran.
func samplePast() Past {
	return Past{
		Spans: []Span{{until.AddDate(0, 0, -3), until.Add(-26 * time.Hour)}, {until.Add(-25 * time.Hour), until}},
		Work: []Work{{
			AgentID: "cto", Key: "TASK-10", From: until.AddDate(0, 0, -3),
			Exchanges: []Script{{Ask: "Find it.", Answer: "Found."}, {Ask: "Mend it.", Answer: "Mended."}, {Ask: "Test it.", Answer: "Tested."}, {Ask: "Ship it.", Answer: "Shipped."}},
			Latest:    Script{Ask: "Is it out?", Answer: "Yes."},
		}},
		Jobs: sampleJobs(),
	}
}

func sampleJobs() []Job {
	run := func(string) Script {
		return Script{Steps: []Step{{Tool: "exec", Args: object{"command": "bin/check"}, Result: "ok", Reads: 2000}}, Answer: "It works."}
	}
	return []Job{
		{AgentID: "cto", Name: "Check the errors", Expr: "10 */2 * * *", Ask: "Errors?", Run: run, Late: []int{4}},
		{AgentID: "coo", Name: "Check the backup", Expr: "15 2 * * *", Ask: "Backup?", Run: run, Missed: []int{2}, Failed: []int{1}, Error: "No machine."},
		{AgentID: "cpo", Name: "Read the mail", Expr: "30 */3 * * *", Ask: "Mail?", Run: run},
	}
}

// seededRuntime returns a runtime with a past, with its clock at the end of it.
func seededRuntime(t *testing.T, p Past) *Runtime {
	t.Helper()
	r := open(t, Options{Now: func() time.Time { return p.Spans[len(p.Spans)-1].Until }})
	if err := r.SeedPast(p); err != nil {
		t.Fatal(err)
	}
	return r
}

// runCosts returns the cost of every run by session and id, and all messages.
func runCosts(r *Runtime) (cost map[string]int64, said []message) {
	cost = map[string]int64{}
	for _, s := range r.sessions {
		for _, m := range s.messages {
			said = append(said, m)
			if m.spent != nil {
				cost[s.key+" "+s.id+" "+m.runID] += m.spent.cost()
			}
		}
	}
	return cost, said
}

// A demo that seeded another past at its second start would count everything twice, and
// jobs without failures would not show what the job history is for.
func TestPast(t *testing.T) {
	t.Parallel()
	past := samplePast()
	r := seededRuntime(t, past)
	c := connected(t, r)
	jobs, err := c.Jobs(t.Context(), gateway.JobsWanted{})
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := c.JobRuns(t.Context(), gateway.JobRunsWanted{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	cost, said := runCosts(r)
	again, _ := runCosts(seededRuntime(t, past))
	if diff := cmp.Diff(cost, again); diff != "" {
		t.Errorf("the second start has other runs:\n%s", diff)
	}
	last := int64(0)
	for _, m := range said {
		last = max(last, m.at)
		if at := time.UnixMilli(m.at).UTC(); at.After(until) || at.Before(past.Spans[0].From) || at.After(past.Spans[0].Until) && at.Before(past.Spans[1].From) {
			t.Errorf("%q has time %s, outside the spans", m.text, at)
		}
	}
	if since := until.Sub(time.UnixMilli(last)); since > 10*time.Minute {
		t.Errorf("the last message is %s before the end", since)
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
	if len(jobs) != len(sampleJobs()) || len(runs) < 40 || failed != 1 || late != 1 {
		t.Errorf("%d jobs with %d runs, %d of them failed and %d late", len(jobs), len(runs), failed, late)
	}
	for _, j := range jobs {
		if !j.Enabled || j.State.NextRunAt == nil || j.State.NextRunAt.Before(until) {
			t.Errorf("%s runs next at %v", j.Name, j.State.NextRunAt)
		}
	}
}

// What the team does after a later start, and what it forgets, must not change recorded
// usage.
func TestPastGoesOn(t *testing.T) {
	t.Parallel()
	past := samplePast()
	before, _ := runCosts(seededRuntime(t, past))
	past.Spans = append(past.Spans, Span{until.Add(20 * time.Minute), until.Add(30 * time.Hour)})
	past.Since = until.AddDate(0, 0, -1).Truncate(24 * time.Hour)
	r := seededRuntime(t, past)
	after, said := runCosts(r)
	kept, came, forgotten := 0, 0, 0
	for key, cost := range before {
		switch is, ok := after[key]; {
		case !ok:
			forgotten++
		case is != cost:
			t.Errorf("%s cost %d and now costs %d", key, cost, is)
		default:
			kept++
		}
	}
	for _, m := range said {
		if m.at > until.UnixMilli() {
			came++
		}
	}
	if kept < 10 || came < 50 || forgotten < 10 {
		t.Errorf("%d runs are kept, %d are forgotten, and %d messages are new", kept, forgotten, came)
	}
	for _, s := range r.sessions {
		first, last := s.messages[0].at, s.messages[len(s.messages)-1].at
		if first < until.UnixMilli() && last > until.UnixMilli() {
			t.Errorf("session %s spans a start", s.key)
		}
	}
}

// A demo that is restarted shows recent work, not only work from before it was last
// watched.
func TestPastAfterWatching(t *testing.T) {
	t.Parallel()
	past, watched := samplePast(), 3*time.Hour
	before, _ := runCosts(seededRuntime(t, past))
	again := until.Add(watched)
	for range 2 { // the second start follows at once and adds nothing
		past.Spans = append(past.Spans, Span{again.Add(-time.Minute), again})
		after, _ := runCosts(seededRuntime(t, past))
		if n := len(after) - len(before); n != 5 {
			t.Errorf("%d runs were added for the start at %s", n, again)
		}
		again = again.Add(time.Minute)
	}
	r, recent := seededRuntime(t, past), 0
	for _, s := range r.sessions {
		if age := again.UnixMilli() - s.updatedAt; age < time.Hour.Milliseconds() {
			recent++
		}
	}
	if recent != 5 {
		t.Errorf("%d sessions are from the last hour", recent)
	}
}

// liveCost returns the cost of background work at a given pace and duration in
// nano-dollars, with one session per place as in StartBackgroundWork.
func liveCost(r *Runtime, rest, lasts time.Duration) (cost int64) {
	live := workOrder{seed: "a seed"}
	busy, at := map[string]time.Time{}, until
	for n := 0; at.Before(until.Add(lasts)); n++ {
		at = at.Add(live.pause(n, rest))
		e, ok := live.next(func(agent string) bool { return !busy[agent].After(at) })
		if !ok {
			continue
		}
		key := "agent:" + e.agent + ":live:" + e.place
		if e.place == subAgentPlace {
			key += e.ask
		}
		a, _ := r.agent(e.agent)
		s, _ := r.scenarioSession(key, a, at.UnixMilli())
		had := len(s.messages)
		for _, m := range r.seedRun(key, "", at, e).messages[had:] {
			if m.spent != nil {
				cost += m.spent.cost()
			}
		}
		busy[e.agent] = time.UnixMilli(s.endedAt)
	}
	return cost
}

// Spend must look continuous: three hours of background work cost about as much as a day of the
// past, with a similar mix of tokens.
func TestPastCostsWhatNowCosts(t *testing.T) {
	t.Parallel()
	const rest = 4 * time.Minute // as in `wardroom demo`
	r := seededRuntime(t, Past{
		Spans: []Span{{until.AddDate(0, 0, -14), until}}, Jobs: sampleJobs(),
	})
	days, was := map[string]int64{}, spent{}
	_, said := runCosts(r)
	for _, m := range said {
		if m.spent != nil {
			days[time.UnixMilli(m.at).UTC().Format(time.DateOnly)] += m.spent.cost()
			was.input, was.cacheRead = was.input+m.spent.input, was.cacheRead+m.spent.cacheRead
			was.output, was.cacheWrite = was.output+m.spent.output, was.cacheWrite+m.spent.cacheWrite
		}
	}
	working := liveCost(r, rest, 3*time.Hour)
	tenMinutes := liveCost(seededRuntime(t, samplePast()), rest, 10*time.Minute)
	for day, cost := range days {
		at, _ := time.Parse(time.DateOnly, day)
		weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
		whole := at.After(until.AddDate(0, 0, -14)) && at.Before(until.Truncate(24*time.Hour))
		if whole && !weekend && (cost < working/2 || cost > 2*working) || whole && cost < 2*tenMinutes {
			t.Errorf("%s has cost $%.2f; three hours of background work cost $%.2f, and ten minutes $%.2f", day, float64(cost)/1e9, float64(working)/1e9, float64(tenMinutes)/1e9)
		}
	}
	if was.input*20 < was.cacheWrite || was.input > was.cacheWrite || was.cacheRead < was.cacheWrite || was.output*5 < was.input {
		t.Errorf("the tokens of the past are %+v", was)
	}
}

// No scenario may repeat within a quarter of an hour.
func TestScriptDoesNotRepeat(t *testing.T) {
	t.Parallel()
	const rest = 4 * time.Minute
	live, again := workOrder{seed: "a"}, workOrder{seed: "a"}
	last, at, orders := map[string]time.Duration{}, time.Duration(0), map[string]bool{}
	var order string
	for n := range 10 * len(allScenarios()) {
		at += live.pause(n, rest)
		e, ok := live.next(func(string) bool { return true })
		same, _ := again.next(func(string) bool { return true })
		if !ok || e.ask != same.ask {
			t.Fatalf("%q and %q come with the same seed", e.ask, same.ask)
		}
		if seen, ok := last[e.ask]; ok && at-seen < 15*time.Minute {
			t.Errorf("%q comes again after %s", e.ask, at-seen)
		}
		last[e.ask] = at
		if order += e.ask; (n+1)%len(allScenarios()) == 0 {
			orders[order], order = true, ""
		}
	}
	if len(orders) < 10 || len(last) != len(allScenarios()) {
		t.Errorf("of ten rounds %d are alike, with %d scenarios", 10-len(orders), len(last))
	}
	other := workOrder{seed: "b"}
	if e, _ := other.next(func(string) bool { return true }); len(allScenarios()) < 15 {
		t.Errorf("%q is one of only %d", e.ask, len(allScenarios()))
	}
}

// Background work must be visible as events and sessions.
func TestBackgroundWork(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := connected(t, r)
	events, stop := c.Events(1000)
	defer stop()
	if err := c.SubscribeSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.StartBackgroundWork(time.Millisecond, "a seed")
	begun, calls := map[string]bool{}, 0
	for late := time.After(patience); len(begun) < 3 || calls < 3; {
		select {
		case e := <-events:
			if is := c.Content(e); is.Message != nil {
				begun[is.Active] = true
				calls++
			}
		case <-late:
			t.Fatalf("%d sessions, %d messages", len(begun), calls)
		}
	}
}
