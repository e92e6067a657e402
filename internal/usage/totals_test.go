package usage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
)

// TestTotalsDue checks that the runtime's totals are read soon after a change, and less and less often while they do not
// include it.
func TestTotalsDue(t *testing.T) {
	t.Parallel()
	at := func(minute int) clock.Time { return clock.At(noon.Add(time.Duration(minute) * time.Minute)) }
	rows := []gateway.Session{{UpdatedAt: at(1)}, {UpdatedAt: at(9), Active: true}}
	asked := time.Now()
	r := totalsReader{}
	due := func(name string, want time.Duration) {
		t.Helper()
		if got, reading := r.due(rows); reading || got.Sub(asked) != want {
			t.Errorf("%s: due %s after the last read, want %s", name, got.Sub(asked), want)
		}
	}
	if got, _ := r.due(rows); !got.IsZero() {
		t.Errorf("the first read is due at %s", got)
	}
	r.asked, r.last = asked, &gateway.SessionUsage{At: at(2)}
	due("nothing new", totalsInterval)
	rows[0].UpdatedAt = at(3)
	due("a change", changedInterval)
	r.tries = quickTries
	due("not included a few times", changedInterval)
	r.tries += 3
	due("not included again", 8*changedInterval)
	r.tries = 100
	due("never included", totalsInterval)
	rows[0].UpdatedAt = at(4)
	due("another change", changedInterval)
	r.last = &gateway.SessionUsage{At: at(5)}
	due("included", totalsInterval)
	r.failures = 2
	due("failed twice", 2*time.Second)
	r.reading = true
	if _, reading := r.due(rows); !reading {
		t.Error("two reads at once")
	}
}

// totalsOf is a gateway that only answers with totals.
type totalsOf struct {
	Runtime
	used gateway.SessionUsage
	err  error
}

func (r *totalsOf) Usage(context.Context) (gateway.SessionUsage, error) { return r.used, r.err }

// TestReadTotals checks that totals that the gateway still computes, and failures, keep the last ones, and that only the
// process that holds the claim asks for them.
func TestReadTotals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		rt := &totalsOf{Runtime: p.runtime, used: gateway.SessionUsage{Fresh: true}}
		p.Runtime = rt
		p.put(nil)
		read := func(r *reader) *totalsReader {
			t.Helper()
			r.totals.asked = time.Time{} // due
			r.totals.failures = 0
			<-newSignal(&p.wake)
			step(t, r)
			r.totals.running.Wait()
			return &r.totals
		}
		if first := read(p.reader); first.latest() == nil || first.failures > 0 {
			t.Fatalf("the first totals are %v", first.latest())
		}
		first := p.reader.totals.latest()
		rt.used = gateway.SessionUsage{At: clock.At(noon)}
		if still := read(p.reader); still.latest() != first || still.failures > 0 {
			t.Error("unfinished totals replaced the last ones")
		}
		rt.err = errors.New("broken")
		if failed := read(p.reader); failed.latest() != first || failed.failures != 1 {
			t.Errorf("after a failure: %d failures", failed.failures)
		}
		select {
		case <-p.wake.C():
		default:
			t.Error("the end of a read wakes nobody")
		}
		other := newReader(p.Service)
		other.claim.Alone = false
		rt.used, rt.err = gateway.SessionUsage{Fresh: true}, nil
		if step(t, other); other.totals.latest() != nil {
			t.Error("a process without the claim asks, too")
		}
	})
}

// newSignal returns a closed channel after clearing a signal.
func newSignal(s *mirror.Signal) <-chan struct{} {
	select {
	case <-s.C():
	default:
	}
	done := make(chan struct{})
	close(done)
	return done
}

// TestOfTranscripts checks the usage of transcripts: with runs in progress, without what was copied, for any number.
func TestOfTranscripts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newScenario(d)
		c := p.open("agent:cto:main")
		p.ask(c, "a", used("m", 10, 1, 5))
		p.ask(c, "b", free("n", 100, 1))
		p.sync(t, false)
		fork := p.rewind(c, 2)
		p.ask(fork, "c", used("m", 1000, 1, 50))
		c.Active, c.deleted = false, false
		p.sync(t, false)
		p.addTurn(fork, "d", used("m", 7, 0, 3))
		fork.Active = true
		p.tick(busyInterval)
		p.sync(t, false)
		ids := []string{c.ID, fork.ID}
		for i := range 1200 {
			ids = append(ids, fmt.Sprint("unknown-", i))
		}
		got, err := p.OfTranscripts(t.Context(), ids)
		if err != nil || len(got) != 2 {
			t.Fatalf("%d transcripts, %v, want 2", len(got), err)
		}
		if u := got[c.ID]; u.Tokens.Input != 110 || u.Cost != 5 || !u.Priced || u.Complete || u.Version != c.Version() {
			t.Errorf("the original used %+v", u)
		}
		if u := got[fork.ID]; u.Tokens.Input != 1007 || u.Cost != money.Nano(53) || !u.Priced || !u.Complete || u.Version == 0 {
			t.Errorf("the fork used %+v", u)
		}
	})
}
