package usage

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestNoteOnce checks that a run is counted once, whether it is noted by features, read from
// transcripts or both, on several replicas.
func TestNoteOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		r := Run{RunID: "a", AgentID: "cto", EndedAt: noon, Parts: []Part{
			{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}, Cost: costOf(1)},
			{Provider: "p", Model: "n", Tokens: Tokens{Input: 1}, Cost: costOf(1)},
		}}
		const many = 8
		results := make(chan bool, many)
		for range many {
			go func() {
				made := false
				err := d.Tx(t.Context(), func(tx *db.Tx) (err error) {
					made, err = p.Note(t.Context(), tx, r)
					return err
				})
				results <- err == nil && made
			}()
		}
		first := 0
		for range many {
			if <-results {
				first++
			}
		}
		if s := p.total(t); first != 1 || s.Runs != 2 || *s.CostUSD != 2 {
			t.Errorf("%d were first, %+v", first, s)
		}
		r.Parts = []Part{{Provider: "p", Model: "o", Tokens: Tokens{Input: 9}}}
		if p.note(t, r) {
			t.Error("a run that is known is noted again, with another model")
		}
		r.RunID, r.Parts[0].Tokens = "b", Tokens{}
		if p.note(t, r) {
			t.Error("a run that used nothing is noted")
		}
	})
}

// TestLedgerBegins checks that days before the start of the ledger are reported as unknown, not as
// free.
func TestLedgerBegins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		p.Now, p.Zone = func() time.Time { return noon }, time.UTC
		asked := func(from, to string) Report {
			t.Helper()
			r, err := p.readReport(t.Context(), &ReportInput{From: from, To: to, Group: ByDay}, Extras{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := asked("", ""); r.Begins != nil || r.Since != nil {
			t.Errorf("a ledger without a row begins at %v, and follows since %v", r.Begins, r.Since)
		}
		first := noon.Add(-48 * time.Hour)
		for i, at := range []time.Time{noon, first, noon.Add(-time.Hour)} {
			p.note(t, Run{RunID: fmt.Sprint(i), AgentID: "cto", EndedAt: at, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}, Cost: costOf(1)}}})
		}
		day := func(back int) string { return noon.AddDate(0, 0, -back).Format(time.DateOnly) }
		for _, r := range []Report{asked("", ""), asked(day(9), day(8))} {
			if r.Begins == nil || !r.Begins.Equal(first) {
				t.Errorf("from %v to %v the ledger begins at %v, want %v", r.From, r.To, r.Begins, first)
			}
		}
	})
}

// TestFollowedSince checks that reports say since when the usage is complete. Earlier usage may be
// partial, and later days without runs are complete.
func TestFollowedSince(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		since := func() (begins, since *clock.Time) {
			t.Helper()
			r, err := p.readReport(t.Context(), &ReportInput{Group: ByDay}, Extras{})
			if err != nil {
				t.Fatal(err)
			}
			return r.Begins, r.Since
		}
		step(t, p.reader)
		if begins, at := since(); begins != nil || at != nil {
			t.Errorf("without a list it is followed since %v, and known since %v", at, begins)
		}
		p.ask(p.open("agent:cto:main"), "a", used("m", 1, 1, 1))
		p.fail = errors.New("slow at first")
		first := p.tick(24 * time.Hour)
		p.put(p.list())
		step(t, p.reader)
		p.fail = nil
		p.tick(time.Minute)
		step(t, p.reader)
		p.restart()
		p.tick(24 * time.Hour)
		step(t, p.reader)
		begins, at := since()
		if at == nil || !at.Equal(first) || begins == nil || !begins.Before(first) {
			t.Errorf("it is followed since %v, want %v, and known since %v", at, first, begins)
		}
	})
	t.Run("from the beginning", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		p.put(nil)
		step(t, p.reader)
		first := p.now
		p.tick(24 * time.Hour)
		p.ask(p.open("agent:cto:main"), "a", used("m", 1, 1, 1))
		p.sync(t, false)
		if r, err := p.readReport(t.Context(), &ReportInput{Group: ByDay}, Extras{}); err != nil || !r.Begins.Equal(first) || !r.Since.Equal(first) {
			t.Errorf("known since %v, followed since %v, want %v, %v", r.Begins, r.Since, first, err)
		}
	})
}

// TestAbsurdNumbers checks that implausible numbers from a gateway cannot overflow the
// sums.
func TestAbsurdNumbers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		if !p.note(t, Run{RunID: "good", AgentID: "cto", EndedAt: noon, Parts: []Part{
			{Provider: "p", Model: "m", Tokens: Tokens{Input: 5}, Cost: costOf(5)},
			{Provider: "p", Model: "n", Tokens: Tokens{Input: maxTokens + 1}, Cost: costOf(5)},
		}}) {
			t.Error("what can be is not noted beside what cannot")
		}
		for i, bad := range []Part{
			{Provider: "p", Model: "m", Tokens: Tokens{Output: math.MaxInt64}},
			{Provider: "p", Model: "m", Tokens: Tokens{Output: math.MaxInt64}, Cost: costOf(1)},
			{Provider: "p", Model: "m", Tokens: Tokens{CacheRead: math.MinInt64}},
			{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}, Cost: costOf(math.MaxInt64)},
			{Provider: "p", Model: "m", Tokens: Tokens{Input: 1}, Cost: costOf(math.MaxInt64)},
		} {
			if p.note(t, Run{RunID: fmt.Sprint("bad", i), AgentID: "cto", EndedAt: noon, Parts: []Part{bad}}) {
				t.Errorf("%+v is noted", bad)
			}
		}
		for _, cost := range []int64{1, math.MaxInt64} {
			for i := range 3 {
				total := gateway.ModelTotals{Provider: "p", Model: "m", Totals: gateway.Totals{Input: math.MaxInt64, CostNanoUSD: cost, Pricing: gateway.Priced}}
				if cost > 1 {
					total.Input = 1
				}
				u := &gateway.TranscriptUsage{SessionKey: "agent:cto:main", SessionID: fmt.Sprint("t", cost, i), AgentID: "cto", LastAt: clock.At(noon), Models: []gateway.ModelTotals{total}}
				if _, err := p.reconcile(t.Context(), u, clock.At(noon)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if s := p.total(t); s.Runs != 1 || s.Corrections != 0 || *s.CostUSD != 5 || s.Tokens != (Tokens{Input: 5}) {
			t.Errorf("%+v", s)
		}
		// An estimate can be implausible, too.
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), []Price{price("p", "dear", "2026-01-01", maxPrice/100)}, nil); err != nil {
			t.Fatal(err)
		}
		if !p.note(t, Run{RunID: "dear", AgentID: "cto", EndedAt: noon, Parts: []Part{{Provider: "p", Model: "dear", Tokens: Tokens{Input: maxTokens}}}}) {
			t.Error("a run with many tokens is not noted")
		}
		if err := p.reprice(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := p.total(t); s.Unpriced != 1 || *s.CostUSD != 5 {
			t.Errorf("with a run that is too dear: %+v", s)
		}
	})
}

// TestClaim checks that only one process reads the transcripts.
func TestClaim(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := newScenario(d), newScenario(d)
		b.runtime = a.runtime
		b.Runtime = a.runtime
		p := a.open("agent:cto:main")
		a.ask(p, "a", used("m", 1, 1, 1))
		a.sync(t, true)
		a.ask(p, "b", used("m", 1, 1, 1))
		if err := b.reader.work(t.Context(), a.list(), nil); !errors.Is(err, mirror.ErrClaimed) {
			t.Errorf("the second one got %v", err)
		}
		release(a.reader)
		b.sync(t, true)
		if s := a.total(t); s.Runs != 2 {
			t.Errorf("%+v", s)
		}
		if d.Engine() == db.SQLite { // a new process takes over the claim on an SQLite file
			c := newScenario(d)
			c.reader.claim.Alone = true
			if err := c.reader.claim.Hold(t.Context()); err != nil {
				t.Errorf("a new owner of the file: %v", err)
			}
		}
	})
}

// priced sets the cost of each turn of a conversation in the runtime's totals, and reads them.
func (p *scenario) priced(t *testing.T, c *conversation, nano int64) {
	t.Helper()
	for i := range c.turns {
		if u := c.turns[i].Usage; u != nil {
			u.CostNanoUSD = &nano
		}
	}
	c.UpdatedAt = clock.At(p.tick(time.Second))
	p.sync(t, true)
	p.sync(t, true)
}

// TestPricesAfterTheRuntimes checks that usage priced by the runtime is not estimated again with
// new prices.
func TestPricesAfterTheRuntimes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", free("m", 1_000_000, 0))
		p.sync(t, true)
		p.priced(t, c, 7_000)
		if s := p.total(t); s.Unpriced != 0 || s.Runs != 1 || *s.CostUSD != 7_000 {
			t.Errorf("priced by the runtime: %+v", s)
		}
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), []Price{price("p", "m", "2026-01-01", 2_000_000_000)}, nil); err != nil {
			t.Fatal(err)
		}
		p.sync(t, true)
		if s := p.total(t); s.Unpriced != 0 || s.Runs != 1 || *s.CostUSD != 7_000 || s.Estimated != 0 {
			t.Errorf("a price of ours afterwards: %+v", s)
		}
	})
}

// TestPrices checks that a later price from the runtime replaces the estimate.
func TestPrices(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", free("m", 1_000_000, 0))
		p.sync(t, true)
		if s := p.total(t); s.Unpriced != 1 || s.CostUSD != nil || s.Corrections != 0 {
			t.Errorf("without a price: %+v", s)
		}
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), []Price{price("p", "m", "2026-01-01", 2_000_000_000)}, nil); err != nil {
			t.Fatal(err)
		}
		p.sync(t, true)
		p.restart()
		p.sync(t, true)
		if s := p.total(t); s.Unpriced != 0 || s.Runs != 1 || *s.CostUSD != 2_000_000_000 || s.Estimated != 2_000_000_000 || s.Tokens.Input != 1_000_000 {
			t.Errorf("estimated afterwards: %+v", s)
		}
		p.ask(c, "b", free("m", 500_000, 0))
		p.sync(t, true)
		if s := p.total(t); s.Unpriced != 0 || s.Runs != 2 || s.Estimated != 3_000_000_000 {
			t.Errorf("estimated at once: %+v", s)
		}
		p.priced(t, c, 7_000)
		if s := p.total(t); s.Unpriced != 0 || s.Runs != 2 || *s.CostUSD != 14_000 || s.Estimated != 0 || s.Tokens.Input != 1_500_000 {
			t.Errorf("priced by the runtime in the end: %+v", s)
		}
		stale := int64(0)
		if _, err := p.SetPrices(actor.With(t.Context(), actor.System), nil, &stale); err == nil {
			t.Error("a change of a version that is gone passes")
		}
	})
}
