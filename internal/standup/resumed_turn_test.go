package standup_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// transcript records the runs of an agent as they start.
type transcript struct {
	mu   sync.Mutex
	runs []string
}

func (s *transcript) answer(q demo.Question) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, q.RunID)
	return "Yesterday: a\nToday: b\nBlockers: none"
}

func (s *transcript) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

// If the restarted runtime resumes the interrupted turn and rejects the repeated question,
// the answer of that turn is the report.
func TestRuntimeResumes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, c := range map[string]struct{ resume, thinks time.Duration }{
			"after we ask again":               {2 * time.Second, 0},
			"after we ask again, and is slow":  {2 * time.Second, 1500 * time.Millisecond},
			"before we come back, and is slow": {time.Millisecond, 2500 * time.Millisecond},
		} {
			t.Run(name, func(t *testing.T) {
				o := newOffice(t, d)
				var said transcript
				o.runtime.Silence("cto", true)
				o.runtime.Answer("cto", said.answer)
				o.runtime.Resume(c.resume)
				work(t, o.Service)
				m := o.open(t)
				if _, err := o.Run(signedIn(t), m.ID, true); err != nil {
					t.Fatal(err)
				}
				o.asked(t, "cto")
				o.runtime.Silence("cto", false)
				o.runtime.Delay("cto", c.thinks)
				o.runtime.Restart(0)
				m = o.end(t, m.ID)
				wantEnd(t, m, standup.Completed, "")
				wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
				// The interrupted turn and the resumed one.
				o.wantAsked(t, map[string]int{"cto": 2, "cpo": 1, "cmo": 1, "coo": 1})
				if runs := said.all(); len(runs) != 1 || strings.HasPrefix(runs[0], "standup-") {
					t.Errorf("answered in %v, want the runtime's own run", runs)
				}
			})
		}
	})
}

// A question rejected because its session changed is asked again under the next number, a
// limited number of times.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		times int32
		want  standup.ReportStatus
		asked int32
	}{
		"once":      {1, standup.Answered, 2},
		"twice":     {2, standup.Answered, 3},
		"each time": {100, standup.Failed, 3},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, dbtest.New(t))
			var asked atomic.Int32
			var mu sync.Mutex
			var runs []string
			o.Runtime = &flaky{Runtime: o.client, start: func(ctx context.Context, q gateway.Question) (gateway.Started, error) {
				if q.AgentID != "cto" {
					return o.client.Start(ctx, q)
				}
				mu.Lock()
				runs = append(runs, q.RunID)
				mu.Unlock()
				if asked.Add(1) > c.times {
					return o.client.Start(ctx, q)
				}
				return gateway.Started{RunID: q.RunID, BootID: o.client.Status().BootID, Answer: &gateway.Answer{
					RunID: q.RunID, Outcome: gateway.Failed, Error: "Session changed while starting work. Retry.", Overtaken: true,
				}}, nil
			}}
			work(t, o.Service)
			m := o.hold(t, o.open(t).ID)
			wantEnd(t, m, standup.Completed, "")
			wantReports(t, m, c.want, standup.Answered, standup.Answered)
			if n := asked.Load(); n != c.asked {
				t.Errorf("asked %d times, want %d: %v", n, c.asked, runs)
			}
			for i, run := range runs {
				if want := "standup-" + m.ID + "-cto-" + string(rune('1'+i)); run != want {
					t.Errorf("run %d is %s, want %s", i+1, run, want)
				}
			}
			again := 0
			for _, l := range m.Transcript {
				if l.Kind == "note" && strings.Contains(l.Text, "cto is asked again") {
					again++
				}
			}
			if again != int(c.asked)-1 {
				t.Errorf("the transcript tells %d times that cto is asked again, want %d", again, c.asked-1)
			}
		})
	}
}

// A resumed turn that exceeds the agent timeout is stopped and counts as [Timeout].
func TestResumedTooSlow(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.AgentTimeout = 8 * time.Second // long enough for the others on a slow machine
	o.runtime.Silence("cto", true)
	o.runtime.Resume(300 * time.Millisecond)
	work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	o.asked(t, "cto")
	o.runtime.Restart(0)
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.TimedOut, standup.Answered, standup.Answered)
	wait(t, "the resumed turn to be stopped", func() bool { return o.runtime.Busy() == 0 })
	found, err := o.client.Find(t.Context(), "agent:cto:standup:"+m.Date, "standup-"+m.ID+"-cto-1")
	if err != nil || found.Other || found.Answered {
		t.Errorf("the session at the end: %+v, %v; want nothing going on", found, err)
	}
}

// If the runtime restarts before Wardroom waits for a run, Wardroom looks up the run
// instead of waiting for it.
func TestRestartBeforeWait(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Delay("cto", longThought)
	var once sync.Once
	o.Runtime = &flaky{Runtime: o.client, start: func(ctx context.Context, q gateway.Question) (gateway.Started, error) {
		s, err := o.client.Start(ctx, q)
		once.Do(func() {
			made := o.client.Connections()
			wait(t, "the run", func() bool { return o.runtime.Asked("cto") == 1 }) // it has begun with the delay
			o.runtime.Delay("cto", 0)
			o.runtime.Restart(0)
			wait(t, "the next connection", func() bool { return o.client.Connections() > made })
		})
		return s, err
	}}
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
	o.wantAsked(t, map[string]int{"cto": 2})
}
