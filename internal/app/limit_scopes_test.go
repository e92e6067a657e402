package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

// Preview counts what evaluation would have done, for any ledger, scope, measure, window and zone.
func TestPreviewEqualsEvaluation(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		a := newHouse(t, engine, nil).build()
		t.Cleanup(func() { _ = a.Close() })
		random := rand.New(rand.NewPCG(23, 4))
		now := time.Date(2026, 3, 10, 11, 0, 0, 0, time.UTC) // the clocks change in both zones
		a.Usage.Now, a.Limits.Now = func() time.Time { return now }, func() time.Time { return now }
		ctx := actor.With(t.Context(), actor.System)
		limits := map[string]limit.New{}
		for _, w := range limit.Windows() {
			for i, of := range [][2]string{{"agent", "cto"}, {"team", "executive"}, {"all", ""}, {"model", "p/m"}, {"job", "j1"}, {"task", "TASK-1"}} {
				zone := []string{"America/New_York", "Asia/Kathmandu"}[len(limits)%2]
				m := limit.Measures()[(len(limits)/6+i)%4]
				amount := map[limit.Measure]int{limit.Dollars: 1, limit.Tokens: 2000, limit.Minutes: 100, limit.Calls: 40}[m] * (1 + random.IntN(9))
				n := limit.New{Scope: limit.ScopeKind(of[0]), ScopeID: of[1], Measure: m, Amount: fmt.Sprint(amount), Window: w, Timezone: zone, Action: limit.Tell}
				l, err := a.Limits.Create(ctx, n)
				if err != nil {
					t.Fatal(err)
				}
				limits[l.ID] = n
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
			note(t, a, r)
		}
		now = end
		reached := map[limit.Measure]int{}
		for id, n := range limits {
			var live int
			if err := a.DB.QueryRow(ctx, `SELECT COUNT(*) FROM spend_limit_crossings WHERE limit_id = ? AND level = 100`, id).Scan(&live); err != nil {
				t.Fatal(err)
			}
			past, err := a.Limits.Preview(ctx, n)
			if err != nil || past.Reached != live || past.Days != 30 {
				t.Errorf("%+v: preview %+v, evaluation %d, %v", n, past, live, err)
			}
			reached[n.Measure] += live
		}
		for _, m := range limit.Measures() {
			if reached[m] < 20 {
				t.Errorf("only %d crossings of limits in %s: the ledger proves nothing", reached[m], m)
			}
		}
	})
}

func note(t *testing.T, a *app.App, r usage.Run) {
	t.Helper()
	err := a.DB.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := a.Usage.Note(t.Context(), tx, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A limit on the minutes or the model calls of a day counts ended runs and those in progress together, and stops the
// latter.
func TestLimitOnLengthOfRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		a := newHouse(t, engine, nil).build()
		t.Cleanup(func() { _ = a.Close() })
		ctx := actor.With(t.Context(), actor.System)
		limits := map[string]limit.Measure{}
		for m, amount := range map[limit.Measure]string{limit.Minutes: "10", limit.Calls: "40"} {
			l, err := a.Limits.Create(ctx, limit.New{Scope: limit.Agent, ScopeID: "cto", Measure: m, Amount: amount, Window: limit.PerMonth, Action: limit.Stop})
			if err != nil {
				t.Fatal(err)
			}
			limits[l.ID] = m
		}
		used := func(minutes, calls string, stops int) {
			t.Helper()
			for id, m := range limits {
				want := map[limit.Measure]string{limit.Minutes: minutes, limit.Calls: calls}[m]
				if l, err := a.Limits.Get(ctx, id); err != nil || *l.Used != want || !l.Measurable || l.ResetsAt == nil {
					t.Errorf("%s %s used, want %s; %v", *l.Used, m, want, err)
				}
			}
			if n := queuedStops(t, a); n != stops {
				t.Errorf("%d stops, want %d", n, stops)
			}
		}
		part := usage.Part{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1}, Calls: 15, Took: 4*time.Minute + 59*time.Second}
		note(t, a, usage.Run{RunID: "ended", AgentID: "cto", SessionKey: "agent:cto:main", EndedAt: time.Now(), Parts: []usage.Part{part}})
		used("4", "15", 0)
		grow := func(run string, took time.Duration, calls int) {
			t.Helper()
			if err := growRun(ctx, a, run, 1); err != nil {
				t.Fatal(err)
			}
			err := a.DB.Tx(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE usage_going SET took = ?, calls = ? WHERE run_id = ?`, took.Milliseconds(), calls, run)
				return err
			})
			if err == nil {
				err = growRun(ctx, a, run, 1)
			}
			if err != nil {
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

func queuedStops(t *testing.T, a *app.App) (n int) {
	t.Helper()
	if err := a.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs WHERE kind = ?`, limit.KindStop).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A limit on one run counts only that run, and ends with it. People still see that it stopped the run.
func TestLimitOnOneRun(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		a := newHouse(t, engine, nil).build()
		t.Cleanup(func() { _ = a.Close() })
		ctx := actor.With(t.Context(), actor.System)
		grow := func(run string, cost int64) {
			t.Helper()
			if err := growRun(ctx, a, run, cost); err != nil {
				t.Fatal(err)
			}
		}
		create := func(run string, action limit.Action) limit.Limit {
			t.Helper()
			l, err := a.Limits.Create(ctx, limit.New{Scope: limit.OneRun, ScopeID: run, Measure: limit.Dollars, Amount: "1", Window: limit.PerRun, Action: action})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		end := func(run string, cost *money.Nano) {
			t.Helper()
			note(t, a, usage.Run{RunID: run, AgentID: "cto", SessionKey: "agent:cto:" + run, EndedAt: time.Now(), Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1}, Cost: cost}}})
		}
		items := func() (all []string) {
			t.Helper()
			rows, err := a.DB.Query(ctx, `SELECT title || ', ' || state || ', ' || COALESCE(effect, 'nothing') FROM inbox_items ORDER BY title`)
			all, err = db.All(rows, err, func(r db.Row) (line string, err error) { return line, r.Scan(&line) })
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		for _, run := range []string{"stop", "tell", "warn", "lost", "other"} {
			grow(run, 400_000_000)
		}
		stop := create("stop", limit.Stop)
		if stop.Name != "$1.00 for run stop" || *stop.Used != "0.4" || stop.ResetsAt != nil {
			t.Errorf("the limit is %+v", stop)
		}
		create("tell", limit.Tell)
		create("warn", limit.Stop)
		create("lost", limit.Hold)
		for amount, want := range map[string]int{"0.4": 1, "0.41": 0} {
			past, err := a.Limits.Preview(ctx, limit.New{Scope: limit.OneRun, ScopeID: "stop", Measure: limit.Dollars, Amount: amount, Window: limit.PerRun, Action: limit.Stop})
			if err != nil || past.Reached != want {
				t.Errorf("$%s: reached %d times, want %d; %v", amount, past.Reached, want, err)
			}
		}
		grow("other", 9_000_000_000)
		grow("warn", 900_000_000)
		if n := queuedStops(t, a); n != 0 || !slices.Equal(items(), []string{"Limit almost reached: $1.00 for run warn, open, nothing"}) {
			t.Errorf("another run reached the limit: %d stops, %q", n, items())
		}
		grow("stop", 1_000_000_000)
		grow("tell", 1_000_000_000)
		if n := queuedStops(t, a); n != 1 {
			t.Errorf("%d stops, want 1", n)
		}
		if l, err := a.Limits.Allow(ctx, stop.ID, "2"); err != nil || l.Allowed != "3" {
			t.Errorf("with $2 more: %+v, %v", l, err)
		}
		grow("stop", 3_000_000_000)
		end("stop", cents(310))
		end("tell", cents(110))
		end("warn", cents(99))
		want := []string{"Limit almost reached: $1.00 for run warn, resolved, nothing", "Limit reached: $1.00 for run stop, open, stopped", "Limit reached: $1.00 for run tell, resolved, nothing"}
		if got := items(); !slices.Equal(got, want) {
			t.Errorf("after the runs the items are %q, want %q", got, want)
		}

		later := time.Now()
		a.Limits.Now = func() time.Time { return later }
		pass := func(left int) {
			t.Helper()
			if err := a.Limits.EndPeriods(ctx); err != nil {
				t.Fatal(err)
			}
			if all, err := a.Limits.List(ctx); err != nil || len(all) != left {
				t.Errorf("the limits are %+v, want %d; %v", all, left, err)
			}
			later = later.Add(time.Minute)
		}
		pass(1)
		if err := a.DB.Tx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE run_id = 'lost'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		pass(1) // whether a session has the run is unknown
		following, stopFollowing := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer stopFollowing()
		for _, run := range []func(context.Context) error{a.Gateway.Run, a.Mirror.Run, a.Sessions.Run} {
			running.Go(func() { _ = run(following) })
		}
		waitFor(t, "the sessions", func() bool { _, err := a.Sessions.Overview(ctx, later); return err == nil })
		pass(1) // the run can still reach the ledger
		pass(0)
		if got := limitEvents(t, a.DB); got["limit.ended"] != 4 || got["limit.reached"] != 3 || got["limit.warned"] != 1 {
			t.Errorf("the audit log has %v", got)
		}
	})
}

// People limit the run of a session that they watch, but no run that is not in progress.
func TestLimitOnRunOfSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	answer := make(chan struct{})
	h.runtime.Answer("cto", func(demo.Question) string { <-answer; return "Done." })
	s.ask("run-1", cto, "What is next?")
	waitFor(t, "the run", func() bool {
		return owner.get(ctoPath).status == http.StatusOK && owner.session(cto).ActiveRunID != nil
	})
	body := map[string]any{"scope": "run", "scope_id": "another", "measure": "calls", "amount": "9", "window": "run", "action": "stop"}
	owner.post("/api/v1/limits", body).wantProblem(http.StatusConflict, "limit_run_not_in_progress")
	body["scope_id"] = *owner.session(cto).ActiveRunID
	l := decode[limit.Limit](owner.post("/api/v1/limits", body).want(http.StatusCreated))
	body["window"] = "day"
	owner.post("/api/v1/limits", body).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	close(answer)
	s.answered("run-1")
	waitFor(t, "the end of the limit", func() bool { return owner.get("/api/v1/limits/"+l.ID).status == http.StatusNotFound })
	if items := owner.inboxOf(inbox.LimitReached, "open"); len(items) > 0 {
		t.Errorf("the inbox has %+v", items)
	}
	body["window"] = "run"
	owner.post("/api/v1/limits", body).wantProblem(http.StatusConflict, "limit_run_not_in_progress")
}
