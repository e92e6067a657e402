package app_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/schedule"
	"wardroom/internal/task"
)

// A scheduled job is created, changed, run and deleted through the runtime's methods. A
// conflicting change is refused with both versions.
func TestJobs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		made := decode[schedule.Job](owner.post("/api/v1/agentrt/jobs", jobBody("Yearly", "cto")).want(http.StatusCreated))
		if made.Delivery.Mode != "none" || made.SessionTarget != "isolated" || !made.Enabled || len(made.NextRuns) != 10 || !strings.Contains(made.NextRuns[0].Local, "T09:00:00+01:00") {
			t.Errorf("made %+v", made)
		}
		at := "/api/v1/agentrt/jobs/" + made.ID
		for _, bad := range []struct {
			pointer string
			change  map[string]any
		}{
			{"/schedule/expr", map[string]any{"schedule": map[string]any{"expr": "60 * * * *"}}},
			{"/schedule/expr", map[string]any{"schedule": map[string]any{"expr": "0 0 9 * * *"}}},
			{"/schedule/tz", map[string]any{"schedule": map[string]any{"expr": "0 9 * * *", "tz": "Mars/Olympus"}}},
			{"/schedule/at", map[string]any{"schedule": map[string]any{"expr": "0 9 * * *", "at": "2999-01-01T09:00:00Z"}}},
			{"/agentId", map[string]any{"agentId": "nobody"}},
			{"/payload/message", map[string]any{"payload": map[string]any{"message": " "}}},
		} {
			body := jobBody("Bad", "cto")
			maps.Copy(body, bad.change)
			for _, a := range []answer{owner.post("/api/v1/agentrt/jobs", body), owner.patch(at, bad.change)} {
				if a.wantProblem(http.StatusUnprocessableEntity, "invalid_input"); !strings.Contains(string(a.body), `"`+bad.pointer+`"`) {
					t.Errorf("%v: %s", bad.change, a.body)
				}
			}
		}
		changed := decode[schedule.Job](owner.patch(at, map[string]any{
			"name": "Each year", "task": map[string]any{"title": "Order paper"}, "configRevision": made.Revision,
		}).want(http.StatusOK))
		told := owner.patch(at, map[string]any{"enabled": false, "configRevision": made.Revision}).wantProblem(http.StatusConflict, "job_changed")
		problem := decode[struct {
			Expected string                `json:"expected_revision"`
			Current  string                `json:"current_revision"`
			Job      struct{ Name string } `json:"current"`
		}](told)
		if problem.Expected != made.Revision || problem.Current != changed.Revision || problem.Job.Name != "Each year" {
			t.Errorf("the problem is %+v", problem)
		}
		owner.send(http.MethodDelete, at+"?configRevision="+made.Revision, nil).wantProblem(http.StatusConflict, "job_changed")
		waitFor(t, "the mirror", func() bool {
			a := owner.get("/api/v1/agentrt/jobs")
			jobs := decode[[]schedule.Job](a.want(http.StatusOK))
			return len(jobs) == 1 && jobs[0].Name == "Each year" && jobs[0].Live && a.header.Get("X-Away") == ""
		})
		run := decode[schedule.Started](owner.post(at+"/run", nil).want(http.StatusAccepted))
		waitFor(t, "the run", func() bool {
			runs := decode[[]schedule.Run](owner.get(at + "/runs").want(http.StatusOK))
			return len(runs) == 1 && runs[0].RunID == run.RunID && runs[0].Manual && runs[0].Status == "ok" && runs[0].Summary != ""
		})
		tasks := decode[[]task.Task](owner.get("/api/v1/tasks?assignee=cto").want(http.StatusOK))
		if len(tasks) != 1 || tasks[0].Title != "Order paper" || tasks[0].Origin == nil || *tasks[0].Origin != "job:"+made.ID {
			t.Errorf("the run made the tasks %+v", tasks)
		}
		owner.send(http.MethodDelete, at, nil).want(http.StatusNoContent)
		owner.get(at).wantProblem(http.StatusNotFound, "job_not_found")
		owner.patch(at, map[string]any{"enabled": false}).wantProblem(http.StatusNotFound, "job_not_found")
		owner.get(at + "/runs").want(http.StatusOK) // the runs stay
		for _, list := range []string{"/api/v1/activity?subject_kind=schedule", "/api/v1/audit?subject_kind=schedule"} {
			var kinds []string
			for _, e := range decode[[]event.Event](owner.get(list).want(http.StatusOK)) {
				kinds = append(kinds, e.Kind)
			}
			if got := strings.Join(kinds, " "); got != "job.removed job.started job.changed job.made" {
				t.Errorf("%s returns %s", list, got)
			}
		}
		cto := s.login("cto@example.com")
		cto.get("/api/v1/agentrt/slots").want(http.StatusOK)
		cto.post("/api/v1/agentrt/jobs", jobBody("Mine", "cto")).wantProblem(http.StatusForbidden, "forbidden")
	})
}

// A job that runs once is created with a time, and a wrong time is refused. The preview of an
// expression has the times at which a job with it would run.
func TestJobOnceAndPreview(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
	owner := h.start().connected().login(ownerEmail)
	owner.hire("cto")
	once := func(times map[string]any) answer {
		body := jobBody("Once", "cto")
		body["schedule"] = times
		return owner.post("/api/v1/agentrt/jobs", body)
	}
	made := decode[schedule.Job](once(map[string]any{"kind": "at", "at": "2099-06-01T09:00:00+02:00"}).want(http.StatusCreated))
	if made.Schedule.Kind != "at" || len(made.NextRuns) != 1 || made.NextRuns[0].At.Format(time.RFC3339) != "2099-06-01T07:00:00Z" {
		t.Errorf("made %+v", made)
	}
	for _, bad := range []map[string]any{
		{"kind": "at", "at": "2020-01-01T09:00:00Z"},
		{"kind": "at", "at": "2100-01-01T00:00:00Z"},
		{"kind": "at", "at": "tomorrow"},
		{"kind": "at"},
		{},
		{"kind": "at", "at": "2099-01-01T09:00:00Z", "tz": "UTC"},
	} {
		once(bad).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	}
	preview := func(query string) schedule.Preview {
		return decode[schedule.Preview](owner.get("/api/v1/agentrt/next-runs?" + query).want(http.StatusOK))
	}
	p := preview("expr=0+9+1+1+*&tz=Europe/Berlin")
	if len(p.NextRuns) != 5 || p.NextRuns[0].UTC().Hour() != 8 || p.Expr != "" || p.Zone != "" {
		t.Errorf("the preview is %+v", p)
	}
	if p := preview("expr=60+*+*+*+*"); p.Expr == "" || len(p.NextRuns) > 0 {
		t.Errorf("the preview of an invalid expression is %+v", p)
	}
	if p := preview("expr=0+9+*+*+*&tz=Mars/Olympus"); p.Zone == "" || len(p.NextRuns) > 0 {
		t.Errorf("the preview in an unknown zone is %+v", p)
	}
}

// Without the scope, changes of jobs are refused at once with what is missing. While the
// runtime is offline, the jobs can still be read.
func TestJobsRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	told := owner.post("/api/v1/agentrt/jobs", jobBody("Mine", "cto")).wantProblem(http.StatusForbidden, "missing_scope")
	if scope := decode[struct {
		Scope string `json:"missing_scope"`
	}](told).Scope; scope != "operator.admin" {
		t.Errorf("the missing scope is %q", scope)
	}
	if jobs := decode[[]schedule.Job](owner.get("/api/v1/agentrt/jobs").want(http.StatusOK)); len(jobs) > 0 {
		t.Errorf("there are %+v", jobs)
	}
	_ = h.runtime.Close()
	waitFor(t, "the gateway to be offline", func() bool { return owner.get("/api/v1/agentrt/jobs").header.Get("X-Away") != "" })
	owner.get("/api/v1/agentrt/slots").want(http.StatusOK)
	owner.post("/api/v1/agentrt/jobs", jobBody("Mine", "cto")).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")

	none := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" })
	none.start().login(ownerEmail).get("/api/v1/agentrt/jobs").wantProblem(http.StatusServiceUnavailable, "gateway_not_configured")
}
