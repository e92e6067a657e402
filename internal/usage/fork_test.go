package usage

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// fork copies the first n rows of a conversation into one with another key.
func (r *runtime) fork(of *conversation, key string, n int) *conversation {
	c := r.open(key)
	c.turns = slices.Clone(of.turns[:n])
	c.UpdatedAt = clock.At(r.tick(time.Second))
	return c
}

// rewind replaces a conversation with a copy of its first n rows.
func (r *runtime) rewind(of *conversation, n int) *conversation {
	return r.fork(of, of.Key, n)
}

// nameless adds a run without an ID.
func (r *runtime) nameless(c *conversation, id string, u *gateway.Usage) {
	r.say(c, false, gateway.Turn{Role: "user"})
	r.say(c, false, gateway.Turn{ID: id, Role: "assistant", Usage: u})
}

// wantTotal compares the sums of the ledger: input tokens, cost in nano-dollars, runs and
// adjustments.
func (p *scenario) wantTotal(t *testing.T, when string, in, cost, runs, corrections int64) {
	t.Helper()
	sum := p.total(t)
	if sum.Tokens.Input != in || int64(*sum.CostUSD) != cost || sum.Runs != runs || sum.Corrections != corrections {
		t.Errorf("%s: %d tokens for %d in %d runs and %d corrections, want %d, %d, %d, %d",
			when, sum.Tokens.Input, *sum.CostUSD, sum.Runs, sum.Corrections, in, cost, runs, corrections)
	}
}

// TestFork checks that a fork of a conversation is not counted twice.
func TestFork(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5), used("n", 1, 1, 1))
		p.nameless(c, "m1", used("m", 100, 1, 50))
		p.ask(c, "b", used("m", 1000, 1, 500))
		p.sync(t, true)
		p.wantTotal(t, "before", 1111, 556, 4, 0) // a used two models

		f := p.fork(c, "agent:cto:dashboard:1", len(c.turns)-2)
		p.sync(t, true)
		p.wantTotal(t, "forked", 1111, 556, 4, 0)
		p.ask(f, "c", used("m", 10000, 1, 5000))
		p.ask(c, "d", used("n", 2, 1, 2))
		p.sync(t, true)
		p.wantTotal(t, "gone on in both", 11113, 5558, 6, 0)

		// A fork of the fork, read only by a new process.
		g := p.fork(f, "agent:cto:dashboard:2", len(f.turns))
		p.ask(g, "e", used("m", 100000, 1, 50000))
		p.restart()
		p.sync(t, true)
		p.sync(t, true)
		p.wantTotal(t, "forked again", 111113, 55558, 7, 0)

		// Usage in the totals beyond the runs is added.
		g.lost = append(g.lost, gateway.Turn{Usage: used("m", 7, 1, 7)})
		p.ask(g, "f", used("m", 1, 1, 1))
		p.sync(t, true)
		p.wantTotal(t, "and a lost run", 111121, 55566, 8, 1)
	})
}

// TestRewind checks that both branches of a rewound conversation are counted.
func TestRewind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", used("m", 100, 1, 50))
		p.ask(c, "c", used("n", 1000, 1, 500))
		p.sync(t, true)

		// Back to the second message.
		back := p.rewind(c, 2)
		p.sync(t, true)
		p.wantTotal(t, "gone back", 1110, 555, 3, 0)
		p.ask(back, "d", used("m", 10000, 1, 5000))
		p.sync(t, true)
		p.wantTotal(t, "gone on", 11110, 5555, 4, 0)

		// Back to the first message, so that nothing is left.
		again := p.rewind(back, 0)
		p.sync(t, true)
		p.wantTotal(t, "gone back to the beginning", 11110, 5555, 4, 0)
		p.ask(again, "e", used("n", 100000, 1, 50000))
		p.restart()
		p.sync(t, true)
		p.wantTotal(t, "begun again", 111110, 55555, 5, 0)
	})
}

// TestCopyThatNobodyRead checks the totals of a fork that was deleted before it was read.
func TestCopyThatNobodyRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", used("m", 100, 1, 50))
		p.ask(c, "c", used("m", 1000, 1, 500))
		p.sync(t, true)
		p.tick(time.Hour)
		f := p.fork(c, "agent:cto:dashboard:1", 4)
		back := p.rewind(f, 2)
		f.UpdatedAt, back.UpdatedAt = f.turns[3].At, back.turns[1].At // the times of their last rows
		leave := func() {
			t.Helper()
			p.sync(t, true)
			p.tick(2 * settleTime)
			p.sync(t, true)
		}
		leave()
		p.wantTotal(t, "forked, and gone back at once", 1110, 555, 3, 0)

		// A transcript with rows of its own, or with less usage than the original, is not a copy.
		g := p.fork(c, "agent:cto:dashboard:2", 4)
		p.ask(g, "d", used("m", 10000, 1, 5000))
		g.UpdatedAt, g.deleted = g.turns[5].At, true
		other := p.open("agent:cto:dashboard:3")
		p.ask(other, "e", used("m", 100000, 1, 50000))
		other.UpdatedAt, other.deleted = c.turns[5].At, true
		leave()
		p.wantTotal(t, "and others that nobody read", 1110+10110+100000, 555+5055+50000, 3, 2)
	})
}

// TestForkOfWhatIsGoing checks a sub-agent that starts with a copy of a conversation with a run in
// progress.
func TestForkOfWhatIsGoing(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"the original is read first", "the copy is read first", "the original was never read"} {
		t.Run(order, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				p := newScenario(d)
				c := p.open("agent:coo:task:TASK-7")
				p.say(c, false, gateway.Turn{Role: "user"})
				p.addTurn(c, "b", used("m", 100, 1, 50))
				c.RunID = "b"
				if order != "the original was never read" {
					p.sync(t, false)
				}
				f := p.spawn(c, "agent:coo:subagent:1")
				f.turns = slices.Clone(c.turns)
				p.ask(f, "sub", used("m", 1000, 1, 500))
				p.tick(time.Minute)
				if order != "the original is read first" {
					slices.Reverse(p.sessions)
				}
				p.sync(t, false)
				p.wantGoing(t, "forked", 1, 100, 50, 1100)
				f.Active = true
				p.say(f, false, gateway.Turn{Role: "user"})
				p.addTurn(c, "b", used("m", 10000, 1, 5000))
				p.tick(time.Minute)
				p.sync(t, false)
				p.wantGoing(t, "both go on", 1, 10100, 5050, 11100)
				f.Active, f.UpdatedAt = false, clock.At(p.tick(time.Second))
				c.Active, c.UpdatedAt = false, clock.At(p.tick(time.Second))
				for range 3 {
					p.sync(t, true)
					p.tick(2 * settleTime)
				}
				p.wantTotal(t, "ended", 11100, 5550, 2, 0)
				if got := p.sources(t); got[Task] != 1 || got[SubAgent] != 1 {
					t.Errorf("the runs are %v", got)
				}
			})
		})
	}
}

// TestCopyOfNamelessRuns checks that rows without a run ID in a copy are not counted as in
// progress.
func TestCopyOfNamelessRuns(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.nameless(c, "m1", used("m", 100, 1, 50))
	p.sync(t, true)
	f := p.fork(c, "agent:cto:dashboard:1", len(c.turns))
	p.say(f, false, gateway.Turn{Role: "user"})
	f.Active = true
	p.tick(time.Minute)
	p.sync(t, true)
	p.wantGoing(t, "a busy copy", 0, 0, 0, 100)
}

// reluctant is a runtime that delays its response until the test allows it.
type reluctant struct {
	*runtime
	asked, answer chan struct{}
	once          sync.Once
}

func (s *reluctant) Turns(ctx context.Context, key string, limit int, offset int64) (gateway.TurnPage, error) {
	s.once.Do(func() {
		close(s.asked)
		<-s.answer
	})
	return s.runtime.Turns(ctx, key, limit, offset)
}

// TestForkWhileItIsNoted checks a run that is noted while its copy is read.
func TestForkWhileItIsNoted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Engine() == db.SQLite {
			return // SQLite allows one writer at a time
		}
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		f := p.fork(c, "agent:cto:dashboard:1", len(c.turns))
		p.ask(f, "own", used("m", 100, 1, 50))
		rt := &reluctant{runtime: p.runtime, asked: make(chan struct{}), answer: make(chan struct{})}
		p.Runtime = rt
		done := make(chan error, 1)
		go func() { done <- p.reader.work(t.Context(), []gateway.Session{f.Session}, nil) }()
		<-rt.asked
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := p.Note(t.Context(), tx, Run{
				RunID: "a", AgentID: "cto", SessionKey: c.Key, SessionID: c.ID, EndedAt: c.turns[1].At.Time, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{10, 1, 3, 2, 1}, Cost: costOf(5)}},
			})
			close(rt.answer)
			time.Sleep(500 * time.Millisecond) // the mirror reads the copy
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p.sync(t, true)
			p.tick(2 * settleTime)
		}
		p.wantTotal(t, "both", 110, 55, 2, 0)
	})
}

// TestBegunAnew checks that a reset session, and a run that continues in it, are not copies.
func TestBegunAnew(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.sync(t, true)
		next := p.open("agent:cto:main")
		p.ask(next, "b", used("m", 100, 1, 50))
		next.lost = append(next.lost, gateway.Turn{Usage: used("m", 9, 1, 5)}) // nearly the usage of the previous one
		p.sync(t, true)
		p.wantTotal(t, "begun anew", 119, 60, 2, 1)
		p.ask(next, "a", used("m", 1000, 1, 500))
		p.sync(t, true)
		p.wantTotal(t, "the run of before goes on", 1119, 560, 2, 2)
	})
}
