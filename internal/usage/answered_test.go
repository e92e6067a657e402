package usage

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/task"
)

// answer is the usage of the last model call of run a, which is all that its answer reports.
func (p *scenario) answer(c *conversation) Run {
	return Run{
		RunID: "a", AgentID: "cto", SessionKey: c.Key, SessionID: c.ID, Source: Task, TaskKey: "TASK-7", StartedAt: p.now.Add(-time.Minute), EndedAt: p.now,
		Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 30, Output: 3}, Cost: costOf(7)}},
	}
}

// The cost of a task must be that of its whole run as soon as the transcript is there, not that of the last model
// call, and no sum may count both.
func TestTranscriptReplacesAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		for range 7 {
			if _, err := p.Tasks.Create(actor.With(t.Context(), actor.System), task.New{Title: "T"}); err != nil {
				t.Fatal(err)
			}
		}
		c := p.open("agent:cto:task:TASK-7")
		p.ask(c, "a", used("m", 100, 1, 50), used("n", 10, 1, 5), used("m", 30, 3, 7))
		if !p.note(t, p.answer(c)) || p.note(t, p.answer(c)) {
			t.Error("the answer is not noted once")
		}
		p.want(t, line{"a", "m", "answered", "runtime", 30, 3, "7"})
		p.wantSpent(t, 7, 0) // whoever notes an answer records an event of its own
		p.sync(t, false)
		whole := []line{{"a", "m", "run", "runtime", 130, 4, "57"}, {"a", "n", "run", "runtime", 10, 1, "5"}}
		p.want(t, whole...)
		p.addsUp(t, 62)
		p.wantSpent(t, 62, 1)
		// Neither a late answer, nor another reading, nor the totals change it.
		if p.note(t, p.answer(c)) {
			t.Error("an answer replaces its transcript")
		}
		p.restart()
		p.tick(settleTime)
		p.sync(t, true)
		p.want(t, whole...)
		p.wantSpent(t, 62, 1)
	})
}

// wantSpent checks the cost on the card of TASK-7, and how many events say that it has changed.
func (p *scenario) wantSpent(t *testing.T, cost money.Nano, events int) {
	t.Helper()
	var n int
	err := p.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE kind = 'task.spent'`).Scan(&n)
	card, errCard := p.Tasks.Find(t.Context(), p.DB, "TASK-7")
	if err := errors.Join(err, errCard); err != nil || card.CostUSD == nil || *card.CostUSD != cost || n != events {
		t.Errorf("the card shows a cost of %v after %d events, %v; want %d after %d", card.CostUSD, n, err, cost, events)
	}
}

// addsUp checks that the sums by task, by agent, by day and over all time are the given cost, so that the roll-up equals
// the ledger.
func (p *scenario) addsUp(t *testing.T, cost int64) {
	t.Helper()
	of, err := p.OfTask(t.Context(), p.DB, "TASK-7")
	if err != nil || of.CostUSD == nil || int64(*of.CostUSD) != cost {
		t.Errorf("the task cost %v, %v; want %d", of.CostUSD, err, cost)
	}
	for _, by := range []Group{ByTask, ByAgent, ByModel, ByHour, ByDay, BySession, BySource} {
		r, err := p.Report(t.Context(), Period{From: noon.AddDate(0, 0, -1), To: noon.AddDate(0, 0, 1), Zone: time.UTC}, by, Extras{})
		if err != nil || r.Total.CostUSD == nil || int64(*r.Total.CostUSD) != cost || r.Total.Corrections != 0 {
			t.Errorf("by %s: %+v, %v; want %d", by, r.Total, err, cost)
		}
		for _, g := range r.Groups {
			if g.Runs == 0 && by != ByHour && by != ByDay {
				t.Errorf("by %s: an empty group %v", by, g.Key)
			}
		}
	}
}

// A run whose answer has arrived, in a session in which the next one has begun, must not show the last call's cost
// until that one ends. And an answer must not make a run look cheaper than it was seen to be.
func TestAnswerInBusySession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:task:TASK-7")
		p.say(c, false, gateway.Turn{Role: "user"})
		p.addTurn(c, "a", used("m", 100, 1, 50))
		p.addTurn(c, "a", used("m", 10, 1, 5))
		p.sync(t, false) // in progress
		p.addTurn(c, "a", used("m", 30, 3, 7))
		p.note(t, p.answer(c))
		p.want(t, line{"a", "m", "answered", "runtime", 110, 2, "55"})
		p.tick(busyInterval)
		p.sync(t, false) // another run is queued
		p.want(t, line{"a", "m", "answered", "runtime", 140, 5, "62"})
		p.addsUp(t, 62)
		c.Active, c.UpdatedAt = false, clock.At(p.tick(time.Second))
		p.sync(t, false)
		p.want(t, line{"a", "m", "run", "runtime", 140, 5, "62"})
		p.addsUp(t, 62)
	})
}

// If the gateway no longer shows all of a run's calls, the larger figure counts, and if there is no transcript, the
// answer does.
func TestAnswerOutlivesTranscript(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:task:TASK-7")
		p.ask(c, "a", used("m", 20, 1, 5), used("m", 30, 3, 7))
		c.hidden, p.unkept = map[int64]bool{3: true}, true
		c.turns[1].Usage = used("m", 1, 1, 1)
		p.note(t, p.answer(c))
		p.sync(t, false)
		p.want(t, line{"a", "m", "answered", "runtime", 30, 3, "7"})
		c.deleted = true
		p.restart()
		p.sync(t, false)
		p.want(t, line{"a", "m", "answered", "runtime", 30, 3, "7"})
		p.addsUp(t, 7)
	})
}

// Prices that were set for an answer without a cost must not stay when the transcript has the cost.
func TestPricedAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:task:TASK-7")
		p.ask(c, "a", used("m", 100, 1, 50), used("m", 30, 3, 7))
		r := p.answer(c)
		r.Parts[0].Cost = nil
		p.note(t, r)
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), []Price{{Model: "m", From: "2026-01-01", Input: 1_000_000}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := p.reprice(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.sync(t, false)
		p.want(t, line{"a", "m", "run", "runtime", 130, 4, "57"})
		p.addsUp(t, 57)
	})
}

// A session whose time stands still must not hide its later runs, and contradictory numbers must show as estimated.
func TestUncleanSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		stuck := clock.At(noon.AddDate(60, 0, 0))
		guess := used("m", 10, 1, 5)
		guess.Estimated = true
		p.ask(c, "a", guess)
		c.UpdatedAt = stuck
		p.sync(t, true)
		p.ask(c, "b", used("m", 20, 2, 6))
		c.UpdatedAt, c.LastMessage = stuck, "Done."
		p.sync(t, true)
		want := []line{{"a", "m", "run", "estimated", 10, 1, "5"}, {"b", "m", "run", "runtime", 20, 2, "6"}}
		if diff := cmp.Diff(want, p.lines(t)); diff != "" {
			t.Errorf("the ledger (-want +got):\n%s", diff)
		}
		if s := p.total(t); s.Estimated != 5 || *s.CostUSD != 11 {
			t.Errorf("%+v", s)
		}
		// A run without a time, or in the far future, counts now.
		p.ask(c, "c", used("m", 30, 3, 7))
		p.ask(c, "d", used("m", 40, 4, 8))
		c.turns[5].At, c.turns[7].At, c.UpdatedAt, c.LastMessage = stuck, clock.Time{}, clock.Time{}, "Again."
		p.sync(t, true)
		if s := p.total(t); s.Runs != 4 || *s.CostUSD != 26 {
			t.Errorf("%+v", s)
		}
	})
}
