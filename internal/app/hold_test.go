package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// heldAs waits until the CTO's hold has the given state in the runtime, and returns it.
func (c caller) heldAs(runtime string) agent.Hold {
	c.house.t.Helper()
	var a agent.Agent
	waitFor(c.house.t, "the hold to be "+runtime, func() bool {
		a = decode[agent.Agent](c.get("/api/v1/agents/cto").want(http.StatusOK))
		return a.Hold != nil && a.Hold.Runtime == runtime
	})
	return *a.Hold
}

// isReleased waits until the CTO is not held.
func (c caller) isReleased() {
	c.house.t.Helper()
	waitFor(c.house.t, "the release", func() bool {
		return decode[agent.Agent](c.get("/api/v1/agents/cto").want(http.StatusOK)).Hold == nil
	})
}

// consent lets holds change the runtime.
func (c caller) consent() {
	c.house.t.Helper()
	path, holds := "/api/v1/settings", map[string]bool{"in_runtime": true}
	c.patch(path, map[string]any{"holds": holds}).want(http.StatusForbidden)
	c.patch(path, map[string]any{"holds": holds, "current_password": password}).want(http.StatusOK)
}

func (c caller) holdCTO() {
	c.house.t.Helper()
	c.post("/api/v1/agents/cto/hold", map[string]string{"reason": "Over budget!"}).want(http.StatusOK)
}

func (c caller) releaseCTO() {
	c.house.t.Helper()
	c.post("/api/v1/agents/cto/release", nil).want(http.StatusOK)
	c.isReleased()
}

// addJob adds an enabled job of the CTO to the runtime and returns its ID.
func (s *service) addJob(name string, enabled bool) string {
	s.house.t.Helper()
	j, err := s.Gateway.AddJob(s.house.t.Context(), gateway.NewJob{
		Name: name, AgentID: "cto", Enabled: enabled, Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 4 1 1 *"}, SessionTarget: "isolated", Message: "Look around.",
	})
	if err != nil {
		s.house.t.Fatal(err)
	}
	return j.ID
}

func (s *service) jobEnabled(id string) bool {
	s.house.t.Helper()
	j, err := s.Gateway.Job(s.house.t.Context(), id)
	if err != nil {
		s.house.t.Fatal(err)
	}
	return j.Enabled
}

// A held agent that still runs goes on burning money, and a release that restores anything but
// what was there damages the runtime's configuration.
func TestHoldAndRelease(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		owner.consent()
		on, off := s.addJob("on", true), s.addJob("off", false)
		waiting := owner.handed("cto", "Ship it").Key
		before := h.runtime.Config()
		s.atWork()

		owner.post("/api/v1/agents/nobody/hold", map[string]string{"reason": "x"}).wantProblem(http.StatusNotFound, "agent_not_found")
		owner.post("/api/v1/agents/cto/hold", map[string]string{"reason": " "}).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
		owner.post("/api/v1/agents/cto/release", nil).wantProblem(http.StatusConflict, "agent_not_held")
		owner.holdCTO()
		owner.post("/api/v1/tasks/"+waiting+"/dispatch", nil).wantProblem(http.StatusConflict, "agent_held")
		if held := owner.heldAs("held"); held.Reason != "Over budget!" || held.State != "held" || held.Detail != "" {
			t.Errorf("the hold is %+v", held)
		}
		if owner.session(cto).Active || s.jobEnabled(on) || !strings.Contains(h.runtime.Config(), "wardroom-hold/over-budget") {
			t.Errorf("in the runtime: active %v, job enabled %v, configuration %s", owner.session(cto).Active, s.jobEnabled(on), h.runtime.Config())
		}
		h.runtime.Silence("cto", false)
		asked := h.runtime.Asked("cto")
		owner.post(ctoPath+"/messages", map[string]string{"text": "Go on."}).wantProblem(http.StatusConflict, "agent_held")
		owner.post("/api/v1/agents/cto/messages", map[string]string{"text": "Go on."}).wantProblem(http.StatusConflict, "agent_held")
		owner.post("/api/v1/agentrt/jobs/"+on+"/run", nil).wantProblem(http.StatusConflict, "agent_held")
		m := owner.hold(owner.open().ID)
		if m.Status != standup.Completed {
			t.Fatalf("the standup is %s: %+v", m.Status, m.Failure)
		}
		for _, r := range m.Reports {
			if held := r.AgentID == "cto"; held != (r.Status == standup.Failed) {
				t.Errorf("%s's report is %s", r.AgentID, r.Status)
			}
		}
		if n := h.runtime.Asked("cto"); n != asked {
			t.Errorf("the held agent was asked %d times", n-asked)
		}

		owner.releaseCTO()
		if got := h.runtime.Config(); got != before {
			t.Errorf("after the release the configuration is\n%s\nbefore it was\n%s", got, before)
		}
		if !s.jobEnabled(on) || s.jobEnabled(off) {
			t.Errorf("after the release: on %v, off %v", s.jobEnabled(on), s.jobEnabled(off))
		}
		want := []string{"agent.held", "agent.release_requested", "agent.released"}
		if acts := kindsOf(owner.audit("kind=agent.*")); !slices.Equal(acts, want) {
			t.Errorf("the audit log has %v, want %v", acts, want)
		}
		owner.dispatch(waiting)
		owner.becomes(waiting, task.Ended)
	})
}

// A timer writes to the database each time it fires, so frequent ones wear out the disk of an idle service.
func TestTimersRest(t *testing.T) {
	t.Parallel()
	for _, timer := range newHouse(t, db.SQLite, nil).build().Queue.Timers {
		if timer.At.IsZero() && timer.Every < 5*time.Second {
			t.Errorf("the timer %q fires each %s", timer.Name, timer.Every)
		}
	}
}

// Without a person's consent Wardroom must not touch the runtime, but must still stop the agent.
func TestHoldWithoutConsent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(*config.Raw) {})
		s := h.start().connected()
		owner := s.login(ownerEmail)
		before := h.runtime.Config()
		s.atWork()
		owner.holdCTO()
		if held := owner.heldAs("unavailable"); !strings.Contains(held.Detail, "Settings do not allow") {
			t.Errorf("the hold is %+v", held)
		}
		waitFor(t, "the end of the run", func() bool { return !owner.session(cto).Active })
		s.ask("run-2", cto, "And now?") // as another client would
		waitAtMost(t, 30*time.Second, "the run to be stopped", func() bool { return !owner.session(cto).Active })
		owner.consent() // too little without operator.admin
		owner.releaseCTO()
		if got := h.runtime.Config(); got != before {
			t.Errorf("the configuration is\n%s\nbefore it was\n%s", got, before)
		}
	})
}

// A dispatch that was queued when its agent was held must start after the release.
func TestQueuedDispatchWaitsForRelease(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		key := owner.handed("cto", "Ship it").Key
		h.runtime.RefuseClients(func([]string) bool { return true })
		waitFor(t, "the loss of the connection", func() bool { return s.Gateway.Status().ConnectedAt == nil })
		owner.dispatch(key)
		owner.holdCTO()
		h.runtime.RefuseClients(nil)
		waitFor(t, "the reason why it waits", func() bool {
			d := owner.task(key).Dispatch
			return d.State == task.Queued && d.Waiting != nil && strings.Contains(*d.Waiting, "Over budget!")
		})
		owner.releaseCTO()
		owner.becomes(key, task.Ended)
	})
}

// A hold that dies with its process leaves an agent that burns money, or one that nobody can use
// again.
func TestHoldSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		h.lease = 3 * time.Second
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.consent()
		on := s.addJob("on", true)
		before := h.runtime.Config()
		held := func() bool { return strings.Contains(h.runtime.Config(), "wardroom-hold/") }
		again := func() {
			s.crash()
			s = h.start().connected()
			owner = owner.at(s)
		}
		s.atWork()
		owner.holdCTO()
		waitFor(t, "the patch", held)
		again()
		waitFor(t, "the end of the run", func() bool { return !owner.session(cto).Active })
		waitFor(t, "the disabled job", func() bool { return !s.jobEnabled(on) })
		again()
		owner.heldAs("held")
		owner.post("/api/v1/agents/cto/release", nil).want(http.StatusOK)
		again()
		owner.isReleased()
		if got := h.runtime.Config(); got != before || !s.jobEnabled(on) {
			t.Errorf("job enabled: %v; the configuration is\n%s\nbefore it was\n%s", s.jobEnabled(on), got, before)
		}
	})
}
