package app_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

// spentOn is the usage of one model in one transcript.
type spentOn struct {
	Tokens usage.Tokens
	Cost   money.Nano
}

// gatewayTotals returns the runtime's own totals by transcript.
func (s *service) gatewayTotals() (by map[string]spentOn, fresh bool) {
	u, err := s.Gateway.Usage(context.Background())
	if err != nil || !u.Fresh {
		return nil, false
	}
	by = map[string]spentOn{}
	for _, t := range u.Transcripts {
		for _, m := range t.Models {
			by[t.SessionID+" "+m.Provider+"/"+m.Model] = spentOn{usage.Tokens{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite, Other: m.Other}, money.Nano(m.CostNanoUSD)}
		}
	}
	return by, true
}

// ledgerTotals returns the same from the ledger.
func (s *service) ledgerTotals() map[string]spentOn {
	s.house.t.Helper()
	rows, err := s.DB.Query(context.Background(), `
		SELECT session_id || ' ' || provider || '/' || model, CAST(SUM(input) AS BIGINT), CAST(SUM(output) AS BIGINT), CAST(SUM(cache_read) AS BIGINT),
			CAST(SUM(cache_write) AS BIGINT), CAST(SUM(other) AS BIGINT), CAST(SUM(cost_nano) AS BIGINT)
		FROM usage_ledger GROUP BY session_id, provider, model`)
	by := map[string]spentOn{}
	_, err = db.All(rows, err, func(r db.Row) (one struct{}, err error) {
		var key string
		var p spentOn
		err = r.Scan(&key, &p.Tokens.Input, &p.Tokens.Output, &p.Tokens.CacheRead, &p.Tokens.CacheWrite, &p.Tokens.Other, &p.Cost)
		by[key] = p
		return one, err
	})
	if err != nil {
		s.house.t.Fatal(err)
	}
	return by
}

// usage reads a report over all time.
func (c caller) usage(query string) usage.Report {
	c.house.t.Helper()
	return decode[usage.Report](c.get("/api/v1/usage?" + query).want(http.StatusOK))
}

func cents(n int64) *money.Nano {
	cost := money.Nano(n * 10_000_000)
	return &cost
}

// spend adds an ended run to the ledger.
func (s *service) spend(r usage.Run, cost *money.Nano) {
	s.house.t.Helper()
	r.Parts = []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1000}, Cost: cost}}
	err := s.DB.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := s.Usage.Note(context.Background(), tx, r)
		return err
	})
	if err != nil {
		s.house.t.Fatal(err)
	}
}

// Jobs and heartbeats that change nothing cost money unseen; those that change the board, and all
// other runs, are not idle.
func TestIdleRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		owner.post("/api/v1/tasks", map[string]string{"title": "By a person"}).want(http.StatusCreated)
		before := time.Now().UTC()
		s.login("cto@example.com").post("/api/v1/tasks", map[string]string{"title": "By an agent"}).want(http.StatusCreated)
		after := time.Now().UTC()
		at := func(back time.Duration) time.Time { return before.Add(-back) }
		for i, r := range []struct {
			key        string
			source     usage.Source
			start, end time.Time
			cost       int64
		}{
			{"agent:cto:cron:digest", usage.Schedule, at(2 * time.Hour), at(time.Hour), 10},
			{"agent:cto:main", usage.Heartbeat, at(time.Hour), at(time.Minute), 5},
			{"agent:cto:main", usage.Heartbeat, time.Time{}, at(6 * 24 * time.Hour), 3},
			{"agent:cto:cron:digest", usage.Schedule, at(time.Minute), after, 20},
			{"agent:cto:cron:digest", usage.Schedule, at(9 * 24 * time.Hour), at(8 * 24 * time.Hour), 40},
			{"agent:cto:main", usage.Human, at(2 * time.Hour), at(time.Hour), 80},
		} {
			s.spend(usage.Run{RunID: fmt.Sprint("idle-", i), SessionKey: r.key, Source: r.source, StartedAt: r.start, EndedAt: r.end}, cents(r.cost))
		}
		idle := decode[usage.Idle](owner.get("/api/v1/usage/idle").want(http.StatusOK))
		if idle.Runs != 3 || idle.CostUSD == nil || *idle.CostUSD != *cents(18) {
			t.Errorf("idle: %+v, cost %v", idle, idle.CostUSD)
		}
	})
}

// After 200 runs of all kinds, with crashes and restarts of the service and the runtime,
// the ledger equals the runtime's totals for every session and model. It keeps them when
// the runtime forgets everything.
func TestUsageEqualsTheRuntimes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		seen := owner.follow("/api/v1/events?topics=usage")
		s.ask("first", cto, "How is it going?")
		for f := range seen.frames {
			if f["event"] == "usage.grown" {
				break
			}
		}
		seen.leave()
		const rounds, each = 5, 40
		for round := range rounds {
			s.askMany(round, each)
			switch round {
			case 0: // during the runs
				s.pollAll()
				s.crash()
				h.spawnMany(10)
				s = h.start().connected()
			case 1:
				s.restarted(0)
			case 2:
				s.stop()
				h.spawnMany(10)
				h.runtime.Restart(0)
				s = h.start().connected()
			case 3:
				s.restarted(200 * time.Millisecond)
			}
			owner = owner.at(s)
		}
		id := owner.open().ID
		owner.hold(id)
		s.settled()
		waitFor(t, "no open runs", func() bool {
			return len(decode[usage.Going](owner.get("/api/v1/usage/going").want(http.StatusOK)).Runs) == 0
		})
		r := owner.usage("group=source")
		kinds := map[string]int64{}
		for _, g := range r.Groups {
			kinds[*g.Key] = g.Runs
		}
		if kinds["heartbeat"] != 4 {
			t.Errorf("%d heartbeats, want 4: %v", kinds["heartbeat"], kinds)
		}
		if r.Total.Runs < rounds*each || r.Total.Unpriced != 0 || kinds["task"] == 0 || kinds["sub_agent"] == 0 || kinds["standup"] == 0 || kinds["human"] == 0 {
			t.Errorf("%+v, by source %v", r.Total, kinds)
		}
		held := decode[standup.Standup](owner.get("/api/v1/standups/" + id).want(http.StatusOK))
		for _, g := range owner.usage("group=standup").Groups {
			if g.Key != nil && (*g.Key != id || held.CostUSD == nil || *g.CostUSD != *held.CostUSD) {
				t.Errorf("standup %s: %v; the standup has %v", *g.Key, g.CostUSD, held.CostUSD)
			}
		}
		s.forgotten(owner)
	})
}

// askMany asks the agents in several sessions and waits for most answers.
func (s *service) askMany(round, n int) {
	s.house.t.Helper()
	keys := []string{"main", "task:TASK-1", "task:TASK-2", "notes", "dashboard:1"}
	agents := []string{"coo", "cto", "cpo", "cmo"}
	for i := range n {
		agent := agents[i%len(agents)]
		q := gateway.Question{RunID: fmt.Sprintf("run-%d-%d", round, i), AgentID: agent, SessionKey: "agent:" + agent + ":" + keys[i/len(agents)%len(keys)], Message: "Go on."}
		if _, err := s.Gateway.Start(context.Background(), q); err != nil {
			s.house.t.Fatal(err)
		}
	}
	if round > 0 {
		for i := range n {
			// A run that continues when the runtime stops would be a correction.
			if a, err := s.Gateway.Wait(context.Background(), fmt.Sprintf("run-%d-%d", round, i), atMost); err != nil || a.Outcome != gateway.Finished {
				s.house.t.Fatalf("run %d of round %d: %+v, %v", i, round, a, err)
			}
		}
	}
}

// pollAll makes every agent run a heartbeat without work.
func (s *service) pollAll() {
	s.house.t.Helper()
	for _, agent := range []string{"coo", "cto", "cpo", "cmo"} {
		if _, err := s.house.runtime.Heartbeat(agent); err != nil {
			s.house.t.Fatal(err)
		}
	}
}

// restarted restarts the runtime and waits for the connection.
func (s *service) restarted(down time.Duration) {
	s.house.t.Helper()
	was := s.Gateway.Status().BootID
	s.house.runtime.Restart(down)
	waitFor(s.house.t, "the runtime to be online", func() bool {
		st := s.Gateway.Status()
		return st.State == link.Connected && st.BootID != was
	})
}

// spawnMany lets agents work while no service runs, and waits for them.
func (h *house) spawnMany(n int) {
	h.t.Helper()
	for i := range n {
		if _, _, err := h.runtime.Spawn(cto, fmt.Sprint("helper ", i), "Look it up."); err != nil {
			h.t.Fatal(err)
		}
	}
	waitFor(h.t, "the sub-agents", func() bool { return h.runtime.Busy() == 0 })
}

// settled waits until the ledger equals the runtime's totals and stays equal.
func (s *service) settled() {
	t := s.house.t
	t.Helper()
	waitFor(t, "the runs", func() bool { return s.house.runtime.Busy() == 0 })
	diff := "nothing was read"
	equal := func() bool {
		want, ok := s.gatewayTotals()
		if ok {
			maps.DeleteFunc(want, func(_ string, p spentOn) bool { return p == spentOn{} })
			diff = cmp.Diff(want, s.ledgerTotals())
		}
		return ok && diff == ""
	}
	for end := time.Now().Add(atMost); !equal(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the runtime's totals and the ledger's (-runtime +ledger):\n%s", diff)
		}
	}
	count := func(condition string) (n int64) {
		if err := s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM usage_ledger WHERE `+condition).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	waitFor(t, "the transcripts to replace the answers", func() bool { return count(`kind = 'answered'`) == 0 })
	if corrected := count(`kind <> 'run'`); corrected != 0 {
		t.Errorf("%d rows are corrections; want none, because every run could be read", corrected)
	}
}

// forgotten makes the runtime forget everything.
func (s *service) forgotten(owner caller) {
	t := s.house.t
	t.Helper()
	was := map[usage.Group]usage.Report{}
	groups := []usage.Group{usage.ByAgent, usage.ByModel, usage.BySession, usage.ByTask, usage.ByHour}
	const query = "from=2000-01-01T00:00:00Z"
	day := "from=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) + "&to=" + time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly) + "&group="
	for _, g := range groups {
		was[g] = owner.usage(day + string(g))
	}
	owner.get("/api/v1/usage?"+query).wantProblem(http.StatusUnprocessableEntity, "usage_period")
	if err := s.house.runtime.Close(); err != nil {
		t.Fatal(err)
	}
	s.house.reopen()
	waitFor(t, "the empty runtime", func() bool {
		a := owner.get("/api/v1/agentrt/sessions")
		return a.status == http.StatusOK && strings.TrimSpace(string(a.body)) == "[]"
	})
	for _, g := range groups {
		if diff := cmp.Diff(was[g], owner.usage(day+string(g))); diff != "" {
			t.Errorf("by %s, after the runtime forgot (-before +after):\n%s", g, diff)
		}
	}
	table := owner.get("/api/v1/usage.csv?" + day + "agent").want(http.StatusOK)
	lines := strings.Split(strings.TrimSpace(string(table.body)), "\r\n")
	if len(lines) != 5 || !slices.IsSorted([]string{lines[0][:6], "agent,"}) {
		t.Errorf("the table:\n%s", table.body)
	}
}

// Only admins may set prices, and a change based on an outdated version is refused.
func TestPrices(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	price := map[string]any{
		"provider": "demo", "model": "demo-1", "from": "2026-01-01", "input": "3", "output": "15", "cache_read": "0.3", "cache_write": "3.75", "other": "0",
	}
	body := map[string]any{"prices": []any{price}}
	first := owner.get("/api/v1/prices").want(http.StatusOK)
	if p := decode[usage.Prices](first); p.Version != 1 || len(p.Prices) != 0 {
		t.Errorf("initially: %+v", p)
	}
	put := func(headers ...string) answer { return owner.send(http.MethodPut, "/api/v1/prices", body, headers...) }
	made := put().want(http.StatusOK)
	if p := decode[usage.Prices](made); p.Version != 2 || p.UpdatedBy == nil || p.Prices[0].CacheRead != 300_000_000 {
		t.Errorf("created: %+v", p)
	}
	tag := made.header.Get("ETag")
	put("If-Match", tag).want(http.StatusOK)
	put("If-Match", tag).wantProblem(http.StatusPreconditionFailed, "prices_stale")
	price["input"] = "-1"
	put().wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	models := decode[[]usage.Model](owner.get("/api/v1/agentrt/models").want(http.StatusOK))
	if len(models) == 0 || models[0].Estimate == nil || models[0].Estimate.Input != 3_000_000_000 {
		t.Errorf("the models: %+v", models)
	}
	before := h.runtime.Calls("models.list")
	for range 5 {
		owner.get("/api/v1/agentrt/models").want(http.StatusOK)
	}
	if n := h.runtime.Calls("models.list"); n != before {
		t.Errorf("the runtime was asked %d times more", n-before)
	}
}

// A session shows the cost of a run as soon as it ends, while the runtime still reports
// its earlier count. When the runtime has counted again, nothing changes and nothing is
// counted twice.
func TestSessionCostsRightAfterARun(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.get("/api/v1/agentrt/sessions").want(http.StatusOK)
		h.runtime.Refreshing(1_000_000)
		const key = "agent:cto:dashboard:costs"
		var before money.Nano
		for i := range 3 {
			id := fmt.Sprint("costs-", i)
			s.ask(id, key, "What does this cost?")
			s.answered(id)
			var got session.Session
			waitFor(t, "the cost of the run", func() bool {
				got = owner.session(key)
				return !got.Active && got.CostUSD != nil && *got.CostUSD > before
			})
			before = *got.CostUSD
			var spent usage.Share
			for _, g := range owner.usage("group=session").Groups {
				if g.Key != nil && *g.Key == key {
					spent = g
				}
			}
			if spent.Runs != int64(i+1) || *spent.CostUSD != *got.CostUSD || spent.Tokens.Output != got.Tokens.Output {
				t.Errorf("after %d runs the session has %s, %+v, and the ledger %s, %+v", i+1, got.CostUSD, got.Tokens, spent.CostUSD, spent.Tokens)
			}
		}
		first := owner.session(key)
		h.runtime.Refreshing(0)
		s.settled()
		after := owner.session(key)
		if *first.CostUSD != *after.CostUSD || *first.Tokens != *after.Tokens || !*after.CostComplete {
			t.Errorf("after the runtime's count it costs %s, %+v, and %s, %+v before", after.CostUSD, after.Tokens, first.CostUSD, first.Tokens)
		}
		if r := owner.usage("group=source"); r.Total.Corrections != 0 || r.Total.Runs != 3 {
			t.Errorf("the ledger has %d runs and %d corrections", r.Total.Runs, r.Total.Corrections)
		}
	})
}
