package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/limit"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/usage"
)

// Runs that cross a limit only together, in transactions of two replicas at once, cross it once: neither
// both replicas nor none of them act.
func TestLimitCrossedTogether(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		replicas := []*app.App{h.build()}
		if engine == db.Postgres {
			replicas = append(replicas, h.build())
		}
		for _, a := range replicas {
			t.Cleanup(func() { _ = a.Close() })
		}
		ctx, now := actor.With(t.Context(), actor.System), time.Now().UTC()
		for round := range 3 {
			for m, amount := range map[limit.Measure]int{limit.Dollars: 1, limit.Tokens: 20_000, limit.Minutes: 60, limit.Calls: 40} {
				n := limit.New{Scope: limit.All, Measure: m, Amount: fmt.Sprint(amount * (round + 1)), Window: limit.PerMonth, Action: limit.Tell}
				if m == limit.Dollars {
					n.Action = limit.Hold
				}
				if _, err := replicas[0].Limits.Create(ctx, n); err != nil {
					t.Fatal(err)
				}
			}
			var all sync.WaitGroup
			failed := make([]error, 20) // of $0.05, 1000 tokens, 3 minutes, and 2 calls each
			for i := range failed {
				all.Go(func() {
					a, id := replicas[i%len(replicas)], fmt.Sprintf("together-%d-%d", round, i)
					for again := true; again; _, again = db.Unavailable(failed[i]) { // the database may be busy
						failed[i] = a.DB.Tx(ctx, func(tx *db.Tx) error {
							_, err := a.Usage.Note(ctx, tx, usage.Run{
								RunID: id, AgentID: "cto", SessionKey: "agent:cto:" + id, StartedAt: now, EndedAt: time.Now(),
								Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1000}, Cost: cents(5), Calls: 2, Took: 3 * time.Minute}},
							})
							return err
						})
					}
				})
			}
			all.Wait()
			if err := errors.Join(failed...); err != nil {
				t.Fatal(err)
			}
			got := limitEvents(t, replicas[0].DB)
			if got["limit.reached"] != 4*(round+1) || got["limit.warned"] != 4*(round+1) || got["agent.held"] != 1 {
				t.Errorf("in round %d: %v", round, got)
			}
			var items int
			err := replicas[0].DB.QueryRow(ctx, `SELECT COUNT(*) FROM inbox_items WHERE kind = 'limit_reached'`).Scan(&items)
			if err != nil || items != 4*(round+1) {
				t.Errorf("in round %d: %d items, %v", round, items, err)
			}
		}
	})
}

// stopper is a runtime in which every stop succeeds. It is called with the keys of the sessions.
type stopper func(sessionKey string)

func (s stopper) StopSession(_ context.Context, sessionKey, _ string) (ids []string, stopped bool, err error) {
	s(sessionKey)
	return nil, true, nil
}

// Of twenty runs that work at once, none makes more than the call that it was in when they crossed a limit
// together, and each is stopped.
func TestLimitOfTwentyRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		a := h.build()
		var stopped sync.Map
		a.Limits.Runtime = stopper(func(key string) { stopped.Store(key, true) })
		s := h.run(a)
		ctx := actor.With(t.Context(), actor.System)
		if _, err := a.Limits.Create(ctx, limit.New{Scope: limit.All, Measure: limit.Dollars, Amount: "5", Window: limit.PerDay, Action: limit.Stop}); err != nil {
			t.Fatal(err)
		}
		const runs, call = 20, 70_000_000
		spent := int64(0)
		for calls := int64(1); limitEvents(t, s.DB)["limit.reached"] == 0; calls++ { // one of each run at once
			var all sync.WaitGroup
			failed := make([]error, runs)
			for i := range failed {
				all.Go(func() { failed[i] = growRun(ctx, a, fmt.Sprint("run-", i), calls*call) })
			}
			all.Wait()
			if err := errors.Join(failed...); err != nil {
				t.Fatal(err)
			}
			spent = calls * runs * call
		}
		if spent > 5_000_000_000+runs*call {
			t.Errorf("they spent %d nano-dollars", spent)
		}
		for i := range runs {
			key := fmt.Sprint("agent:cto:run-", i)
			waitFor(t, "the stop of "+key, func() bool { _, ok := stopped.Load(key); return ok })
		}
		if got := limitEvents(t, s.DB); got["limit.reached"] != 1 || got["limit.warned"] != 1 {
			t.Errorf("the limit acted more than once: %v", got)
		}
	})
}
