package app_test

import (
	"context"
	"net/http"
	"testing"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// A standup shows the cost that the ledger has. The cost of a run whose end was missed
// becomes known later.
func TestStandupCostsWhatTheLedgerSays(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		held := decode[standup.Standup](owner.get("/api/v1/standups/" + owner.hold(owner.open().ID).ID).want(http.StatusOK))
		var sums usage.Share
		for _, g := range owner.usage("group=standup").Groups {
			if g.Key != nil && *g.Key == held.ID {
				sums = g
			}
		}
		if sums.Runs != 4 || held.CostUSD == nil || *sums.CostUSD != *held.CostUSD {
			t.Fatalf("the ledger has %+v; the standup says %v", sums, held.CostUSD)
		}
		forget := func(query string) {
			t.Helper()
			err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), query)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		forget(`UPDATE standup_questions SET cost_nano = NULL WHERE agent_id = 'cto'`)
		forget(`UPDATE standup_reports SET cost_nano = NULL WHERE agent_id = 'cto'`)
		got := decode[standup.Standup](owner.get("/api/v1/standups/" + held.ID).want(http.StatusOK))
		if got.CostUSD == nil || *got.CostUSD != *held.CostUSD || got.Reports[0].CostUSD == nil || *got.Reports[0].CostUSD != *held.Reports[0].CostUSD {
			t.Errorf("its cost from the ledger is %v, and cto's report %v; want %v and %v", got.CostUSD, got.Reports[0].CostUSD, held.CostUSD, held.Reports[0].CostUSD)
		}
		forget(`UPDATE usage_ledger SET cost_nano = NULL, price = 'unpriced', unpriced = 1 WHERE agent_id = 'cto'`)
		got = decode[standup.Standup](owner.get("/api/v1/standups/" + held.ID).want(http.StatusOK))
		if got.CostUSD != nil || got.Reports[0].CostUSD != nil {
			t.Errorf("its cost without a price is %v, and cto's report %v; want unknown", got.CostUSD, got.Reports[0].CostUSD)
		}
	})
}

// A task's cost includes runs that the agent started itself in the task's session, and an
// open board is updated.
func TestTaskCostsWhatTheLedgerSays(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		made := owner.handed("cto", "Look")
		owner.post("/api/v1/projects", map[string]any{"key": "WEB", "name": "Website"}).want(http.StatusCreated)
		made = decode[task.Task](owner.patch("/api/v1/tasks/"+made.Key, map[string]any{"project_id": "WEB"}).want(http.StatusOK))
		before := owner.get("/api/v1/tasks").want(http.StatusOK)
		etag := before.header.Get("ETag")
		owner.send(http.MethodGet, "/api/v1/tasks", nil, "If-None-Match", etag).want(http.StatusNotModified)
		key := "agent:cto:task:" + made.Key
		var last task.Task
		for i, run := range []string{"by-hand-1", "by-hand-2"} {
			_, err := s.Gateway.Start(context.Background(), gateway.Question{RunID: run, AgentID: "cto", SessionKey: key, Message: "What is next?"})
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the cost", func() bool {
				now := owner.task(made.Key)
				if now.CostUSD == nil || last.CostUSD != nil && *now.CostUSD <= *last.CostUSD {
					return false
				}
				last = now
				return true
			})
			sums, err := s.Usage.OfTask(t.Context(), s.DB, made.Key)
			if err != nil || sums.Runs != int64(i+1) || *sums.CostUSD != *last.CostUSD || last.Tokens.Input != sums.Tokens.Input {
				t.Errorf("the ledger has %+v, %v; the card %v %+v", sums, err, last.CostUSD, last.Tokens)
			}
		}
		after := owner.send(http.MethodGet, "/api/v1/tasks", nil, "If-None-Match", etag).want(http.StatusOK)
		if listed := decode[[]task.Task](after); listed[0].CostUSD == nil || *listed[0].CostUSD != *last.CostUSD {
			t.Errorf("the list shows %v, want %v", listed[0].CostUSD, last.CostUSD)
		}
		if last.Version != made.Version || last.Dispatch != nil {
			t.Errorf("the cost changed the version to %d from %d", last.Version, made.Version)
		}
		owner.tells(made.Key, "task.spent")
		for group, want := range map[string][2]string{"task": {made.Key, "Look"}, "project": {"WEB", "Website"}} {
			g := owner.usage("group=" + group + "&bars=true").Groups[0]
			if g.Key == nil || g.Name == nil || *g.Key != want[0] || *g.Name != want[1] || *g.CostUSD != *last.CostUSD {
				t.Errorf("by %s: %+v, want %v with the cost %v", group, g, want, last.CostUSD)
			}
		}
	})
}
