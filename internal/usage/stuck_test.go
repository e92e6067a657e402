package usage

import (
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// What the runtime cannot show costs all the same: for a while its runs are
// waited for, then its totals count, and the runs instead of them once they can
// be read.
func TestTranscriptThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		c := p.open("agent:cto:long")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", free("n", 100, 1))
		p.refuse = map[string]error{c.Key: gateway.ErrTimeout}
		p.look(t, true)
		for begin := p.now; p.now.Before(begin.Add(giveUp - refused)); {
			p.tick(slow)
			p.look(t, true)
		}
		p.want(t)
		p.tick(2 * refused)
		p.look(t, true)
		p.look(t, true)
		sum := p.total(t)
		if sum.Runs != 0 || sum.Corrections != 2 || sum.Tokens.Input != 110 || *sum.CostUSD != 5 || sum.Unpriced != 1 {
			t.Errorf("given up: %+v", sum)
		}
		p.ask(c, "c", used("m", 1000, 1, 500)) // which is waited for, and then counted
		p.look(t, true)
		p.tick(quiet + time.Second)
		p.look(t, true)
		if sum := p.total(t); sum.Runs != 0 || sum.Tokens.Input != 1110 || *sum.CostUSD != 505 {
			t.Errorf("gone on: %+v", sum)
		}
		p.refuse = nil
		p.tick(refused)
		p.look(t, true)
		p.look(t, true)
		// What had no price is said twice: of the run, and of the totals that stood for it.
		sum = p.total(t)
		if sum.Runs != 3 || sum.Tokens.Input != 1110 || *sum.CostUSD != 505 || sum.Unpriced == 0 {
			t.Errorf("read in the end: %+v", sum)
		}
	})
}
