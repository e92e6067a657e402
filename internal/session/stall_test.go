package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// runningAt is the row of a session whose run began that many seconds after the
// beginning.
func runningAt(key string, seconds int) gateway.Session {
	s := sessionAt(key, 0)
	at := clock.At(began.Add(time.Duration(seconds) * time.Second))
	s.Active, s.StartedAt, s.ActiveAt, s.UpdatedAt, s.EndedAt = true, at, at, at, clock.Time{}
	return s
}

func sign(name, key string) gateway.Event {
	return gateway.Event{Name: name, Payload: []byte(`{"sessionKey":"agent:cto:` + key + `","runId":"r","stream":"assistant"}`)}
}

// A run that hangs must show as such with its true age, whatever happened to the
// connection meanwhile; one that works must not.
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
		r.events <- sign("sessions.changed", "main") // somebody gave it a label
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
		r.change(gateway.EventDisconnected, func() { r.conn = 0 })
		time.Sleep(2 * time.Minute)
		r.change(gateway.EventConnected, func() { r.conn = 2 })
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
	run("of which the gateway says nothing counts from when it was seen", func(t *testing.T, s *Service, r *runtime) {
		r.rows[0] = gateway.Session{Key: "agent:cto:main", AgentID: "cto", Active: true}
		time.Sleep(time.Hour)
		want(t, s, false, time.Time{})
		time.Sleep(5 * time.Minute)
		want(t, s, true, began.Add(time.Hour))
	})
}

// A stream that nobody tells of a stalled run shows it as busy for ever. The
// gateway must not be asked for that.
func TestStallsAreTold(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		s.StalledAfter = 5 * time.Minute
		var told []bool
		s.Changed = func(changed []Session, _ []string) {
			for _, c := range changed {
				told = append(told, c.Stalled)
			}
		}
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
