package gateway_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// cronRecorded returns a recorded request about scheduled jobs by name.
func cronRecorded(t *testing.T, name string) exchange {
	t.Helper()
	e, ok := recorded[map[string]exchange](t, "cron.json")[name]
	if !ok {
		t.Fatalf("no recording %q", name)
	}
	return e
}

// answering returns a client of a gateway that answers one method with each of the
// responses in turn, and the recorded params.
func answering(t *testing.T, method string, responses ...any) (*gateway.Client, chan string) {
	t.Helper()
	asked := make(chan string, len(responses))
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for _, response := range responses {
			r := p.expect(method)
			asked <- string(r.Params)
			p.answer(r, response)
		}
		p.gone()
	})
	return g.connected(t), asked
}

// recordedRun returns the run in the recorded history.
func recordedRun(t *testing.T) any {
	t.Helper()
	payload, _ := with(t, cronRecorded(t, "cron.runs").Response, "id", "r1")["payload"].(map[string]any)
	entries, _ := payload["entries"].([]any)
	if len(entries) != 1 {
		t.Fatalf("recorded were %v", entries)
	}
	return entries[0]
}

// wantAsked compares sent params with the expected ones, as JSON.
func wantAsked(t *testing.T, got string, want map[string]any) {
	t.Helper()
	var sent map[string]any
	if err := json.Unmarshal([]byte(got), &sent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// Jobs with all kinds of schedules are read as the gateway sends them.
func TestJobs(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.list")
	rows := rowsOf(t, e.Response)
	more := with(t, with(t, with(t, e.Response, "payload.jobs", rows[:3]), "payload.hasMore", true), "payload.nextOffset", 3)
	c, asked := answering(t, "cron.list", more, with(t, e.Response, "payload.jobs", rows[2:]))
	jobs, err := c.Jobs(within(t), gateway.JobsWanted{AgentID: "coo", Query: "daily-standup"})
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]any{"includeDisabled": true, "includeDeliveryPreviews": false, "limit": 200.0, "sortBy": "name", "agentId": "coo", "query": "daily-standup"}
	wantAsked(t, <-asked, first)
	first["offset"] = 2.0 // repeats the last row
	wantAsked(t, <-asked, first)
	if len(jobs) != len(rows) || len(jobs) < 5 {
		t.Fatalf("%d jobs of two pages, want %d", len(jobs), len(rows))
	}
	dream := jobs[0]
	want := gateway.Job{
		ID: "7e2d84f4-ea31-4ce8-8e8a-79ad69d1eed2", Name: "Memory Dreaming Promotion", Description: dream.Description, AgentID: "coo", Enabled: true,
		Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 3 * * *"}, SessionTarget: "isolated", WakeMode: "now",
		Payload:   gateway.JobPayload{Kind: "agentTurn", Message: "__openclaw_memory_core_short_term_promotion_dream__"},
		Delivery:  gateway.JobDelivery{Mode: "none"},
		Revision:  "sha256:5kcOKLhPLagguWN2W9bVz23ja3eWN8DKoj8EhjC5Uic",
		State:     gateway.JobState{NextRunAt: clock.Ptr(time.UnixMilli(1795230000000))},
		CreatedAt: at(1795161309563),
		UpdatedAt: at(1795161309563),
	}
	if diff := cmp.Diff(want, dream); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := jobs[1].Schedule; s.Kind != "every" || s.EveryMS != (7*24*time.Hour).Milliseconds() {
		t.Errorf("the second is %+v, want each week", s)
	}
}

// rowsOf returns the jobs of a recorded list.
func rowsOf(t *testing.T, response json.RawMessage) []json.RawMessage {
	t.Helper()
	var list struct {
		Payload struct{ Jobs []json.RawMessage }
	}
	if err := json.Unmarshal(response, &list); err != nil {
		t.Fatal(err)
	}
	return list.Payload.Jobs
}

// A job that moves to the previous page while the list is read must not be missed.
func TestJobsThatMove(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.list")
	rows := rowsOf(t, e.Response)
	page := func(jobs []json.RawMessage, next int) any {
		p := with(t, e.Response, "payload.jobs", jobs)
		if next > 0 {
			p = with(t, with(t, p, "payload.hasMore", true), "payload.nextOffset", next)
		}
		return p
	}
	moved := []any{page(rows[:3], 3), page(rows[3:], 0)} // the first job was removed
	c, _ := answering(t, "cron.list", slices.Concat(moved, []any{page(rows[1:4], 3), page(rows[3:], 0)})...)
	jobs, err := c.Jobs(within(t), gateway.JobsWanted{})
	if err != nil || len(jobs) != len(rows)-1 {
		t.Errorf("%d jobs, %v, want %d", len(jobs), err, len(rows)-1)
	}
	c, _ = answering(t, "cron.list", slices.Concat(moved, moved, moved)...)
	if jobs, err := c.Jobs(within(t), gateway.JobsWanted{}); !errors.Is(err, link.ErrBusy) {
		t.Errorf("a list that never stands still has %d jobs, %v", len(jobs), err)
	}
}

// Listing jobs ends even if the gateway's pages never do.
func TestJobsPaging(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.list")
	stuck := with(t, with(t, e.Response, "payload.hasMore", true), "payload.nextOffset", 0)
	c, _ := answering(t, "cron.list", stuck)
	if jobs, err := c.Jobs(within(t), gateway.JobsWanted{}); err != nil || len(jobs) < 5 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// A new job is sent in the gateway's format, and the result is read.
func TestAddJob(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.add")
	n := gateway.NewJob{
		Name: "standup-weekly", AgentID: "cpo", Enabled: true, Message: "Daily standup please", Limit: 60 * time.Second,
		Schedule: gateway.JobSchedule{Kind: "every", EveryMS: time.Hour.Milliseconds()}, SessionTarget: "isolated",
	}
	var plain struct{ Payload json.RawMessage }
	if err := json.Unmarshal(e.Response, &plain); err != nil {
		t.Fatal(err)
	}
	keyed := with(t, e.Response, "payload", map[string]any{"created": true, "job": plain.Payload, "deliveryPreview": map[string]any{}})
	for name, response := range map[string]any{"as recorded": e.Response, "with a key": keyed} {
		t.Run(name, func(t *testing.T) {
			c, asked := answering(t, "cron.add", response)
			n := n
			if name == "with a key" {
				n.Key = "wardroom/daily-standup"
			}
			j, err := c.AddJob(within(t), n)
			if err != nil || j.ID != "82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed" || j.Payload.Limit != time.Minute || j.Schedule.EveryMS != time.Hour.Milliseconds() {
				t.Fatalf("made %+v, %v", j, err)
			}
			var recordedParams struct{ Params map[string]any }
			if err := json.Unmarshal(e.Request, &recordedParams); err != nil {
				t.Fatal(err)
			}
			want := recordedParams.Params
			want["enabled"] = true
			if n.Key != "" {
				want["declarationKey"] = n.Key
			}
			wantAsked(t, <-asked, want)
		})
	}
}

// An answer is announced in a chat only if the job says so.
func TestAddJobDelivery(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.add")
	c, asked := answering(t, "cron.add", e.Response)
	if _, err := c.AddJob(within(t), gateway.NewJob{Delivery: "announce"}); err != nil {
		t.Fatal(err)
	}
	if sent := <-asked; !strings.Contains(sent, `"delivery":{"mode":"announce"}`) {
		t.Errorf("asked %s", sent)
	}
}

// Staggered and conditional jobs must not look late or missed.
func TestJobTimes(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.get")
	for name, tt := range map[string]struct {
		schedule    string
		member      string
		stagger     int64
		conditional bool
	}{
		"of a fixed hour":                {`{"kind":"cron","expr":"0 9 * * *"}`, "", 0, false},
		"of each full hour":              {`{"kind":"cron","expr":"0 * * * *"}`, "", 300_000, false},
		"of every second hour":           {`{"kind":"cron","expr":" 0  */2 * * *"}`, "", 300_000, false},
		"of each full hour, in seconds":  {`{"kind":"cron","expr":"0 0 * * * *"}`, "", 300_000, false},
		"of each full hour, exactly":     {`{"kind":"cron","expr":"0 * * * *","staggerMs":0}`, "", 0, false},
		"of another minute of each hour": {`{"kind":"cron","expr":"5 * * * *"}`, "", 0, false},
		"that is spread by its maker":    {`{"kind":"cron","expr":"5 4 * * *","staggerMs":30000}`, "", 30_000, false},
		"with a spread that is none":     {`{"kind":"cron","expr":"5 4 * * *","staggerMs":-1}`, "", 0, false},
		"of an interval":                 {`{"kind":"every","everyMs":60000,"staggerMs":5}`, "", 0, false},
		"with a condition":               {`{"kind":"every","everyMs":60000}`, "trigger", 0, true},
		"with a pace of its own":         {`{"kind":"every","everyMs":60000}`, "pacing", 0, true},
	} {
		t.Run("a job "+name, func(t *testing.T) {
			response := with(t, e.Response, "payload.schedule", json.RawMessage(tt.schedule))
			if tt.member != "" {
				response = with(t, response, "payload."+tt.member, map[string]any{"script": "x"})
			}
			c, _ := answering(t, "cron.get", response)
			j, err := c.Job(within(t), "770ced3d")
			if err != nil || j.Schedule.StaggerMS != tt.stagger || j.Conditional != tt.conditional {
				t.Errorf("it is %+v, conditional %t, %v", j.Schedule, j.Conditional, err)
			}
		})
	}
}

// A change includes the revision that it is based on, so that two people do not
// overwrite each other's changes.
func TestChangeJob(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.update")
	c, asked := answering(t, "cron.update", e.Response)
	change := gateway.JobChange{
		Enabled: new(false), Message: new("Hold it"),
		Schedule: &gateway.JobSchedule{Kind: "cron", Expr: "0 9 * * *", Zone: "UTC"},
	}
	j, err := c.ChangeJob(within(t), "82ad0268", change, "sha256:1")
	if err != nil || j.Schedule.Expr != "0 9 * * *" || j.State.LastStatus != "ok" || j.State.LastRunAt == nil {
		t.Errorf("changed to %+v, %v", j, err)
	}
	wantAsked(t, <-asked, map[string]any{
		"id": "82ad0268", "expectedConfigRevision": "sha256:1",
		"patch": map[string]any{
			"enabled": false, "payload": map[string]any{"kind": "agentTurn", "message": "Hold it"},
			"schedule": map[string]any{"kind": "cron", "expr": "0 9 * * *", "tz": "UTC", "staggerMs": 0.0},
		},
	})
}

// A run is started without waiting for its end, and read afterwards.
func TestRunJob(t *testing.T) {
	t.Parallel()
	t.Run("as recorded", func(t *testing.T) {
		c, asked := answering(t, "cron.run", cronRecorded(t, "cron.run").Response)
		id, why, err := c.RunJob(within(t), "82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed")
		if err != nil || id != "manual:82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed:1795161820603:2" || why != "" {
			t.Errorf("%q %q %v", id, why, err)
		}
		wantAsked(t, <-asked, map[string]any{"id": "82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed", "mode": "force"})
	})
	t.Run("one that is running is not begun again", func(t *testing.T) {
		running := with(t, cronRecorded(t, "cron.run").Response, "payload", map[string]any{"ok": true, "ran": false, "reason": "already-running"})
		c, _ := answering(t, "cron.run", running)
		if id, why, err := c.RunJob(within(t), "x"); err != nil || id != "" || why != "already-running" {
			t.Errorf("%q %q %v", id, why, err)
		}
	})
	t.Run("its runs", func(t *testing.T) {
		c, asked := answering(t, "cron.runs", cronRecorded(t, "cron.runs").Response)
		runs, more, err := c.JobRuns(within(t), gateway.JobRunsWanted{JobID: "82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed", Limit: 5})
		if err != nil || more || len(runs) != 1 {
			t.Fatalf("%+v %v %v", runs, more, err)
		}
		r := runs[0]
		if r.Status != "ok" || r.JobName == "" || !r.RanAt.Equal(time.UnixMilli(1795161820629)) ||
			!strings.HasPrefix(r.SessionKey, "agent:cpo:cron:") || !strings.Contains(r.Summary, "finished the task") {
			t.Errorf("ran %+v", r)
		}
		wantAsked(t, <-asked, map[string]any{"id": "82ad0268-ebaf-42fa-b0d6-3ef7e48c23ed", "scope": "job", "limit": 5.0})
	})
	t.Run("its run without a delivered answer", func(t *testing.T) {
		for status, completions := range map[string]map[string]bool{
			"ok": {"succeeded": false, "unknown": false, "failed": true}, "error": {"failed": false}, // succeeded includes answers that were withheld
		} {
			for completion, want := range completions {
				row := with(t, with(t, recordedRun(t), "completionStatus", completion), "status", status)
				c, _ := answering(t, "cron.runs", with(t, cronRecorded(t, "cron.runs").Response, "payload.entries", []any{row}))
				if runs, _, err := c.JobRuns(within(t), gateway.JobRunsWanted{}); err != nil || len(runs) != 1 || runs[0].Undelivered != want {
					t.Errorf("%s, %s: %+v %v", status, completion, runs, err)
				}
			}
		}
	})
	t.Run("removed", func(t *testing.T) {
		c, _ := answering(t, "cron.remove", cronRecorded(t, "cron.remove").Response)
		if err := c.RemoveJob(within(t), "x"); err != nil {
			t.Error(err)
		}
	})
}

// Each kind of rejection maps to its own error; a missing scope is named.
func TestJobRefusals(t *testing.T) {
	t.Parallel()
	refusal := func(code, message string, more map[string]any) map[string]any {
		e := map[string]any{"code": code, "message": message}
		maps.Copy(e, more)
		return with(t, cronRecorded(t, "cron.add invalid").Response, "error", e)
	}
	for name, test := range map[string]struct {
		response any
		want     *fault.Error
		says     string
		after    time.Duration
	}{
		"no scope": {refusal("FORBIDDEN", "missing scope: operator.admin", map[string]any{
			"details": map[string]any{"code": "MISSING_SCOPE", "missingScope": "operator.admin", "requiredScopes": []string{"operator.admin"}},
		}), link.ErrMissingScope, "The request requires the operator.admin scope. Add it to AGENTRT_GATEWAY_SCOPES", 0},
		"no such job": {cronRecorded(t, "cron.get missing").Response, gateway.ErrNoJob, "", 0},
		"changed": {refusal("INVALID_REQUEST", "cron job definition no longer matches the loaded version; review the latest version before retrying", map[string]any{
			"details": map[string]any{"code": "CRON_JOB_CHANGED", "expectedConfigRevision": "a", "actualConfigRevision": "b"},
		}), gateway.ErrJobChanged, "Reload the job", 0},
		"too often": {refusal("UNAVAILABLE", "rate limit exceeded for cron.add; retry after 60s", map[string]any{
			"retryable": true, "retryAfterMs": 59436, "details": map[string]any{"method": "cron.add", "limit": "30 per 60s"},
		}), link.ErrBusy, "rate limit exceeded", 59436 * time.Millisecond},
		"invalid": {cronRecorded(t, "cron.add bad expr").Response, link.ErrRefused, "Invalid value for minute: 99", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := answering(t, "cron.add", test.response)
			_, err := c.AddJob(within(t), gateway.NewJob{Name: "x"})
			f := fault.Of(err)
			if !errors.Is(err, test.want) || !strings.Contains(f.Detail, test.says) || f.RetryAfter != test.after {
				t.Errorf("%v, again after %s", err, f.RetryAfter)
			}
		})
	}
}

// A job with wrong types keeps its valid fields, one without an id is dropped, and
// control characters are removed.
func TestHostileJobs(t *testing.T) {
	t.Parallel()
	e := cronRecorded(t, "cron.list")
	rows := []any{
		map[string]any{"id": 5},
		map[string]any{},
		"x", nil,
		map[string]any{
			"id": "a", "name": "x\u001b[2J\u202e" + token, "description": strings.Repeat("long\n", 400), "enabled": "no", "schedule": map[string]any{"kind": 5, "everyMs": 1e300},
			"payload": map[string]any{"message": strings.Repeat("y", 100_000), "timeoutSeconds": -5}, "state": map[string]any{"nextRunAtMs": "soon"},
		},
	}
	c, _ := answering(t, "cron.list", with(t, e.Response, "payload.jobs", rows))
	jobs, err := c.Jobs(within(t), gateway.JobsWanted{})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	if j := jobs[0]; j.Description != strings.Repeat("long\n", 400) || j.Name != "x[2J[token]" || j.Payload.Limit != 0 || j.State.NextRunAt != nil || len(j.Payload.Message) > 64*1024 {
		t.Errorf("%q %+v", j.Name, j.State)
	}
}
