package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

// shapes returns jobs of all formats: recorded from a real gateway, and others.
func shapes(t *testing.T) []gateway.Job {
	t.Helper()
	data, err := os.ReadFile("../gateway/testdata/cron.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded any
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	var jobs []gateway.Job
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if payload, ok := v["payload"].(map[string]any); ok && v["schedule"] != nil && v["id"] != nil {
				if text, ok := payload["text"]; ok {
					payload["message"] = text
				}
				var j gateway.Job
				row, err := json.Marshal(v)
				if err == nil {
					err = json.Unmarshal(row, &j)
				}
				if err != nil {
					t.Fatal(err)
				}
				j.ID, j.AgentID, j.CreatedAt, j.State = fmt.Sprint("recorded-", len(jobs)), "cto", clock.At(at("08:00:00")), gateway.JobState{}
				jobs = append(jobs, j)
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(recorded)
	if len(jobs) < 6 {
		t.Fatalf("only %d jobs were recorded", len(jobs))
	}
	for name, change := range map[string]func(j *gateway.Job){
		"spread":       func(j *gateway.Job) { j.Schedule.StaggerMS = 120_000 },
		"without zone": func(j *gateway.Job) { j.Schedule.Zone = "" },
		"odd zone":     func(j *gateway.Job) { j.Schedule.Zone = "Mars/Olympus" },
		"conditional":  func(j *gateway.Job) { j.Conditional = true },
		"main session": func(j *gateway.Job) { j.SessionTarget, j.Payload.Kind = "main", "systemEvent" },
		"own session":  func(j *gateway.Job) { j.SessionTarget, j.WakeMode = "session:agent:cto:daily", "next-heartbeat" },
		"webhook":      func(j *gateway.Job) { j.Delivery.Mode = "webhook" },
		"delivery":     func(j *gateway.Job) { j.Delivery.Mode = "" },
		"long texts": func(j *gateway.Job) {
			j.Description, j.Payload.Message, j.Name = strings.Repeat("d", 4000), strings.Repeat("m", 65_536), strings.Repeat("n", 400)
		},
		"blank texts":   func(j *gateway.Job) { j.Name, j.Payload.Message, j.Description = "", " ", "  x " },
		"new kind":      func(j *gateway.Job) { j.Schedule = gateway.JobSchedule{Kind: "on-exit"} },
		"disabled":      func(j *gateway.Job) { j.Enabled = false },
		"without agent": func(j *gateway.Job) { j.AgentID = "" },
		"has run": func(j *gateway.Job) {
			j.State = gateway.JobState{LastRunAt: clock.Ptr(at("08:00:00")), LastStatus: "error", LastError: "x", Errors: 3}
		},
	} {
		j := hourly(change)
		j.ID = name
		jobs = append(jobs, j)
	}
	return jobs
}

// caller returns a function that sends API requests as an admin.
func (h *fixture) caller() func(method, path string, body []byte) *httptest.ResponseRecorder {
	api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) {
		return actor.Actor{ID: "u", Name: "U", Role: actor.Admin}, nil
	}})
	h.Mount(api)
	return func(method, path string, body []byte) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(h.t.Context(), method, web.Prefix+path, strings.NewReader(string(body)))
		req.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		api.Handler().ServeHTTP(w, req)
		return w
	}
}

// TestJobsAreSentAsTheyAreRead checks that a job can be sent back as it was read, with one changed
// field.
func TestJobsAreSentAsTheyAreRead(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), shapes(t)...)
	h.at("08:30:00")
	ask := h.caller()
	for _, j := range shapes(t) {
		path := "/agentrt/jobs/" + strings.ReplaceAll(j.ID, " ", "%20")
		read := ask(http.MethodGet, path, nil)
		if read.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", j.ID, read.Code, read.Body)
		}
		before := h.r.calls["change"]
		if sent := ask(http.MethodPatch, path, read.Body.Bytes()); sent.Code != http.StatusOK || h.r.calls["change"] != before || sent.Body.String() != read.Body.String() {
			t.Errorf("%s: %d, after %d changes\nread %s\nthen %s", j.ID, sent.Code, h.r.calls["change"]-before, read.Body, sent.Body)
		}
		if now := h.r.jobs[j.ID]; fmt.Sprint(now) != fmt.Sprint(j) {
			t.Errorf("%s became %+v", j.ID, now)
		}
		// One changed field is applied or rejected by itself.
		turned := strings.Replace(read.Body.String(), fmt.Sprintf(`"enabled":%t`, j.Enabled), fmt.Sprintf(`"enabled":%t`, !j.Enabled), 1)
		if sent := ask(http.MethodPatch, path, []byte(turned)); sent.Code != http.StatusOK || h.r.calls["change"] != before+1 || h.r.jobs[j.ID].Enabled == j.Enabled {
			t.Errorf("%s, turned on or off: %d %s", j.ID, sent.Code, sent.Body)
		}
	}
}

// TestPartsOfAJob checks that single fields can be changed, and that read-only fields are
// rejected.
func TestPartsOfAJob(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(nil), hourly(func(j *gateway.Job) { j.ID, j.SessionTarget, j.Payload.Kind = "main", "main", "systemEvent" }))
	h.at("08:30:00")
	ask := h.caller()
	for _, c := range []struct {
		id, body, pointer string
		status            int
		is                func(j gateway.Job) bool
	}{
		{"j", `{"schedule":{"tz":"Europe/Berlin"}}`, "", http.StatusOK, func(j gateway.Job) bool { return j.Schedule.Zone == "Europe/Berlin" && j.Schedule.Expr == "0 * * * *" }},
		{"j", `{"schedule":{"expr":"0 9 * * *"}}`, "", http.StatusOK, func(j gateway.Job) bool { return j.Schedule.Expr == "0 9 * * *" && j.Schedule.Zone == "UTC" }},
		{"j", `{"sessionTarget":"isolated"}`, "", http.StatusOK, nil},
		{"j", `{"schedule":{}}`, "", http.StatusOK, nil},
		{"j", `{"payload":{"kind":"agentTurn"}}`, "", http.StatusOK, nil},
		{"j", `{"payload":{"message":"Other"}}`, "", http.StatusOK, func(j gateway.Job) bool { return j.Payload.Message == "Other" }},
		{"j", `{"state":{"nextRunAt":null,"runningAt":null,"lastRunAt":null,"lastStatus":"ok","lastError":"","consecutiveErrors":0},"next_runs":[],"live":false}`, "", http.StatusOK, nil},
		{"j", `{"sessionTarget":"main"}`, "/sessionTarget", http.StatusUnprocessableEntity, nil},
		{"j", `{"id":"other"}`, "/id", http.StatusUnprocessableEntity, nil},
		{"j", `{"wakeMode":"next-heartbeat"}`, "/wakeMode", http.StatusUnprocessableEntity, nil},
		{"j", `{"conditional":true}`, "/conditional", http.StatusUnprocessableEntity, nil},
		{"j", `{"schedule":{"kind":"every","everyMs":5}}`, "/schedule/kind", http.StatusUnprocessableEntity, nil},
		{"j", `{"schedule":{"tz":"Mars/Olympus"}}`, "/schedule/tz", http.StatusUnprocessableEntity, nil},
		{"j", `{"schedule":{"staggerMs":5}}`, "/schedule/staggerMs", http.StatusUnprocessableEntity, nil},
		{"j", `{"payload":{"kind":"systemEvent","message":"Other"}}`, "/payload/kind", http.StatusUnprocessableEntity, nil},
		{"j", `{"payload":{"kind":"systemEvent"}}`, "/payload/kind", http.StatusUnprocessableEntity, nil},
		{"j", `{"delivery":{"mode":"webhook"}}`, "/delivery/mode", http.StatusUnprocessableEntity, nil},
		{"j", `{"name":"` + strings.Repeat("n", 201) + `"}`, "/name", http.StatusUnprocessableEntity, nil},
		{"j", `{"description":"` + strings.Repeat("d", 2001) + `"}`, "/description", http.StatusUnprocessableEntity, nil},
		{"j", `{"payload":{"message":"` + strings.Repeat("m", 20_001) + `"}}`, "/payload/message", http.StatusUnprocessableEntity, nil},
		{"main", `{"payload":{"message":"Other"}}`, "", http.StatusOK, func(j gateway.Job) bool { return j.Payload.Kind == "agentTurn" && j.Payload.Message == "Other" }},
	} {
		was := h.r.jobs[c.id]
		before := h.r.calls["change"]
		got := ask(http.MethodPatch, "/agentrt/jobs/"+c.id, []byte(c.body))
		if got.Code != c.status || c.pointer != "" && !strings.Contains(got.Body.String(), `"`+c.pointer+`"`) {
			t.Errorf("%.100s: %d %s", c.body, got.Code, got.Body)
		}
		if now := h.r.jobs[c.id]; c.is == nil && h.r.calls["change"] != before || c.is != nil && !c.is(now) {
			t.Errorf("%.100s made %+v", c.body, now)
		}
		h.r.change(func() { h.r.jobs[c.id] = was })
	}
}

// TestCopyAJob checks that a job can be created from the JSON of another one.
func TestCopyAJob(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), shapes(t)...)
	h.at("08:30:00")
	ask := h.caller()
	made := 0
	for _, j := range shapes(t) {
		read := ask(http.MethodGet, "/agentrt/jobs/"+strings.ReplaceAll(j.ID, " ", "%20"), nil)
		got := ask(http.MethodPost, "/agentrt/jobs", read.Body.Bytes())
		can := j.Schedule.Kind == "cron" && j.SessionTarget == "isolated" && j.WakeMode != "next-heartbeat" && j.Payload.Kind == "agentTurn" && j.AgentID != "" &&
			!slices.Contains([]string{"spread", "odd zone", "conditional", "webhook", "long texts", "blank texts"}, j.ID)
		if want := map[bool]int{true: http.StatusCreated, false: http.StatusUnprocessableEntity}[can]; got.Code != want {
			t.Errorf("%s: %d %s, want %d", j.ID, got.Code, got.Body, want)
		}
		if got.Code != http.StatusCreated {
			continue
		}
		made++
		var is Job
		if err := json.Unmarshal(got.Body.Bytes(), &is); err != nil {
			t.Fatal(err)
		}
		if is.ID == j.ID || is.Name != j.Name || is.Schedule.Expr != j.Schedule.Expr || is.Payload.Message != j.Payload.Message || is.Enabled != j.Enabled {
			t.Errorf("%s was made as %+v", j.ID, is)
		}
	}
	if made < 4 {
		t.Errorf("only %d were made", made)
	}
}
