package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

func (c caller) page(agentID string) agent.Page {
	c.house.t.Helper()
	return decode[agent.Page](c.get("/api/v1/agents/" + agentID).want(http.StatusOK))
}

// summary returns what the list of agents says about one.
func (c caller) summary(agentID string) agent.Summary {
	c.house.t.Helper()
	all := decode[[]agent.Agent](c.get("/api/v1/agents?summary=true").want(http.StatusOK))
	i := slices.IndexFunc(all, func(a agent.Agent) bool { return a.AgentID == agentID })
	return *all[i].Summary
}

// An agent's page shows its work, its cost and its failures. Without the runtime, it
// still shows Wardroom's own records.
func TestAgentPage(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		p := owner.page("cto")
		if p.Presence.State != agent.Idle || p.Account == nil || *p.Runtime != true || *p.Sessions == nil || len(*p.Sessions) != 0 ||
			p.Tasks.Last == nil || p.Standups == nil || p.Failures == nil || p.Upcoming == nil || len(p.Spend.Days) != 7 || p.Spend.Thirty.Runs != 0 || p.Spend.Zone != "UTC" {
			t.Errorf("of an agent without activity: %+v", p)
		}
		owner.get("/api/v1/agents/nobody").wantProblem(http.StatusNotFound, "agent_not_found")

		m := owner.hold(owner.open().ID)
		agentAt := s.login("cto@example.com")
		blocked, claimed := owner.handed("cto", "Blocked"), owner.handed("cto", "Claimed")
		owner.patch("/api/v1/tasks/"+blocked.Key, map[string]any{"blocked": map[string]any{"reason": "No key"}}).want(http.StatusOK)
		agentAt.post("/api/v1/tasks/"+claimed.Key+"/claim", nil).want(http.StatusOK)
		failing := owner.handed("cto", "Failing")
		h.runtime.Fail("cto", "no credit")
		owner.dispatch(failing.Key)
		owner.becomes(failing.Key, task.Failed)
		h.runtime.Fail("cto", "")
		word := make(chan struct{})
		h.runtime.Answer("cto", func(demo.Question) string { <-word; return "Done." })
		going := owner.handed("cto", "Going")
		d := owner.dispatch(going.Key)
		owner.becomes(going.Key, task.Started)
		waitFor(t, "the run", func() bool {
			p = owner.page("cto")
			return p.Sessions != nil && (*p.Sessions)[0].Run != nil && (*p.Sessions)[0].Run.RunID != nil && p.Presence.State == agent.Active
		})
		one := (*p.Sessions)[0]
		if r := one.Run; !strings.EqualFold(one.Key, d.SessionKey) || *r.RunID != d.RunID || r.Since == nil || r.Stalled || *one.Title != "Going" || (*p.Sessions)[1].Run != nil {
			t.Errorf("the run is %+v in %+v", r, one)
		}
		if sum := owner.summary("cto"); sum.Session == nil || sum.Session.Key != one.Key || *sum.Session.Title != "Going" || sum.Session.Run == nil || sum.Tasks != p.Tasks.Load ||
			len(sum.Started) != 1 || sum.Started[0].Key != claimed.Key || sum.Standup == nil || sum.Standup.StandupID != m.ID || sum.Outcome.Failed != 1 || sum.Next != nil {
			t.Errorf("in the list: %+v", sum)
		}
		if p.Tasks.Open.Todo != 3 || p.Tasks.Open.InProgress != 1 || p.Tasks.Blocked != 1 || len(p.Tasks.Last) != 4 {
			t.Errorf("its tasks are %+v", p.Tasks)
		}
		if len(p.Standups) != 1 || p.Standups[0].StandupID != m.ID || p.Standups[0].Status != "answered" || p.Standups[0].Today == nil {
			t.Errorf("its reports are %+v", p.Standups)
		}
		if len(p.Failures) != 1 || p.Failures[0].Kind != "dispatch" || p.Failures[0].Key == nil || p.Outcome.Failed != 1 { // the failed session is the same failure and is not counted again
			t.Errorf("the failures are: %+v", p.Failures)
		}
		close(word)
		owner.becomes(going.Key, task.Ended)
		waitFor(t, "its spend", func() bool { p = owner.page("cto"); return p.Spend.Today.Runs >= 2 })
		if sp := p.Spend; sp.Today.CostUSD == nil || *sp.Week.CostUSD != *sp.Today.CostUSD || sp.Thirty.Tokens != sp.Today.Tokens ||
			sp.Week.From.Sub(sp.Thirty.From.Time) != 23*24*time.Hour || sp.Today.From.Sub(sp.Week.From.Time) != 6*24*time.Hour || *sp.Days[6].CostUSD != *sp.Today.CostUSD || sp.Days[0].Runs != 0 || p.Outcome.Succeeded != sp.Week.Runs-1 {
			t.Errorf("its spend is %+v", sp)
		}

		if sum := owner.summary("cto"); sum.Session == nil || sum.Session.Run != nil || !strings.EqualFold(sum.Session.Key, d.SessionKey) || sum.Session.LastMessage == nil ||
			sum.Outcome.Succeeded < 1 || *sum.Spend.Days[6].CostUSD != *p.Spend.Today.CostUSD {
			t.Errorf("after the run the list has %+v", sum)
		}
		calls := h.runtime.Calls("agents.list")
		_ = h.runtime.Close()
		waitFor(t, "the gateway to be offline", func() bool { return s.Gateway.Status().ConnectedAt == nil })
		away := owner.page("cto")
		if away.Presence.State != agent.Offline || away.Presence.Reason == "" || away.Sessions != nil || away.Runtime != nil {
			t.Errorf("without the runtime: %+v", away)
		}
		if len(away.Tasks.Last) != 4 || len(away.Standups) != 1 || *away.Spend.Today.CostUSD != *p.Spend.Today.CostUSD || len(away.Failures) == 0 || calls == 0 {
			t.Errorf("Wardroom's own records are missing: %+v", away)
		}
		if sum := owner.summary("cto"); sum.Session != nil || sum.Tasks != p.Tasks.Load || sum.Standup == nil || *sum.Spend.Today.CostUSD != *p.Spend.Today.CostUSD {
			t.Errorf("without the runtime the list has %+v", sum)
		}
	})
}

// The evidence of a standup must include all runs of an agent, not only those that
// standups started.
func TestStandupEvidenceIsOfAllRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		done := owner.handed("cto", "Done")
		owner.dispatch(done.Key)
		owner.becomes(done.Key, task.Ended)
		h.runtime.Fail("cto", "no credit")
		failing := owner.handed("cto", "Failing")
		owner.dispatch(failing.Key)
		owner.becomes(failing.Key, task.Failed)
		h.runtime.Fail("cto", "")
		var p agent.Page
		waitFor(t, "its spend", func() bool {
			p = owner.page("cto")
			return p.Spend.Week.Runs >= 1 && p.Spend.Week.CostUSD != nil
		})
		m := owner.hold(owner.open().ID)
		for _, r := range m.Reports {
			e := r.Evidence
			switch {
			case e == nil || e.Runs == nil || e.Runs.Source != standup.FromLedger:
				t.Errorf("the evidence of %s is %+v", r.AgentID, e)
			case r.AgentID == "cto":
				if e.Runs.Count != int(p.Spend.Week.Runs) || e.Runs.CostUSD == nil || *e.Runs.CostUSD != *p.Spend.Week.CostUSD || e.Runs.Failed != 1 || e.Runs.Tokens.Input == 0 {
					t.Errorf("the evidence has the runs %+v, the agent's page %+v one of them failed", e.Runs, p.Spend.Week)
				}
			case e.Runs.Count != 0 || e.Runs.Failed != 0:
				t.Errorf("%s was idle but has the runs %+v", r.AgentID, e.Runs)
			}
		}
	})
}
