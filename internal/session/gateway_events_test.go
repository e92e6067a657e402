package session

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// changeOf returns an event with the whole row of a session.
func changeOf(g gateway.Session) gateway.SessionChange {
	return gateway.SessionChange{Key: g.Key, Row: g, Whole: true}
}

// TestRowsOfEvents checks that rows in events are visible at once without requests to the gateway,
// and that missing rows are read.
func TestRowsOfEvents(t *testing.T) {
	label := func(s Session) string {
		if s.Label == nil {
			return ""
		}
		return *s.Label
	}
	t.Run("a row is shown at once, with the moment at which it came", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			time.Sleep(time.Minute)
			before := r.count("list")
			g := r.rows[0]
			g.Label, g.Active = "now", true
			r.push(changeOf(g))
			synctest.Wait()
			began := time.Now()
			got := list(t, s)[0]
			if label(got) != "now" || !got.Active || !got.AsOf.Equal(began) || time.Since(began) > 0 || r.count("list") != before {
				t.Errorf("got %+v with %d readings", got, r.count("list")-before)
			}
		})
	})
	t.Run("a new session and one that is gone", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			r.push(changeOf(sessionAt("new", 5)))
			r.push(gateway.SessionChange{Key: "agent:cto:main", Gone: true})
			synctest.Wait()
			if got := list(t, s); len(got) != 1 || got[0].Key != "agent:cto:new" {
				t.Errorf("got %+v", got)
			}
		})
	})
	t.Run("one whose row does not come is read after a while", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			time.Sleep(time.Minute)
			r.change("", func() { r.rows[0].Label = "read" })
			r.push(gateway.SessionChange{Key: "agent:cto:main"})
			time.Sleep(rowTimeout - time.Millisecond)
			if got := label(list(t, s)[0]); got != "" {
				t.Errorf("at first %q", got)
			}
			time.Sleep(2 * time.Millisecond)
			if got := label(list(t, s)[0]); got != "read" {
				t.Errorf("afterwards %q", got)
			}
		})
	})
	t.Run("one whose row comes is not read", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			time.Sleep(time.Minute)
			before := r.count("list")
			r.push(gateway.SessionChange{Key: "agent:cto:main"})
			r.push(changeOf(r.rows[0]))
			time.Sleep(30 * time.Second)
			if n := r.count("list") - before; n > 0 {
				t.Errorf("%d readings", n)
			}
		})
	})
	t.Run("a row that is older by the gateway's stamp is left out", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			g := r.rows[0]
			for _, c := range []struct {
				label string
				stamp int64
			}{{"newer", 2_000_000}, {"older", 1_999_999}} {
				g.Label = c.label
				change := changeOf(g)
				change.Stamp = c.stamp
				r.push(change)
			}
			synctest.Wait()
			if got := label(list(t, s)[0]); got != "newer" || s.Counts().Late != 1 {
				t.Errorf("got %q, %+v", got, s.Counts())
			}
			g.Label = "a clock that was set back"
			change := changeOf(g)
			change.Stamp = 1_000_000
			r.push(change)
			synctest.Wait()
			if got := label(list(t, s)[0]); got != g.Label {
				t.Errorf("after the clock was set it is still %q", got)
			}
		})
	})
	t.Run("what was said last is what an event of it, or a list, says", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows[0].LastMessage = "of the list"
			list(t, s)
			g := r.rows[0]
			last := func(want string) {
				t.Helper()
				synctest.Wait()
				if got := list(t, s)[0].LastMessage; str(got) != want {
					t.Errorf("%q, want %q", str(got), want)
				}
			}
			g.LastMessage = "long ago"
			r.push(changeOf(g))
			last("of the list")
			said := changeOf(g)
			said.Said = "just now"
			r.push(said)
			last("just now")
			r.push(changeOf(g))
			last("just now")
			anew := changeOf(g)
			anew.Row.LastMessage, anew.Reset = "", true
			r.push(anew)
			last("")
			r.push(gateway.SessionChange{Key: g.Key, Said: "without a row"})
			last("without a row")
		})
	})
	t.Run("after a run the list is looked at, once for all of them", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			time.Sleep(time.Minute)
			before := r.count("list")
			for range 100 {
				g := r.rows[0]
				change := changeOf(g)
				change.Run = &gateway.RunChange{SessionKey: g.Key, RunID: "run"}
				r.push(change)
				time.Sleep(100 * time.Millisecond)
			}
			if n := r.count("list") - before; n < 1 || n > 2 {
				t.Errorf("%d readings in ten seconds", n)
			}
		})
	})
	t.Run("a run that ends just before the list is looked at has it looked at again", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.change("", func() { r.rows[0].LastMessage = "the question" })
			list(t, s)
			time.Sleep(time.Minute)
			ended := changeOf(r.rows[0])
			ended.Run, ended.Said = &gateway.RunChange{SessionKey: r.rows[0].Key, RunID: "run"}, "the answer"
			r.push(ended)
			time.Sleep(verifyAfter - time.Millisecond)
			r.push(ended) // the runtime's list still has the question
			time.Sleep(2 * time.Millisecond)
			r.change("", func() { r.rows[0].LastMessage = "the answer" })
			time.Sleep(verifyInterval + verifyAfter)
			if got := str(list(t, s)[0].LastMessage); got != "the answer" {
				t.Errorf("%q", got)
			}
		})
	})
}

// TestCorrections checks that a difference between the list and the events is counted, unless the
// event follows shortly.
func TestCorrections(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		r.change("", func() { r.rows[0].Label = "nobody told" })
		time.Sleep(2*reconcileInterval + time.Second)
		if n := s.Counts().Corrected; n != 1 {
			t.Errorf("%d corrections, want 1", n)
		}
		r.change("", func() { r.rows[0].Label = "told a moment later" })
		time.Sleep(reconcileInterval)
		r.push(changeOf(r.rows[0]))
		r.change("", func() { r.rows = append(r.rows, sessionAt("appeared", 9)) })
		time.Sleep(2 * reconcileInterval)
		r.change("", func() { r.rows = r.rows[:1] })
		time.Sleep(2 * reconcileInterval)
		if n := s.Counts().Corrected; n != 3 {
			t.Errorf("%d corrections, want 3: one that came and one that went without a word as well", n)
		}
	})
}

// TestToldAtOnceAndFourTimesASecond checks that the first change after a pause is reported at
// once, further ones at most four times a second, and the last state always.
func TestToldAtOnceAndFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runtime{conn: 1, rows: []gateway.Session{sessionAt("a", 1), sessionAt("b", 2)}, events: make(chan link.Event, 10)}
		type frame struct {
			at    time.Duration
			key   string
			label string
		}
		var mu sync.Mutex
		var told []frame
		begin := time.Now()
		s := newMirror(r, time.Second, onChange(t, func(changed []Session, _ []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range changed {
				told = append(told, frame{time.Since(begin), c.Key, str(c.Label)})
			}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = follow(ctx, s, r) })
		time.Sleep(10 * time.Second)
		mu.Lock()
		told, begin = nil, time.Now()
		mu.Unlock()
		a, b := r.rows[0], r.rows[1]
		for n := range 100 { // every 10 ms for a second
			a.Label = string(rune('A' + n%26))
			r.push(changeOf(a))
			if n == 50 {
				b.Label = "once"
				r.push(changeOf(b))
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		running.Wait()
		const gathered = 10 * time.Millisecond // streams wait about half of it after each batch
		var of []frame
		for _, f := range told {
			if f.key == b.Key {
				if late := f.at - 500*time.Millisecond; late < 0 || late > gathered {
					t.Errorf("what had rested was told after %s", f.at-500*time.Millisecond)
				}
				continue
			}
			of = append(of, f)
		}
		if len(of) != 5 || of[0].at != 0 || len(told) != 6 {
			t.Fatalf("told %+v", told)
		}
		for i, f := range of[1:] {
			if f.at-of[i].at < notifyInterval-gathered {
				t.Errorf("told after %s", f.at-of[i].at)
			}
		}
		if of[4].label != a.Label {
			t.Errorf("in the end it is told to be %q, and is %q", of[4].label, a.Label)
		}
	})
}
