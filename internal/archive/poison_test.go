package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A session that the runtime refuses to show does not block the others.
func TestArchiveWithoutTheRefused(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"refused": link.ErrRefused, "busy": link.ErrBusy, "slow": link.ErrTimeout} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, dbtest.New(t))
			const many = 12
			for i := range many {
				b.say(fmt.Sprint("agent:cto:s", i), row{text: "x"})
			}
			b.say("agent:cto:hidden", row{text: "x"})
			b.runtime.refuse = map[string]error{"agent:cto:s3": err}
			b.look(t.Context())
			b.runtime.refuse["agent:cto:hidden"] = err
			b.rows = slices.DeleteFunc(b.rows, func(g gateway.Session) bool { return g.Key == "agent:cto:hidden" })
			for i := range many {
				if i != 3 {
					b.say(fmt.Sprint("agent:cto:s", i), row{text: "y"})
				}
			}
			b.look(t.Context())
			for i := range many {
				a, got := b.stored(fmt.Sprint("agent:cto:s", i), 10)
				if i != 3 && (a.Coverage != Whole || len(got) != 2) {
					t.Errorf("%d has %d messages", i, len(got))
				}
			}
			if a, _ := b.stored("agent:cto:hidden", 10); !a.Present {
				t.Errorf("what nobody could tell of is %+v", a)
			}
			b.runtime.refuse = nil
			b.now = b.now.Add(refused)
			b.look(t.Context())
			if a, got := b.stored("agent:cto:s3", 10); a.Coverage != Whole || len(got) != 1 {
				t.Errorf("when it is shown again it is %+v", a)
			}
		})
	}
}

// Many unlisted sessions are looked up at a bounded rate, and deleted ones
// among them are archived.
func TestArchiveBesideManyHidden(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t))
	const many = 3 * maxLookups
	for i := range many {
		b.say(fmt.Sprint("agent:cto:old", i), row{text: "x"})
		b.rows[i].Active = true // not to be read in this test
	}
	b.look(t.Context())
	b.rows = nil
	b.say("agent:cto:new", row{text: "x"})
	b.look(t.Context())
	if n := b.runtime.sought; n > maxLookups {
		t.Errorf("one pass asked for %d sessions", n)
	}
	if a, _ := b.stored("agent:cto:new", 10); a.Coverage != Whole {
		t.Errorf("the new one is %+v", a)
	}
	for range 10 {
		b.pass(t.Context())
	}
	if n := b.runtime.sought; n != many {
		t.Errorf("they were asked for %d times, and are %d", n, many)
	}
	b.runtime.sought = 0
	for range 24 * 6 { // a day
		b.now = b.now.Add(hidden - time.Minute)
		b.look(t.Context())
		for range 5 {
			b.pass(t.Context())
		}
	}
	if n := b.runtime.sought; n > 8*many {
		t.Errorf("in a day they were asked for %d times each", n/many)
	}
}

// The claim is renewed during slow redaction, so that no other replica repeats
// the work.
func TestArchiveHoldsItsClaim(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	b := newBench(t, d)
	b.k.claim.Lease = 20 * time.Second
	other := mirror.NewClaim(d, claimQuery, time.Second, func() time.Time { return b.now })
	other.Alone = false
	mask := b.k.mask
	b.k.mask = func(text *string, cut, json bool) {
		b.now = b.now.Add(10 * time.Second)
		if err := other.Hold(context.Background()); !errors.Is(err, mirror.ErrClaimed) {
			t.Errorf("another process that claims meanwhile: %v", err)
		}
		mask(text, cut, json)
	}
	b.say("agent:cto:main", row{text: "x"}, row{text: "x"}, row{text: "x"}, row{text: "x"})
	b.look(t.Context())
	if a, _ := b.stored("agent:cto:main", 10); a.Coverage != Whole {
		t.Errorf("it is %+v", a)
	}
}

// If retention purges a transcript while it is read, the archive does not keep
// its end as if it were complete.
func TestArchiveMeetsRetention(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const key = "agent:cto:subagent:a"
		say := func() {
			b.say(key, plain(3*chunk)...)
			b.rows[0].Kind = subagent
		}
		say()
		b.look(t.Context())
		say()
		read, took := 0, int64(0)
		b.runtime.before = func() {
			if read++; read != 2 {
				return
			}
			err := d.Tx(t.Context(), func(tx *db.Tx) (err error) {
				took, err = b.s.PurgeOld(t.Context(), tx, b.now.Add(time.Hour), 10)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		b.look(t.Context())
		if a, got := b.stored(key, 500); took != 1 || a.Coverage == Whole && len(got) != 6*chunk {
			t.Errorf("it took %d, and %d messages are %s", took, len(got), a.Coverage)
		}
		b.look(t.Context())
		if a, got := b.stored(key, 500); a.Coverage != Whole || len(got) != 6*chunk {
			t.Errorf("then %d messages are %s", len(got), a.Coverage)
		}
	})
}
