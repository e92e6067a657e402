//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// handedTask is the part of a dispatched task that the test checks.
type handedTask struct {
	Key      string
	Status   string
	CostUSD  *string `json:"cost_usd"`
	Tokens   *spent
	Dispatch *struct {
		State      string
		RunID      string `json:"run_id"`
		SessionKey string `json:"session_key"`
		Waiting    *string
		Error      *struct{ Code, Detail string }
	}
}

// An agent of a real gateway gets a task, reports on it with its own API key during its
// run, and the task shows the gateway's cost. A withdrawn task stops its run.
func TestDispatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	bin, model := Build(t), StartModel(t)
	gateway := NewGateway(t, t.TempDir(), model, Access{})
	j := startJourney(t, bin, model, gateway, "2026-11", nil)
	gateway.Start(t) // with the agent's key in its environment
	j.connected(t)
	t.Run("is worked on, and costs what the gateway says", j.handsOver)
	t.Run("costs the same everywhere, beside others", j.overlaps)
	t.Run("the archive keeps sessions that the gateway deletes", j.archives)
	t.Run("is taken back", func(t *testing.T) { j.takesBack(t, func() {}) })
	// The gateway lets only the connection that started a run abort it.
	t.Run("is taken back by a service that was started anew", func(t *testing.T) {
		j.takesBack(t, func() {
			j.server.Kill9(t)
			j.server.Start(t)
			j.connected(t)
		})
	})
	t.Run("is found answered at length after everything was started anew", j.answersAtLength)
	t.Run("is stopped with what waits behind it, whoever began either", j.stopsBoth)
	t.Run("costs what those cost that its agent has work for it", j.delegates)
	t.Run("is seen with what it has used before it ends", j.goes)
	t.Run("costs what it cost, also when what was said is forked and gone back in", j.copies)
	j.hides(t, gateway.Token, agentPassword, OwnerPassword, j.apiKey)
}

// hand creates a task of the COO and dispatches it.
func (j *journey) hand(t *testing.T, title string) (key string) {
	t.Helper()
	return j.handTo(t, "coo", title)
}

func (j *journey) handTo(t *testing.T, agent, title string) (key string) {
	t.Helper()
	var made handedTask
	in := map[string]string{"title": title, "assignee_id": agent, "description": "It is on the shelf."}
	j.owner.Post(t, "/api/v1/tasks", in).Into(t, http.StatusCreated, &made)
	j.owner.Post(t, "/api/v1/tasks/"+made.Key+"/dispatch", nil).Want(t, http.StatusAccepted)
	return made.Key
}

func (j *journey) handed(t *testing.T, key string) (got handedTask) {
	t.Helper()
	j.owner.Get(t, "/api/v1/tasks/"+key).Into(t, http.StatusOK, &got)
	return got
}

func (j *journey) handsOver(t *testing.T) {
	j.model.Forget()
	key := j.hand(t, "Count the chairs")
	var got handedTask
	WaitFor(t, 3*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.State == "ended" || got.Dispatch.State == "failed"
	})
	if got.Dispatch.State != "ended" || got.Status != "review" || got.CostUSD == nil || got.Tokens == nil {
		t.Fatalf("the task is %s, cost %v, dispatch %+v %+v; the model was asked %+v\nservice:\n%s",
			got.Status, got.CostUSD, got.Dispatch, got.Dispatch.Error, j.model.Calls("coo"), j.server.Log())
	}
	if kinds := j.reported(t, key, "COO"); !slices.Equal(kinds, []string{"done", "ack"}) {
		t.Errorf("the COO reported %v, want one report at the start and one at the end", kinds)
	}
	if calls := j.model.Calls("coo"); len(calls) != 2 {
		t.Errorf("the model was asked %d times, want once before the tool and once after it", len(calls))
	}
	var of session
	WaitFor(t, 3*time.Minute, "the gateway to have counted", func() bool {
		res := j.owner.Get(t, sessionPath(got.Dispatch.SessionKey))
		if res.Status == http.StatusNotFound { // the gateway writes its keys in lowercase
			res = j.owner.Get(t, sessionPath(strings.ToLower(got.Dispatch.SessionKey)))
		}
		res.Into(t, http.StatusOK, &of)
		return of.CostUSD != nil
	})
	if *of.CostUSD != *got.CostUSD || of.Tokens.Input != got.Tokens.Input || of.Tokens.Output != got.Tokens.Output {
		t.Errorf("the task cost %s and %+v, the gateway says %s and %+v", *got.CostUSD, got.Tokens, *of.CostUSD, of.Tokens)
	}
	t.Logf("the session is %s in Wardroom and %s in the gateway; it cost %s", got.Dispatch.SessionKey, of.Key, *got.CostUSD)
}

func (j *journey) takesBack(t *testing.T, meanwhile func()) {
	j.model.Script("coo", Reply{Text: "At last.", Delay: 2 * time.Minute})
	defer j.model.Script("coo", Reply{})
	j.model.Forget()
	key := j.hand(t, "Wait for it")
	WaitFor(t, 2*time.Minute, "the agent to begin", func() bool { return len(j.model.Calls("coo")) > 0 })
	WaitFor(t, time.Minute, "the dispatch to have started", func() bool { return j.handed(t, key).Dispatch.State == "started" })
	meanwhile()
	j.owner.Do(t, http.MethodDelete, "/api/v1/tasks/"+key+"/dispatch", nil, nil).Want(t, http.StatusOK)
	got := j.handed(t, key)
	if got.Dispatch.State != "failed" || got.Dispatch.Error.Code != "cancelled" {
		t.Errorf("withdrawn: %+v", got.Dispatch)
	}
	WaitFor(t, time.Minute, "the run to stop", func() bool {
		var all []session
		res := j.owner.Get(t, "/api/v1/agentrt/sessions?agent_id=coo&active=true")
		if res.Status != http.StatusOK {
			return false
		}
		res.Into(t, http.StatusOK, &all)
		return len(all) == 0
	})
}

// answersAtLength makes the agent give a longer answer than the gateway shows of one
// message, while the service is down, and restarts the gateway too. The agent must not be
// asked again.
func (j *journey) answersAtLength(t *testing.T) {
	j.model.Script("coo", Reply{Text: strings.Repeat("word ", 30_000), Delay: 10 * time.Second})
	defer j.model.Script("coo", Reply{})
	j.model.Forget()
	key := j.hand(t, "Write it all down")
	WaitFor(t, time.Minute, "the dispatch to have started", func() bool { return j.handed(t, key).Dispatch.State == "started" })
	j.server.Kill9(t)
	WaitFor(t, 2*time.Minute, "the model to have answered", func() bool {
		calls := j.model.Calls("coo")
		return len(calls) > 0 && calls[len(calls)-1].Used != nil
	})
	time.Sleep(5 * time.Second) // time for the gateway to store it
	j.gateway.Restart(t)
	j.server.Start(t)
	j.connected(t)
	var got handedTask
	WaitFor(t, 2*time.Minute, "the dispatch to end", func() bool {
		got = j.handed(t, key)
		return got.Dispatch.State == "ended" || got.Dispatch.State == "failed"
	})
	if calls := j.model.Calls("coo"); got.Dispatch.State != "ended" || len(calls) != 1 {
		t.Errorf("the dispatch is %+v %+v, and the model was asked %d times", got.Dispatch, got.Dispatch.Error, len(calls))
	}
	var history []struct {
		Kind string
		Data struct{ Answer string }
	}
	j.owner.Get(t, "/api/v1/tasks/"+key+"/history").Into(t, http.StatusOK, &history)
	if !slices.ContainsFunc(history, func(e struct {
		Kind string
		Data struct{ Answer string }
	},
	) bool {
		return strings.HasPrefix(e.Data.Answer, "word word")
	}) {
		t.Errorf("the history does not have the answer: %+v", history)
	}
}

// stopsBoth stops a session in which another client's run is in progress and a message of
// the service waits. The gateway does not show the other run while it lists the service's
// run.
func (j *journey) stopsBoth(t *testing.T) {
	const key = "agent:coo:both"
	j.model.Script("coo", Reply{Text: "At last.", Delay: 2 * time.Minute})
	defer j.model.Script("coo", Reply{})
	j.model.Forget()
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil)
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	op.call(t, "agent", map[string]any{
		"message": "Count the spoons.", "agentId": "coo", "sessionKey": key, "idempotencyKey": "theirs", "deliver": false, "timeout": 120,
	})
	WaitFor(t, 2*time.Minute, "the agent to begin", func() bool { return len(j.model.Calls("coo")) > 0 })
	WaitFor(t, time.Minute, "the session to be known", func() bool { return j.owner.Get(t, sessionPath(key)).Status == http.StatusOK })
	j.owner.Post(t, sessionPath(key)+"/messages", map[string]string{"text": "And the forks."}).Want(t, http.StatusAccepted)
	var out struct {
		Stopped bool     `json:"stopped"`
		RunIDs  []string `json:"run_ids"`
	}
	j.owner.Post(t, sessionPath(key)+"/stop", map[string]any{}).Into(t, http.StatusOK, &out)
	if t.Logf("stopped: %v", out.RunIDs); !out.Stopped || len(slices.Compact(slices.Sorted(slices.Values(out.RunIDs)))) != len(out.RunIDs) {
		t.Errorf("the answer is %+v", out)
	}
	WaitFor(t, time.Minute, "both to stop", func() bool {
		var of session
		res := j.owner.Get(t, sessionPath(key))
		return res.Status == http.StatusOK && json.Unmarshal(res.Body, &of) == nil && !of.Active
	})
}
