package usage

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/test/year"
)

// stored returns the stored roll-up.
func stored(t testing.TB, d *db.DB) map[rollupKey]amounts {
	t.Helper()
	all := map[rollupKey]amounts{}
	rows, err := d.Query(t.Context(), `SELECT dimension, span, start, name, `+sumColumns+` FROM usage_rollup`)
	_, err = db.All(rows, err, func(r db.Row) (k rollupKey, err error) {
		var a amounts
		err = r.Scan(append([]any{&k.dimension, &k.span, &k.start, &k.name}, a.pointers()...)...)
		all[k] = a
		return k, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// recomputed returns the roll-up computed from the rows of the ledger.
func recomputed(t testing.TB, d *db.DB) map[rollupKey]amounts {
	t.Helper()
	all := map[rollupKey]amounts{}
	rows, err := d.Query(t.Context(), `SELECT at, agent_id, source, session_key, session_id, job_id, task_key, standup_id, provider, model,
		runs, unpriced, input, output, cache_read, cache_write, other, cost_nano, price, calls, took FROM usage_ledger`)
	_, err = db.All(rows, err, func(from db.Row) (r row, err error) {
		var cost *int64
		var took int64
		n := &r.Tokens
		err = from.Scan(&r.at, &r.AgentID, &r.Source, &r.SessionKey, &r.SessionID, &r.JobID, &r.TaskKey, &r.StandupID, &r.Provider, &r.Model,
			&r.runs, &r.unpriced, &n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &n.Other, &cost, &r.price, &r.Calls, &took)
		r.Took = time.Duration(took) * time.Millisecond
		if cost != nil {
			r.Cost = costOf(*cost)
		}
		add := func(k rollupKey) { all[k] = all[k].plus(r.amounts()) }
		at := time.UnixMilli(r.at).UTC()
		model := strings.TrimPrefix(r.Provider+"/"+r.Model, "/")
		for dimension, name := range map[string]string{
			"": "", "agent": r.AgentID, "source": string(r.Source), "session": r.SessionKey, "job": r.JobID, "task": r.TaskKey, "standup": r.StandupID, "model": model,
		} {
			add(rollupKey{dimension, 3_600_000, at.Truncate(time.Hour).UnixMilli(), name})
			add(rollupKey{dimension, 86_400_000, time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC).UnixMilli(), name})
		}
		if r.TaskKey != "" {
			add(rollupKey{"task", 0, 0, r.TaskKey})
		}
		if r.SessionID != "" {
			add(rollupKey{"transcript", 0, 0, r.SessionID})
		}
		return r, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantRolledUp(t testing.TB, d *db.DB, when string) {
	t.Helper()
	if diff := cmp.Diff(recomputed(t, d), stored(t, d), cmp.AllowUnexported(rollupKey{}, amounts{})); diff != "" {
		t.Fatalf("%s: the roll-up (-ledger +stored):\n%s", when, diff)
	}
}

// refill computes the roll-up anew.
func refill(t testing.TB, d *db.DB) {
	t.Helper()
	if err := d.Tx(t.Context(), func(tx *db.Tx) error { return year.RollUp(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// TestRollupEqualsTheLedger checks that the roll-up agrees exactly with the ledger after random
// operations.
func TestRollupEqualsTheLedger(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	const histories, steps = 3, 120
	for seed := range uint64(histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dbtest.Twice(t, func(t *testing.T, d *db.DB) {
				p, rnd := newScenario(d), rand.New(rand.NewPCG(seed, 2))
				for i := range steps {
					p.randomStep(t, rnd, i)
					if i%10 == 9 {
						wantRolledUp(t, d, fmt.Sprint("after step ", i))
					}
				}
				if s := p.total(t); s.Runs < steps/3 || s.Corrections == 0 || s.Estimated == 0 {
					t.Errorf("the history has too little in it: %+v", s)
				}
				refill(t, d)
				wantRolledUp(t, d, "filled by the migration")
			})
		})
	}
}

// randomStep changes the runtime at random, or runs the mirror.
func (p *scenario) randomStep(t *testing.T, rnd *rand.Rand, i int) {
	t.Helper()
	p.tick(time.Duration(rnd.Int64N(int64(9 * time.Hour))))
	var c *conversation
	if n := len(p.sessions); n > 0 && rnd.IntN(5) > 0 {
		c = p.sessions[rnd.IntN(n)]
	}
	if c == nil || c.deleted {
		places := []string{"main", "task:TASK-" + fmt.Sprint(rnd.IntN(3)), "cron:j:run:" + fmt.Sprint(i), "standup:x", "subagent:" + fmt.Sprint(i), "dashboard:" + fmt.Sprint(i)}
		c = p.open("agent:" + []string{"cto", "cpo"}[rnd.IntN(2)] + ":" + places[rnd.IntN(len(places))])
	}
	call := func() *gateway.Usage {
		if rnd.IntN(3) == 0 {
			return free(fmt.Sprint("m", rnd.IntN(3)), rnd.Int64N(1e6), rnd.Int64N(1e4))
		}
		return used(fmt.Sprint("m", rnd.IntN(3)), rnd.Int64N(1e6), rnd.Int64N(1e4), rnd.Int64N(1e10))
	}
	switch rnd.IntN(12) {
	case 0: // noted by a feature, without a transcript
		runID := fmt.Sprint("noted-", i)
		u := call()
		r := Run{RunID: runID, AgentID: c.AgentID, SessionKey: c.Key, EndedAt: p.now, Parts: []Part{
			{Provider: u.Provider, Model: u.Model, Tokens: Tokens{Input: u.Input}}, {Provider: "", Model: u.Model, Tokens: Tokens{Output: 1}, Cost: costOf(rnd.Int64N(1e9))},
		}}
		p.note(t, r)
		p.ask(c, runID, u)
	case 1: // unreadable, but in the totals
		c.lost = append(c.lost, gateway.Turn{Usage: call()})
	case 2: // the totals decrease
		c.forgot = rnd.IntN(len(c.turns) + 1)
	case 3:
		c.deleted = true
	case 4:
		prices := []Price{price("p", fmt.Sprint("m", rnd.IntN(3)), "2026-01-01", money.Nano(1+rnd.IntN(9))*1e9)}
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), prices, nil); err != nil {
			t.Fatal(err)
		}
	case 5: // forked; its rows were counted already
		copied := p.open(c.Key + fmt.Sprint(":fork-", i))
		copied.turns = append(copied.turns, c.turns...)
	case 6:
		c.Active = !c.Active
		p.ask(c, fmt.Sprint("r", i), call())
	default:
		p.ask(c, fmt.Sprint("r", i), call(), call())
	}
	switch rnd.IntN(4) {
	case 0:
		p.sync(t, true)
	case 1:
		p.sync(t, false)
	}
}
