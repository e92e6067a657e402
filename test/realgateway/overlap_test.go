//go:build journey

package realgateway

import (
	"net/http"
	"strconv"
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
	ended := time.Now()
	at := strings.ToLower(got.Dispatch.SessionKey)
	of := &trial{journey: j, op: j.administrator(t)}
	after := map[string]time.Duration{} // since the end, until each had the gateway's cost
	WaitFor(t, time.Minute, "the same cost everywhere", func() bool {
		_, by, fresh := of.gatewayTotals(t)
		theirs := by[at]
		if !fresh || theirs.Cost == 0 {
			return false
		}
		same := func(where string, cost *string) {
			if cost == nil || !near((sums{CostUSD: cost}).cost(), theirs.Cost) {
				delete(after, where)
			} else if after[where] == 0 {
				after[where] = time.Since(ended).Round(time.Millisecond)
			}
		}
		same("the gateway", new(strconv.FormatFloat(theirs.Cost, 'f', 9, 64)))
		same("the task", j.handed(t, key).CostUSD)
		var run session
		if res := j.owner.Get(t, sessionPath(at)); res.Status == http.StatusOK {
			res.Into(t, http.StatusOK, &run)
		}
		same("the session", run.CostUSD)
		for _, g := range of.report(t, "group=session").Groups {
			if g.Key != nil && *g.Key == at && g.Tokens == theirs.Burnt && g.Corrections == 0 {
				same("Spend", g.CostUSD)
			}
		}
		return len(after) == 4
	})
	t.Logf("%s costs $%s everywhere: %v", key, *j.handed(t, key).CostUSD, after)
}
