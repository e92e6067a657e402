//go:build journey

package realgateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// timedJob is the part of a scheduled job that the test checks.
type timedJob struct {
	ID, Name       string
	ConfigRevision string
	Enabled, Live  bool
	Delivery       struct{ Mode string }
	State          struct{ NextRunAt time.Time }
	NextRuns       []struct{ At time.Time } `json:"next_runs"`
}

// slot is the part of a due time in the ledger that the test checks.
type slot struct {
	DueAt     time.Time  `json:"due_at"`
	StartedAt *time.Time `json:"started_at"`
	State     string
}

// Scheduled jobs of the real gateway behave like those of the demo runtime: create, run
// by hand, run on schedule, run history, conflicting changes and removal.
func TestTimedJobs(t *testing.T) {
	t.Parallel()
	bin, model := Build(t), StartModel(t)
	gateway := NewGateway(t, t.TempDir(), model, Access{Listed: true, Asks: true})
	j := startJourney(t, bin, model, gateway, "2026-09", map[string]string{"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin"})
	j.giveKey(t, "cto")
	gateway.Start(t)
	j.connected(t)
	var made timedJob
	j.owner.Post(t, "/api/v1/agentrt/jobs", map[string]any{
		"name": "each minute", "agentId": "cto", "schedule": map[string]any{"expr": "* * * * *", "tz": "Europe/Berlin"}, "payload": map[string]any{"message": "How is it going?"},
	}).Into(t, http.StatusCreated, &made)
	if made.Delivery.Mode != "none" || len(made.NextRuns) != 10 || !made.State.NextRunAt.Equal(made.NextRuns[0].At) {
		t.Errorf("created %+v", made)
	}
	at := "/api/v1/agentrt/jobs/" + made.ID
	var started struct {
		RunID string `json:"run_id"`
	}
	j.owner.Post(t, at+"/run", nil).Into(t, http.StatusAccepted, &started)
	// Within the minute until the job runs by the time.
	t.Run("a decision is carried out, approved, and gone from the next standup", j.decides)
	t.Run("no run of ours is offered the owner tools", j.offersNoOwnerTools)
	if testing.Short() {
		return // a short run has had two standups and a dispatch
	}
	var runs []struct {
		ID                     string `json:"run_id"`
		Status, Summary, Error string
		Manual                 bool
		StartedAt              time.Time `json:"started_at"`
	}
	WaitFor(t, 4*time.Minute, "a run by hand and one by the time", func() bool {
		j.owner.Get(t, at+"/runs").Into(t, http.StatusOK, &runs)
		hand, clock := false, false
		for _, r := range runs {
			hand, clock = hand || r.Manual && r.ID == started.RunID, clock || !r.Manual
		}
		return hand && clock
	})
	for _, r := range runs {
		t.Logf("run %s: %s, by hand %t, at %s %s", r.ID, r.Status, r.Manual, r.StartedAt, r.Error)
		if r.Status != "ok" || r.Summary == "" {
			t.Errorf("run %+v", r)
		}
	}
	var slots []slot
	WaitFor(t, time.Minute, "a slot of the ledger", func() bool {
		j.owner.Get(t, at+"/slots").Into(t, http.StatusOK, &slots)
		return len(slots) > 0 && (slots[0].State == "on_time" || slots[0].State == "late")
	})
	if s := slots[0]; s.StartedAt == nil || s.StartedAt.Before(s.DueAt) || s.State != "on_time" {
		t.Errorf("the first due time is %+v", s)
	}
	var changed timedJob
	j.owner.Do(t, http.MethodPatch, at, map[string]any{"enabled": false, "configRevision": made.ConfigRevision}, nil).Into(t, http.StatusOK, &changed)
	if changed.Enabled || changed.ConfigRevision == made.ConfigRevision || len(changed.NextRuns) != 0 {
		t.Errorf("changed %+v", changed)
	}
	refused := j.owner.Do(t, http.MethodPatch, at, map[string]any{"name": "mine", "configRevision": made.ConfigRevision}, nil)
	refused.Want(t, http.StatusConflict)
	if !strings.Contains(string(refused.Body), changed.ConfigRevision) {
		t.Errorf("refused with %s", refused.Body)
	}
	// Another client changes the job in the gateway; the service notices by itself.
	j.administrator(t).call(t, "cron.update", map[string]any{"id": made.ID, "patch": map[string]any{"name": "theirs"}})
	WaitFor(t, time.Minute, "the change by others", func() bool {
		var seen timedJob
		j.owner.Get(t, at).Into(t, http.StatusOK, &seen)
		return seen.Name == "theirs" && seen.Live
	})
	// Each of these needs other agents.
	var all sync.WaitGroup
	all.Go(func() {
		t.Run("runs are stopped, whoever began them", j.stops)
		t.Run("a session is stopped with its sub-agents", j.stopsSubAgents)
	})
	all.Go(func() {
		t.Run("a run is stopped at its limit", j.spends)
		t.Run("an agent is held and released", j.isHeld)
	})
	all.Go(func() { t.Run("approvals of plugins are answered, and expire", j.approvesPlugins) })
	all.Go(func() {
		t.Run("approvals are answered, and end with their run", j.approves)
		t.Run("questions are answered, skipped, and expire", j.questions)
	})
	all.Wait()
	t.Run("another model than configured is reported", j.reportsModels)
	j.jobTools(t)
	j.doctor(t, "", "")
	j.owner.Do(t, http.MethodDelete, at, nil, nil).Want(t, http.StatusNoContent)
	j.owner.Get(t, at).Want(t, http.StatusNotFound)
	t.Run("approvals and questions are lost with the gateway", j.loses)
}
