package session

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/usage"
)

// runningAt returns the row of a session whose run started the given seconds after began.
func runningAt(key string, seconds int) gateway.Session {
	s := sessionAt(key, 0)
	at := clock.At(began.Add(time.Duration(seconds) * time.Second))
	s.Active, s.StartedAt, s.ActiveAt, s.UpdatedAt, s.EndedAt = true, at, at, at, clock.Time{}
	return s
}

func sign(name, key string) link.Event {
	return link.Event{Name: name, Payload: []byte(`{"sessionKey":"agent:cto:` + key + `","runId":"r","stream":"assistant"}`)}
}

// TestStalled checks the last activity of stalled runs, also after a lost connection, and that
// active runs are not stalled.
func TestStalled(t *testing.T) {
	run := func(name string, fn func(t *testing.T, s *Service, r *runtime)) {
		t.Run(name, func(t *testing.T) {
			mirrored(t, func(t *testing.T, s *Service, r *runtime) {
				s.StalledAfter = 5 * time.Minute
				r.rows = []gateway.Session{runningAt("main", 0), sessionAt("rests", 0)}
				fn(t, s, r)
			})
		})
	}
	want := func(t *testing.T, s *Service, stalled bool, since time.Time) {
		t.Helper()
		got := list(t, s)[0]
		if got.Stalled != stalled || stalled && !got.SilentSince.Equal(since) || !stalled && got.SilentSince != nil {
			t.Errorf("stalled %v since %v, want %v since %v", got.Stalled, got.SilentSince, stalled, since)
		}
		_, agents, err := s.Activities(t.Context())
		if a := agents["cto"]; err != nil || (a.Stalled == 1) != stalled || stalled && !a.Silent.Equal(since) {
			t.Errorf("the agent: %+v, %v", a, err)
		}
	}
	run("one that never told anything", func(t *testing.T, s *Service, _ *runtime) {
		list(t, s)
		time.Sleep(5*time.Minute - time.Second)
		want(t, s, false, time.Time{})
		time.Sleep(2 * time.Second)
		want(t, s, true, began.Time)
		if list(t, s)[1].Stalled {
			t.Error("a session at rest is stalled")
		}
	})
	run("one that tells something, and again nothing", func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		for _, name := range []string{"agent", "chat", "session.tool", "session.message"} {
			time.Sleep(4 * time.Minute)
			r.events <- sign(name, "main")
			synctest.Wait()
			want(t, s, false, time.Time{})
		}
		time.Sleep(5 * time.Minute)
		want(t, s, true, began.Add(16*time.Minute))
		r.events <- sign("sessions.changed", "main") // the session got a label
		synctest.Wait()
		want(t, s, true, began.Add(16*time.Minute))
		r.events <- sign("agent", "main")
		synctest.Wait()
		want(t, s, false, time.Time{})
	})
	run("over a connection that was gone", func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		time.Sleep(time.Minute)
		r.events <- sign("agent", "main")
		synctest.Wait()
		r.change(link.EventDisconnected, func() { r.conn = 0 })
		time.Sleep(2 * time.Minute)
		r.change(link.EventConnected, func() { r.conn = 2 })
		time.Sleep(2 * time.Minute)
		want(t, s, false, time.Time{})
		time.Sleep(time.Minute)
		want(t, s, true, began.Add(time.Minute))
	})
	run("one that this process never heard of, by what the gateway has noted", func(t *testing.T, s *Service, r *runtime) {
		time.Sleep(time.Hour)
		r.rows[0].ActiveAt = clock.At(began.Add(50 * time.Minute))
		want(t, s, true, began.Add(50*time.Minute))
	})
	run("one that waits for its turn is not as old as what was said before", func(t *testing.T, s *Service, r *runtime) {
		time.Sleep(time.Hour)
		r.rows[0].EndedAt, r.rows[0].UpdatedAt = r.rows[0].StartedAt, clock.At(began.Add(59*time.Minute))
		want(t, s, false, time.Time{})
		time.Sleep(4 * time.Minute)
		want(t, s, true, began.Add(59*time.Minute))
	})
	run("does not stall while it waits for a person", func(t *testing.T, s *Service, r *runtime) {
		s.WaitForPeople(map[string]time.Time{r.rows[0].Key: began.Add(30 * time.Minute)})
		time.Sleep(34 * time.Minute)
		want(t, s, false, time.Time{})
		time.Sleep(2 * time.Minute)
		want(t, s, true, began.Add(30*time.Minute))
		s.WaitForPeople(nil)
		want(t, s, false, time.Time{})
	})
	run("of which the gateway says nothing counts from when it was seen", func(t *testing.T, s *Service, r *runtime) {
		r.rows[0] = gateway.Session{Key: "agent:cto:main", AgentID: "cto", Active: true}
		time.Sleep(time.Hour)
		want(t, s, false, time.Time{})
		time.Sleep(5 * time.Minute)
		want(t, s, true, began.Add(time.Hour))
	})
}

// TestStallsAreTold checks that streams learn of stalled runs, without requests to the gateway.
func TestStallsAreTold(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		s.StalledAfter = 5 * time.Minute
		var told []bool
		s.Events = onChange(t, func(changed []Session, _ []string) {
			for _, c := range changed {
				told = append(told, c.Stalled)
			}
		})
		r.rows = []gateway.Session{runningAt("main", 0)}
		list(t, s)
		calls := r.count("list")
		time.Sleep(5*time.Minute + 6*time.Second)
		synctest.Wait()
		if n := r.count("list") - calls; n > 6 {
			t.Errorf("the list was read %d times, want once a minute", n)
		}
		r.events <- sign("agent", "main")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if !slices.Equal(slices.Compact(told), []bool{false, true, false}) {
			t.Errorf("told %v", told)
		}
	})
}

// TestStallsToldWithARowAreTakenBack checks that a client that first saw a run as stalled learns
// that it has recovered, even if its row does not change.
func TestStallsToldWithARowAreTakenBack(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		s.StalledAfter = 5 * time.Minute
		var told []bool
		s.Events = onChange(t, func(changed []Session, _ []string) {
			for _, c := range changed {
				told = append(told, c.Stalled)
			}
		})
		r.rows = []gateway.Session{runningAt("main", -600)}
		list(t, s)
		time.Sleep(time.Second)
		r.events <- sign("agent", "main")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if !slices.Equal(told, []bool{true, false}) {
			t.Errorf("told %v", told)
		}
	})
}

// TestStallsOfOneMomentAreAllRaised checks that a run that stalls while another one is stored is
// raised, too.
func TestStallsOfOneMomentAreAllRaised(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const limit = 100 * time.Millisecond
		var mu sync.Mutex
		now := began.Add(limit)
		second := runningAt("second", 0)
		second.StartedAt = clock.At(began.Add(limit / 2))
		second.ActiveAt, second.UpdatedAt = second.StartedAt, second.StartedAt
		r := &runtime{conn: 1, rows: []gateway.Session{runningAt("first", 0), second}, events: make(chan link.Event, 10), begun: make(chan struct{})}
		clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		s := &Service{
			Runtime: r, Log: slog.New(slog.DiscardHandler), Patience: 15 * time.Second, DB: d, StalledAfter: limit,
			Now: clock, Events: &event.Service{DB: d}, Lists: &mirror.Sessions{}, Usage: &usage.Service{DB: d},
		}
		s.Inbox = &inbox.Service{DB: d, Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = began.Add(2 * limit) // the other run stalls while the first one is stored
			return now
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = follow(ctx, s, r) })
		defer running.Wait()
		defer cancel()
		r.begin()
		eventually(t, "items about both runs, since their last activity", func() bool {
			part, err := s.Inbox.List(ctx, inbox.Filter{}, page.Want{Query: page.Query{Limit: 10}, Sort: "last"})
			if err != nil {
				t.Error(err)
			}
			var got []string
			for _, i := range part.Rows {
				got = append(got, i.Subject.Name+" "+i.LastAt.Sub(began.Time).String())
			}
			return slices.Equal(got, []string{"agent:cto:first 0s", "agent:cto:second 50ms"})
		})
	})
}

// TestStallsThatAreOverStayOver checks that a replica that learns late of the end of a run does
// not raise it again.
func TestStallsThatAreOverStayOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := began.Add(10 * time.Minute)
		last := int64(0)
		clock := func() time.Time { return now }
		replica := func() *Service {
			return &Service{
				DB: d, StalledAfter: 5 * time.Minute, Now: clock, Inbox: &inbox.Service{DB: d, Now: clock},
			}
		}
		one, two := replica(), replica()
		keep := func(s *Service, seen runStates, want ...string) {
			t.Helper()
			if _, err := s.storeStalls(t.Context(), seen); err != nil {
				t.Fatal(err)
			}
			rows, err := d.Query(t.Context(), `SELECT id, kind FROM events WHERE id > ? ORDER BY id`, last)
			told, err := db.All(rows, err, func(r db.Row) (kind string, err error) { return kind, r.Scan(&last, &kind) })
			if err != nil || !slices.Equal(told, want) {
				t.Errorf("told %v, want %v, %v", told, want, err)
			}
		}
		hung := runStates{"agent:cto:main": {"cto", began.Time, true}}
		keep(one, hung, "inbox.raised")
		keep(two, hung)
		keep(one, runStates{}, "inbox.resolved")
		keep(two, hung)
		keep(two, runStates{})
		again := runStates{"agent:cto:main": {"cto", now.Add(time.Minute), true}}
		now = now.Add(10 * time.Minute)
		keep(two, again, "inbox.reopened")
		keep(two, runStates{}, "inbox.resolved")
		now = now.Add(2 * time.Hour)
		keep(one, runStates{})
		if left, err := readStalls(t.Context(), d); err != nil || len(left) != 0 {
			t.Errorf("hours later there are %v, %v", left, err)
		}
	})
}
