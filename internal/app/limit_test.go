package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/page"
	"wardroom/internal/usage"
)

// spend adds an ended run of the CTO to the ledger. Without a cost it has no price.
func spend(t *testing.T, a *app.App, runID string, at time.Time, cost *money.Nano) {
	t.Helper()
	spendBy(t, a, "cto", runID, at, cost)
}

func spendBy(t *testing.T, a *app.App, agentID, runID string, at time.Time, cost *money.Nano) {
	t.Helper()
	err := a.DB.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := a.Usage.Note(t.Context(), tx, usage.Run{
			RunID: runID, AgentID: agentID, SessionKey: "agent:" + agentID + ":main", StartedAt: at, EndedAt: at,
			Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1000}, Cost: cost}},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func cents(n int64) *money.Nano {
	cost := money.Nano(n * 10_000_000)
	return &cost
}

// limitEvents counts the entries of the audit log about limits and holds by kind.
func limitEvents(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT kind FROM events WHERE class = 'audit' AND (kind LIKE 'limit.%' OR kind = 'agent.held')`)
	kinds, err := db.All(rows, err, func(r db.Row) (kind string, err error) { return kind, r.Scan(&kind) })
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for _, k := range kinds {
		by[k]++
	}
	return by
}

// A limit warns at 80 percent and acts once at 100; people can allow more, which ends the alert.
func TestLimit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start().connected()
		owner := s.login(ownerEmail)
		body := map[string]any{"scope": "agent", "scope_id": "cto", "measure": "usd", "amount": "1", "window": "day", "action": "tell"}
		at := "/api/v1/limits/" + decode[limit.Limit](owner.post("/api/v1/limits", body).want(http.StatusCreated)).ID
		now := time.Now().UTC()
		type raised struct{ Severity string }
		item := func(state string) string {
			all := decode[[]raised](owner.get("/api/v1/inbox?kind=limit_reached&state=" + state).want(http.StatusOK))
			if len(all) != 1 {
				return fmt.Sprint(all)
			}
			return all[0].Severity
		}
		spend(t, s.App, "limit-1", now, cents(79))
		if got := limitEvents(t, s.DB); got["limit.warned"] != 0 {
			t.Errorf("it warns at 79 percent: %v", got)
		}
		spend(t, s.App, "limit-2", now, cents(1))
		if got := item("open"); got != "medium" {
			t.Errorf("at 80 percent the item is %s", got)
		}
		for i := range 3 {
			spend(t, s.App, fmt.Sprint("limit-over-", i), now, cents(10))
		}
		if got := item("open"); got != "urgent" {
			t.Errorf("over the limit the item is %s", got)
		}
		if got := limitEvents(t, s.DB); got["limit.warned"] != 1 || got["limit.reached"] != 1 {
			t.Errorf("it acted more than once: %v", got)
		}
		l := decode[limit.Limit](owner.post(at+"/allow", map[string]any{"amount": "2"}).want(http.StatusOK))
		if l.Used == nil || *l.Used != "1.1" || l.Allowed != "3" || !l.Measurable || l.ResetsAt == nil || !l.ResetsAt.After(now) {
			t.Errorf("after $2 more: %+v", l)
		}
		if got := item("resolved"); got != "urgent" {
			t.Errorf("after $2 more the item is %s", got)
		}
		spend(t, s.App, "limit-far", now, cents(200))
		if got := limitEvents(t, s.DB); got["limit.reached"] != 2 {
			t.Errorf("it does not act at the raised amount: %v", got)
		}
		spend(t, s.App, "limit-unpriced", now, nil)
		if l = decode[limit.Limit](owner.get(at).want(http.StatusOK)); l.Measurable || l.Unpriced != 1 || *l.Used != "3.1" {
			t.Errorf("usage without a price counts as $0: %+v", l)
		}
		acts := owner.audit("kind=limit.reached")
		if last := string(acts[len(acts)-1].Data); !strings.Contains(last, `"overshoot":"0.1"`) || !strings.Contains(last, `"run_id":"limit-far"`) {
			t.Errorf("the audit log tells: %s", last)
		}
		body["action"] = "hold"
		holds := "/api/v1/limits/" + decode[limit.Limit](owner.post("/api/v1/limits", body).want(http.StatusCreated)).ID
		spend(t, s.App, "limit-hold", time.Now().UTC(), cents(1))
		heldByLimit := func(when string) {
			held, err := s.Holds.Find(t.Context(), s.DB, "cto")
			if err != nil || held == nil || held.State != hold.Held || held.By != actor.System.Name || !strings.HasPrefix(held.Reason, "Limit reached: ") {
				t.Errorf("%s the hold is %+v, %v", when, held, err)
			}
		}
		heldByLimit("at the limit")
		owner.post(holds+"/allow", map[string]any{"amount": "5"}).want(http.StatusOK)
		owner.send(http.MethodPatch, holds, map[string]any{"amount": "50"}).want(http.StatusOK)
		owner.send(http.MethodDelete, holds, nil).want(http.StatusNoContent)
		heldByLimit("without the limit")
		owner.send(http.MethodPatch, at, map[string]any{"amount": "9"}).want(http.StatusOK)
		if got := item("resolved"); got != "urgent" {
			t.Errorf("after a higher amount the item is %s", got)
		}
		body["scope"], body["scope_id"] = "team", "nobody"
		owner.post("/api/v1/limits", body).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
		owner.send(http.MethodDelete, at, nil).want(http.StatusNoContent)
		owner.get(at).wantProblem(http.StatusNotFound, "limit_not_found")
	})
}

// growRun stores the usage so far of a run in progress, and compares it with the limits.
func growRun(ctx context.Context, a *app.App, run string, cost int64) error {
	return a.DB.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO usage_going (run_id, provider, model, read_at, at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price, calls, took)
			VALUES (?, 'p', 'm', ?, 0, 'cto', ?, ?, 'human', '', '', '', 1, 0, 0, 0, 0, ?, 'runtime', 0, 0)
			ON CONFLICT (run_id, provider, model) DO UPDATE SET cost_nano = excluded.cost_nano`, run, clock.At(time.Now()), "agent:cto:"+run, run, cost)
		if err != nil {
			return err
		}
		r := usage.Run{RunID: run, AgentID: "cto", SessionKey: "agent:cto:" + run, EndedAt: time.Now()}
		return a.Limits.Evaluate(ctx, tx, r, true)
	})
}

// A run that crosses a limit is stopped, although it has not ended; so is one that starts later, and one whose limit only
// told about it before.
func TestLimitStopsRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		a := h.build()
		var stopped atomic.Int64
		a.Limits.Runtime = stopper(func(string) { stopped.Add(1) })
		s := h.run(a)
		ctx := actor.With(t.Context(), actor.System)
		l, err := a.Limits.Create(ctx, limit.New{Scope: limit.All, Measure: limit.Dollars, Amount: "1", Window: limit.PerRun, Action: limit.Stop})
		if err != nil {
			t.Fatal(err)
		}
		grow := func(run string, cost int64) {
			if err := growRun(ctx, a, run, cost); err != nil {
				t.Fatal(err)
			}
		}
		grow("a", 400_000_000)
		for unread, urgent := range map[int64]bool{99_999_999: false, 100_000_000: true} {
			if a.Limits.Urgent(usage.Unread{NanoDollars: unread, Tokens: 1_000_000}) != urgent {
				t.Errorf("runs are read at once with %d unread: %t, want %t", unread, !urgent, urgent)
			}
		}
		grow("a", 999_999_999)
		if !a.Limits.Urgent(usage.Unread{}) {
			t.Error("runs are not read more often close to a limit")
		}
		for i, run := range []string{"a", "b"} {
			grow(run, 1_000_000_000)
			waitFor(t, "the stop", func() bool { return limitEvents(t, s.DB)["limit.stopped"] == i+1 })
		}
		if n := stopped.Load(); n != 2 {
			t.Errorf("stopped %d sessions, want 2: the first one was below the limit at first", n)
		}
		for i, action := range []limit.Action{limit.Tell, limit.Stop} {
			if _, err := a.Limits.Change(ctx, l.ID, limit.Change{Action: &action}, nil); err != nil {
				t.Fatal(err)
			}
			grow("c", 1_000_000_000+int64(i))
		}
		waitFor(t, "the stop of a run that was over the limit", func() bool { return limitEvents(t, s.DB)["limit.stopped"] == 3 })
	})
}

// A run that goes on for too long or calls a model too often is stopped, whatever it costs.
func TestLimitOnRunLength(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		a := newHouse(t, engine, nil).build()
		t.Cleanup(func() { _ = a.Close() })
		ctx := actor.With(t.Context(), actor.System)
		minutes := limit.New{Scope: limit.Agent, ScopeID: "cto", Measure: limit.Minutes, Amount: "5", Window: limit.PerRun, Action: limit.Stop}
		calls := limit.New{Scope: limit.All, Measure: limit.Calls, Amount: "40", Window: limit.PerRun, Action: limit.Stop}
		for name, n := range map[string]limit.New{"5 minutes per run for agent cto": minutes, "40 model calls per run for everything": calls} {
			if l, err := a.Limits.Create(ctx, n); err != nil || l.Name != name {
				t.Fatalf("%+v, %v", l, err)
			}
		}
		reads := func(run string, took time.Duration, made int) {
			t.Helper()
			err := a.DB.Tx(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE usage_going SET took = ?, calls = ? WHERE run_id = ?`, took.Milliseconds(), made, run)
				return err
			})
			if err == nil {
				err = growRun(ctx, a, run, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		stops := func() (n int) {
			t.Helper()
			if err := a.DB.QueryRow(ctx, `SELECT COUNT(*) FROM jobs WHERE kind = ?`, limit.KindStop).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, run := range []string{"long", "busy"} {
			reads(run, 0, 0) // stores it
		}
		reads("long", 5*time.Minute-time.Millisecond, 31)
		reads("busy", 0, 39)
		if got := limitEvents(t, a.DB); got["limit.warned"] != 2 || got["limit.reached"] != 0 || stops() != 0 {
			t.Errorf("below the limits: %v, %d stops", got, stops())
		}
		reads("long", 5*time.Minute, 31)
		reads("busy", 0, 40)
		if got := limitEvents(t, a.DB); got["limit.reached"] != 2 || stops() != 2 {
			t.Errorf("at the limits: %v, %d stops", got, stops())
		}

		now := time.Now()
		err := a.DB.Tx(ctx, func(tx *db.Tx) error {
			for run, took := range map[string]time.Duration{"short": 299 * time.Second, "long": 5 * time.Minute, "longer": time.Hour} {
				_, err := a.Usage.Note(ctx, tx, usage.Run{
					RunID: run, AgentID: "cto", StartedAt: now.Add(-took), EndedAt: now, Parts: []usage.Part{{Model: "m", Tokens: usage.Tokens{Input: 1}}},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		calls.Amount = "31" // Note counts the calls that were read while the run was in progress
		for want, n := range map[int]limit.New{2: minutes, 1: calls} {
			if past, err := a.Limits.Preview(ctx, n); err != nil || past.Reached != want {
				t.Errorf("%s: reached %d times, want %d, %v", n.Measure, past.Reached, want, err)
			}
		}
	})
}

// Spend that is far above what is usual reaches people without a limit, once an hour, as soon as two
// weeks are known.
func TestUnusualSpend(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		a := newHouse(t, engine, func(r *config.Raw) { r.Timezone = "America/New_York" }).build()
		t.Cleanup(func() { _ = a.Close() })
		now := time.Date(2026, 3, 10, 15, 10, 0, 0, time.UTC) // two days after the clocks changed
		a.Usage.Now, a.Limits.Now = func() time.Time { return now }, func() time.Time { return now }
		items := func() (titles []string) {
			part, err := a.Inbox.List(t.Context(), inbox.Filter{Kinds: []inbox.Kind{inbox.SpendUnusual}}, page.Want{Query: page.Query{Limit: 10}})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range part.Rows {
				titles = append(titles, fmt.Sprint(i.Title, " ", i.Count, " ", i.Detail))
			}
			return titles
		}
		follow := func(since time.Time) {
			err := a.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE usage_state SET since = ? WHERE name = 'ledger'`, clock.At(since))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		// The same hour of the clock was an hour later in UTC before the change.
		spend(t, a, "a week before", time.Date(2026, 3, 3, 16, 50, 0, 0, time.UTC), cents(50))
		spend(t, a, "two weeks before", time.Date(2026, 2, 24, 16, 5, 0, 0, time.UTC), cents(30))
		follow(now.AddDate(0, 0, -13))
		spend(t, a, "usual", now, cents(160)) // 4 times the median of 40 cents
		spend(t, a, "too early to tell", now, cents(1))
		follow(now.AddDate(0, 0, -15))
		if got := items(); got != nil {
			t.Errorf("before two weeks are known: %q", got)
		}
		spend(t, a, "unusual", now, cents(9))
		spend(t, a, "still unusual", now, cents(30))
		spend(t, a, "of an earlier hour", now.Add(-time.Hour), cents(500))
		if got := items(); len(got) != 1 || got[0] != "Unusual spend: $1.70 in an hour 1 Since 2026-03-10 15:00 UTC, agents have spent $1.70. The median of this hour on the last 2 Tuesdays is $0.40." {
			t.Errorf("above 4 times the median: %q", got)
		}
		now = now.Add(time.Hour)
		spend(t, a, "a dollar is never unusual", now, cents(100))
		if got := items(); len(got) != 1 {
			t.Errorf("at $1: %q", got)
		}
		spend(t, a, "the next hour", now, cents(1))
		if got := items(); len(got) != 2 {
			t.Errorf("in the next hour: %q", got)
		}
	})
}
