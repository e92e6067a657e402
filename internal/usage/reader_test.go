package usage

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scenario is a ledger with a fake runtime.
type scenario struct {
	*Service
	*runtime
	reader *reader
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newScenario(d *db.DB) *scenario {
	rt := &runtime{now: noon}
	p := &scenario{runtime: rt}
	p.Service = newService(d, rt)
	p.restart()
	return p
}

// newService returns a service that nobody listens to.
func newService(d *db.DB, rt *runtime) *Service {
	now := func() time.Time { return rt.now }
	return &Service{
		DB: d, Runtime: rt, Log: slog.New(slog.DiscardHandler), Now: now, Zone: time.UTC,
		Lists: &mirror.Sessions{}, Events: &event.Service{DB: d},
		Tasks:   &task.Service{DB: d, Now: now},
		Changed: func() {},
		Read:    func(context.Context, *db.Tx, *gateway.Session, []gateway.Turn) error { return nil },
		Grew:    func(context.Context, *db.Tx, Run, bool) error { return nil },
		Urgent:  func(Unread) bool { return false },
	}
}

// restart replaces the reader with that of a new process.
func (p *scenario) restart() {
	if p.reader != nil {
		release(p.reader)
	}
	p.reader = newReader(p.Service)
	p.reader.claim.Alone = false // TestClaim tests the claim
}

// release gives up a reader's claim, as at the end of Run.
func release(r *reader) { _ = r.claim.Release(context.Background()) }

// step runs a pass as Run does, and returns the time until the next one.
func step(t *testing.T, r *reader) time.Duration {
	t.Helper()
	loop := mirror.Loop{DB: r.s.DB, Log: r.s.Log, Pass: r.pass}
	return loop.Step(t.Context())
}

// put gives the ledger a list of sessions.
func (p *scenario) put(rows []gateway.Session) { p.Lists.Put(rows, clock.At(p.now)) }

// sync runs a pass of the mirror with the runtime's current list and, if wanted, its totals.
func (p *scenario) sync(t *testing.T, totals bool) {
	t.Helper()
	rows := p.list()
	var counted *gateway.SessionUsage
	if totals {
		counted = p.counted()
	}
	if err := p.reader.work(t.Context(), rows, counted); err != nil {
		t.Fatal(err)
	}
}

// line is a row of the ledger.
type line struct {
	Run, Model, Kind, Price string
	In, Out                 int64
	Cost                    string
}

func (p *scenario) lines(t *testing.T) []line {
	t.Helper()
	rows, err := p.DB.Query(t.Context(), `SELECT run_id, model, kind, price, input, output, COALESCE(CAST(cost_nano AS TEXT), '?') FROM usage_ledger ORDER BY at, run_id, model, kind`)
	all, err := db.All(rows, err, func(r db.Row) (l line, err error) {
		return l, r.Scan(&l.Run, &l.Model, &l.Kind, &l.Price, &l.In, &l.Out, &l.Cost)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (p *scenario) want(t *testing.T, want ...line) {
	t.Helper()
	if diff := cmp.Diff(want, p.lines(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

// sources returns the number of runs by source.
func (p *scenario) sources(t *testing.T) map[Source]int64 {
	t.Helper()
	r, err := p.Report(t.Context(), Period{From: noon.AddDate(-1, 0, 0), To: noon.AddDate(0, 1, 0), Zone: time.UTC}, BySource, Extras{})
	if err != nil {
		t.Fatal(err)
	}
	by := map[Source]int64{}
	for _, g := range r.Groups {
		by[Source(*g.Key)] = g.Runs
	}
	return by
}

// total returns the sums of the whole ledger.
func (p *scenario) total(t *testing.T) Sums {
	t.Helper()
	r, err := p.Report(t.Context(), Period{From: noon.AddDate(-1, 0, 0), To: noon.AddDate(0, 1, 0), Zone: time.UTC}, ByDay, Extras{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Total
}

// TestFollow checks that missed runs are read from the transcript later, and only once, also after
// restarts.
func TestFollow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5), used("m", 20, 2, 6), used("n", 1, 1, 1))
		p.ask(c, "b", used("m", 30, 3, 7))
		p.ask(c, "failed")
		p.sync(t, false)
		want := []line{{"a", "m", "run", "runtime", 30, 3, "11"}, {"a", "n", "run", "runtime", 1, 1, "1"}, {"b", "m", "run", "runtime", 30, 3, "7"}}
		p.want(t, want...)
		for range 3 {
			p.restart()
			p.sync(t, true)
			p.sync(t, true)
		}
		p.want(t, want...)
		if p.read != 1 {
			t.Errorf("a transcript that has not changed was read %d times", p.read)
		}
		p.ask(c, "c", used("m", 1, 1, 1))
		p.sync(t, true)
		p.want(t, append(want, line{"c", "m", "run", "runtime", 1, 1, "1"})...)
	})
}

// TestFollowPages checks that a run that spans two pages is one run.
func TestFollowPages(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	for i := range 700 {
		p.ask(c, fmt.Sprint("r", i), used("m", 1, 0, 1), used("m", 1, 0, 1))
	}
	p.sync(t, true)
	if s := p.total(t); s.Runs != 700 || s.Tokens.Input != 1400 || s.Corrections != 0 || p.read < 4 {
		t.Errorf("%+v after %d pages", s, p.read)
	}
}

// TestFollowBusy checks that a run in progress is not added to the ledger before it has ended.
func TestFollowBusy(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	p.ask(c, "b", used("m", 2, 2, 2))
	c.Active = true
	p.sync(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"})
	c.turns = append(c.turns, gateway.Turn{Seq: int64(len(c.turns) + 1), Role: "assistant", RunID: "b", At: clock.At(p.tick(time.Second)), Usage: used("m", 3, 3, 3)})
	c.Active, c.UpdatedAt = false, clock.At(p.tick(time.Second))
	p.sync(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"}, line{"b", "m", "run", "runtime", 5, 5, "5"})
	if got := p.sources(t); got[Human] != 2 {
		t.Errorf("a question that was read before its answer is lost: %v", got)
	}
	t.Run("nor one that began after the list was read", func(t *testing.T) {
		rows := p.list()
		rows[0].UpdatedAt = clock.At(p.tick(time.Second))
		p.ask(c, "c", used("m", 4, 4, 4))
		if err := p.reader.work(t.Context(), rows, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(p.lines(t)); got != 2 {
			t.Errorf("%d rows", got)
		}
		p.sync(t, true)
		if s := p.total(t); s.Runs != 3 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestReconcile checks that the ledger equals the runtime's totals, whatever could not be read.
func TestReconcile(t *testing.T) {
	t.Parallel()
	t.Run("a session that was deleted before anybody read it", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			p := newScenario(d)
			c := p.open("agent:cto:main")
			p.ask(c, "a", used("m", 10, 1, 5))
			c.deleted = true
			p.sync(t, true)
			p.tick(settleTime / 2)
			p.sync(t, true)
			p.want(t) // it may be new and not in the list yet
			p.tick(settleTime)
			p.sync(t, true)
			p.sync(t, true)
			p.restart()
			p.sync(t, true)
			p.want(t, line{"reconciled:t0:1", "m", "reconciled", "runtime", 10, 1, "5"})
		})
	})
	t.Run("deleting everything takes nothing away", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.sync(t, true)
		was := p.total(t)
		c.deleted = true
		p.tick(time.Hour)
		p.sync(t, true)
		p.sessions = nil
		p.sync(t, true)
		if diff := cmp.Diff(was, p.total(t)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a session that was begun anew keeps what it used before", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		p.ask(p.open("agent:cto:main"), "a", used("m", 10, 1, 5))
		p.sync(t, true)
		p.ask(p.open("agent:cto:main"), "b", used("m", 20, 1, 5))
		p.tick(time.Hour)
		p.sync(t, true)
		if s := p.total(t); s.Runs != 2 || s.Tokens.Input != 30 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("what was noted otherwise than the runtime counts", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			p := newScenario(d)
			c := p.open("agent:cto:main")
			p.note(t, Run{RunID: "a", SessionKey: c.Key, SessionID: c.ID, EndedAt: p.now, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 12, Output: 1}, Cost: costOf(9)}}})
			p.ask(c, "a", used("m", 10, 2, 5))
			p.sync(t, true)
			if s := p.total(t); s.Runs != 1 || s.Corrections != 0 || s.Tokens != (Tokens{10, 2, 3, 2, 1}) || *s.CostUSD != 5 {
				t.Errorf("%+v", s)
			}
			p.sync(t, true)
			p.restart()
			p.sync(t, true)
			if s := p.total(t); s.Corrections != 0 {
				t.Errorf("%+v", s)
			}
		})
	})
	t.Run("a run that whoever asked it noted without its transcript", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.note(t, Run{RunID: "a", SessionKey: c.Key, EndedAt: p.now, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{10, 2, 3, 2, 1}, Cost: costOf(5)}}})
		p.ask(c, "a", used("m", 10, 2, 5))
		p.sync(t, true)
		if s := p.total(t); s.Runs != 1 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("totals from before what the ledger has say nothing", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		old := p.counted()
		p.ask(c, "b", used("m", 10, 1, 5))
		if err := p.reader.work(t.Context(), p.list(), old); err != nil {
			t.Fatal(err)
		}
		if done, err := p.reconcile(t.Context(), &old.Transcripts[0], old.At); done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
		if s := p.total(t); s.Runs != 2 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a runtime that forgets takes nothing away", func(t *testing.T) {
		p := newScenario(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", used("m", 10, 1, 5))
		p.sync(t, true)
		c.forgot = 2
		for i := range 4 { // until it has more than the last totals
			p.ask(c, fmt.Sprint("c", i), used("m", 7, 1, 5))
			p.sync(t, true)
		}
		if s := p.total(t); s.Runs != 6 || s.Tokens.Input != 48 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// note notes a run as a feature does.
func (p *scenario) note(t *testing.T, r Run) bool {
	t.Helper()
	var made bool
	err := p.DB.Tx(t.Context(), func(tx *db.Tx) (err error) {
		made, err = p.Note(t.Context(), tx, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestFollowAway checks that nothing is lost or counted partially while the gateway is
// unreachable.
func TestFollowAway(t *testing.T) {
	t.Parallel()
	p := newScenario(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	p.fail = link.ErrUnreachable
	if err := p.reader.work(t.Context(), p.list(), nil); err == nil {
		t.Error("no error")
	}
	p.want(t)
	p.fail = nil
	p.sync(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"})
}
