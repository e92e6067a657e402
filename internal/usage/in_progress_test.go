package usage

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// addTurn adds another model call to a run in progress.
func (r *runtime) addTurn(c *conversation, runID string, u *gateway.Usage) {
	r.say(c, false, gateway.Turn{Role: "assistant", RunID: runID, Usage: u})
	c.Active = true
}

// wantGoing compares the usage of runs in progress (runs, input tokens, cost in nano-dollars) and
// the total of all usage.
func (p *scenario) wantGoing(t *testing.T, when string, runs int, in, cost, ever int64) {
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

// TestGoing checks that the usage of a run is visible while it is in progress and never counted
// twice.
func TestGoing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:task:TASK-7")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.say(c, false, gateway.Turn{Role: "user"})
		p.addTurn(c, "b", used("m", 100, 1, 50))
		p.sync(t, true)
		p.wantGoing(t, "the first step", 1, 100, 50, 110)
		g, err := p.Going(t.Context())
		if r := g.Runs[0]; err != nil || r.TaskKey == nil || *r.TaskKey != "TASK-7" || r.AgentID != "cto" || r.StandupID != nil || r.StartedAt == nil || len(r.Models) != 1 || r.Models[0] != "p/m" || !r.Complete {
			t.Errorf("%+v, %v", r, err)
		}

		p.addTurn(c, "b", used("n", 1000, 1, 500))
		p.addTurn(c, "b", free("o", 5, 5))
		p.sync(t, true)
		p.wantGoing(t, "before it is read again", 1, 100, 50, 110)
		p.tick(busyInterval)
		p.sync(t, true)
		p.wantGoing(t, "three models", 1, 1105, 550, 1115)
		if g, _ := p.Going(t.Context()); g.Complete || g.Runs[0].Complete || len(g.Runs[0].Models) != 3 {
			t.Errorf("what has no price is not told: %+v", g)
		}
		wantLength := func(runID string, calls int64, least time.Duration) {
			t.Helper()
			if r, err := p.SpentByRun(t.Context(), d, Scope{}, runID); err != nil || r.Calls != calls || r.Took < least || r.Took > least+time.Minute {
				t.Errorf("%s made %d calls in %s, want %d in %s or a little more; %v", runID, r.Calls, r.Took, calls, least, err)
			}
		}
		wantLength("a", 1, 0)
		wantLength("b", 3, busyInterval)

		other := p.open("agent:cmo:main")
		p.addTurn(other, "d", used("m", 7, 1, 900))
		p.restart()
		p.sync(t, true)
		p.wantGoing(t, "two runs", 2, 1112, 1450, 1122)
		if g, _ := p.Going(t.Context()); g.Runs[0].RunID != "d" {
			t.Errorf("the dearest is not the first: %+v", g.Runs)
		}

		c.Active = false
		c.UpdatedAt = clock.At(p.tick(time.Second))
		p.sync(t, true)
		p.wantGoing(t, "one has ended", 1, 7, 900, 1122)

		// A feature notes the end of the other run before the mirror reads it.
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			cost := *costOf(900)
			_, err := p.Note(t.Context(), tx, Run{RunID: "d", AgentID: "cmo", EndedAt: p.now, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 7}, Cost: &cost}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		p.wantGoing(t, "noted by who asked", 0, 0, 0, 1122)
		p.tick(busyInterval)
		p.sync(t, false)
		p.wantGoing(t, "and still busy", 0, 0, 0, 1122)
		wantLength("b", 3, 0)
		wantLength("d", 1, 0)
	})
}

// Limits count the calls and the time of each model, and both add up to those of the run, in progress and ended.
func TestLengthOfModels(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		want := func(when, runID string, lengths map[string]time.Duration, calls map[string]int64) {
			t.Helper()
			agent := map[string]string{"a": "cto", "b": "cpo"}[runID]
			all, err := p.SpentSoFar(t.Context(), d, Scope{ByAgent, []string{agent}}, noon.Add(-24*time.Hour))
			for model, took := range lengths {
				one, failed := p.SpentByRun(t.Context(), d, Scope{ByModel, []string{"p/" + model}}, runID)
				if failed != nil || one.Took != took || one.Calls != calls[model] {
					t.Errorf("%s: %d calls of %s in %s, want %d in %s; %v", when, one.Calls, model, one.Took, calls[model], took, failed)
				}
				all.Took, all.Calls = all.Took-one.Took, all.Calls-one.Calls
			}
			if err != nil || all.Took != 0 || all.Calls != 0 {
				t.Errorf("%s: the models lack %s and %d calls; %v", when, all.Took, all.Calls, err)
			}
		}
		p.say(c, false, gateway.Turn{Role: "user"}) // two seconds pass from row to row
		p.addTurn(c, "a", used("m", 1, 1, 1))
		p.addTurn(c, "a", used("n", 1, 1, 1))
		p.addTurn(c, "a", &gateway.Usage{Provider: "p", Model: "without tokens"})
		p.addTurn(c, "a", used("m", 1, 1, 1))
		p.tick(time.Minute - 2*time.Second) // a second passes before it is read
		p.sync(t, true)
		calls := map[string]int64{"m": 3, "n": 1}
		want("in progress", "a", map[string]time.Duration{"m": 6*time.Second + time.Minute, "n": 2 * time.Second}, calls)
		ended := map[string]time.Duration{"m": 6 * time.Second, "n": 2 * time.Second}
		c.Active = false
		c.UpdatedAt = clock.At(p.tick(time.Second))
		p.sync(t, true)
		want("ended", "a", ended, calls)

		other := p.open("agent:cpo:main")
		p.say(other, false, gateway.Turn{Role: "user"})
		began := p.now
		p.addTurn(other, "b", used("m", 1, 1, 1))
		p.addTurn(other, "b", used("n", 1, 1, 1))
		p.addTurn(other, "b", used("n", 1, 1, 1))
		p.sync(t, true)
		parts := []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}}, {Provider: "p", Model: "n", Tokens: Tokens{Input: 2}}}
		p.note(t, Run{RunID: "b", AgentID: "cpo", StartedAt: began, EndedAt: began.Add(time.Hour), Parts: parts})
		want("noted by a feature", "b", map[string]time.Duration{"m": 2 * time.Second, "n": time.Hour - 2*time.Second}, map[string]int64{"m": 1, "n": 2})
	})
}

// A new message makes the usage of its run visible within seconds, without a read per message.
func TestGoingAfterMessages(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:task:TASK-7")
	p.addTurn(c, "b", used("m", 100, 1, 50))
	p.sync(t, false)
	reads, last := p.read, p.reader.last[c.ID]
	soon := last.at.Add(max(callInterval, busyFactor*last.took))
	p.addTurn(c, "b", used("m", 300, 1, 150))
	p.now = soon.Add(-time.Millisecond)
	for range 3 {
		p.Receive(mirror.Event{Event: link.Event{Name: "session.message"}, Content: gateway.Content{Active: "agent:CTO:task:task-7"}})
		p.sync(t, false)
	}
	p.wantGoing(t, "at once", 1, 100, 50, 100)
	p.now = soon
	p.sync(t, false)
	p.wantGoing(t, "after some seconds", 1, 400, 200, 400)
	p.tick(callInterval)
	p.sync(t, false)
	if n := p.read - reads; n != 1 {
		t.Errorf("it was read %d times, want once", n)
	}
	p.messages.add(c.Key, nil)
	c.Active = false
	c.UpdatedAt = clock.At(p.tick(time.Second))
	p.sync(t, false)
	if p.messages.has(c.Key) {
		t.Error("the message of a run that has ended is still marked as unread")
	}
}

// TestGoingIsForgotten checks that the usage of a run in progress is deleted when its session is
// gone or unreadable.
func TestGoingIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		gone, shut := p.open("agent:cto:main"), p.open("agent:cmo:main")
		p.addTurn(gone, "a", used("m", 10, 1, 5))
		p.addTurn(shut, "b", used("m", 100, 1, 50))
		p.sync(t, false)
		p.wantGoing(t, "both", 2, 110, 55, 110)
		gone.deleted = true
		p.sync(t, true)
		p.wantGoing(t, "deleted just now", 2, 110, 55, 110)
		p.tick(2 * settleTime)
		p.sync(t, true)
		p.wantGoing(t, "deleted, and counted by its totals", 1, 100, 50, 110)
		p.restart()
		shut.Active, shut.UpdatedAt = false, clock.At(p.tick(time.Second))
		p.refuse = map[string]error{shut.Key: link.ErrRefused.With("No.")}
		p.sync(t, false)
		p.wantGoing(t, "not to be read", 1, 100, 50, 110)
		p.tick(forgetAfter)
		p.sync(t, false)
		p.wantGoing(t, "not to be read for long", 0, 0, 0, 10)
	})
}

// TestGoingAmongReplicas checks that all processes see the usage that one has stored, and keep it
// whatever list they have.
func TestGoingAmongReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		p.ask(p.open("agent:cto:main"), "old", used("m", 1, 1, 1))
		other := newReader(p.Service)
		other.claim.Alone = false
		look := func(rows []gateway.Session) {
			t.Helper()
			if err := other.work(t.Context(), rows, nil); err != nil {
				t.Fatal(err)
			}
			release(other)
		}
		old := p.list()
		look(old)
		c := p.open("agent:cmo:main")
		p.addTurn(c, "a", used("m", 10, 1, 5))
		p.sync(t, false)
		release(p.reader)
		look(old)
		p.wantGoing(t, "another one with an older list", 1, 10, 5, 11)

		starts := newReader(newService(d, p.runtime))
		starts.claim.Alone = false
		p.tick(forgetAfter)
		step(t, starts)
		release(starts)
		p.wantGoing(t, "one that starts while the gateway is away", 1, 10, 5, 11)

		c.deleted = true
		p.tick(time.Second)
		look(p.list())
		p.wantGoing(t, "one that is left alone, and finds its session gone", 0, 0, 0, 1)
	})
}

// TestGoingOfAJob checks that the usage of a run that has ended without a list update is kept
// until its totals arrive.
func TestGoingOfAJob(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:coo:cron:job")
	at := c.UpdatedAt
	p.say(c, false, gateway.Turn{Role: "user"})
	p.addTurn(c, "a", used("m", 10, 1, 5))
	c.UpdatedAt = at
	p.sync(t, false)
	c.Active = false
	p.tick(time.Minute)
	p.sync(t, false)
	p.wantGoing(t, "ended, before the totals come", 1, 10, 5, 10)
	rows := p.list()
	p.tick(2 * settleTime)
	ahead := p.counted()
	ahead.Transcripts[0].LastAt = c.turns[1].At
	if err := p.reader.work(t.Context(), rows, ahead); err != nil {
		t.Fatal(err)
	}
	p.wantGoing(t, "with its totals", 0, 0, 0, 10)
}

// TestGoingThatCannotBeRead checks that an unreadable active session does not cause frequent
// retries.
func TestGoingThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.addTurn(c, "a", used("m", 10, 1, 5))
	p.put(p.list())
	if wait := step(t, p.reader); wait != busyInterval {
		t.Errorf("it looks again after %v, want %v", wait, busyInterval)
	}
	p.tick(busyInterval)
	p.refuse = map[string]error{c.Key: link.ErrRefused.With("No.")}
	if wait := step(t, p.reader); wait != idleInterval {
		t.Errorf("it looks again after %v, want %v", wait, idleInterval)
	}
}

// TestGoingWithoutGateway checks that the usage of runs in progress is kept, with its age, while
// the gateway is unreachable.
func TestGoingWithoutGateway(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.addTurn(c, "a", used("m", 10, 1, 5))
	p.sync(t, false)
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

// Limits hear of each model call of a run in progress, and soon after it while a limit is close.
func TestGrewWhileInProgress(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	var grown []int64
	p.Urgent = func(u Unread) bool { return u == Unread{NanoDollars: 150, Tokens: 307, Calls: 1} }
	p.Grew = func(ctx context.Context, tx *db.Tx, r Run, inProgress bool) error {
		all, err := p.SpentSoFar(ctx, tx, Scope{ByAgent, []string{"cto"}}, p.now.Add(-time.Hour))
		one, errOne := p.SpentByRun(ctx, tx, Scope{}, r.RunID)
		if err := errors.Join(err, errOne); err != nil {
			return err
		}
		if !inProgress || *all.CostUSD != *one.CostUSD {
			t.Errorf("%+v, %v: all %+v, the run %+v", r, inProgress, all, one)
		}
		tx.Committed(func() { grown = append(grown, int64(*all.CostUSD)) })
		return nil
	}
	c := p.open("agent:cto:task:TASK-7")
	p.addTurn(c, "b", used("m", 100, 1, 50))
	p.sync(t, false)
	p.addTurn(c, "b", used("m", 300, 1, 150))
	receive := func(u *gateway.Usage) time.Duration {
		p.Receive(mirror.Event{Event: link.Event{Name: "session.message"}, Content: gateway.Content{Active: c.Key, Message: func() gateway.Turn { return gateway.Turn{Usage: u} }}})
		return p.reader.nextRead(&c.Session).Sub(p.reader.last[c.ID].at)
	}
	if wait := receive(nil); wait < callInterval {
		t.Errorf("after a message without usage, it waits for %v", wait)
	}
	if wait := receive(used("m", 300, 1, 150)); wait >= callInterval {
		t.Errorf("close to a limit, it waits for %v", wait)
	}
	p.tick(callInterval / 2)
	p.sync(t, false)
	if !slices.Equal(grown, []int64{50, 200}) {
		t.Errorf("the limits heard of %v", grown)
	}
}
