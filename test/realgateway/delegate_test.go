//go:build journey

package realgateway

import (
	"fmt"
	"math/big"
	"testing"
	"time"
)

// delegates makes the agent of a task start another agent and ask a third one. Their cost
// is part of the task's cost.
func (j *journey) delegates(t *testing.T) {
	j.model.Forget()
	key := j.hand(t, "Ask around")
	var got handedTask
	WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.State == "ended"
	})
	alone := got.CostUSD
	admin := j.administrator(t)
	ask := func(run, message string) {
		admin.call(t, "agent", map[string]any{"message": message, "agentId": "coo", "sessionKey": got.Dispatch.SessionKey, "idempotencyKey": run, "deliver": false})
		admin.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 120_000})
	}
	ask("delegate-spawn", `[[use tool_call {"id":"sessions_spawn","args":{"task":"Count to three.","label":"helper"}}]]`)
	// The gateway can add a message to the turn in which the sub-agent's result is announced. The model then answers
	// the announcement.
	for n := 1; len(j.model.Calls("cto")) == 0; n++ {
		if n > 5 {
			t.Fatalf("the COO was told %d times to ask the CTO, and did not", n-1)
		}
		ask(fmt.Sprintf("delegate-send-%d", n),
			`[[use tool_call {"id":"sessions_send","args":{"sessionKey":"agent:cto:main","message":"What do you think?","timeoutSeconds":20}}]]`)
	}
	due := func() *big.Rat {
		sum := new(big.Rat)
		for _, agent := range []string{"coo", "cto"} {
			_, cost := bill(agent, j.model.Calls(agent))
			sum.Add(sum, cost)
		}
		return sum
	}
	spent := func() *big.Rat {
		got = j.handed(t, key)
		cost, ok := new(big.Rat).SetString(*got.CostUSD)
		if !ok {
			t.Fatalf("the cost is %s", *got.CostUSD)
		}
		return cost
	}
	equal := func() bool { return spent().Cmp(due()) == 0 }
	WaitFor(t, 3*time.Minute, "the task to cost what all of them did", equal)
	time.Sleep(10 * time.Second) // the sub-agent announces its result in the meantime
	WaitFor(t, 3*time.Minute, "the task to cost what all of them did in the end", equal)
	t.Logf("its own runs cost %s, including other agents %s", *alone, *got.CostUSD)
}
