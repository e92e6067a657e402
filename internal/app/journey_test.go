package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// meeting is a standup as JSON; amounts of money are strings.
type meeting struct {
	standup.Standup
	CostUSD *string `json:"cost_usd"`
	Reports []struct {
		standup.Report
		CostUSD *string `json:"cost_usd"`
	} `json:"reports"`
}

// hire creates the accounts of agents as an owner does.
func (c caller) hire(agents ...string) {
	c.house.t.Helper()
	for _, id := range agents {
		made := c.post("/api/v1/users", map[string]any{
			"email": id + "@example.com", "name": strings.ToUpper(id), "password": password, "role": "agent", "agent_id": id,
		}).want(http.StatusCreated)
		if u := decode[account.User](made); u.AgentID == nil || *u.AgentID != id || u.Role != "agent" {
			c.house.t.Errorf("made %+v", u)
		}
	}
}

// open opens today's standup.
func (c caller) open() meeting {
	c.house.t.Helper()
	return decode[meeting](c.post("/api/v1/standups", nil))
}

// hold runs a standup and waits for its end.
func (c caller) hold(id string) meeting {
	c.house.t.Helper()
	m := decode[meeting](c.send(http.MethodPost, "/api/v1/standups/"+id+"/run", nil, "Prefer", "wait=50"))
	waitAtMost(c.house.t, 5*time.Minute, "the end of the standup", func() bool { // on a busy machine
		if m.Status == "running" {
			m = decode[meeting](c.get("/api/v1/standups/" + id).want(http.StatusOK))
		}
		return m.Status != "running"
	})
	return m
}

// wantFailed checks that a failed standup has the reason in its error and in the
// transcript.
func wantFailed(t *testing.T, m meeting, code string) {
	t.Helper()
	if m.Status != standup.Error || m.Failure == nil || m.Failure.Code != code {
		t.Fatalf("the standup is %s, %+v, want an error %s", m.Status, m.Failure, code)
	}
	last := m.Transcript[len(m.Transcript)-1]
	if last.Kind != "error" || !strings.Contains(last.Text, code) || !strings.Contains(last.Text, m.Failure.Detail) {
		t.Errorf("the transcript ends with %+v, want the reason", last)
	}
	if m.Digest == nil || m.CompletedAt == nil {
		t.Error("the standup has no digest or no end")
	}
}

// The complete workflow, from the login to the activity log.
func TestStandupJourney(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		s.anonymous().get("/api/v1/tasks").wantProblem(http.StatusUnauthorized, "sign_in_required")
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")

		cto := s.login("cto@example.com")
		made := map[string]string{}
		for title, body := range map[string]map[string]any{
			"Rotate the keys":  {"status": "todo"},
			"Fix the importer": {"status": "in_progress"},
		} {
			body["title"], body["assignee_id"] = title, "cto"
			made[title] = decode[task.Task](cto.post("/api/v1/tasks", body).want(http.StatusCreated)).Key
		}
		blocked := decode[task.Task](cto.patch("/api/v1/tasks/"+made["Rotate the keys"], map[string]any{
			"blocked": map[string]string{"reason": "Nobody has the vault's credential"},
		}).want(http.StatusOK))
		if blocked.Blocked == nil || blocked.Blocked.By != "CTO" {
			t.Errorf("blocked is %+v, want it by CTO", blocked.Blocked)
		}
		// An agent's done becomes review; the owner's done is final.
		fixed := decode[task.Task](cto.patch("/api/v1/tasks/"+made["Fix the importer"], map[string]any{"status": "done"}).want(http.StatusOK))
		if fixed.Status != task.Review {
			t.Errorf("an agent's done is %s, want review", fixed.Status)
		}
		owner.patch("/api/v1/tasks/"+fixed.Key, map[string]any{"status": "done"}).want(http.StatusOK)

		coo := s.login("coo@example.com")
		opened := coo.post("/api/v1/standups", nil).want(http.StatusCreated)
		m := decode[meeting](opened)
		if at := opened.header.Get("Location"); at != "/api/v1/standups/"+m.ID {
			t.Errorf("Location is %q", at)
		}
		if again := decode[meeting](coo.post("/api/v1/standups", nil).want(http.StatusOK)); again.ID != m.ID {
			t.Errorf("there are two standups for the day: %s and %s", m.ID, again.ID)
		}
		s.connected()
		m = coo.hold(m.ID)
		wantHeld(t, m, made)
		wantItems(t, owner, m)
		wantDecided(t, owner, m, made["Rotate the keys"])
		coo.post("/api/v1/standups/"+m.ID+"/run", nil).wantProblem(http.StatusConflict, "already_completed")
		for agent, n := range map[string]int{"coo": 1, "cto": 1, "cpo": 1, "cmo": 1} {
			if got := s.house.runtime.Asked(agent); got != n {
				t.Errorf("%s was asked %d times", agent, got)
			}
		}
		wantTold(t, owner, m, blocked)
	})
}

// wantHeld checks the record of a standup in which all agents answered.
func wantHeld(t *testing.T, m meeting, made map[string]string) {
	t.Helper()
	if m.Status != standup.Completed || m.Phase != standup.Closed || m.Failure != nil || m.Trigger != "agent" || m.Attempt != 1 {
		t.Fatalf("the standup is %s in %s, %+v, by %q, attempt %d", m.Status, m.Phase, m.Failure, m.Trigger, m.Attempt)
	}
	if m.Summary == nil || *m.Summary == "" || m.Digest == nil || m.CompletedAt == nil || m.CostUSD == nil {
		t.Errorf("summary %v, digest %v, end %v, cost %v", m.Summary, m.Digest, m.CompletedAt, m.CostUSD)
	}
	var order []string
	for _, r := range m.Reports {
		order = append(order, r.AgentID)
		if r.Status != standup.Answered || r.Yesterday == nil || r.Today == nil || r.Text == nil || r.Evidence == nil {
			t.Errorf("%s's report is %+v", r.AgentID, r)
		}
	}
	if !slices.Equal(order, []string{"cto", "cpo", "cmo"}) {
		t.Fatalf("the reports are of %v", order)
	}
	e := m.Reports[0].Evidence
	if len(e.Finished) != 1 || e.Finished[0].Key != made["Fix the importer"] {
		t.Errorf("finished tasks in the evidence: %+v", e.Finished)
	}
	if len(e.Blocked) != 1 || e.Blocked[0].Key != made["Rotate the keys"] || !strings.Contains(e.Blocked[0].Reason, "vault") {
		t.Errorf("blocked tasks in the evidence: %+v", e.Blocked)
	}
	if len(m.Reports[1].Evidence.Finished)+len(m.Reports[1].Evidence.Blocked) != 0 {
		t.Errorf("the CPO has the CTO's evidence: %+v", m.Reports[1].Evidence)
	}
	if len(m.Blockers) != 1 || m.Blockers[0].AgentID != "cto" || m.Blockers[0].Resolution == nil {
		t.Errorf("blockers are %+v, want the CTO's, resolved", m.Blockers)
	}
}

// wantDecided checks the facilitator's resolution of a blocked task.
func wantDecided(t *testing.T, owner caller, m meeting, key string) {
	t.Helper()
	said := decode[[]task.Comment](owner.get("/api/v1/tasks/" + key + "/comments").want(http.StatusOK))
	if len(said) != 1 || said[0].AuthorID == nil || !strings.EqualFold(said[0].AuthorName, "coo") || !strings.HasSuffix(said[0].Body, *m.Blockers[0].Resolution) {
		t.Errorf("the comments of %s are %+v, want the COO's resolution: %s", key, said, *m.Blockers[0].Resolution)
	}
}

// wantItems checks the tasks created by the standup.
func wantItems(t *testing.T, owner caller, m meeting) {
	t.Helper()
	if len(m.ActionItems) == 0 {
		t.Fatal("no action items")
	}
	for _, item := range m.ActionItems {
		if item.Task == nil {
			t.Fatalf("%q has no task", item.Title)
		}
		made := decode[task.Task](owner.get("/api/v1/tasks/" + *item.Task).want(http.StatusOK))
		if made.Title != item.Title || made.Origin == nil || *made.Origin != "standup:"+m.Date {
			t.Errorf("the task of %q is %q from %v", item.Title, made.Title, made.Origin)
		}
		if item.Assignee != nil && made.AssigneeID == nil {
			t.Errorf("%q is unassigned, want %s", made.Title, *item.Assignee)
		}
	}
}

// wantTold checks the events of the standup in the activity log.
func wantTold(t *testing.T, owner caller, m meeting, blocked task.Task) {
	t.Helper()
	told := func(query string) []string {
		events := decode[[]event.Event](owner.get("/api/v1/activity?limit=200" + query).want(http.StatusOK))
		slices.Reverse(events)
		var out []string
		for i, e := range events {
			if i > 0 && (e.ID <= events[i-1].ID || e.At.Before(events[i-1].At.Time)) {
				t.Errorf("event %d at %s follows %d at %s", e.ID, e.At, events[i-1].ID, events[i-1].At)
			}
			out = append(out, e.Kind+" by "+e.Actor.Name)
		}
		return out
	}
	want := []string{
		"standup.opened by COO", "standup.started by COO",
		"standup.asked by Wardroom", "standup.reported by Wardroom", "standup.asked by Wardroom", "standup.reported by Wardroom",
		"standup.asked by Wardroom", "standup.reported by Wardroom", "standup.asked by Wardroom", "standup.completed by Wardroom",
	}
	if got := told("&subject_kind=standup&subject_id=" + m.ID); !slices.Equal(got, want) {
		t.Errorf("the log of the standup is:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := told("&subject_kind=task&subject_id=" + blocked.ID); !slices.Equal(got, []string{"task.created by CTO", "task.changed by CTO", "task.commented by COO"}) {
		t.Errorf("the log of the task is: %v", got)
	}
	for _, line := range told("") {
		if strings.HasPrefix(line, "user.") {
			t.Errorf("the activity, which everyone reads, has %q", line)
		}
	}
}

// A standup that cannot start says why, a running or completed one is not run again, and
// a failed one can be retried.
func TestStandupRefusals(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		m := owner.open()
		wantFailed(t, owner.hold(m.ID), standup.NoActiveAgents)
		if n := h.runtime.Asked(""); n != 0 {
			t.Errorf("%d questions were asked in a standup without participants", n)
		}

		owner.hire("coo", "cto")
		release := make(chan struct{})
		h.runtime.Answer("cto", func(demo.Question) string { <-release; return "Yesterday: a\nToday: b\nBlockers: none" })
		run := "/api/v1/standups/" + m.ID + "/run"
		started := owner.post(run, nil).want(http.StatusAccepted)
		if at := started.header.Get("Location"); at != "/api/v1/standups/"+m.ID {
			t.Errorf("Location is %q", at)
		}
		waitFor(t, "the question to the CTO", func() bool { return h.runtime.Asked("cto") == 1 })
		going := owner.post(run, nil).wantProblem(http.StatusConflict, "already_running")
		progress := decode[struct{ Standup standup.Brief }](going).Standup
		if progress.ID != m.ID || progress.Phase != standup.Collecting || len(progress.Reports) != 3 || progress.Reports[0].Status != standup.Asked {
			t.Errorf("the progress is %+v", progress)
		}
		close(release)
		waitFor(t, "the end", func() bool {
			m = decode[meeting](owner.get("/api/v1/standups/latest"))
			return m.Status != standup.Running
		})
		if m.Status != standup.Completed || m.Attempt != 2 || m.Reports[1].Status != standup.Missing {
			t.Errorf("the retry is %s, attempt %d, %+v", m.Status, m.Attempt, m.Reports)
		}
		over := owner.post(run, nil).wantProblem(http.StatusConflict, "already_completed")
		if record := decode[struct{ Standup meeting }](over).Standup; record.ID != m.ID || len(record.Transcript) != len(m.Transcript) {
			t.Errorf("the problem has the record of %s with %d lines, want %s with %d", record.ID, len(record.Transcript), m.ID, len(m.Transcript))
		}
		owner.send(http.MethodPost, run, map[string]bool{"again": true}, "Prefer", "wait=50").want(http.StatusOK)
		if n := h.runtime.Asked("cto"); n != 2 {
			t.Errorf("the CTO was asked %d times in two standups", n)
		}
	})
}

// A standup without a gateway fails with the reason, and the service keeps working.
func TestStandupWithoutGateway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*config.Raw)
		state  link.State
		code   string
	}{
		{"not configured", func(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" }, link.NotConfigured, standup.GatewayNotConfigured},
		// Nothing listens on port 9.
		{"unreachable", func(r *config.Raw) { r.GatewayURL, r.GatewayTimeoutMS = "ws://127.0.0.1:9", "3000" }, link.Unreachable, standup.GatewayUnreachable},
		{"wrong token", func(r *config.Raw) { r.GatewayToken, r.GatewayTimeoutMS = "another-token-06bc", "3000" }, link.Unauthorized, standup.GatewayUnreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, db.SQLite, c.change)
			h.secret("another-token-06bc", "the gateway's token")
			s := h.start()
			owner := s.login(ownerEmail)
			owner.hire("coo", "cto", "cpo", "cmo")
			began := time.Now()
			wantFailed(t, owner.hold(owner.open().ID), c.code)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s to detect the missing gateway", took)
			}
			waitFor(t, fmt.Sprintf("the status %s, and a reason", c.state), func() bool {
				st := owner.status()
				return st.State == c.state && st.LastError != ""
			})
			owner.post("/api/v1/tasks", map[string]string{"title": "Works without a runtime"}).want(http.StatusCreated)
		})
	}
}
