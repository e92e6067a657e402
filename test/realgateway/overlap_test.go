//go:build journey

package realgateway

import (
	"strings"
	"testing"
	"time"
)

// overlaps sends three tasks at once. When they have ended, each task, its session and Spend must have the cost of all
// model calls, as the gateway counts it. The gateway's answer to a dispatch can have less, and the totals would mend
// that only after minutes.
func (j *journey) overlaps(t *testing.T) {
	j.model.Cache(true)
	defer j.model.Cache(false)
	begin := time.Now()
	keys := []string{j.hand(t, "Count the cups"), j.hand(t, "Count the plates"), j.hand(t, "Count the bowls")}
	t.Logf("three tasks were sent within %s", time.Since(begin).Round(time.Millisecond))
	of := &trial{journey: j, op: j.administrator(t)}
	for _, key := range keys {
		var got handedTask
		WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
			got = j.handed(t, key)
			return got.Dispatch.State == "ended" || got.Dispatch.State == "failed"
		})
		if got.Dispatch.State != "ended" {
			t.Fatalf("%s: %+v %+v", key, got.Dispatch, got.Dispatch.Error)
		}
		session := strings.ToLower(got.Dispatch.SessionKey)
		ended := time.Now()
		WaitFor(t, time.Minute, "the same cost everywhere", func() bool {
			_, by, fresh := of.gatewayTotals(t)
			theirs, ours := by[session], j.handed(t, key)
			if !fresh || ours.CostUSD == nil || theirs.Cost == 0 || !near((sums{CostUSD: ours.CostUSD}).cost(), theirs.Cost) {
				return false
			}
			for _, g := range of.report(t, "group=session").Groups {
				if g.Key != nil && *g.Key == session {
					return g.Tokens == theirs.Burnt && near(g.cost(), theirs.Cost) && g.Corrections == 0
				}
			}
			return false
		})
		t.Logf("%s costs $%s everywhere %s after its end", key, *j.handed(t, key).CostUSD, time.Since(ended).Round(time.Millisecond))
	}
}
