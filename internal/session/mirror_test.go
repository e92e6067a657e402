package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// TestReadersSeeWhatIsKnownToHaveChanged checks that requests after a change never see the old
// state.
func TestReadersSeeWhatIsKnownToHaveChanged(t *testing.T) {
	t.Run("the first waits for the first reading", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, _ *runtime) {
			got := list(t, s)
			if len(got) != 1 || got[0].Key != "agent:cto:main" || got[0].Active {
				t.Errorf("got %+v", got)
			}
		})
	})
	t.Run("one who comes after an event waits for the reading that is due", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.slow = 300 * time.Millisecond
			list(t, s)
			r.change("sessions.changed", func() { r.rows[0].Active = true })
			synctest.Wait()
			r.change("sessions.changed", func() { r.rows[0].Label = "after the reading began" })
			synctest.Wait()
			if got := list(t, s)[0]; !got.Active || got.Label == nil {
				t.Errorf("got %+v", got)
			}
		})
	})
	t.Run("one who comes while nothing has changed does not wait", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, _ *runtime) {
			list(t, s)
			now := time.Now()
			list(t, s)
			if d := time.Since(now); d > 0 {
				t.Errorf("it waited %s", d)
			}
		})
	})
	t.Run("events without end keep nobody waiting for ever", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					r.change("sessions.changed", func() {})
					mirror.Sleep(ctx, 10*time.Millisecond)
				}
			}()
			time.Sleep(time.Second)
			now := time.Now()
			list(t, s)
			if d := time.Since(now); d > 2*pause {
				t.Errorf("it waited %s", d)
			}
		})
	})
	t.Run("one who leaves, or whose time is up, is let go", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			r.change("sessions.changed", func() { r.slow = time.Minute })
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, _, err := s.List(ctx, Filter{}, nil, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("its own time: %v", err)
			}
			now := time.Now()
			if _, _, err := s.List(t.Context(), Filter{}, nil, 1); !errors.Is(err, link.ErrTimeout) || time.Since(now) != 15*time.Second {
				t.Errorf("the gateway's time: %v after %s", err, time.Since(now))
			}
		})
	})
}

// TestCallsDoNotGrow checks that the number of requests to the gateway does not depend on the
// number of clients or changes.
func TestCallsDoNotGrow(t *testing.T) {
	t.Run("five hundred readers are one reading", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			for _, readers := range []int{1, 500} {
				before := r.count("list")
				r.change("sessions.changed", func() { r.rows[0].Label = fmt.Sprint(readers) })
				synctest.Wait()
				var reading sync.WaitGroup
				for range readers {
					reading.Go(func() {
						if got := list(t, s)[0].Label; got == nil || *got != fmt.Sprint(readers) {
							t.Errorf("got %v", got)
						}
					})
				}
				reading.Wait()
				if n := r.count("list") - before; n != 1 {
					t.Errorf("%d readers made %d readings", readers, n)
				}
				time.Sleep(2 * pause)
			}
			if n := r.count("list"); n != 3 {
				t.Errorf("%d lists", n)
			}
		})
	})
	t.Run("at most one reading a second, whatever nobody says how", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			before := r.count("list")
			for range 1000 {
				r.change("sessions.changed", func() {})
				time.Sleep(10 * time.Millisecond)
			}
			if n := r.count("list") - before; n < 9 || n > 11 {
				t.Errorf("%d readings in ten seconds", n)
			}
		})
	})
	t.Run("a list that takes long is read at most half of the time", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			r.change("", func() { r.slow = 2 * time.Second })
			before := r.count("list")
			for range 200 {
				r.change("sessions.changed", func() {})
				time.Sleep(100 * time.Millisecond)
			}
			if n := r.count("list") - before; n < 4 || n > 6 {
				t.Errorf("%d readings of 2 s in 20 s", n)
			}
		})
	})
	t.Run("nothing happens: every two minutes", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			before := r.count("list")
			r.change("", func() { r.rows[0].Label = "nobody told" })
			time.Sleep(10 * time.Minute)
			if n := r.count("list") - before; n != 5 && n != 4 {
				t.Errorf("%d readings in ten minutes", n)
			}
			if got := list(t, s)[0].Label; got == nil || *got != "nobody told" {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("what changes nothing costs nothing", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			before := r.count("list")
			r.change("tick", func() {})
			r.change("session.tool", func() {})
			s.mirror.wake.Wake() // for an event before the last read
			time.Sleep(time.Second)
			if n := r.count("list"); n != before {
				t.Errorf("%d readings for nothing", n-before)
			}
		})
	})
}

// TestDisconnected checks that requests fail with the reason while the gateway is unreachable, and
// recover by themselves.
func TestDisconnected(t *testing.T) {
	t.Run("the reason at once, also for those who wait", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			r.change("sessions.changed", func() { r.slow = time.Minute })
			synctest.Wait()
			waiting := make(chan error, 1)
			go func() {
				_, _, err := s.List(t.Context(), Filter{}, nil, 1)
				waiting <- err
			}()
			synctest.Wait()
			now := time.Now()
			r.change(link.EventDisconnected, func() { r.conn = 0 })
			if err := <-waiting; !errors.Is(err, link.ErrUnreachable) || time.Since(now) > 0 {
				t.Errorf("waiting: %v after %s", err, time.Since(now))
			}
			if _, err := s.Get(t.Context(), "agent:cto:main"); !errors.Is(err, link.ErrUnreachable) {
				t.Errorf("afterwards: %v", err)
			}
			if _, _, err := s.Activities(t.Context()); !errors.Is(err, link.ErrUnreachable) {
				t.Errorf("activities: %v", err)
			}
		})
	})
	t.Run("before anybody has told us", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			list(t, s)
			r.change("", func() { r.conn = 0 })
			if _, _, err := s.List(t.Context(), Filter{}, nil, 1); !errors.Is(err, link.ErrUnreachable) {
				t.Errorf("got %v", err)
			}
			r.change("", func() { r.conn, r.rows = 2, []gateway.Session{sessionAt("other", 9)} })
			var later sync.WaitGroup
			defer later.Wait()
			later.Go(func() {
				time.Sleep(time.Second)
				r.change(link.EventConnected, func() {})
			})
			if got := list(t, s); len(got) != 1 || got[0].Key != "agent:cto:other" {
				t.Errorf("of the connection before: %+v", got)
			}
			if n := r.count("subscribe"); n != 2 {
				t.Errorf("%d subscriptions for two connections", n)
			}
		})
	})
	t.Run("what was read over two connections is shown to nobody", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			s.Events = onChange(t, func(changed []Session, _ []string) {
				for _, c := range changed {
					if c.Key == "agent:cto:old" {
						t.Error("what was read over two connections was told")
					}
				}
			})
			list(t, s)
			time.Sleep(time.Second)
			r.change("sessions.changed", func() { r.slow, r.rows = time.Second, []gateway.Session{sessionAt("old", 1)} })
			time.Sleep(500 * time.Millisecond)
			r.change(link.EventDisconnected, func() {})
			r.change(link.EventConnected, func() { r.conn, r.rows = 2, []gateway.Session{sessionAt("new", 1)} })
			if got := list(t, s); got[0].Key != "agent:cto:new" {
				t.Errorf("got %s", got[0].Key)
			}
		})
	})
}

// TestListFails checks that a failed read is retried with a backoff.
func TestListFails(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		r.change("sessions.changed", func() { r.listErr = link.ErrTimeout })
		synctest.Wait()
		if _, _, err := s.List(t.Context(), Filter{}, nil, 1); !errors.Is(err, link.ErrTimeout) {
			t.Errorf("while it fails: %v", err)
		}
		before := r.count("list")
		time.Sleep(2 * time.Minute)
		if n := r.count("list") - before; n < 5 || n > 12 {
			t.Errorf("asked again %d times in two minutes", n)
		}
		r.change("", func() { r.listErr = nil })
		time.Sleep(mirror.RetryLast + time.Second)
		if got := list(t, s); len(got) != 1 {
			t.Errorf("healed: %v", got)
		}
		r.change("sessions.changed", func() { r.listErr = link.ErrTimeout })
		synctest.Wait()
		before = r.count("list")
		time.Sleep(4 * time.Second)
		if n := r.count("list") - before; n < 2 {
			t.Errorf("a new failure is asked about %d times in four seconds", n)
		}
	})
}

// TestSubscriptionRefused checks that sessions are read regularly without a subscription.
func TestSubscriptionRefused(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		r.noEvents = link.ErrRefused
		list(t, s)
		r.change("sessions.changed", func() { r.rows[0].Active = true })
		synctest.Wait()
		if !list(t, s)[0].Active || r.count("subscribe") != 1 {
			t.Errorf("asked to subscribe %d times", r.count("subscribe"))
		}
	})
}

// TestRunsOfEvents checks that run IDs come from events if the list has none.
func TestRunsOfEvents(t *testing.T) {
	lifecycle := func(phase, run string) link.Event {
		payload, err := json.Marshal(map[string]any{"runId": run, "sessionKey": "agent:cto:main", "stream": "lifecycle", "data": map[string]any{
			"phase": phase, "startedAt": began.Add(5 * time.Second).UnixMilli(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		return link.Event{Name: "agent", Payload: payload}
	}
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		push := func(active bool) {
			r.change("", func() { r.rows[0].Active = active })
			r.push(gateway.SessionChange{Key: "agent:cto:main", Row: r.rows[0], Whole: true})
		}
		push(true)
		r.events <- lifecycle("start", "run-1")
		synctest.Wait()
		got := list(t, s)[0]
		if got.ActiveRunID == nil || *got.ActiveRunID != "run-1" || got.StartedAt == nil || !got.StartedAt.Equal(began.Add(5*time.Second)) {
			t.Errorf("running: %+v", got)
		}
		_, agents, err := s.Activities(t.Context())
		if diff := cmp.Diff(map[string]Activity{"cto": {Active: 1, Key: "agent:cto:main", Since: clock.At(began.Add(5 * time.Second))}}, agents); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		r.events <- lifecycle("end", "run-0") // of another run
		synctest.Wait()
		if got := list(t, s)[0]; got.ActiveRunID == nil {
			t.Error("another run's end ended this one")
		}
		r.events <- link.Event{Name: link.EventGap, Resync: true} // the end of the run may have been lost
		synctest.Wait()
		if got := list(t, s)[0]; got.ActiveRunID != nil {
			t.Errorf("after a gap it is still %s", *got.ActiveRunID)
		}
		r.events <- lifecycle("start", "run-1")
		r.events <- lifecycle("end", "run-1")
		push(false)
		synctest.Wait()
		if got := list(t, s)[0]; got.ActiveRunID != nil || got.Active {
			t.Errorf("ended: %+v", got)
		}
	})
}

// TestOneSlowReading checks that one slow read does not delay the next one as much as regularly
// slow reads.
func TestOneSlowReading(t *testing.T) {
	t.Parallel()
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		verified := func(slow time.Duration) time.Duration {
			r.change("", func() { r.slow = slow })
			before, asked := r.count("list"), time.Now()
			s.mirror.lock()
			s.mirror.scheduleVerify()
			s.mirror.mu.Unlock()
			for r.count("list") == before {
				time.Sleep(100 * time.Millisecond)
			}
			took := time.Since(asked)
			time.Sleep(slow)
			return took
		}
		list(t, s)
		verified(10 * time.Millisecond)
		const slow = 2 * time.Second
		verified(slow)
		if got := verified(slow); got > verifyInterval {
			t.Errorf("after one slow reading the next came only after %s", got)
		}
		if got := verified(slow); got < (verifyFactor-2)*slow {
			t.Errorf("a list that takes %s is read again after %s already", slow, got)
		}
	})
}

// TestChanged checks that each change is reported exactly once.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runtime{conn: 1, rows: []gateway.Session{sessionAt("a", 1), sessionAt("b", 2)}, events: make(chan link.Event, 10)}
		var told []string
		s := newMirror(r, time.Second, onChange(t, func(changed []Session, gone []string) {
			var line []string
			for _, c := range changed {
				line = append(line, c.Key)
			}
			for _, key := range gone {
				line = append(line, "-"+key)
			}
			slices.Sort(line)
			told = append(told, strings.ReplaceAll(strings.Join(line, " "), "agent:cto:", ""))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = follow(ctx, s, r) })
		time.Sleep(time.Minute * 5)
		r.change("sessions.changed", func() { r.rows[0].Active = true })
		time.Sleep(2 * time.Second)
		r.change("sessions.changed", func() { r.rows = r.rows[:1] })
		time.Sleep(2 * time.Second)
		r.change(link.EventDisconnected, func() { r.conn = 0 })
		time.Sleep(2 * time.Second)
		r.change(link.EventConnected, func() { r.conn = 2 })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		cancel()
		running.Wait()
		if diff := cmp.Diff([]string{"a b", "a", "-b"}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

// TestDroppedSubscription checks that everything is read again after the event buffer has
// overflowed.
func TestDroppedSubscription(t *testing.T) {
	mirrored(t, func(t *testing.T, s *Service, r *runtime) {
		list(t, s)
		old := r.events
		r.change("", func() { r.events, r.rows[0].Active = make(chan link.Event, 1), true })
		close(old)
		synctest.Wait()
		time.Sleep(mirror.RetryFirst + pause)
		if !list(t, s)[0].Active {
			t.Error("what was missed is not read anew")
		}
	})
}

// TestEventsAreGivenOn checks that the readers of the list get a new one soon after an event.
func TestEventsAreGivenOn(t *testing.T) {
	tests := map[string]struct {
		event     gateway.SessionChange
		published func(rows []gateway.Session) bool
	}{
		"gone": {
			gateway.SessionChange{Key: "agent:cto:main", Gone: true},
			func(rows []gateway.Session) bool { return len(rows) == 0 },
		},
		"said": {
			gateway.SessionChange{Key: "agent:cto:main", Said: "It is done."},
			func(rows []gateway.Session) bool { return len(rows) == 1 && rows[0].LastMessage == "It is done." },
		},
		"at work": {
			changeOf(gateway.Session{Key: "agent:cto:main", ID: "t", AgentID: "cto", Active: true, UpdatedAt: clock.At(began.Add(time.Hour))}),
			func(rows []gateway.Session) bool { return len(rows) == 1 && rows[0].Active },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mirrored(t, func(t *testing.T, s *Service, r *runtime) {
				list(t, s)
				time.Sleep(20 * time.Second) // nothing is due anymore
				lists := r.count("list")
				r.push(tt.event)
				time.Sleep(publishInterval + 100*time.Millisecond)
				synctest.Wait()
				if rows := s.Lists.Latest().Rows; !tt.published(rows) {
					t.Errorf("a second later those were given: %+v", rows)
				}
				if n := r.count("list") - lists; n != 0 {
					t.Errorf("the list was read %d times for it", n)
				}
			})
		})
	}
}
