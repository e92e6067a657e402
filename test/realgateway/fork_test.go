//go:build journey

package realgateway

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"
)

// copies makes the gateway fork and rewind a conversation, which copies its usage each
// time. The agent's cost must stay what the model was called for.
func (j *journey) copies(t *testing.T) {
	const agent, first = "cmo", "agent:cmo:drafts"
	before := j.spentBy(t, agent).cost() // by other tests
	j.model.Forget()
	admin := j.administrator(t)
	said := 0
	say := func(key string) {
		t.Helper()
		said++
		run := fmt.Sprint("draft-", said)
		admin.call(t, "agent", map[string]any{"message": "Write one more line.", "agentId": agent, "sessionKey": key, "idempotencyKey": run, "deliver": false})
		admin.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 120_000})
	}
	for range 3 {
		say(first)
	}
	j.wantSpent(t, "before", agent, first, before)
	var forked struct{ SessionKey string }
	if err := json.Unmarshal(admin.call(t, "sessions.fork", map[string]any{"sessionKey": first, "entryId": admin.question(t, first, 2)}), &forked); err != nil {
		t.Fatal(err)
	}
	say(forked.SessionKey)
	j.wantSpent(t, "forked", agent, forked.SessionKey, before)
	admin.call(t, "sessions.rewind", map[string]any{"sessionKey": first, "entryId": admin.question(t, first, 1)})
	say(first)
	j.wantSpent(t, "gone back", agent, first, before)
	admin.call(t, "sessions.rewind", map[string]any{"sessionKey": forked.SessionKey, "entryId": admin.question(t, forked.SessionKey, 0)})
	say(forked.SessionKey)
	j.wantSpent(t, "gone back to the first question", agent, forked.SessionKey, before)
}

// question returns the ID of a question of a session; the first is 0.
func (o *operator) question(t *testing.T, key string, n int) string {
	t.Helper()
	var out struct {
		Messages []struct {
			Role string
			Meta struct{ ID string } `json:"__openclaw"`
		}
	}
	if err := json.Unmarshal(o.call(t, "sessions.get", map[string]any{"key": key, "limit": 1000}), &out); err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		if m.Role != "user" {
			continue
		}
		if n--; n < 0 {
			return m.Meta.ID
		}
	}
	t.Fatalf("%s has too few questions", key)
	return ""
}

// spentBy returns an agent's usage.
func (j *journey) spentBy(t *testing.T, agent string) sums {
	t.Helper()
	var r spending
	j.owner.Get(t, "/api/v1/usage?group=agent").Into(t, http.StatusOK, &r)
	for _, g := range r.Groups {
		if g.Key != nil && *g.Key == agent {
			return g
		}
	}
	return sums{}
}

// wantSpent checks that what an agent has cost since before equals the model's answers, both when the
// gateway's totals include the last answer and a while later.
func (j *journey) wantSpent(t *testing.T, when, agent, key string, before *big.Rat) {
	t.Helper()
	WaitFor(t, 3*time.Minute, "the gateway to have counted", func() bool {
		var of session
		res := j.owner.Get(t, sessionPath(key))
		return res.Status == http.StatusOK && json.Unmarshal(res.Body, &of) == nil && of.CostUSD != nil
	})
	_, due := bill(agent, j.model.Calls(agent))
	var last sums
	spent := func() *big.Rat {
		last = j.spentBy(t, agent)
		return new(big.Rat).Sub(last.cost(), before)
	}
	WaitFor(t, time.Minute, when+": the ledger to have what was asked last", func() bool { return spent().Cmp(due) >= 0 })
	for range 8 {
		if got := spent(); got.Cmp(due) != 0 {
			t.Fatalf("%s: %s cost %s, in all %d runs and %d corrections, the model's answers %s", when, agent, got.FloatString(9), last.Runs, last.Corrections, due.FloatString(9))
		}
		time.Sleep(time.Second)
	}
	t.Logf("%s: %s, in all %d runs and %d corrections", when, due.FloatString(9), last.Runs, last.Corrections)
}
