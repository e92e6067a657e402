//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// isHeld holds the CMO while it works, tries every way to start a run, and releases it.
func (j *journey) isHeld(t *testing.T) {
	consent := map[string]any{"holds": map[string]bool{"in_runtime": true}, "current_password": OwnerPassword}
	j.owner.Do(t, http.MethodPatch, "/api/v1/settings", consent, nil).Want(t, http.StatusOK)
	on, off := j.yearly(t, "cmo"), j.yearly(t, "cmo")
	j.owner.Do(t, http.MethodPatch, "/api/v1/agentrt/jobs/"+off.ID, map[string]any{"enabled": false}, nil).Want(t, http.StatusOK)
	admin := j.administrator(t)
	admin.patch(t, `{"agents":{"entries":{"cpo":{"model":"scripted/large"}}}}`) // the gateway writes the file in its own form
	before := j.configuration(t)
	j.model.Script("cmo", Reply{Delay: 10 * time.Minute})
	j.tell(t, "cmo", "Count the sheep.")
	WaitFor(t, 3*time.Minute, "the agent to work", func() bool { return len(j.model.Ever("cmo", "Count the sheep.")) > 0 })

	begin := time.Now()
	j.owner.Post(t, "/api/v1/agents/cmo/hold", map[string]string{"reason": "Over budget!"}).Want(t, http.StatusOK)
	WaitFor(t, 3*time.Minute, "the hold in the runtime", func() bool { h := j.hold(t, "cmo"); return h != nil && h.Runtime == "held" })
	t.Logf("held after %s", time.Since(begin).Round(10*time.Millisecond))
	j.model.Script("cmo", Reply{})
	WaitFor(t, time.Minute, "the run to stop and the job to be disabled", func() bool { return !j.session(t, "agent:cmo:main").Active && !j.enabled(t, on.ID) })
	j.refusesRuns(t, admin, off.ID)

	j.owner.Post(t, "/api/v1/agents/cmo/release", nil).Want(t, http.StatusOK)
	WaitFor(t, 3*time.Minute, "the release", func() bool { return j.hold(t, "cmo") == nil })
	if after := j.configuration(t); after != before {
		t.Errorf("the configuration was\n%s\nand after the release it is\n%s", before, after)
	}
	WaitFor(t, time.Minute, "the job to be enabled again", func() bool { return j.enabled(t, on.ID) })
	if j.enabled(t, off.ID) {
		t.Error("the release enabled a job that was disabled before")
	}
	j.tell(t, "cmo", "Count the goats.")
	WaitFor(t, 3*time.Minute, "the released agent to work", func() bool { return len(j.model.Ever("cmo", "Count the goats.")) > 0 })
}

// refusesRuns tries to start a run of the held CMO in every way: through the service, and past it.
func (j *journey) refusesRuns(t *testing.T, admin *operator, job string) {
	t.Helper()
	asked := time.Now()
	j.owner.Post(t, "/api/v1/agents/cmo/messages", map[string]string{"text": "Go on."}).Want(t, http.StatusConflict)
	j.owner.Post(t, "/api/v1/agentrt/jobs/"+job+"/run", nil).Want(t, http.StatusConflict)
	for _, start := range []struct {
		method string
		params map[string]any
	}{
		{"agent", map[string]any{"message": "Go on.", "agentId": "cmo", "sessionKey": "agent:cmo:around", "idempotencyKey": "around", "deliver": false}},
		{"chat.send", map[string]any{"message": "Go on.", "sessionKey": "agent:cmo:main", "idempotencyKey": "around-2", "deliver": false}},
		{"cron.run", map[string]any{"id": job, "mode": "force"}},
		{"wake", map[string]any{"mode": "now", "text": "Go on.", "agentId": "cmo"}},
	} {
		if f := admin.exchange(t, start.method, start.params); !f.OK && !strings.Contains(string(f.Error), "wardroom-hold/over-budget") {
			t.Errorf("while the agent is held, %s is refused with %s", start.method, f.Error)
		}
	}
	if end := string(admin.call(t, "agent.wait", map[string]any{"runId": "around", "timeoutMs": 60_000})); !strings.Contains(end, `"error"`) {
		t.Errorf("while the agent is held, a run of another client ends with %s", end)
	}
	WaitFor(t, 3*time.Minute, "the job's run to fail", func() bool { runs := jobRuns(t, admin, job); return len(runs) == 1 && runs[0].Status == "error" })
	if calls := j.since("cmo", asked); len(calls) > 0 {
		t.Errorf("the held agent asked the model: %+v", calls)
	}
}

// patch changes the gateway's configuration.
func (o *operator) patch(t *testing.T, change string) {
	t.Helper()
	var is struct{ Hash string }
	if err := json.Unmarshal(o.call(t, "config.get", map[string]any{}), &is); err != nil {
		t.Fatal(err)
	}
	o.call(t, "config.patch", map[string]any{"raw": change, "baseHash": is.Hash})
}

// held is the part of a hold that the test checks.
type held struct{ State, Runtime, Detail string }

// hold returns the hold of an agent, or nil.
func (j *journey) hold(t *testing.T, agent string) *held {
	t.Helper()
	var a struct{ Hold *held }
	j.owner.Get(t, "/api/v1/agents/"+agent).Into(t, http.StatusOK, &a)
	return a.Hold
}

// yearly creates a job that is not due during the test.
func (j *journey) yearly(t *testing.T, agent string) (made timedJob) {
	t.Helper()
	j.owner.Post(t, "/api/v1/agentrt/jobs", map[string]any{
		"name": "each year", "agentId": agent, "schedule": map[string]any{"expr": "0 4 1 1 *", "tz": "Europe/Berlin"}, "payload": map[string]any{"message": "Go on."},
	}).Into(t, http.StatusCreated, &made)
	return made
}

func (j *journey) enabled(t *testing.T, job string) bool {
	t.Helper()
	var is timedJob
	j.owner.Get(t, "/api/v1/agentrt/jobs/"+job).Into(t, http.StatusOK, &is)
	return is.Enabled
}

// configuration returns the gateway's configuration file.
func (j *journey) configuration(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(j.gateway.path("state", "openclaw.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
