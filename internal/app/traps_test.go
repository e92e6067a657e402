package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"wardroom/internal/approval"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/task"
)

// trapped is a Wardroom in a runtime that sets a trap.
type trapped struct {
	*service
	t     *testing.T
	owner caller
}

// The gateway does some things that no client expects. docs/promises.md lists all of them; those that no other test sets
// are here.
func TestTraps(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]struct {
		change func(*config.Raw)
		spring func(trapped)
	}{
		"nobody can approve":                        {nil, trapped.noRoute},
		"a sub-agent needs an approval":             {withAdmin, trapped.subAgentAsks},
		"a stopped run leaves an approval":          {withAdmin, trapped.stoppedWhileWaiting},
		"a run from a channel":                      {withAdmin, trapped.fromChannel},
		"a canceled sub-agent wakes its parent":     {nil, trapped.wokenParent},
		"a session has a model of its own":          {withAdmin, trapped.ownModel},
		"a key fails, and the login looks fine":     {nil, trapped.failedKey},
		"requests are lost with the gateway":        {withAdmin, trapped.restarted},
		"a run's time does not end at an approval":  {func(r *config.Raw) { withAdmin(r); r.DispatchTimeout = "2s" }, trapped.outlastsItsTime},
		"a question ends when its run's time is up": {withAdmin, trapped.questionEnds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHouse(t, db.SQLite, trap.change).start().connected()
			trap.spring(trapped{s, t, s.login(ownerEmail)})
		})
	}
}

// waits makes the CTO's runs wait for an approval until the test ends.
func (w trapped) waits() {
	r := w.house.runtime
	r.Answer("cto", func(q demo.Question) string {
		r.AskApproval(demo.Command{AgentID: q.AgentID, SessionKey: q.SessionKey, RunID: q.RunID, Text: "make deploy"})
		<-w.t.Context().Done()
		return ""
	})
}

// becomes waits until the only approval or question has a state.
func (w trapped) becomes(kind string, state approval.State) {
	w.t.Helper()
	waitFor(w.t, kind+" to be "+string(state), func() bool {
		all := decode[[]struct{ State approval.State }](w.owner.get("/api/v1/" + kind + "?state=all").want(http.StatusOK))
		return len(all) == 1 && all[0].State == state
	})
}

// isIdle waits until no run of a session is in progress.
func (w trapped) isIdle(key string) {
	w.t.Helper()
	waitFor(w.t, key+" to be idle", func() bool {
		return w.owner.get("/api/v1/agentrt/sessions/"+key).status == http.StatusOK && !w.owner.session(key).Active
	})
}

// refused expects that the runtime denies a command in a session at once, so that the agent goes on and no person is asked.
func (w trapped) refused(key string) {
	w.t.Helper()
	r := w.house.runtime
	r.StartWork("cto", strings.TrimPrefix(key, "agent:cto:"), "", time.Millisecond, demo.Script{Ask: "Deploy.", Steps: []demo.Step{{
		Tool: "exec",
		Asks: func(_ context.Context, key, runID string) string {
			return r.AskApproval(demo.Command{AgentID: "cto", SessionKey: key, RunID: runID, Text: "make deploy"})
		},
		Then: func(e demo.Ending) (string, demo.Script) {
			return "", demo.Script{Answer: "I was not allowed to." + e.Decision}
		},
	}}})
	waitFor(w.t, "the agent to go on", func() bool {
		said := w.owner.get("/api/v1/agentrt/sessions/" + key + "/messages")
		return said.status == http.StatusOK && strings.Contains(string(said.body), "I was not allowed to.")
	})
	if items := w.owner.inboxOf(inbox.Approval, "open"); len(items) > 0 {
		w.t.Errorf("people are asked: %+v", items)
	}
}

func (w trapped) noRoute() { w.refused(cto) }

func (w trapped) subAgentAsks() {
	w.ask("run-1", cto, "What is next?")
	w.answered("run-1")
	child, runID, err := w.house.runtime.Spawn(cto, "deploy", "Deploy.")
	if err != nil {
		w.t.Fatal(err)
	}
	w.answered(runID)
	w.refused(child)
}

func (w trapped) stoppedWhileWaiting() {
	w.waits()
	w.ask("run-1", cto, "Deploy.")
	w.becomes("approvals", approval.Pending)
	w.owner.post(ctoPath+"/stop", nil).want(http.StatusOK)
	w.becomes("approvals", approval.Aborted)
}

func (w trapped) fromChannel() {
	const key = "agent:cto:telegram:direct:777"
	w.house.runtime.Silence("cto", true)
	runID := uuid.NewString()
	if err := w.house.runtime.Prompt(demo.Prompt{RunID: runID, SessionKey: key, Message: "Hi!", Channel: true}); err != nil {
		w.t.Fatal(err)
	}
	path := "/api/v1/agentrt/sessions/" + key
	waitFor(w.t, "the run", func() bool {
		if w.owner.get(path).status != http.StatusOK {
			return false
		}
		is := w.owner.session(key)
		return is.ActiveRunID != nil && *is.ActiveRunID == runID
	})
	stop := func(id string) session.Stopped {
		return decode[session.Stopped](w.owner.post(path+"/stop", map[string]string{"run_id": id}).want(http.StatusOK))
	}
	if got := stop("another"); got.Stopped || !w.owner.session(key).Active {
		w.t.Errorf("stopping another run: %+v", got)
	}
	if got := stop(runID); !got.Stopped || len(got.RunIDs) != 1 || got.RunIDs[0] != runID {
		w.t.Errorf("stopping the run: %+v", got)
	}
	w.isIdle(key)
	if got := stop(runID); got.Stopped {
		w.t.Errorf("stopping the ended run: %+v", got)
	}
}

// Without operator.admin, Wardroom can stop what it began over an earlier connection only through the task ledger.
func (w trapped) wokenParent() {
	r := w.house.runtime
	w.atWork()
	child, _, err := r.Spawn(cto, "deploy", "Deploy.")
	if err != nil {
		w.t.Fatal(err)
	}
	waitFor(w.t, "the sub-agent", func() bool { return w.owner.get("/api/v1/agentrt/sessions/"+child).status == http.StatusOK })
	r.Drop()
	waitFor(w.t, "the loss of the connection", func() bool { return w.Gateway.Connections() > 1 })
	w.connected()
	w.owner.holdCTO()
	w.isIdle(child)
	waitFor(w.t, "the parent that was woken to be stopped", func() bool { return r.Calls("tasks.cancel") >= 3 && r.Busy() == 0 })
}

func (w trapped) ownModel() {
	r := w.house.runtime
	w.owner.consent()
	uses := func(runID, model string) {
		w.t.Helper()
		w.ask(runID, cto, "What is next?")
		w.answered(runID)
		waitFor(w.t, model, func() bool {
			if w.owner.get(ctoPath).status != http.StatusOK {
				return false
			}
			is := w.owner.session(cto).Model
			return is != nil && *is == model
		})
	}
	uses("run-1", "demo/demo-1")
	if err := r.ChooseModel(cto, "demo/demo-2"); err != nil {
		w.t.Fatal(err)
	}
	uses("run-2", "demo/demo-2")
	w.owner.holdCTO()
	w.owner.heldAs("held")
	w.ask("run-3", cto, "And now?") // as another client would
	if a, err := w.Gateway.Wait(w.t.Context(), "run-3", atMost); err != nil || a.Outcome != gateway.Failed || !strings.Contains(a.Error, "Unknown model: wardroom-hold/over-budget") {
		w.t.Errorf("a held agent answered with the session's model: %+v, %v", a, err)
	}
	w.owner.releaseCTO()
	uses("run-4", "demo/demo-1")
}

// People learn from the failed run what the gateway says about its key, and no login is said to end.
func (w trapped) failedKey() {
	const reason = "HTTP 401: invalid API key"
	w.owner.hire("cto")
	w.house.runtime.Fail("cto", reason)
	w.ask("run-1", cto, "What is next?")
	waitFor(w.t, "the failed run", func() bool {
		if w.owner.get(ctoPath).status != http.StatusOK {
			return false
		}
		is := w.owner.session(cto)
		return !is.Active && is.Status != nil && *is.Status == "failed"
	})
	if said := w.owner.get(ctoPath + "/messages").want(http.StatusOK); !strings.Contains(string(said.body), reason) {
		w.t.Errorf("the session does not show why: %s", said.body)
	}
	key := w.owner.handed("cto", "Ship it").Key
	w.owner.dispatch(key)
	if d := w.owner.becomes(key, task.Failed).Dispatch; d.Error == nil || d.Error.Code != "run_failed" || !strings.Contains(d.Error.Detail, reason) {
		w.t.Errorf("the dispatch is %+v", d)
	}
	if items := w.owner.inboxOf(inbox.DispatchFailed, "open"); len(items) != 1 || !strings.Contains(items[0].Detail, reason) {
		w.t.Errorf("the inbox has %+v", items)
	}
	if all, err := w.Gateway.Logins(w.t.Context(), "cto"); err != nil || len(all) != 1 || all[0].State != "static" {
		w.t.Errorf("the logins are %+v, %v", all, err)
	}
	if err := w.Checks.CheckLogins(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if items := w.owner.inboxOf(inbox.LoginEnding, "open"); len(items) > 0 {
		w.t.Errorf("a login is said to end: %+v", items)
	}
}

func (w trapped) restarted() {
	r := w.house.runtime
	w.waits()
	w.ask("run-1", cto, "Deploy.")
	r.AskQuestion("cmo", "agent:cmo:main", "", 0, anyQuestion())
	w.becomes("approvals", approval.Pending)
	w.becomes("questions", approval.Pending)
	r.Restart(0)
	w.becomes("approvals", approval.Lost)
	w.becomes("questions", approval.Lost)
}

func (w trapped) outlastsItsTime() {
	w.owner.hire("cto")
	w.waits()
	key := w.owner.handed("cto", "Ship it").Key
	w.owner.dispatch(key)
	if d := w.owner.becomes(key, task.Failed).Dispatch; d.Error == nil || d.Error.Code != "timed_out" {
		w.t.Errorf("the dispatch is %+v", d)
	}
	w.becomes("approvals", approval.Aborted)
}

func (w trapped) questionEnds() {
	r := w.house.runtime
	r.Answer("cto", func(q demo.Question) string {
		r.AskQuestion(q.AgentID, q.SessionKey, q.RunID, 0, anyQuestion())
		<-w.t.Context().Done()
		return ""
	})
	_, err := w.Gateway.Start(w.t.Context(), gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: cto, Message: "Announce it.", Limit: time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	w.becomes("questions", approval.Aborted)
	if a, err := w.Gateway.Wait(w.t.Context(), "run-1", atMost); err != nil || a.Outcome != gateway.Finished || a.Text != "" {
		w.t.Errorf("the run ended as %+v, %v", a, err)
	}
}

func anyQuestion() map[string]any {
	return map[string]any{"questionId": "place", "header": "Place", "question": "Where?", "options": []map[string]any{{"label": "Blog"}}}
}
