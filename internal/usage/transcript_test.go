package usage

import (
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// say adds a row to a conversation. A hidden row is omitted from the history.
func (r *runtime) say(c *conversation, hidden bool, t gateway.Turn) {
	t.Seq, t.At = int64(len(c.turns)+1), clock.At(r.tick(time.Second))
	if c.turns = append(c.turns, t); hidden {
		if c.hidden == nil {
			c.hidden = map[int64]bool{}
		}
		c.hidden[t.Seq] = true
	}
	c.UpdatedAt = clock.At(r.tick(time.Second))
}

// poll adds a heartbeat run without an answer.
func (r *runtime) poll(c *conversation, runID string) {
	r.say(c, true, gateway.Turn{Role: "user", Origin: "heartbeat"})
	r.say(c, true, gateway.Turn{Role: "assistant", RunID: runID, Blocks: inWords("HEARTBEAT_OK"), Usage: used("m", 7, 1, 2)})
}

// purposes returns the sources of the runs in the ledger.
func (p *scenario) purposes(t *testing.T) map[string]Source {
	t.Helper()
	rows, err := p.DB.Query(t.Context(), `SELECT run_id, source FROM usage_ledger`)
	by := map[string]Source{}
	_, err = db.All(rows, err, func(r db.Row) (one struct{}, err error) {
		var id string
		var source Source
		err = r.Scan(&id, &source)
		by[id] = source
		return one, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// TestSilentRuns checks that heartbeats without an answer, whose rows are hidden, are counted as
// heartbeats and not as adjustments.
func TestSilentRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.poll(c, "h1")
		p.sync(t, true)
		p.poll(c, "h2")
		p.ask(c, "b", used("m", 10, 1, 5))
		// Another agent sends a message that gets no answer.
		p.say(c, false, gateway.Turn{Role: "user", Origin: "sessions_send"})
		p.say(c, true, gateway.Turn{Role: "assistant", RunID: "talk", Blocks: inWords("REPLY_SKIP"), Usage: used("m", 1, 1, 1)})
		p.poll(c, "h3")
		p.restart()
		p.sync(t, true)
		p.sync(t, true)
		want := map[string]Source{"a": Human, "b": Human, "h1": Heartbeat, "h2": Heartbeat, "h3": Heartbeat, "talk": SubAgent}
		got := p.purposes(t)
		for id, source := range want {
			if got[id] != source {
				t.Errorf("%s is %q, want %q", id, got[id], source)
			}
		}
		if len(got) != len(want) {
			t.Errorf("rows %v", got)
		}
		if sum := p.total(t); sum.Corrections != 0 || sum.Runs != int64(len(want)) {
			t.Errorf("%+v", sum)
		}
	})
}

// TestSilentRunsUntold checks the sums if the gateway cannot return hidden rows.
func TestSilentRunsUntold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		p.unkept = true
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.poll(c, "h1")
		p.sync(t, true)
		sum := p.total(t)
		if sum.Runs != 1 || sum.Corrections != 1 || sum.Tokens.Input != 17 || *sum.CostUSD != 7 {
			t.Errorf("%+v", sum)
		}
		p.unkept = false
		p.ask(c, "b", used("m", 10, 1, 5))
		p.sync(t, true)
		if sum := p.total(t); sum.Runs != 3 || sum.Corrections != 2 || sum.Tokens.Input != 27 || *sum.CostUSD != 12 {
			t.Errorf("once it can: %+v", sum)
		}
	})
}

// TestRunsThatNobodyAsked checks that a turn resumed after a restart, and the end of a
// conversation between agents, keep their source and are not heartbeats.
func TestRunsThatNobodyAsked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.say(c, false, gateway.Turn{Role: "user"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "a", Usage: used("m", 1, 1, 1)})
		p.sync(t, true)
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "resumed", Usage: used("m", 1, 1, 1)})
		p.sync(t, true)
		p.say(c, false, gateway.Turn{Role: "user", Origin: "main_session_restart_recovery"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "again", Usage: used("m", 1, 1, 1)})
		p.say(c, false, gateway.Turn{Role: "user", Origin: "sessions_send"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "talk", Usage: used("m", 1, 1, 1)})
		p.say(c, true, gateway.Turn{Role: "assistant", RunID: "last", Blocks: inWords("ANNOUNCE_SKIP"), Usage: used("m", 1, 1, 1)})
		// A run whose first call fails and second call succeeds.
		p.say(c, false, gateway.Turn{Role: "user"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "late", Failed: true})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "late", Usage: used("m", 1, 1, 1)})
		p.sync(t, true)
		want := map[string]Source{"a": Human, "resumed": Human, "again": Human, "talk": SubAgent, "last": SubAgent, "late": Human}
		got := p.purposes(t)
		for id, source := range want {
			if got[id] != source {
				t.Errorf("%s is %q, want %q", id, got[id], source)
			}
		}
	})
}

// inWords returns the blocks of a text answer.
func inWords(text string) []gateway.Block {
	return []gateway.Block{{Kind: gateway.TextBlock, Text: text}}
}

// Runs after the runtime's clock was ahead and is set back must be counted at once.
func TestFollowClockSetBack(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	c.UpdatedAt = clock.At(p.tick(26 * time.Hour))
	p.sync(t, false)
	p.now = p.now.Add(-26 * time.Hour)
	p.ask(c, "b", used("m", 2, 2, 2))
	p.sync(t, false)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"}, line{"b", "m", "run", "runtime", 2, 2, "2"})
}
