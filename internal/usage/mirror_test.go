package usage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is a session of the runtime that a test plays.
type conversation struct {
	gateway.Session
	turns   []gateway.Turn
	hidden  map[int64]bool // rows that are left out where people read them
	deleted bool
	forgot  int            // turns that its totals leave out
	lost    []gateway.Turn // that its totals have, and no history
}

// runtime is a gateway whose transcripts the test writes.
type runtime struct {
	now      time.Time
	sessions []*conversation
	read     int  // pages of transcripts
	kept     int  // times that all rows were asked for
	unkept   bool // the gateway cannot tell them
	fail     error
	refuse   map[string]error // of single sessions
}

func (r *runtime) tick(d time.Duration) time.Time {
	r.now = r.now.Add(d)
	return r.now
}

// open makes a session, and another one where there was one of that key.
func (r *runtime) open(key string) *conversation {
	for _, c := range r.sessions {
		if c.Key == key {
			c.deleted = true
		}
	}
	agent := strings.Split(key, ":")[1]
	c := &conversation{Session: gateway.Session{Key: key, ID: fmt.Sprint("t", len(r.sessions)), AgentID: agent, UpdatedAt: clock.At(r.tick(time.Second))}}
	r.sessions = append(r.sessions, c)
	return c
}

// ask plays a question and the model calls of its run.
func (r *runtime) ask(c *conversation, runID string, calls ...*gateway.Usage) {
	c.turns = append(c.turns, gateway.Turn{Seq: int64(len(c.turns) + 1), Role: "user", At: clock.At(r.tick(time.Second))})
	for _, u := range calls {
		c.turns = append(c.turns, gateway.Turn{ID: fmt.Sprint("m", len(c.turns)), Seq: int64(len(c.turns) + 1), Role: "assistant", RunID: runID, At: clock.At(r.tick(time.Second)), Usage: u})
	}
	c.UpdatedAt = clock.At(r.tick(time.Second))
}

func (r *runtime) Turns(_ context.Context, key string, limit int, offset int64) (gateway.TurnPage, error) {
	r.read++
	if r.fail != nil {
		return gateway.TurnPage{}, r.fail
	}
	if err := r.refuse[key]; err != nil {
		return gateway.TurnPage{}, err
	}
	for _, c := range slices.Backward(r.sessions) {
		if c.Key != key || c.deleted {
			continue
		}
		end := max(len(c.turns)-int(offset), 0)
		begin := max(end-limit, 0)
		page := gateway.TurnPage{SessionID: c.ID, Total: int64(len(c.turns))}
		for _, turn := range c.turns[begin:end] {
			if !c.hidden[turn.Seq] {
				page.Turns, page.Seqs = append(page.Turns, turn), append(page.Seqs, turn.Seq)
			}
		}
		if begin > 0 {
			page.Older = int64(len(c.turns) - begin)
		}
		return page, nil
	}
	return gateway.TurnPage{}, nil
}

func (r *runtime) TurnsBefore(ctx context.Context, key string, limit int, offset, _, _ int64) (gateway.TurnPage, error) {
	return r.Turns(ctx, key, limit, offset)
}

func (r *runtime) Kept(_ context.Context, key string, limit int) ([]gateway.Turn, error) {
	r.kept++
	if r.unkept {
		return nil, gateway.ErrRefused.With("It does not have the method.")
	}
	for _, c := range slices.Backward(r.sessions) {
		if c.Key == key && !c.deleted {
			return slices.Clone(c.turns[max(len(c.turns)-limit, 0):]), nil
		}
	}
	return nil, nil
}

func (r *runtime) Models(context.Context) ([]gateway.Model, error) { return nil, nil }

// list is what the gateway's list says.
func (r *runtime) list() (rows []gateway.Session) {
	for _, c := range r.sessions {
		if !c.deleted {
			rows = append(rows, c.Session)
		}
	}
	return rows
}

// counted are the gateway's totals, those of deleted sessions among them.
func (r *runtime) counted() *gateway.SessionUsage {
	u := &gateway.SessionUsage{Fresh: true, At: clock.At(r.tick(time.Second))}
	for _, c := range r.sessions {
		t := gateway.TranscriptUsage{SessionKey: c.Key, SessionID: c.ID, AgentID: c.AgentID, LastAt: c.UpdatedAt}
		if c.deleted {
			t.SessionKey = "agent:" + c.AgentID + ":" + c.ID
		}
		for _, turn := range slices.Concat(c.lost, c.turns[c.forgot:]) {
			if turn.Usage != nil {
				count(&t, turn.Usage)
			}
		}
		u.Transcripts = append(u.Transcripts, t)
	}
	return u
}

// count adds a model call to the totals of a transcript.
func count(t *gateway.TranscriptUsage, u *gateway.Usage) {
	i := slices.IndexFunc(t.Models, func(m gateway.ModelTotals) bool { return m.Model == u.Model })
	if i < 0 {
		i, t.Models = len(t.Models), append(t.Models, gateway.ModelTotals{Provider: u.Provider, Model: u.Model})
		t.Models[i].Pricing = gateway.Priced
	}
	m := &t.Models[i]
	m.Input, m.Output, m.CacheRead, m.CacheWrite = m.Input+u.Input, m.Output+u.Output, m.CacheRead+u.CacheRead, m.CacheWrite+u.CacheWrite
	m.Other += u.Other
	if u.CostNanoUSD != nil {
		m.CostNanoUSD += *u.CostNanoUSD
		return
	}
	if m.Pricing = gateway.PartlyPriced; m.CostNanoUSD == 0 {
		m.Pricing = gateway.Unpriced
	}
}

// used is a model call that cost something.
func used(model string, in, out, nanos int64) *gateway.Usage {
	return &gateway.Usage{Provider: "p", Model: model, Input: in, Output: out, CacheRead: 3, CacheWrite: 2, Other: 1, CostNanoUSD: &nanos}
}

// free is a model call of which nobody knows what it cost.
func free(model string, in, out int64) *gateway.Usage {
	return &gateway.Usage{Provider: "p", Model: model, Input: in, Output: out}
}

// played is a ledger with a runtime beside it.
type played struct {
	*Service
	*runtime
	reader *reader
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func play(d *db.DB) *played {
	rt := &runtime{now: noon}
	p := &played{runtime: rt}
	p.Service = &Service{DB: d, Runtime: rt, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return rt.now }, Zone: time.UTC}
	p.restart()
	return p
}

// restart is another process that knows nothing.
func (p *played) restart() {
	if p.reader != nil {
		p.reader.release(context.Background())
	}
	p.reader = newReader(p.Service)
	p.reader.took = true // the claim is tested by itself
}

// look lets the mirror see the runtime's list, and its totals when asked for.
func (p *played) look(t *testing.T, totals bool) {
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

// line is a row of the ledger as tests tell it.
type line struct {
	Run, Model, Kind, Price string
	In, Out                 int64
	Cost                    string
}

func (p *played) lines(t *testing.T) []line {
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

func (p *played) want(t *testing.T, want ...line) {
	t.Helper()
	if diff := cmp.Diff(want, p.lines(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

// sources are how many runs there were of each.
func (p *played) sources(t *testing.T) map[Source]int64 {
	t.Helper()
	r, err := p.Report(t.Context(), Period{From: noon.AddDate(-1, 0, 0), To: noon.AddDate(0, 1, 0), Zone: time.UTC}, BySource, false)
	if err != nil {
		t.Fatal(err)
	}
	by := map[Source]int64{}
	for _, g := range r.Groups {
		by[Source(*g.Key)] = g.Runs
	}
	return by
}

// total is the whole ledger's sums.
func (p *played) total(t *testing.T) Sums {
	t.Helper()
	r, err := p.Report(t.Context(), Period{From: noon.AddDate(-1, 0, 0), To: noon.AddDate(0, 1, 0), Zone: time.UTC}, ByDay, false)
	if err != nil {
		t.Fatal(err)
	}
	return r.Total
}

// What the service did not see, because it was down or the event was lost, is in
// the transcript all the same; and it is there again after each restart.
func TestFollow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5), used("m", 20, 2, 6), used("n", 1, 1, 1))
		p.ask(c, "b", used("m", 30, 3, 7))
		p.ask(c, "failed")
		p.look(t, false)
		want := []line{{"a", "m", "run", "runtime", 30, 3, "11"}, {"a", "n", "run", "runtime", 1, 1, "1"}, {"b", "m", "run", "runtime", 30, 3, "7"}}
		p.want(t, want...)
		for range 3 {
			p.restart()
			p.look(t, true)
			p.look(t, true)
		}
		p.want(t, want...)
		if p.read != 1 {
			t.Errorf("a transcript that has not changed was read %d times", p.read)
		}
		p.ask(c, "c", used("m", 1, 1, 1))
		p.look(t, true)
		p.want(t, append(want, line{"c", "m", "run", "runtime", 1, 1, "1"})...)
	})
}

// A long transcript comes in pages; a run between two of them is one run.
func TestFollowPages(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:cto:main")
	for i := range 700 {
		p.ask(c, fmt.Sprint("r", i), used("m", 1, 0, 1), used("m", 1, 0, 1))
	}
	p.look(t, true)
	if s := p.total(t); s.Runs != 700 || s.Tokens.Input != 1400 || s.Corrections != 0 || p.read < 4 {
		t.Errorf("%+v after %d pages", s, p.read)
	}
}

// A run that goes on must not be counted with what it has used so far: what it
// uses after that would be a correction, of no run.
func TestFollowBusy(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	p.ask(c, "b", used("m", 2, 2, 2))
	c.Active = true
	p.look(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"})
	c.turns = append(c.turns, gateway.Turn{Seq: int64(len(c.turns) + 1), Role: "assistant", RunID: "b", At: clock.At(p.tick(time.Second)), Usage: used("m", 3, 3, 3)})
	c.Active, c.UpdatedAt = false, clock.At(p.tick(time.Second))
	p.look(t, true)
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
		p.look(t, true)
		if s := p.total(t); s.Runs != 3 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// The gateway's totals are what the runtime's owner compares us with. What we
// could not read, or read otherwise, must still be in the sum, once.
func TestReconcile(t *testing.T) {
	t.Parallel()
	t.Run("a session that was deleted before anybody read it", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			p := play(d)
			c := p.open("agent:cto:main")
			p.ask(c, "a", used("m", 10, 1, 5))
			c.deleted = true
			p.look(t, true)
			p.tick(quiet / 2)
			p.look(t, true)
			p.want(t) // it may be new, and only not in the list yet
			p.tick(quiet)
			p.look(t, true)
			p.look(t, true)
			p.restart()
			p.look(t, true)
			p.want(t, line{"reconciled:t0:1", "m", "reconciled", "runtime", 10, 1, "5"})
		})
	})
	t.Run("deleting everything takes nothing away", func(t *testing.T) {
		p := play(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.look(t, true)
		was := p.total(t)
		c.deleted = true
		p.tick(time.Hour)
		p.look(t, true)
		p.sessions = nil
		p.look(t, true)
		if diff := cmp.Diff(was, p.total(t)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a session that was begun anew keeps what it used before", func(t *testing.T) {
		p := play(dbtest.New(t))
		p.ask(p.open("agent:cto:main"), "a", used("m", 10, 1, 5))
		p.look(t, true)
		p.ask(p.open("agent:cto:main"), "b", used("m", 20, 1, 5))
		p.tick(time.Hour)
		p.look(t, true)
		if s := p.total(t); s.Runs != 2 || s.Tokens.Input != 30 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("what was noted otherwise than the runtime counts", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			p := play(d)
			c := p.open("agent:cto:main")
			p.note(t, Run{RunID: "a", SessionKey: c.Key, SessionID: c.ID, EndedAt: p.now, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{Input: 12, Output: 1}, Cost: costOf(9)}}})
			p.ask(c, "a", used("m", 10, 2, 5))
			p.look(t, true)
			if s := p.total(t); s.Runs != 1 || s.Corrections != 1 || s.Tokens != (Tokens{10, 2, 3, 2, 1}) || *s.CostUSD != 5 {
				t.Errorf("%+v", s)
			}
			p.look(t, true)
			p.restart()
			p.look(t, true)
			if s := p.total(t); s.Corrections != 1 {
				t.Errorf("%+v", s)
			}
		})
	})
	t.Run("a run that whoever asked it noted without its transcript", func(t *testing.T) {
		p := play(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.note(t, Run{RunID: "a", SessionKey: c.Key, EndedAt: p.now, Parts: []Part{{Provider: "p", Model: "m", Tokens: Tokens{10, 2, 3, 2, 1}, Cost: costOf(5)}}})
		p.ask(c, "a", used("m", 10, 2, 5))
		p.look(t, true)
		if s := p.total(t); s.Runs != 1 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("totals from before what the ledger has say nothing", func(t *testing.T) {
		p := play(dbtest.New(t))
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
		p := play(dbtest.New(t))
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", used("m", 10, 1, 5))
		p.look(t, true)
		c.forgot = 2
		for i := range 4 { // until it has more than it ever said
			p.ask(c, fmt.Sprint("c", i), used("m", 7, 1, 5))
			p.look(t, true)
		}
		if s := p.total(t); s.Runs != 6 || s.Tokens.Input != 48 || s.Corrections != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// note notes a run as whoever asked it does.
func (p *played) note(t *testing.T, r Run) bool {
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

// While the gateway is away nothing is lost and nothing is counted in part.
func TestFollowAway(t *testing.T) {
	t.Parallel()
	p := play(dbtest.New(t))
	c := p.open("agent:cto:main")
	p.ask(c, "a", used("m", 1, 1, 1))
	p.fail = gateway.ErrUnreachable
	if err := p.reader.work(t.Context(), p.list(), nil); err == nil {
		t.Error("no error")
	}
	p.want(t)
	p.fail = nil
	p.look(t, true)
	p.want(t, line{"a", "m", "run", "runtime", 1, 1, "1"})
}

// One session that the runtime cannot show must not keep what all others cost out
// of the ledger; what it cost comes when it is shown again.
func TestFollowWithoutTheRefused(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"refused": gateway.ErrRefused, "busy": gateway.ErrBusy, "slow": gateway.ErrTimeout} {
		t.Run(name, func(t *testing.T) {
			p := play(dbtest.New(t))
			for _, key := range []string{"bad", "good"} {
				p.ask(p.open("agent:cto:"+key), key, used("m", 1, 1, 1))
			}
			p.refuse = map[string]error{"agent:cto:bad": err}
			p.look(t, true)
			p.want(t, line{"good", "m", "run", "runtime", 1, 1, "1"})
			read := p.read
			p.look(t, true)
			if p.read != read {
				t.Errorf("it was asked for %d times more at once", p.read-read)
			}
			p.refuse = nil
			p.tick(refused)
			p.look(t, true)
			p.want(t, line{"bad", "m", "run", "runtime", 1, 1, "1"}, line{"good", "m", "run", "runtime", 1, 1, "1"})
		})
	}
}
