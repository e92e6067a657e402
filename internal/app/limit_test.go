package app_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/limit"
	"wardroom/internal/platform/actor"
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

// The limit on a run that is lost, such as one without usage, ends a minute after the runtime no longer has the run, and
// not while the runtime's runs are unknown.
func TestLimitOnLostRun(t *testing.T) {
	t.Parallel()
	a := newHouse(t, db.SQLite, nil).build()
	ctx, later := actor.With(t.Context(), actor.System), time.Now()
	a.Limits.Now = func() time.Time { return later }
	change := func(query string) {
		t.Helper()
		if err := a.DB.Tx(ctx, func(tx *db.Tx) error { _, err := tx.Exec(ctx, query); return err }); err != nil {
			t.Fatal(err)
		}
	}
	change(`INSERT INTO usage_going (run_id, provider, model, read_at, at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
		input, output, cache_read, cache_write, other, price, calls, took)
		VALUES ('lost', 'p', 'm', '2026-11-16T08:00:00Z', 0, 'cto', 'agent:cto:main', 's', 'human', '', '', '', 1, 0, 0, 0, 0, 'unpriced', 0, 0)`)
	n := limit.New{Scope: limit.OneRun, ScopeID: "lost", Measure: limit.Calls, Amount: "9", Window: limit.PerRun, Action: limit.Stop}
	if _, err := a.Limits.Create(ctx, n); err != nil {
		t.Fatal(err)
	}
	change(`DELETE FROM usage_going`)
	pass := func(left int) {
		t.Helper()
		if err := a.Limits.EndPeriods(ctx); err != nil {
			t.Fatal(err)
		}
		if all, err := a.Limits.List(ctx); err != nil || len(all) != left {
			t.Errorf("the limits are %+v, want %d; %v", all, left, err)
		}
		later = later.Add(time.Minute)
	}
	pass(1)
	pass(1)
	following, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, run := range []func(context.Context) error{a.Gateway.Run, a.Mirror.Run, a.Sessions.Run} {
		running.Go(func() { _ = run(following) })
	}
	waitFor(t, "the sessions", func() bool { _, err := a.Sessions.Overview(ctx, later); return err == nil })
	pass(1) // the run can still reach the ledger
	pass(0)
}
