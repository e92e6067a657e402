package usage

import (
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestTranscriptThatCannotBeRead checks that the totals of an unreadable transcript are counted
// after giveUpAfter, and are replaced by its runs when it becomes readable.
func TestTranscriptThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:long")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", free("n", 100, 1))
		p.refuse = map[string]error{c.Key: link.ErrTimeout}
		p.sync(t, true)
		for begin := p.now; p.now.Before(begin.Add(giveUpAfter - refusedRetry)); {
			p.tick(slowRetry)
			p.sync(t, true)
		}
		p.want(t)
		p.tick(2 * refusedRetry)
		p.sync(t, true)
		p.sync(t, true)
		sum := p.total(t)
		if sum.Runs != 0 || sum.Corrections != 2 || sum.Tokens.Input != 110 || *sum.CostUSD != 5 || sum.Unpriced != 1 {
			t.Errorf("given up: %+v", sum)
		}
		p.ask(c, "c", used("m", 1000, 1, 500)) // waits, and is counted after giveUpAfter
		p.sync(t, true)
		p.tick(settleTime + time.Second)
		p.sync(t, true)
		if sum := p.total(t); sum.Runs != 0 || sum.Tokens.Input != 1110 || *sum.CostUSD != 505 {
			t.Errorf("gone on: %+v", sum)
		}
		p.refuse = nil
		p.tick(refusedRetry)
		p.sync(t, true)
		p.sync(t, true)
		// The missing price counts twice: for the run and for the totals.
		sum = p.total(t)
		if sum.Runs != 3 || sum.Tokens.Input != 1110 || *sum.CostUSD != 505 || sum.Unpriced == 0 {
			t.Errorf("read in the end: %+v", sum)
		}
	})
}

// TestFollowWithoutTheRefused checks that an unreadable session does not stop the others, and is
// counted when it becomes readable.
func TestFollowWithoutTheRefused(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"refused": link.ErrRefused, "busy": link.ErrBusy, "slow": link.ErrTimeout} {
		t.Run(name, func(t *testing.T) {
			p := newScenario(dbtest.New(t))
			for _, key := range []string{"bad", "good"} {
				p.ask(p.open("agent:cto:"+key), key, used("m", 1, 1, 1))
			}
			p.refuse = map[string]error{"agent:cto:bad": err}
			p.sync(t, true)
			p.want(t, line{"good", "m", "run", "runtime", 1, 1, "1"})
			read := p.read
			p.sync(t, true)
			if p.read != read {
				t.Errorf("it was asked for %d times more at once", p.read-read)
			}
			p.refuse = nil
			p.tick(refusedRetry)
			p.sync(t, true)
			p.want(t, line{"bad", "m", "run", "runtime", 1, 1, "1"}, line{"good", "m", "run", "runtime", 1, 1, "1"})
		})
	}
}
