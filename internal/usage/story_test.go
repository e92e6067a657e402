package usage

import (
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// say adds a row to a conversation; hidden is left out where people read it.
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

// poll plays a run by which the agent wakes on its own, and says nothing.
func (r *runtime) poll(c *conversation, runID string) {
	r.say(c, true, gateway.Turn{Role: "user", Origin: "heartbeat"})
	r.say(c, true, gateway.Turn{Role: "assistant", RunID: runID, Blocks: inWords("HEARTBEAT_OK"), Usage: used("m", 7, 1, 2)})
}

// purposes are the sources of the runs in the ledger.
func (p *played) purposes(t *testing.T) map[string]Source {
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

// An agent that wakes every half hour and has nothing to say costs more than all
// questions: as a correction of nobody's it would be a riddle on the bill.
func TestSilentRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.poll(c, "h1")
		p.look(t, true)
		p.poll(c, "h2")
		p.ask(c, "b", used("m", 10, 1, 5))
		// Another agent passes something on, which is answered with nothing.
		p.say(c, false, gateway.Turn{Role: "user", Origin: "sessions_send"})
		p.say(c, true, gateway.Turn{Role: "assistant", RunID: "talk", Blocks: inWords("REPLY_SKIP"), Usage: used("m", 1, 1, 1)})
		p.poll(c, "h3")
		p.restart()
		p.look(t, true)
		p.look(t, true)
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

// A gateway that cannot tell what it leaves out is no reason for a wrong sum.
func TestSilentRunsUntold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		p.unkept = true
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.poll(c, "h1")
		p.look(t, true)
		sum := p.total(t)
		if sum.Runs != 1 || sum.Corrections != 1 || sum.Tokens.Input != 17 || *sum.CostUSD != 7 {
			t.Errorf("%+v", sum)
		}
		p.unkept = false
		p.ask(c, "b", used("m", 10, 1, 5))
		p.look(t, true)
		if sum := p.total(t); sum.Runs != 3 || sum.Corrections != 2 || sum.Tokens.Input != 27 || *sum.CostUSD != 12 {
			t.Errorf("once it can: %+v", sum)
		}
	})
}

// A turn that the gateway resumes after a restart belongs to who asked, and the
// last word of a talk among agents to the talk: neither is the agent's own clock.
func TestRunsThatNobodyAsked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		c := p.open("agent:cto:main")
		p.say(c, false, gateway.Turn{Role: "user"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "a", Usage: used("m", 1, 1, 1)})
		p.look(t, true)
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "resumed", Usage: used("m", 1, 1, 1)})
		p.look(t, true)
		p.say(c, false, gateway.Turn{Role: "user", Origin: "main_session_restart_recovery"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "again", Usage: used("m", 1, 1, 1)})
		p.say(c, false, gateway.Turn{Role: "user", Origin: "sessions_send"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "talk", Usage: used("m", 1, 1, 1)})
		p.say(c, true, gateway.Turn{Role: "assistant", RunID: "last", Blocks: inWords("ANNOUNCE_SKIP"), Usage: used("m", 1, 1, 1)})
		// One whose first call fails, and the next one does not.
		p.say(c, false, gateway.Turn{Role: "user"})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "late", Failed: true})
		p.say(c, false, gateway.Turn{Role: "assistant", RunID: "late", Usage: used("m", 1, 1, 1)})
		p.look(t, true)
		want := map[string]Source{"a": Human, "resumed": Human, "again": Human, "talk": SubAgent, "last": SubAgent, "late": Human}
		got := p.purposes(t)
		for id, source := range want {
			if got[id] != source {
				t.Errorf("%s is %q, want %q", id, got[id], source)
			}
		}
	})
}

// inWords is an answer in words.
func inWords(text string) []gateway.Block {
	return []gateway.Block{{Kind: gateway.TextBlock, Text: text}}
}
