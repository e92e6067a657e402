package usage

import (
	"errors"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// step plays one more model call of a run that goes on.
func (r *runtime) step(c *conversation, runID string, u *gateway.Usage) {
	r.say(c, false, gateway.Turn{Role: "assistant", RunID: runID, Usage: u})
	c.Active = true
}

// wantGoing holds what is going against runs, input tokens and dollars in nano, and
// all of it together against what was ever used.
func (p *played) wantGoing(t *testing.T, when string, runs int, in, cost, ever int64) {
	t.Helper()
	g, err := p.Going(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spent := int64(0)
	if g.CostUSD != nil {
		spent = int64(*g.CostUSD)
	}
	if len(g.Runs) != runs || g.Tokens.Input != in || spent != cost || (g.AsOf == nil) != (runs == 0) {
		t.Errorf("%s: %d runs, %d tokens, %d: %+v; want %d, %d, %d", when, len(g.Runs), g.Tokens.Input, spent, g, runs, in, cost)
	}
	if all := p.total(t).Tokens.Input + g.Tokens.Input; all != ever {
		t.Errorf("%s: %d tokens with the ledger, want %d", when, all, ever)
	}
}

// An agent that works for hours burns money for hours: what it has used so far is
// seen while it goes on, and never twice.
func TestGoing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		c := p.open("agent:cto:task:TASK-7")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.say(c, false, gateway.Turn{Role: "user"})
		p.step(c, "b", used("m", 100, 1, 50))
		p.look(t, true)
		p.wantGoing(t, "the first step", 1, 100, 50, 110)
		g, err := p.Going(t.Context())
		if r := g.Runs[0]; err != nil || r.TaskKey == nil || *r.TaskKey != "TASK-7" || r.AgentID != "cto" || r.StandupID != nil || r.StartedAt == nil || len(r.Models) != 1 || r.Models[0] != "p/m" || !r.Complete {
			t.Errorf("%+v, %v", r, err)
		}

		p.step(c, "b", used("n", 1000, 1, 500))
		p.step(c, "b", free("o", 5, 5))
		p.look(t, true)
		p.wantGoing(t, "before it is read again", 1, 100, 50, 110)
		p.tick(busyEvery)
		p.look(t, true)
		p.wantGoing(t, "three models", 1, 1105, 550, 1115)
		if g, _ := p.Going(t.Context()); g.Complete || g.Runs[0].Complete || len(g.Runs[0].Models) != 3 {
			t.Errorf("what has no price is not told: %+v", g)
		}

		other := p.open("agent:cmo:main")
		p.step(other, "d", used("m", 7, 1, 900))
		p.restart()
		p.look(t, true)
		p.wantGoing(t, "two runs", 2, 1112, 1450, 1122)
		if g, _ := p.Going(t.Context()); g.Runs[0].RunID != "d" {
			t.Errorf("the dearest is not the first: %+v", g.Runs)
		}

		c.Active = false
		c.UpdatedAt = clock.At(p.tick(time.Second))
		p.look(t, true)
		p.wantGoing(t, "one has ended", 1, 7, 900, 1122)

		// Whoever asked the other one notes its end before it is read again.
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			cost := *costOf(900)
			_, err := p.Note(t.Context(), tx, Run{RunID: "d", AgentID: "cmo", EndedAt: p.now, Parts: []Part{{"p", "m", Tokens{Input: 7}, &cost}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		p.wantGoing(t, "noted by who asked", 0, 0, 0, 1122)
		p.tick(busyEvery)
		p.look(t, false)
		p.wantGoing(t, "and still busy", 0, 0, 0, 1122)
	})
}

// What is kept of a run must not stay on the screen when its session is gone, or
// nobody can read how it ended.
func TestGoingIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		gone, shut := p.open("agent:cto:main"), p.open("agent:cmo:main")
		p.step(gone, "a", used("m", 10, 1, 5))
		p.step(shut, "b", used("m", 100, 1, 50))
		p.look(t, false)
		p.wantGoing(t, "both", 2, 110, 55, 110)
		gone.deleted = true
		p.look(t, true)
		p.wantGoing(t, "deleted just now", 2, 110, 55, 110)
		p.tick(2 * quiet)
		p.look(t, true)
		p.wantGoing(t, "deleted, and counted by its totals", 1, 100, 50, 110)
		p.restart()
		shut.Active, shut.UpdatedAt = false, clock.At(p.tick(time.Second))
		p.refuse = map[string]error{shut.Key: gateway.ErrRefused.With("No.")}
		p.look(t, false)
		p.wantGoing(t, "not to be read", 1, 100, 50, 110)
		p.tick(forgetAfter)
		p.look(t, false)
		p.wantGoing(t, "not to be read for long", 0, 0, 0, 10)
	})
}

// What one process keeps is there for the others, whatever they have heard: one
// that has no list yet, one whose list is older, and one that is all that is left.
func TestGoingAmongReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		p.ask(p.open("agent:cto:main"), "old", used("m", 1, 1, 1))
		other := newReader(p.Service)
		other.took = true
		look := func(rows []gateway.Session) {
			t.Helper()
			if err := other.work(t.Context(), rows, nil); err != nil {
				t.Fatal(err)
			}
			other.release(t.Context())
		}
		old := p.list()
		look(old)
		c := p.open("agent:cmo:main")
		p.step(c, "a", used("m", 10, 1, 5))
		p.look(t, false)
		p.reader.release(t.Context())
		look(old)
		p.wantGoing(t, "another one with an older list", 1, 10, 5, 11)

		starts := newReader(&Service{DB: d, Runtime: p.runtime, Log: p.Log, Now: p.Now, Zone: time.UTC})
		starts.took = true
		p.tick(forgetAfter)
		starts.pass(t.Context())
		starts.release(t.Context())
		p.wantGoing(t, "one that starts while the gateway is away", 1, 10, 5, 11)

		c.deleted = true
		p.tick(time.Second)
		look(p.list())
		p.wantGoing(t, "one that is left alone, and finds its session gone", 0, 0, 0, 1)
	})
}

// A run that has ended is nowhere for a moment when the runtime's list does not
// say that: what is known of it stays until its totals come.
func TestGoingOfAJob(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:coo:cron:job")
	at := c.UpdatedAt
	p.say(c, false, gateway.Turn{Role: "user"})
	p.step(c, "a", used("m", 10, 1, 5))
	c.UpdatedAt = at
	p.look(t, false)
	c.Active = false
	p.tick(time.Minute)
	p.look(t, false)
	p.wantGoing(t, "ended, before the totals come", 1, 10, 5, 10)
	rows := p.list()
	p.tick(2 * quiet)
	ahead := p.counted()
	ahead.Transcripts[0].LastAt = c.turns[1].At
	if err := p.reader.work(t.Context(), rows, ahead); err != nil {
		t.Fatal(err)
	}
	p.wantGoing(t, "with its totals", 0, 0, 0, 10)
}

// A busy session that cannot be read must not keep the service awake.
func TestGoingThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.step(c, "a", used("m", 10, 1, 5))
	p.Read(p.list(), nil)
	if wait := p.reader.pass(t.Context()); wait != busyEvery {
		t.Errorf("it looks again after %v, want %v", wait, busyEvery)
	}
	p.tick(busyEvery)
	p.refuse = map[string]error{c.Key: gateway.ErrRefused.With("No.")}
	if wait := p.reader.pass(t.Context()); wait != between {
		t.Errorf("it looks again after %v, want %v", wait, between)
	}
}

// While the gateway is away nobody knows whether a run goes on: what it had used
// stays, with its age.
func TestGoingWithoutGateway(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.step(c, "a", used("m", 10, 1, 5))
	p.look(t, false)
	before, err := p.Going(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.tick(time.Hour)
	p.fail = errors.New("away")
	if err := p.reader.work(t.Context(), p.list(), nil); err == nil {
		t.Error("the work succeeded without a gateway")
	}
	p.wantGoing(t, "away", 1, 10, 5, 10)
	if g, err := p.Going(t.Context()); err != nil || !g.AsOf.Equal(before.AsOf.Time) {
		t.Errorf("as of %v, %v", g.AsOf, err)
	}
}
