package limit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

// A run that crosses a limit is stopped, although it has not ended; so is one that starts later, and one whose limit only
// told about it before.
func TestLimitStopsRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		l := create(t, s, New{Scope: All, Measure: Dollars, Amount: "1", Window: PerRun, Action: Stop})
		grows(t, s, "a", 400_000_000)
		for unread, urgent := range map[int64]bool{99_999_999: false, 100_000_000: true} {
			if s.Urgent(usage.Unread{NanoDollars: unread, Tokens: 1_000_000}) != urgent {
				t.Errorf("runs are read at once with %d unread: %t, want %t", unread, !urgent, urgent)
			}
		}
		grows(t, s, "a", 999_999_999)
		if !s.Urgent(usage.Unread{}) {
			t.Error("runs are not read more often close to a limit")
		}
		var stopped atomic.Int64
		stopsRuns(t, s, func(string) { stopped.Add(1) })
		for i, run := range []string{"a", "b"} {
			grows(t, s, run, 1_000_000_000)
			waitFor(t, "the stop", func() bool { return acts(t, d)["limit.stopped"] == i+1 })
		}
		if n := stopped.Load(); n != 2 {
			t.Errorf("stopped %d sessions, want 2: the first one was below the limit at first", n)
		}
		for i, action := range []Action{Tell, Stop} {
			if _, err := s.Change(system(t), l.ID, Change{Action: &action}, nil); err != nil {
				t.Fatal(err)
			}
			grows(t, s, "c", 1_000_000_000+int64(i))
		}
		waitFor(t, "the stop of a run that was over the limit", func() bool { return acts(t, d)["limit.stopped"] == 3 })
	})
}

// A run that goes on for too long or calls a model too often is stopped, whatever it costs.
func TestLimitOnRunLength(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		minutes := New{Scope: Agent, ScopeID: "cto", Measure: Minutes, Amount: "5", Window: PerRun, Action: Stop}
		calls := New{Scope: All, Measure: Calls, Amount: "40", Window: PerRun, Action: Stop}
		for name, n := range map[string]New{"5 minutes per run for agent cto": minutes, "40 model calls per run for everything": calls} {
			if l := create(t, s, n); l.Name != name {
				t.Errorf("the name is %s, want %s", l.Name, name)
			}
		}
		reads := func(when string, long, busy progress, reached int) {
			t.Helper()
			if err := errors.Join(s.grow(t.Context(), "long", long), s.grow(t.Context(), "busy", busy)); err != nil {
				t.Fatal(err)
			}
			if got, n := acts(t, d), queuedStops(t, d); got["limit.warned"] != 2 || got["limit.reached"] != reached || n != reached {
				t.Errorf("%s the limits: %v, %d stops", when, got, n)
			}
		}
		reads("below", progress{took: 5*time.Minute - time.Millisecond, calls: 31}, progress{calls: 39}, 0)
		reads("at", progress{took: 5 * time.Minute, calls: 31}, progress{calls: 40}, 2)

		now := time.Now()
		for run, took := range map[string]time.Duration{"short": 299 * time.Second, "long": 5 * time.Minute, "longer": time.Hour} {
			note(t, s, usage.Run{
				RunID: run, AgentID: "cto", StartedAt: now.Add(-took), EndedAt: now, Parts: []usage.Part{{Model: "m", Tokens: usage.Tokens{Input: 1}}},
			})
		}
		calls.Amount = "31" // Note counts the calls that were read while the run was in progress
		for want, n := range map[int]New{2: minutes, 1: calls} {
			if past, err := s.Preview(system(t), n); err != nil || past.Reached != want {
				t.Errorf("%s: reached %d times, want %d, %v", n.Measure, past.Reached, want, err)
			}
		}
	})
}

// A limit on the minutes or the model calls of a month counts ended runs and those in progress together, and stops the
// latter.
func TestLimitOnLengthOfRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		limits := map[string]Measure{}
		for m, amount := range map[Measure]string{Minutes: "10", Calls: "40"} {
			l := create(t, s, New{Scope: Agent, ScopeID: "cto", Measure: m, Amount: amount, Window: PerMonth, Action: Stop})
			limits[l.ID] = m
		}
		used := func(minutes, calls string, stops int) {
			t.Helper()
			for id, m := range limits {
				want := map[Measure]string{Minutes: minutes, Calls: calls}[m]
				if l, err := s.Get(t.Context(), id); err != nil || *l.Used != want || !l.Measurable || l.ResetsAt == nil {
					t.Errorf("%s %s used, want %s; %v", *l.Used, m, want, err)
				}
			}
			if n := queuedStops(t, d); n != stops {
				t.Errorf("%d stops, want %d", n, stops)
			}
		}
		part := usage.Part{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1}, Calls: 15, Took: 4*time.Minute + 59*time.Second}
		note(t, s, usage.Run{RunID: "ended", AgentID: "cto", SessionKey: "agent:cto:main", EndedAt: time.Now(), Parts: []usage.Part{part}})
		used("4", "15", 0)
		grow := func(run string, took time.Duration, calls int) {
			t.Helper()
			if err := s.grow(t.Context(), run, progress{nano: 1, took: took, calls: calls}); err != nil {
				t.Fatal(err)
			}
		}
		grow("a", 2*time.Minute, 20)
		grow("b", 3*time.Minute, 4) // one second and one call are left
		used("9", "39", 0)
		grow("b", 3*time.Minute+time.Second, 4)
		used("10", "39", 2) // of both runs, for their minutes
		grow("b", 3*time.Minute+time.Second, 5)
		used("10", "40", 4)
	})
}

// A limit on one run counts only that run, and ends with it. People still see that it stopped the run.
func TestLimitOnOneRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := newService(d), system(t)
		limited := func(run string, action Action) Limit {
			t.Helper()
			return create(t, s, New{Scope: OneRun, ScopeID: run, Measure: Dollars, Amount: "1", Window: PerRun, Action: action})
		}
		end := func(run string, cost *money.Nano) {
			t.Helper()
			note(t, s, usage.Run{RunID: run, AgentID: "cto", SessionKey: "agent:cto:" + run, EndedAt: time.Now(), Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1}, Cost: cost}}})
		}
		raised := func() []string {
			t.Helper()
			return items(t, d, `title || ', ' || state || ', ' || COALESCE(effect, 'nothing')`)
		}
		for _, run := range []string{"stop", "tell", "warn", "going", "other"} {
			grows(t, s, run, 400_000_000)
		}
		stop := limited("stop", Stop)
		if stop.Name != "$1.00 for run stop" || *stop.Used != "0.4" || stop.ResetsAt != nil {
			t.Errorf("the limit is %+v", stop)
		}
		limited("tell", Tell)
		limited("warn", Stop)
		limited("going", Hold)
		for amount, want := range map[string]int{"0.4": 1, "0.41": 0} {
			past, err := s.Preview(ctx, New{Scope: OneRun, ScopeID: "stop", Measure: Dollars, Amount: amount, Window: PerRun, Action: Stop})
			if err != nil || past.Reached != want {
				t.Errorf("$%s: reached %d times, want %d; %v", amount, past.Reached, want, err)
			}
		}
		grows(t, s, "other", 9_000_000_000)
		grows(t, s, "warn", 900_000_000)
		if n := queuedStops(t, d); n != 0 || !slices.Equal(raised(), []string{"Limit almost reached: $1.00 for run warn, open, nothing"}) {
			t.Errorf("another run reached the limit: %d stops, %q", n, raised())
		}
		grows(t, s, "stop", 1_000_000_000)
		grows(t, s, "tell", 1_000_000_000)
		if n := queuedStops(t, d); n != 1 {
			t.Errorf("%d stops, want 1", n)
		}
		if l, err := s.Allow(ctx, stop.ID, "2"); err != nil || l.Allowed != "3" {
			t.Errorf("with $2 more: %+v, %v", l, err)
		}
		grows(t, s, "stop", 3_000_000_000)
		end("stop", cents(310))
		end("tell", cents(110))
		end("warn", cents(99))
		want := []string{"Limit almost reached: $1.00 for run warn, resolved, nothing", "Limit reached: $1.00 for run stop, open, stopped", "Limit reached: $1.00 for run tell, resolved, nothing"}
		if got := raised(); !slices.Equal(got, want) {
			t.Errorf("after the runs the items are %q, want %q", got, want)
		}

		if err := s.EndPeriods(ctx); err != nil {
			t.Fatal(err)
		}
		if all, err := s.List(ctx); err != nil || len(all) != 1 {
			t.Errorf("the limits are %+v, want only that on the run in progress; %v", all, err)
		}
		if got := acts(t, d); got["limit.ended"] != 3 || got["limit.reached"] != 3 || got["limit.warned"] != 1 {
			t.Errorf("the audit log has %v", got)
		}
	})
}

// Preview counts what evaluation would have done, for any ledger, scope, measure, window and zone.
func TestPreviewEqualsEvaluation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		random := rand.New(rand.NewPCG(23, 4))
		now := time.Date(2026, 3, 10, 11, 0, 0, 0, time.UTC) // the clocks change in both zones
		s.Usage.Now, s.Now = func() time.Time { return now }, func() time.Time { return now }
		limits := map[string]New{}
		for _, w := range Windows() {
			for i, of := range []struct {
				kind ScopeKind
				id   string
			}{{Agent, "cto"}, {Team, "executive"}, {All, ""}, {Model, "p/m"}, {Job, "j1"}, {Task, "TASK-1"}} {
				zone := []string{"America/New_York", "Asia/Kathmandu"}[len(limits)%2]
				m := Measures()[(len(limits)/6+i)%4]
				amount := map[Measure]int{Dollars: 1, Tokens: 2000, Minutes: 100, Calls: 40}[m] * (1 + random.IntN(9))
				n := New{Scope: of.kind, ScopeID: of.id, Measure: m, Amount: fmt.Sprint(amount), Window: w, Timezone: zone, Action: Tell}
				limits[create(t, s, n).ID] = n
			}
		}
		end := now.AddDate(0, 0, 30)
		for i := 0; ; i++ {
			now = now.Add(time.Duration(random.IntN(8*60)) * time.Minute)
			if now.After(end) {
				break
			}
			pick := func(of ...string) string { return of[random.IntN(len(of))] }
			r := usage.Run{RunID: fmt.Sprint("run-", i), AgentID: pick("cto", "cpo", "an agent in no team"), JobID: pick("j1", "j2", ""), TaskKey: pick("TASK-1", "TASK-2", ""), EndedAt: now}
			for _, model := range []string{"m", "n"}[random.IntN(2):] {
				r.Parts = append(r.Parts, usage.Part{
					Provider: "p", Model: model, Tokens: usage.Tokens{Input: 1 + random.Int64N(9000)}, Cost: cents(int64(random.IntN(400))),
					Calls: 1 + random.Int64N(200), Took: time.Duration(random.IntN(600)) * time.Minute,
				})
			}
			note(t, s, r)
		}
		now = end
		reached := map[Measure]int{}
		for id, n := range limits {
			var live int
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM spend_limit_crossings WHERE limit_id = ? AND level = 100`, id).Scan(&live); err != nil {
				t.Fatal(err)
			}
			past, err := s.Preview(system(t), n)
			if err != nil || past.Reached != live || past.Days != 30 {
				t.Errorf("%+v: preview %+v, evaluation %d, %v", n, past, live, err)
			}
			reached[n.Measure] += live
		}
		for _, m := range Measures() {
			if reached[m] < 20 {
				t.Errorf("only %d crossings of limits in %s: the ledger proves nothing", reached[m], m)
			}
		}
	})
}
