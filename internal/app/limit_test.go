package app_test

import (
	"net/http"
	"testing"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/db"
)

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
