package limit

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/usage"
)

// Runs that cross a limit only together, in transactions of two replicas at once, cross it once: neither
// both replicas nor none of them act.
func TestLimitCrossedTogether(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, engine)
			replicas := []*Service{newService(dbtest.Open(t, url))}
			if engine == db.Postgres {
				replicas = append(replicas, newService(dbtest.Open(t, url)))
			}
			for round := range 3 {
				crossTogether(t, replicas, round)
			}
		})
	}
}

func crossTogether(t *testing.T, replicas []*Service, round int) {
	t.Helper()
	d, now := replicas[0].DB, time.Now().UTC()
	for m, amount := range map[Measure]int{Dollars: 1, Tokens: 20_000, Minutes: 60, Calls: 40} {
		n := New{Scope: All, Measure: m, Amount: fmt.Sprint(amount * (round + 1)), Window: PerMonth, Action: Tell}
		if m == Dollars {
			n.Action = Hold
		}
		create(t, replicas[0], n)
	}
	var all sync.WaitGroup
	failed := make([]error, 20) // of $0.05, 1000 tokens, 3 minutes, and 2 calls each
	for i := range failed {
		all.Go(func() {
			s, id := replicas[i%len(replicas)], fmt.Sprintf("together-%d-%d", round, i)
			for again := true; again; _, again = db.Unavailable(failed[i]) { // the database may be busy
				failed[i] = s.DB.Tx(t.Context(), func(tx *db.Tx) error {
					_, err := s.Usage.Note(t.Context(), tx, usage.Run{
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
	if got := acts(t, d); got["limit.reached"] != 4*(round+1) || got["limit.warned"] != 4*(round+1) || got["agent.held"] != 1 {
		t.Errorf("in round %d: %v", round, got)
	}
	if got := items(t, d, "title"); len(got) != 4*(round+1) {
		t.Errorf("in round %d: the items are %q", round, got)
	}
}

// Of twenty runs that work at once, none makes more than the call that it was in when they crossed a limit
// together, and each is stopped.
func TestLimitOfTwentyRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		create(t, s, New{Scope: All, Measure: Dollars, Amount: "5", Window: PerDay, Action: Stop})
		const runs, call = 20, 70_000_000
		var stopped sync.Map
		stopsRuns(t, s, func(key string) { stopped.Store(key, true) })
		spent := int64(0)
		for calls := int64(1); acts(t, d)["limit.reached"] == 0; calls++ { // one of each run at once
			var all sync.WaitGroup
			failed := make([]error, runs)
			for i := range failed {
				all.Go(func() { failed[i] = s.grow(t.Context(), fmt.Sprint("run-", i), progress{nano: calls * call}) })
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
		if got := acts(t, d); got["limit.reached"] != 1 || got["limit.warned"] != 1 {
			t.Errorf("the limit acted more than once: %v", got)
		}
	})
}
