//go:build journey

package realgateway

import (
	"math/big"
	"net/http"
	"testing"
	"time"
)

// goes makes an agent continue for a while after its first step. The cost of that step
// must be visible before the run ends and counted once after it.
func (j *journey) goes(t *testing.T) {
	const agent, key, run = "cpo", "agent:cpo:long", "long-1"
	j.model.Forget()
	admin := j.administrator(t)
	admin.call(t, "agent", map[string]any{
		"message": `[[use exec {"command":"echo '[[wait 150s]]'"}]]`, "agentId": agent, "sessionKey": key, "idempotencyKey": run, "deliver": false, "timeout": 240,
	})
	type amount struct {
		CostUSD *string `json:"cost_usd"`
	}
	var seen struct {
		amount
		Runs []struct {
			amount
			RunID      string `json:"run_id"`
			AgentID    string `json:"agent_id"`
			SessionKey string `json:"session_key"`
		}
	}
	// After a slow read of the transcript, the next one is due after 20 times as long.
	WaitFor(t, 140*time.Second, "the run to be seen", func() bool {
		j.owner.Get(t, "/api/v1/usage/going").Into(t, http.StatusOK, &seen)
		return len(seen.Runs) == 1 && seen.Runs[0].RunID == run
	})
	_, due := bill(agent, j.model.Calls(agent)[:1])
	if r := seen.Runs[0]; len(seen.Runs) != 1 || r.RunID != run || r.AgentID != agent || r.SessionKey != key || r.CostUSD == nil || *r.CostUSD != *seen.CostUSD {
		t.Fatalf("the open run is %+v", seen)
	}
	if got, ok := new(big.Rat).SetString(*seen.CostUSD); !ok || got.Cmp(due) != 0 {
		t.Errorf("so far it cost %s, the first answer of the model %s", *seen.CostUSD, due.FloatString(9))
	}
	admin.call(t, "chat.abort", map[string]any{"sessionKey": key, "runId": run})
	WaitFor(t, time.Minute, "nothing to be going", func() bool {
		j.owner.Get(t, "/api/v1/usage/going").Into(t, http.StatusOK, &seen)
		return len(seen.Runs) == 0
	})
	j.wantSpent(t, "stopped", agent, key, new(big.Rat))
}
