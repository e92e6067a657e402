package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/standup"
)

// The runtime's job makes the COO open and run the standup with the COO's API key, which
// is only in the runtime's environment.
func TestScheduledStandup(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		owner.get("/api/v1/standups/schedule").wantProblem(http.StatusNotFound, "schedule_not_found")
		secret, _ := owner.key("coo@example.com", map[string]any{"name": "the runtime"}) // the key is shown only once
		h.key.Store(&secret.token)

		made := decode[standup.Schedule](owner.post("/api/v1/standups/schedule", map[string]any{"timezone": "Europe/Lisbon"}).want(http.StatusOK))
		owner.get("/api/v1/agentrt/jobs/" + made.Job.ID).want(http.StatusOK) // before the mirror reads it
		if made.ServiceURL != s.base || strings.Contains(made.Job.Payload.Message, secret.token) || len(made.Warnings) > 0 {
			t.Errorf("made %+v", made)
		}
		again := decode[standup.Schedule](owner.post("/api/v1/standups/schedule", nil).want(http.StatusOK))
		if again.Job.ID != made.Job.ID || again.Job.Revision != made.Job.Revision {
			t.Errorf("the second time it is %+v", again.Job)
		}
		owner.post("/api/v1/standups/schedule", map[string]any{"expr": "soon"}).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
		owner.post("/api/v1/standups/schedule", map[string]any{"enabled": false, "revision": "sha256:old"}).wantProblem(http.StatusConflict, "job_changed")

		for range 2 { // a second run is harmless
			if _, why, err := s.Gateway.RunJob(t.Context(), made.Job.ID); err != nil || why != "" {
				t.Fatal(why, err)
			}
			waitFor(t, "the end of the job's run", func() bool {
				j, err := s.Gateway.Job(t.Context(), made.Job.ID)
				return err == nil && j.State.RunningAt == nil && j.State.LastStatus == "ok"
			})
			waitFor(t, "the end of the standup", func() bool {
				return decode[meeting](owner.get("/api/v1/standups/latest")).Status == standup.Completed
			})
		}
		m := decode[meeting](owner.get("/api/v1/standups/latest").want(http.StatusOK))
		if m.Trigger != "agent" || m.Attempt != 1 || !strings.Contains(m.Transcript[0].Text, "COO opened the standup") {
			t.Errorf("started by %q, attempt %d: %+v", m.Trigger, m.Attempt, m.Transcript[0])
		}
		for _, list := range []string{"/api/v1/activity?subject_kind=schedule", "/api/v1/audit?subject_kind=schedule"} {
			told := decode[[]event.Event](owner.get(list).want(http.StatusOK))
			if len(told) != 1 || told[0].Kind != "schedule.made" || told[0].Actor.Name == "" {
				t.Errorf("%s has %+v", list, told)
			}
		}
		scheduledTeam(t, s, owner)
		cto := s.login("cto@example.com")
		cto.get("/api/v1/standups/schedule").want(http.StatusOK)
		cto.post("/api/v1/standups/schedule", nil).wantProblem(http.StatusForbidden, "forbidden")
	})
}

// scheduledTeam makes the job of another team run that team's standup.
func scheduledTeam(t *testing.T, s *service, owner caller) {
	t.Helper()
	team := map[string]any{"key": "design", "name": "Design", "facilitator": "coo", "participants": []string{"cpo"}, "timezone": "Asia/Tokyo"}
	owner.post("/api/v1/teams", team).want(http.StatusCreated)
	owner.get("/api/v1/standups/schedule?team=design").wantProblem(http.StatusNotFound, "schedule_not_found")
	owner.get("/api/v1/standups/schedule?team=none").wantProblem(http.StatusUnprocessableEntity, "team_unknown")
	owner.post("/api/v1/standups/schedule", map[string]any{"team": "none"}).wantProblem(http.StatusUnprocessableEntity, "team_unknown")
	made := decode[standup.Schedule](owner.post("/api/v1/standups/schedule", map[string]any{"team": "design"}).want(http.StatusOK))
	read := decode[standup.Schedule](owner.get("/api/v1/standups/schedule?team=design").want(http.StatusOK))
	mine := decode[standup.Schedule](owner.get("/api/v1/standups/schedule").want(http.StatusOK))
	if made.Job.Schedule.Zone != "Asia/Tokyo" || read.Job.ID != made.Job.ID || read.Team != "design" || mine.Job.ID == made.Job.ID || mine.Team != "executive" {
		t.Errorf("made %+v, read %+v, the other %+v", made, read, mine)
	}
	if _, why, err := s.Gateway.RunJob(t.Context(), made.Job.ID); err != nil || why != "" {
		t.Fatal(why, err)
	}
	var m meeting
	waitFor(t, "the end of the team's standup", func() bool {
		a := owner.get("/api/v1/standups/latest?team=design")
		if a.status == http.StatusOK {
			m = decode[meeting](a)
		}
		return m.Status == standup.Completed
	})
	if m.Trigger != "agent" || len(m.Reports) != 1 {
		t.Errorf("started by %q with %d reports", m.Trigger, len(m.Reports))
	}
	owner.patch("/api/v1/teams/design", map[string]any{"archived": true}).want(http.StatusOK)
	owner.post("/api/v1/standups/schedule", map[string]any{"team": "design"}).wantProblem(http.StatusConflict, "team_archived")
	owner.post("/api/v1/standups/schedule", map[string]any{"team": "design", "enabled": false}).want(http.StatusOK)
}

// Without the scope, scheduling is refused with what is missing. While the runtime is
// offline, the last known schedule is shown.
func TestScheduleRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	told := owner.post("/api/v1/standups/schedule", nil).wantProblem(http.StatusForbidden, "missing_scope")
	problem := decode[struct {
		Detail string
		Scope  string `json:"missing_scope"`
	}](told)
	if problem.Scope != "operator.admin" || !strings.Contains(problem.Detail, "AGENTRT_GATEWAY_SCOPES") {
		t.Errorf("the problem is %+v", problem)
	}
	owner.get("/api/v1/agentrt/jobs").want(http.StatusOK) // waits until Wardroom has read them
	_ = h.runtime.Close()
	waitFor(t, "the gateway to be offline", func() bool { return s.Gateway.Status().State != link.Connected })
	told = owner.get("/api/v1/standups/schedule").wantProblem(http.StatusNotFound, "schedule_not_found")
	if !strings.Contains(string(told.body), "The runtime is unavailable. When Wardroom last read the runtime's jobs") {
		t.Errorf("while the gateway is offline: %s", told.body)
	}
	owner.post("/api/v1/standups/schedule", nil).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")
	if kinds := s.StandupQueue.Kinds; kinds[standup.FallbackKind].Do == nil || !slices.ContainsFunc(s.Queue.Timers, func(timer job.Timer) bool { return timer.Name == "report missed standups" }) {
		t.Error("the timer that finds missed standups is missing")
	}
}
