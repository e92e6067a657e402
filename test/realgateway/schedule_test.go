//go:build journey

package realgateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// keyName is the variable of the gateway's environment with an agent's key, usually the COO's.
const keyName = "WARDROOM_API_KEY"

// giveKey creates an API key for an agent and adds it to the environment of the gateway's
// next start.
func (j *journey) giveKey(t *testing.T, agent string) {
	t.Helper()
	var made struct{ Key string }
	j.owner.Post(t, "/api/v1/users/"+agent+"@wardroom.test/keys", map[string]string{"name": "the gateway"}).Into(t, http.StatusCreated, &made)
	j.apiKey = made.Key
	j.gateway.Vars = map[string]string{keyName: made.Key}
}

// scheduled checks that a job of the runtime makes the COO open and run the standup from
// its own turn with its own credentials.
func (j *journey) scheduled(t *testing.T) {
	j.owner.Post(t, "/api/v1/standups/schedule", nil).Want(t, http.StatusForbidden)
	j.restart(t, map[string]string{"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin"})
	defer j.restart(t, map[string]string{"AGENTRT_GATEWAY_SCOPES": ""})
	j.connected(t)
	var made struct {
		Job struct {
			ID      string
			Payload struct{ Message string }
			State   struct{ NextRunAt time.Time }
		}
		NextRuns []time.Time `json:"next_runs"`
	}
	plan := map[string]any{"timezone": "Europe/Berlin", "enabled": true}
	j.owner.Post(t, "/api/v1/standups/schedule", plan).Into(t, http.StatusOK, &made)
	if len(made.NextRuns) != 5 || !made.Job.State.NextRunAt.Equal(made.NextRuns[0]) {
		t.Errorf("the gateway runs it next at %s, Wardroom says %v", made.Job.State.NextRunAt, made.NextRuns)
	}
	if strings.Contains(made.Job.Payload.Message, j.apiKey) {
		t.Error("the message contains the key")
	}
	id := made.Job.ID
	j.owner.Post(t, "/api/v1/standups/schedule", plan).Into(t, http.StatusOK, &made)
	if made.Job.ID != id {
		t.Errorf("the second request created another job: %s and %s", id, made.Job.ID)
	}

	op := j.administrator(t)
	j.model.Forget()
	j.model.Linger(true) // the turn that started the standup is still open when the COO is asked for the review
	begin := time.Now()
	op.call(t, "cron.run", map[string]any{"id": id, "mode": "force"})
	today := j.await(t, op, id)
	s := j.end(t, today, "completed", "answered", "answered", "answered")
	t.Logf("from the start of the job to the end of the standup: %s", time.Since(begin).Round(100*time.Millisecond))
	if s.Trigger != "agent" || s.Summary == nil || len(j.model.Calls("cto")) != 1 {
		t.Errorf("started by %q with %d questions to the CTO: %+v", s.Trigger, len(j.model.Calls("cto")), s.Transcript)
	}
	op = j.administrator(t) // the first connection has not answered pings in the meantime
	WaitFor(t, 2*time.Minute, "the job's run to end", func() bool { return len(jobRuns(t, op, id)) == 1 })
	if run := jobRuns(t, op, id)[0]; run.Status != "ok" || !strings.Contains(run.Summary, "202") {
		t.Errorf("the job's run: %+v", run)
	} else if asked := j.model.reviews(); len(asked) != 1 || asked[0].At.After(time.UnixMilli(run.RunAtMs+run.DurationMs)) {
		t.Errorf("the job's turn ended before the COO was asked for the review: %+v, %+v", run, asked)
	}
	j.model.Linger(false)
	// A second run is harmless: no agent is asked again.
	op.call(t, "cron.run", map[string]any{"id": id, "mode": "force"})
	WaitFor(t, 2*time.Minute, "the second run to end", func() bool { return len(jobRuns(t, op, id)) == 2 })
	if run := jobRuns(t, op, id)[0]; !strings.Contains(run.Summary, "409") {
		t.Errorf("the job's second run: %+v", run)
	}
	j.wantCalls(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1})
	op.call(t, "cron.remove", map[string]any{"id": id})
}

// administrator returns an operator that may change jobs.
func (j *journey) administrator(t *testing.T) *operator {
	t.Helper()
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil, "operator.admin")
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	return op
}

// await waits until the job has opened today's standup and returns its ID.
func (j *journey) await(t *testing.T, op *operator, job string) (id string) {
	t.Helper()
	today := time.Now().UTC().Format(time.DateOnly)
	WaitFor(t, 2*time.Minute, "the COO to open the standup", func() bool {
		var latest standup
		res := j.coo.Get(t, "/api/v1/standups/latest")
		if res.Status == http.StatusOK {
			res.Into(t, http.StatusOK, &latest)
		}
		for _, run := range jobRuns(t, op, job) {
			if latest.Date != today {
				t.Fatalf("the job ended without a standup: %+v", run)
			}
		}
		id = latest.ID
		return latest.Date == today
	})
	return id
}

type jobRun struct {
	Status, Summary, Error string
	RunAtMs, DurationMs    int64
}

// jobRuns returns the ended runs of a job, newest first.
func jobRuns(t *testing.T, op *operator, id string) []jobRun {
	t.Helper()
	var out struct{ Entries []jobRun }
	if err := json.Unmarshal(op.call(t, "cron.runs", map[string]any{"id": id, "limit": 5}), &out); err != nil {
		t.Fatal(err)
	}
	return out.Entries
}
