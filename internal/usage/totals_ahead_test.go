package usage

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestTotalsThatAreAheadOfTheList checks that totals newer than the list do not cause adjustments
// for runs that are read later.
func TestTotalsThatAreAheadOfTheList(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	old := p.list()
	p.ask(c, "b", used("m", 2, 2, 2))
	for range 2 {
		if err := p.reader.work(t.Context(), old, p.counted()); err != nil {
			t.Fatal(err)
		}
	}
	// The second run may still go on, so the transcript is not known to be complete.
	if got, err := p.OfTranscripts(t.Context(), []string{c.ID}); err != nil || got[c.ID].Cost != 1 || got[c.ID].Version == old[0].Version() {
		t.Errorf("its usage is %+v, %v, want that of the first run, incomplete", got, err)
	}
	p.sync(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"}, line{"b", "m", "run", "runtime", 2, 2, "2"})
	t.Run("but what stays ahead of it is believed", func(t *testing.T) {
		old := p.list()
		ahead := p.counted()
		count(&ahead.Transcripts[0], used("m", 7, 7, 7))
		ahead.Transcripts[0].LastAt = clock.At(p.tick(time.Second))
		ahead.At = clock.At(p.tick(settleTime))
		if err := p.reader.work(t.Context(), old, ahead); err != nil {
			t.Fatal(err)
		}
		if s := p.total(t); s.Tokens.Input != 10 || s.Corrections != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestTotalsOfACopyAheadOfTheList checks totals that include a copy that is not in the
// list yet.
func TestTotalsOfACopyAheadOfTheList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", used("m", 100, 1, 50))
		p.sync(t, true)
		was := p.list()
		p.tick(time.Hour)
		back := p.rewind(c, 2)
		back.UpdatedAt = c.UpdatedAt // the time of its last row
		for range 3 {
			if err := p.reader.work(t.Context(), was, p.counted()); err != nil {
				t.Fatal(err)
			}
			p.wantTotal(t, "before the list", 110, 55, 2, 0)
		}
		p.tick(settleTime)
		p.sync(t, true)
		p.wantTotal(t, "with the list", 110, 55, 2, 0)
	})
}

// TestRunsOfWhichTheListDoesNotTell checks the run of a job, whose session keeps the start time of
// the run in the list. It is a run, not an adjustment.
func TestRunsOfWhichTheListDoesNotTell(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:coo:cron:job")
	rows := p.list()
	p.ask(c, "a", used("m", 1, 1, 1))
	p.tick(2 * settleTime)
	for range 3 {
		if err := p.reader.work(t.Context(), rows, p.counted()); err != nil {
			t.Fatal(err)
		}
	}
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"})
	t.Run("which is read once", func(t *testing.T) {
		before := p.read
		for range 3 {
			if err := p.reader.work(t.Context(), rows, p.counted()); err != nil {
				t.Fatal(err)
			}
		}
		if p.read != before {
			t.Errorf("%d more pages were read", p.read-before)
		}
		if got, err := p.OfTranscripts(t.Context(), []string{c.ID}); err != nil || got[c.ID].Version != rows[0].Version() {
			t.Errorf("its usage is %+v, %v, want that of the listed version", got, err)
		}
	})
	t.Run("after a restart, too", func(t *testing.T) {
		p.ask(c, "b", used("m", 2, 2, 2))
		p.tick(2 * settleTime)
		p.restart()
		if err := p.reader.work(t.Context(), rows, p.counted()); err != nil {
			t.Fatal(err)
		}
		p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"}, line{"b", "m", "run", "runtime", 2, 2, "2"})
	})
}

// TestTotalsBeforeTheFirstList checks that totals before the first list do not cause adjustments.
func TestTotalsBeforeTheFirstList(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "run-1", used("m", 10, 20, 30))
	p.tick(2 * settleTime)
	p.reader.totals.last = p.counted()
	step(t, p.reader)
	p.want(t)
	p.put(p.list())
	step(t, p.reader)
	if all := p.lines(t); len(all) != 1 || all[0].Run != "run-1" {
		t.Errorf("the ledger has %+v", all)
	}
}
