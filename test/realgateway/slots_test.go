//go:build journey

package realgateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// slotsGrace is how late a job may start, and alarmIn how soon after that the inbox must
// have an item.
const (
	slotsGrace = time.Minute
	alarmIn    = 30 * time.Second
)

// due is the part of a due time in the ledger that the test checks.
type due struct {
	DueAt     time.Time  `json:"due_at"`
	Deadline  time.Time  `json:"deadline_at"`
	StartedAt *time.Time `json:"started_at"`
	State     string
	Reason    string
}

// alarm is the part of an inbox item that the test checks.
type alarm struct {
	Kind    string
	State   string
	Detail  string
	Subject struct{ ID, Name string }
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
}

// minutely creates a job that runs every minute.
func (j *journey) minutely(t *testing.T, agent string) timedJob {
	t.Helper()
	var made timedJob
	j.owner.Post(t, "/api/v1/agentrt/jobs", map[string]any{
		"name": "minutely " + agent, "agentId": agent, "schedule": map[string]any{"expr": "* * * * *", "tz": "Europe/Berlin"},
		"payload": map[string]any{"message": "How is it going?"},
	}).Into(t, http.StatusCreated, &made)
	return made
}

// slots returns the due times of a job that have passed.
func (j *journey) slots(t *testing.T, id string) (list []due) {
	t.Helper()
	var all []due
	q := url.Values{"from": {time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)}, "to": {time.Now().UTC().Format(time.RFC3339)}, "limit": {"200"}}
	j.owner.Get(t, "/api/v1/agentrt/jobs/"+id+"/slots?"+q.Encode()).Into(t, http.StatusOK, &all)
	return all
}

// alarms returns the inbox items of a job.
func (j *journey) alarms(t *testing.T, id string) (list []alarm) {
	t.Helper()
	var all []alarm
	j.owner.Get(t, "/api/v1/inbox?limit=200").Into(t, http.StatusOK, &all)
	for _, a := range all {
		if a.Subject.ID == id {
			list = append(list, a)
		}
	}
	return list
}

func (j *journey) show(t *testing.T, what string, made ...timedJob) {
	t.Helper()
	for _, m := range made {
		var lines []string
		for _, s := range j.slots(t, m.ID) {
			lines = append(lines, fmt.Sprint(s.DueAt.Format("15:04"), " ", s.State, " ", s.Reason))
		}
		t.Logf("%s, %s:\n%s\n%+v", what, m.Name, strings.Join(lines, "\n"), j.alarms(t, m.ID))
	}
}

// state waits until a due time of the job at or after from has one of the states.
func (j *journey) state(t *testing.T, m timedJob, from time.Time, states ...string) (found due) {
	t.Helper()
	WaitFor(t, 5*time.Minute, fmt.Sprint(m.Name, " to be ", states), func() bool {
		for _, s := range j.slots(t, m.ID) {
			for _, state := range states {
				if !s.DueAt.Before(from) && s.State == state {
					found = s
					return true
				}
			}
		}
		return false
	})
	return found
}

// A missed job leaves no trace in the gateway, so the ledger of due times must detect
// it, in time and without false alarms.
func TestSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten minutes")
	}
	bin, model := Build(t), StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{})
	j := startJourney(t, bin, model, gateway, "2026-09", map[string]string{
		"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin", "SCHEDULE_GRACE": "1m",
	})
	j.connected(t)
	model.Script("cpo", Reply{Status: http.StatusBadRequest})
	well, failing, off, gone := j.minutely(t, "cto"), j.minutely(t, "cpo"), j.minutely(t, "cmo"), j.minutely(t, "coo")
	j.owner.Do(t, http.MethodPatch, "/api/v1/agentrt/jobs/"+off.ID, map[string]any{"enabled": false}, nil).Want(t, http.StatusOK)
	j.owner.Do(t, http.MethodDelete, "/api/v1/agentrt/jobs/"+gone.ID, nil, nil).Want(t, http.StatusNoContent)

	j.state(t, well, time.Time{}, "on_time", "late")
	if s := j.state(t, failing, time.Time{}, "failed"); !strings.Contains(s.Reason, "400") && !strings.Contains(s.Reason, "rejected") {
		t.Errorf("it failed for %q", s.Reason)
	}
	if a := j.alarms(t, failing.ID); len(a) != 1 || a[0].Kind != "job_failed" {
		t.Errorf("the inbox has %+v", a)
	}
	model.Script("cpo", Reply{})
	j.show(t, "at first", well, failing)

	// The gateway is offline at a due time and comes back.
	stopped := time.Now()
	gateway.Stop(t)
	slot := stopped.Truncate(time.Minute).Add(time.Minute)
	time.Sleep(time.Until(slot.Add(5 * time.Second)))
	gateway.Start(t)
	j.connected(t)
	s := j.state(t, well, slot, "on_time", "late", "missed", "failed", "skipped")
	t.Logf("over a stop of %s the slot of %s is %s: %s", time.Since(stopped).Round(time.Second), s.DueAt, s.State, s.Reason)
	j.state(t, well, time.Now(), "on_time", "late")
	j.show(t, "after the stop", well, failing)

	// The gateway runs, but its scheduler is off.
	gateway.Stop(t)
	gateway.Set(t, "cron", map[string]bool{"enabled": false})
	gateway.Start(t)
	j.connected(t)
	missed := j.state(t, well, time.Now(), "missed")
	told := time.Now()
	WaitFor(t, time.Minute, "the inbox", func() bool {
		for _, a := range j.alarms(t, well.ID) {
			if a.Kind == "job_missed" && a.State == "open" {
				return true
			}
		}
		return false
	})
	if late := told.Sub(missed.Deadline); late > alarmIn {
		t.Errorf("missed at %s, raised %s after its deadline", missed.DueAt, late)
	} else {
		t.Logf("raised %s after its deadline", late)
	}
	for _, quiet := range []timedJob{off, gone} {
		if a := j.alarms(t, quiet.ID); len(a) != 0 {
			t.Errorf("%s is in the inbox: %+v", quiet.Name, a)
		}
	}
	if s := j.slots(t, off.ID); len(s) > 0 {
		t.Errorf("a disabled job has slots: %+v", s)
	}
	j.show(t, "with the clockwork off", well, failing)
	// With the scheduler on again, the missed job is resolved by its next run.
	gateway.Stop(t)
	gateway.Set(t, "cron", map[string]bool{"enabled": true})
	gateway.Start(t)
	j.connected(t)
	j.state(t, well, time.Now(), "on_time", "late")
	WaitFor(t, time.Minute, "the inbox to be empty", func() bool { return len(j.alarms(t, well.ID)) == 0 })
	j.show(t, "at the end", well, failing)
}
