package inbox

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
)

// atOnce runs fn n times at once and returns their errors.
func atOnce(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// Two replicas that notice the same at once must not make two items of it, nor
// lose one of the times; and neither may hang on the other.
func TestRaiseAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		const times = 12
		ctx := actor.With(t.Context(), k.me)
		for _, err := range atOnce(times, func(i int) error {
			return d.Tx(ctx, func(tx *db.Tx) error {
				causes := []string{"a", "b"} // in either order
				if i%2 == 0 {
					slices.Reverse(causes)
				}
				for _, cause := range causes {
					if err := k.Raise(ctx, tx, blocked(cause, High)); err != nil {
						return err
					}
				}
				return nil
			})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		part, err := k.List(ctx, Filter{}, page.Want{})
		if err != nil || len(part.Rows) != 2 || part.Rows[0].Count != times || part.Rows[1].Count != times {
			t.Errorf("%d items, %+v, %v", len(part.Rows), part.Rows, err)
		}
		id := part.Rows[0].ID
		// And people meanwhile: nothing that either does is lost.
		for _, err := range atOnce(times, func(i int) error {
			if i%2 == 0 {
				return d.Tx(ctx, func(tx *db.Tx) error { return k.Raise(ctx, tx, blocked(part.Rows[0].cause, High)) })
			}
			_, err := k.Ack(ctx, id, nil)
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if i, err := k.Get(ctx, id); err != nil || i.Count != times+times/2 || i.State != Acked {
			t.Errorf("it is %s, counted %d; %v", i.State, i.Count, err)
		}
		// Of many with the same version one is right.
		won := 0
		at := k.of(part.Rows[0].cause).Version
		for _, err := range atOnce(8, func(i int) error {
			_, err := k.Snooze(ctx, id, k.now.Add(time.Duration(i+1)*time.Hour), &at)
			return err
		}) {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrStale) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d changed the same version", won)
		}
	})
}

// What the caller takes back must leave nothing in the inbox: an alarm about
// something that never happened.
func TestRaiseIsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		k.raise(blocked("b", Low))
		before := len(k.events())
		taken := errors.New("taken back")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if err := k.Raise(t.Context(), tx, blocked("a", Low)); err != nil {
				return err
			}
			if err := k.Settle(t.Context(), tx, "b", "done"); err != nil {
				return err
			}
			return taken
		})
		part, listed := k.List(k.ctx, Filter{States: States()}, page.Want{})
		if !errors.Is(err, taken) || listed != nil || len(part.Rows) != 1 || part.Rows[0].State != Open || len(k.events()) != before {
			t.Errorf("%v: %+v, %v, %d events", err, part.Rows, listed, len(k.events())-before)
		}
		for name, m := range map[string]Matter{
			"no cause": blocked("", Low), "a long cause": blocked(strings.Repeat("c", maxCause+1), Low), "a cause with a NUL": blocked("a\x00", Low),
			"no severity": blocked("a", ""), "another severity": blocked("a", "worst"), "another kind": {Cause: "a", Kind: "party", Severity: "low"},
		} {
			if err := d.Tx(t.Context(), func(tx *db.Tx) error { return k.Raise(t.Context(), tx, m) }); err == nil || fault.Of(err) != nil {
				t.Errorf("%s: %v, want an error of ours", name, err)
			}
		}
	})
}
