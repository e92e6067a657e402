package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// until is the end of the past in these tests, a Friday.
var until = time.Date(2026, 11, 20, 14, 37, 0, 0, time.UTC)

// lived is a past that was interrupted for an hour by a runtime of which nothing is known.
func lived() Past {
	return Past{
		Spans: []Span{{until.AddDate(0, 0, -3), until.Add(-26 * time.Hour)}, {until.Add(-25 * time.Hour), until}},
		Work:  []Work{{AgentID: "cto", Key: "TASK-10", Title: "Search is slow"}},
	}
}

// remembering is a runtime with a past, whose clock stands at its end.
func remembering(t *testing.T, p Past) *Runtime {
	t.Helper()
	r := open(t, Options{Now: func() time.Time { return p.Spans[len(p.Spans)-1].Until }})
	if err := r.Remember(p); err != nil {
		t.Fatal(err)
	}
	return r
}

// told is what a runtime says in all: its sessions by id with what they cost, and
// the messages in them.
func told(r *Runtime) (cost map[string]int64, said []message) {
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

// A demo that remembers another past at its second start would count everything
// twice, and one whose jobs all went well would show nothing of what a ledger is for.
func TestPast(t *testing.T) {
	t.Parallel()
	past := lived()
	r := remembering(t, past)
	c := connected(t, r)
	jobs, err := c.Jobs(t.Context(), gateway.JobsWanted{})
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := c.JobRuns(t.Context(), gateway.JobRunsWanted{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	cost, said := told(r)
	again, _ := told(remembering(t, past))
	if diff := cmp.Diff(cost, again); diff != "" {
		t.Errorf("the second look finds something else:\n%s", diff)
	}
	last := int64(0)
	for _, m := range said {
		last = max(last, m.at)
		if at := time.UnixMilli(m.at).UTC(); at.After(until) || at.Before(past.Spans[0].From) || at.After(past.Spans[0].Until) && at.Before(past.Spans[1].From) {
			t.Errorf("%q was said at %s, in no span", m.text, at)
		}
	}
	if since := until.Sub(time.UnixMilli(last)); since > 10*time.Minute {
		t.Errorf("the last word was said %s before the end", since)
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
		if !j.Enabled || j.State.NextRunAt == nil || j.State.NextRunAt.Before(until) {
			t.Errorf("%s runs next at %v", j.Name, j.State.NextRunAt)
		}
	}
}

// What the team does after a later start, and what it forgets, must change nothing
// of what the ledgers have of it already.
func TestPastGoesOn(t *testing.T) {
	t.Parallel()
	past := lived()
	before, _ := told(remembering(t, past))
	past.Spans = append(past.Spans, Span{until.Add(20 * time.Minute), until.Add(30 * time.Hour)})
	past.Since = until.AddDate(0, 0, -1).Truncate(24 * time.Hour)
	r := remembering(t, past)
	after, said := told(r)
	kept, came, forgotten := 0, 0, 0
	for key, cost := range before {
		switch is, ok := after[key]; {
		case !ok:
			forgotten++
		case is != cost:
			t.Errorf("%s has cost %d and now %d", key, cost, is)
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
			t.Errorf("%s goes on over a start, where a ledger has read it already", s.key)
		}
	}
}

// Who starts the demo again a moment after it has ended finds what was said a
// moment ago, and not only what was said before the hours in which they watched.
func TestPastAfterWatching(t *testing.T) {
	t.Parallel()
	past, watched := lived(), 3*time.Hour
	before, _ := told(remembering(t, past))
	again := until.Add(watched)
	for range 2 { // the second time at once: then there is nothing to add
		past.Spans = append(past.Spans, Span{again.Add(-time.Minute), again})
		after, _ := told(remembering(t, past))
		if n := len(after) - len(before); n != 5 {
			t.Errorf("%d runs were made up for after the start of %s", n, again)
		}
		again = again.Add(time.Minute)
	}
	r, recent := remembering(t, past), 0
	for _, s := range r.sessions {
		if age := again.UnixMilli() - s.updatedAt; age < time.Hour.Milliseconds() {
			recent++
		}
	}
	if recent != 5 {
		t.Errorf("%d sessions are of the last hour", recent)
	}
}

// liveCost is what the demo costs at a pace of its own for so long, in nano-dollars,
// with a session for each place as Live has them.
func liveCost(r *Runtime, rest, lasts time.Duration) (cost int64) {
	live := script{seed: "a seed"}
	busy, at := map[string]time.Time{}, until
	for n := 0; at.Before(until.Add(lasts)); n++ {
		at = at.Add(live.rest(n, rest))
		e, ok := live.next(func(agent string) bool { return !busy[agent].After(at) })
		if !ok {
			continue
		}
		key := "agent:" + e.agent + ":live:" + e.place
		if e.place == sub {
			key += e.ask
		}
		a, _ := r.agent(e.agent)
		s, _ := r.workplace(key, a, at.UnixMilli())
		had := len(s.messages)
		for _, m := range r.rememberRun(key, "", at, e).messages[had:] {
			if m.spent != nil {
				cost += m.spent.cost()
			}
		}
		busy[e.agent] = time.UnixMilli(s.endedAt)
	}
	return cost
}

// Who looks at the spend sees one team: a day at the pace of now costs about what
// the days before have cost, with tokens of the same kinds in the same measure.
func TestPastCostsWhatNowCosts(t *testing.T) {
	t.Parallel()
	const rest = 90 * time.Second // as `wardroom demo` has it
	r := remembering(t, Past{
		Spans: []Span{{until.AddDate(0, 0, -14), until}},
		Work:  []Work{{"cto", "TASK-10", "a"}, {"cpo", "TASK-8", "b"}, {"cmo", "TASK-9", "c"}, {"coo", "TASK-7", "d"}},
	})
	days, was := map[string]int64{}, spent{}
	_, said := told(r)
	for _, m := range said {
		if m.spent != nil {
			days[time.UnixMilli(m.at).UTC().Format(time.DateOnly)] += m.spent.cost()
			was.input, was.cacheRead = was.input+m.spent.input, was.cacheRead+m.spent.cacheRead
			was.output, was.cacheWrite = was.output+m.spent.output, was.cacheWrite+m.spent.cacheWrite
		}
	}
	working := liveCost(r, rest, 8*time.Hour)
	tenMinutes := liveCost(remembering(t, lived()), rest, 10*time.Minute)
	for day, cost := range days {
		at, _ := time.Parse(time.DateOnly, day)
		weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
		whole := at.After(until.AddDate(0, 0, -14)) && at.Before(until.Truncate(24*time.Hour))
		if whole && !weekend && (cost < working/2 || cost > 2*working) || whole && cost < 2*tenMinutes {
			t.Errorf("%s has cost $%.2f; eight hours of now cost $%.2f, and ten minutes $%.2f", day, float64(cost)/1e9, float64(working)/1e9, float64(tenMinutes)/1e9)
		}
	}
	if was.input*20 < was.cacheWrite || was.input > was.cacheWrite || was.cacheRead < was.cacheWrite || was.output*5 < was.input {
		t.Errorf("the tokens of the past are %+v", was)
	}
}

// Who watches for a quarter of an hour must not see the same thing twice.
func TestScriptDoesNotRepeat(t *testing.T) {
	t.Parallel()
	const rest = 90 * time.Second
	live, again := script{seed: "a"}, script{seed: "a"}
	last, at, orders := map[string]time.Duration{}, time.Duration(0), map[string]bool{}
	var order string
	for n := range 10 * len(episodes()) {
		at += live.rest(n, rest)
		e, ok := live.next(func(string) bool { return true })
		same, _ := again.next(func(string) bool { return true })
		if !ok || e.ask != same.ask {
			t.Fatalf("%q and %q come with the same seed", e.ask, same.ask)
		}
		if seen, ok := last[e.ask]; ok && at-seen < 15*time.Minute {
			t.Errorf("%q comes again after %s", e.ask, at-seen)
		}
		last[e.ask] = at
		if order += e.ask; (n+1)%len(episodes()) == 0 {
			orders[order], order = true, ""
		}
	}
	if len(orders) < 10 || len(last) != len(episodes()) {
		t.Errorf("of ten rounds %d are alike, with %d episodes", 10-len(orders), len(last))
	}
	other := script{seed: "b"}
	if e, _ := other.next(func(string) bool { return true }); len(episodes()) < 20 {
		t.Errorf("%q is one of only %d", e.ask, len(episodes()))
	}
}

// What nobody sees move is not believed to be live.
func TestLive(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := connected(t, r)
	events, stop := c.Events(1000)
	defer stop()
	if err := c.SubscribeSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Live(time.Millisecond, "a seed")
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
