//go:build journey

package realgateway

import (
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// overlaps sends tasks to three agents at once. At the end of each run, the task, its session, Spend, and the gateway
// must agree on the cost of all of the run's model calls. The gateway's answer to a dispatch can have less, and the
// totals would mend that only after minutes.
func (j *journey) overlaps(t *testing.T) {
	j.model.Cache(true)
	t.Cleanup(func() { j.model.Cache(false) })
	begin := time.Now()
	handed := map[string]string{}
	for _, agent := range []string{"coo", "cto", "cmo"} { // with different prices
		handed[agent] = j.handTo(t, agent, "Count the cups")
	}
	t.Logf("three tasks were sent within %s", time.Since(begin).Round(time.Millisecond))
	for agent, key := range handed {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			j.agreeOnCost(t, key)
		})
	}
}

// agreeOnCost waits for the end of a task's run, and then until all have the same cost.
func (j *journey) agreeOnCost(t *testing.T, key string) {
	var got handedTask
	WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.State == "ended" || got.Dispatch.State == "failed"
	})
	if got.Dispatch.State != "ended" {
		t.Fatalf("%s: %+v %+v", key, got.Dispatch, got.Dispatch.Error)
	}
	of := &trial{journey: j, op: j.administrator(t)}
	at := strings.ToLower(got.Dispatch.SessionKey)
	ended := time.Now()
	costs := map[string]*big.Rat{}      // by place
	since := map[string]time.Duration{} // by place: how long after the end it got this cost
	saw := func(place string, cost *big.Rat) {
		if was := costs[place]; was == nil || was.Cmp(cost) != 0 {
			costs[place], since[place] = cost, time.Since(ended).Round(time.Millisecond)
		}
	}
	// The gateway counts a run anew only from time to time. Until then it has no cost, or only a part.
	WaitFor(t, time.Minute, "the same cost everywhere", func() bool {
		saw("task", sums{CostUSD: j.handed(t, key).CostUSD}.cost())
		var run session
		if res := j.owner.Get(t, sessionPath(at)); res.Status == http.StatusOK {
			res.Into(t, http.StatusOK, &run)
			saw("session", sums{CostUSD: run.CostUSD}.cost())
		}
		_, by, fresh := of.gatewayTotals(t)
		theirs := by[at]
		if fresh {
			saw("gateway", new(big.Rat).SetFloat64(theirs.Cost))
		}
		counted := false
		for _, g := range of.report(t, "group=session").Groups {
			if g.Key != nil && *g.Key == at {
				saw("Spend", g.cost())
				counted = g.Tokens == theirs.Burnt && g.Corrections == 0
			}
		}
		for _, cost := range costs {
			if !near(cost, theirs.Cost) {
				return false
			}
		}
		return counted && theirs.Cost > 0 && len(costs) == 4
	})
	t.Logf("%s costs $%s everywhere, since the end of its run: %v", key, costs["task"].FloatString(7), since)
}
