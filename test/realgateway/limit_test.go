//go:build journey

package realgateway

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// spends lets the CMO make up to 200 tool calls at $0.05 each, with a limit of $1 a run. It returns
// when the run is stopped.
func (j *journey) spends(t *testing.T) {
	var made struct{ ID, Name string }
	j.owner.Post(t, "/api/v1/limits", map[string]string{
		"scope": "agent", "scope_id": "cmo", "measure": "usd", "amount": "1", "window": "run", "action": "stop",
	}).Into(t, http.StatusCreated, &made)
	begin := time.Now()
	run := j.tell(t, "cmo", "[[rounds 200]]")
	admin := j.administrator(t)
	const crossing = 20
	WaitFor(t, 5*time.Minute, "the call that crosses the limit", func() bool { return len(j.since("cmo", begin)) >= crossing })
	crossed := j.since("cmo", begin)[crossing-1].At
	admin.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 60_000})
	took, calls := time.Since(crossed), j.since("cmo", begin)
	t.Logf("the run ended %s after the call that crossed the limit; the model was asked %d times", took.Round(10*time.Millisecond), len(calls))
	if len(calls) > crossing+2 {
		t.Errorf("the model was asked %d times, want at most %d", len(calls), crossing+2)
	}

	var ended spending
	WaitFor(t, 3*time.Minute, "the run in the ledger", func() bool {
		j.owner.Get(t, "/api/v1/usage?group=session").Into(t, http.StatusOK, &ended)
		return slices.ContainsFunc(ended.Groups, func(s sums) bool { return s.Key != nil && *s.Key == "agent:cmo:main" })
	})
	i := slices.IndexFunc(ended.Groups, func(s sums) bool { return s.Key != nil && *s.Key == "agent:cmo:main" })
	if cost := ended.Groups[i].cost(); cost.Cmp(big.NewRat(1, 1)) < 0 || cost.Cmp(big.NewRat(110, 100)) > 0 {
		t.Errorf("the ledger has %s, want $1.00 to $1.10", cost.FloatString(9))
	}
	var items []struct {
		Title, Detail string
		Subject       struct{ ID string }
		Run           struct {
			RunID string `json:"run_id"`
		}
	}
	j.owner.Get(t, "/api/v1/inbox?kind=limit_reached").Into(t, http.StatusOK, &items)
	if len(items) != 1 || items[0].Subject.ID != made.ID || items[0].Run.RunID != run ||
		!strings.HasPrefix(items[0].Detail, "Usage is $1.") || !strings.Contains(items[0].Detail, " of $1.00, which is $0.") {
		t.Errorf("the inbox has %+v", items)
	}
	WaitFor(t, 3*time.Minute, "5 s without a model call", func() bool {
		calls := j.since("cmo", begin)
		return time.Since(calls[len(calls)-1].At) > 5*time.Second
	})
	if n := len(j.since("cmo", begin)); n != len(calls) {
		t.Errorf("after the stop, the model was asked %d times", n-len(calls))
	}
}

// tell sends an agent a message and returns the ID of the run that it starts.
func (j *journey) tell(t *testing.T, agent, text string) (runID string) {
	t.Helper()
	var sent struct {
		RunID string `json:"run_id"`
	}
	j.owner.Post(t, "/api/v1/agents/"+agent+"/messages", map[string]string{"text": text}).Into(t, http.StatusAccepted, &sent)
	return sent.RunID
}

// reportsModels lets an agent use another model in one session. All other runs use what is configured.
func (j *journey) reportsModels(t *testing.T) {
	admin, key := j.administrator(t), "agent:cpo:cheap"
	admin.call(t, "sessions.create", map[string]any{"agentId": "cpo", "key": key, "model": "scripted/small"})
	admin.start(t, "cpo", key, "cheap-1", "Count the hens.")
	var items []struct {
		Title, Detail string
		Run           struct {
			SessionKey string `json:"session_key"`
		}
	}
	var asked time.Time
	WaitFor(t, 3*time.Minute, "the item", func() bool {
		if calls := j.model.Ever("cpo", "Count the hens."); asked.IsZero() && len(calls) > 0 {
			asked = calls[0].At
		}
		j.owner.Get(t, "/api/v1/inbox?kind=model_changed").Into(t, http.StatusOK, &items)
		return len(items) > 0
	})
	t.Logf("reported %s after the model call began", time.Since(asked))
	if i := items[0]; len(items) != 1 || i.Title != "CPO uses scripted/small instead of scripted/large" || i.Run.SessionKey != key {
		t.Errorf("the inbox has %+v", items)
	}
}

// since returns the calls of an agent since a time, whoever forgot others meanwhile.
func (j *journey) since(agent string, begin time.Time) []Call {
	return slices.DeleteFunc(j.model.Ever(agent, ""), func(c Call) bool { return c.At.Before(begin) })
}

// Twenty runs of the real gateway spend $0.05 with each model call and share a limit of $5. When it is
// crossed, each may still end the call that it has begun.
func TestTwentyRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	bin, model := Build(t), StartModel(t)
	gateway := NewGateway(t, t.TempDir(), model, Access{Listed: true})
	j := startJourney(t, bin, model, gateway, "2026-08", map[string]string{"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin"})
	gateway.Start(t)
	j.connected(t)
	admin := j.administrator(t)
	const runs, crossing = 20, 100
	admin.patch(t, fmt.Sprintf(`{"agents":{"defaults":{"maxConcurrent":%d}}}`, runs))
	j.owner.Post(t, "/api/v1/limits", map[string]string{
		"scope": "all", "measure": "usd", "amount": "5", "window": "month", "action": "stop",
	}).Want(t, http.StatusCreated)
	for i := range runs {
		admin.start(t, "cmo", fmt.Sprintf("agent:cmo:part-%d", i), fmt.Sprintf("part-%d", i), "[[rounds 200]]")
	}
	calls := func() []Call { return model.Ever("cmo", "") }
	WaitFor(t, 10*time.Minute, "the call that crosses the limit", func() bool { return len(calls()) >= crossing })
	for i := range runs {
		admin.call(t, "agent.wait", map[string]any{"runId": fmt.Sprintf("part-%d", i), "timeoutMs": 60_000})
	}
	made := calls()
	t.Logf("the last model call began %s after the one that crossed the limit; there were %d", made[len(made)-1].At.Sub(made[crossing-1].At).Round(10*time.Millisecond), len(made))
	if len(made) > crossing+runs {
		t.Errorf("the model was asked %d times, want at most %d", len(made), crossing+runs)
	}
	var all spending
	WaitFor(t, 3*time.Minute, "all runs in the ledger", func() bool {
		j.owner.Get(t, "/api/v1/usage?group=session").Into(t, http.StatusOK, &all)
		return len(all.Groups) == runs
	})
	if cost := all.Total.cost(); cost.Cmp(big.NewRat(5, 1)) < 0 || cost.Cmp(big.NewRat(6, 1)) > 0 {
		t.Errorf("the ledger has %s, want $5 and at most %d calls of $0.05 more", cost.FloatString(9), runs)
	}
	if n := len(calls()); n != len(made) {
		t.Errorf("after the stop, the model was asked %d times", n-len(made))
	}
}
