package session

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
)

// world is a random runtime: sessions are added, changed and removed, lists take time, and events
// are delayed or lost, as are connections.
type world struct {
	runtime
	dice    *rand.Rand
	truth   map[string]gateway.Session
	stamped bool                    // its rows have timestamps
	lag     []gateway.SessionChange // events in transit; an empty one is a gap after lost events
	pace    *rand.Rand              // random numbers for the duration of lists
}

func (w *world) ListSessions(ctx context.Context, _ int) (gateway.Sessions, error) {
	w.mu.Lock()
	before, after := time.Duration(w.pace.IntN(300))*time.Millisecond, time.Duration(w.pace.IntN(300))*time.Millisecond
	w.mu.Unlock()
	mirror.Sleep(ctx, before)
	w.mu.Lock()
	w.called("list")
	var list gateway.Sessions
	for _, g := range w.truth {
		list.Rows = append(list.Rows, g)
		if w.stamped {
			list.Stamps = append(list.Stamps, time.Now().UnixMilli())
		}
	}
	w.mu.Unlock()
	mirror.Sleep(ctx, after)
	return list, ctx.Err()
}

// happen changes one session at random and queues the event.
func (w *world) happen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprintf("agent:cto:%d", w.dice.IntN(12))
	g, there := w.truth[key]
	change := gateway.SessionChange{Key: key}
	switch {
	case there && w.dice.IntN(8) == 0:
		delete(w.truth, key)
		change.Gone = true
	default:
		g.Key, g.AgentID, g.ID = key, "cto", "t"
		g.Active, g.UpdatedAt = w.dice.IntN(2) == 0, clock.At(time.Now())
		g.Label = fmt.Sprint(w.dice.IntN(1000))
		change.Row, change.Whole = g, w.dice.IntN(10) > 0
		if w.dice.IntN(3) == 0 {
			// The last message is in its own event, and in later rows or not.
			g.LastMessage = fmt.Sprint("said ", w.dice.IntN(1000))
			change.Said = g.LastMessage
		}
		w.truth[key] = g
	}
	if w.stamped {
		change.Stamp = time.Now().UnixMilli()
	}
	if w.dice.IntN(30) == 0 {
		change = gateway.SessionChange{} // lost; the number of the next event shows the gap
	}
	w.lag = append(w.lag, change)
}

// deliver sends the queued events.
func (w *world) deliver() {
	w.mu.Lock()
	lag := w.lag
	w.lag = nil
	conn := w.conn
	w.mu.Unlock()
	if conn == 0 {
		return // lost events
	}
	for _, c := range lag {
		if c == (gateway.SessionChange{}) {
			w.events <- link.Event{Name: link.EventGap, Resync: true, At: time.Now()}
			continue
		}
		w.push(c)
	}
}

// reconnect interrupts the connection for a while.
func (w *world) reconnect() {
	w.deliver()
	w.change(link.EventDisconnected, func() { w.conn = 0 })
	for range w.dice.IntN(5) {
		w.happen()
		time.Sleep(50 * time.Millisecond)
	}
	w.mu.Lock()
	w.lag = nil
	w.mu.Unlock()
	w.change(link.EventConnected, func() { w.conn = w.calls["list"] + 2 })
}

// follower is a browser that reads the list and applies live updates.
type follower struct {
	mu   sync.Mutex
	rows map[string]Session
}

func (f *follower) told(changed []Session, gone []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range changed {
		if was, ok := f.rows[c.Key]; !ok || !c.AsOf.Before(was.AsOf.Time) {
			f.rows[c.Key] = c
		}
	}
	for _, key := range gone {
		delete(f.rows, key)
	}
}

// TestMirrorEqualsTheRuntime checks that the mirror, and a browser with live updates, agree with
// the runtime after random delays and losses.
func TestMirrorEqualsTheRuntime(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{dice: rand.New(rand.NewPCG(seed, 7)), pace: rand.New(rand.NewPCG(seed, 8)), truth: map[string]gateway.Session{}, stamped: seed%2 == 0}
			w.conn, w.events, w.begun = 1, make(chan link.Event, 5000), make(chan struct{})
			w.calls = map[string]int{}
			f := &follower{rows: map[string]Session{}}
			s := newMirror(w, time.Minute, onChange(t, f.told))
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = follow(ctx, s, w) })
			defer running.Wait()
			defer cancel()
			for range 5 {
				for range 40 {
					w.happen()
					time.Sleep(time.Duration(w.dice.IntN(40)) * time.Millisecond)
					switch w.dice.IntN(20) {
					case 0:
						w.reconnect()
					case 1:
						s.Doubt()
					}
					if w.dice.IntN(3) == 0 {
						w.deliver()
					}
				}
				w.deliver()
				time.Sleep(verifyInterval + verifyAfter + 2*time.Second)
				w.compare(t, s, f, seed)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (w *world) compare(t *testing.T, s *Service, f *follower, seed uint64) {
	t.Helper()
	rows, _, err := s.List(t.Context(), Filter{}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	want, got, told := map[string]string{}, map[string]string{}, map[string]string{}
	tell := func(r Session) string {
		r.AsOf = clock.Time{}
		return fmt.Sprint(r.Active, *r.Label, r.UpdatedAt, str(r.LastMessage))
	}
	for key, g := range w.truth {
		want[key] = tell((&row{Session: g}).api())
	}
	for _, r := range rows {
		got[r.Key] = tell(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, r := range f.rows {
		told[key] = tell(r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed %d: (-runtime +mirror):\n%s", seed, diff)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("seed %d: (-runtime +told):\n%s", seed, diff)
	}
	if !slices.IsSortedFunc(rows, func(a, b Session) int {
		p, _ := readPosition(positionOf(a))
		q, _ := readPosition(positionOf(b))
		return p.compare(*q)
	}) {
		t.Errorf("seed %d: out of order: %v", seed, slices.Sorted(maps.Keys(got)))
	}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
