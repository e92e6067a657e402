package app_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// A limit that people set stops a run of the runtime, and can be changed and deleted.
func TestLimitOnAllRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.Timezone = "Asia/Kathmandu" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	body := map[string]any{"scope": "all", "measure": "calls", "amount": "900", "window": "run", "action": "stop"}
	l := decode[limit.Limit](owner.post("/api/v1/limits", body).want(http.StatusCreated))
	at := "/api/v1/limits/" + l.ID
	owner.patch(at, map[string]any{"amount": "5"}).want(http.StatusOK)
	if l.Timezone != "Asia/Kathmandu" {
		t.Errorf("its zone is %s", l.Timezone)
	}
	h.runtime.StartWork("cto", "main", "", time.Second, demo.Script{Ask: "Count.", Steps: slices.Repeat([]demo.Step{{Tool: "exec", Result: "1"}}, 200)})
	waitFor(t, "the stop", func() bool { return len(owner.audit("kind=limit.stopped")) == 1 })
	waitFor(t, "the end of the run", func() bool { return owner.session(cto).ActiveRunID == nil })
	owner.send(http.MethodDelete, at, nil).want(http.StatusNoContent)
	owner.get(at).wantProblem(http.StatusNotFound, "limit_not_found")
	body["scope"], body["scope_id"] = "team", "nobody"
	owner.post("/api/v1/limits", body).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
}

// People limit the run of a session that they watch, but no run that is not in progress.
func TestLimitOnRunOfSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	answer := make(chan struct{})
	h.runtime.Answer("cto", func(demo.Question) string { <-answer; return "Done." })
	s.ask("run-1", cto, "What is next?")
	waitFor(t, "the run", func() bool {
		return owner.get(ctoPath).status == http.StatusOK && owner.session(cto).ActiveRunID != nil
	})
	body := map[string]any{"scope": "run", "scope_id": "another", "measure": "calls", "amount": "9", "window": "run", "action": "stop"}
	owner.post("/api/v1/limits", body).wantProblem(http.StatusConflict, "limit_run_not_in_progress")
	body["scope_id"] = *owner.session(cto).ActiveRunID
	l := decode[limit.Limit](owner.post("/api/v1/limits", body).want(http.StatusCreated))
	body["window"] = "day"
	owner.post("/api/v1/limits", body).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	close(answer)
	s.answered("run-1")
	waitFor(t, "the end of the limit", func() bool { return owner.get("/api/v1/limits/"+l.ID).status == http.StatusNotFound })
	if items := owner.inboxOf(inbox.LimitReached, "open"); len(items) > 0 {
		t.Errorf("the inbox has %+v", items)
	}
	body["window"] = "run"
	owner.post("/api/v1/limits", body).wantProblem(http.StatusConflict, "limit_run_not_in_progress")
}
