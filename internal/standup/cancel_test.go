package standup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// stepping is a runtime that calls a hook before and after each call. These are the steps
// of a standup between its transactions.
type stepping struct {
	standup.Runtime
	step func(what string)
}

func (s stepping) around(what string) func() {
	s.step("before " + what)
	return func() { s.step("after " + what) }
}

func (s stepping) Await(ctx context.Context) (string, error) {
	defer s.around("the connection")()
	return s.Runtime.Await(ctx)
}

func (s stepping) Start(ctx context.Context, q gateway.Question) (gateway.Started, error) {
	defer s.around("the question to " + q.AgentID)()
	return s.Runtime.Start(ctx, q)
}

func (s stepping) Wait(ctx context.Context, run string, limit time.Duration) (gateway.Answer, error) {
	defer s.around("the wait for an answer")()
	return s.Runtime.Wait(ctx, run, limit)
}

// counting calls a function for each agent whose sessions are counted.
type counting func(agentID string)

func (c counting) CountUsed(_ context.Context, agentID string, _ time.Time) (int, error) {
	c(agentID)
	return 0, nil
}

// steps runs a standup and calls then at its n-th step. It returns the number of steps and
// the name of the n-th.
func (o *office) steps(t *testing.T, n int, then func(m standup.Standup)) (m standup.Standup, count int, what string) {
	t.Helper()
	var at atomic.Int32
	var once sync.Once
	m = o.open(t)
	step := func(where string) {
		if int(at.Add(1)) == n {
			once.Do(func() {
				what = where
				then(m)
			})
		}
	}
	o.Runtime = stepping{o.client, step}
	o.Sessions = counting(func(agentID string) { step("while it gathers the evidence about " + agentID) })
	stop := work(t, o.Service)
	m = o.hold(t, m.ID)
	stop() // wait for pending calls
	return m, int(at.Load()), what
}

// A cancel works at every step: the standup ends, no more questions are sent, and no run
// continues.
func TestCancelAtAnyStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		all := 1000
		for n := 1; n <= all; n++ {
			o := newOffice(t, d)
			o.brief()
			o.runtime.Delay("", 20*time.Millisecond) // otherwise there may be nothing to wait for
			var asked int
			m, count, what := o.steps(t, n, func(m standup.Standup) {
				if _, err := o.Cancel(signedIn(t), m.ID); err != nil {
					t.Errorf("step %d: %v", n, err)
				}
				asked = o.runtime.Asked("")
			})
			if what == "" {
				all = count // last step
				wantEnd(t, m, standup.Completed, "")
				if n < 20 {
					t.Errorf("a meeting has only %d steps", n-1)
				}
			} else {
				t.Run(fmt.Sprintf("step %d, %s", n, what), func(t *testing.T) { o.wantCancelled(t, m, asked) })
			}
			if err := o.Delete(signedIn(t), m.ID, nil); err != nil { // a day can have only one standup
				t.Fatal(err)
			}
		}
	})
}

// wantCancelled checks that a standup was canceled.
func (o *office) wantCancelled(t *testing.T, m standup.Standup, asked int) {
	t.Helper()
	wantEnd(t, m, standup.Error, standup.Cancelled)
	// A question in transit may still have arrived.
	if n := o.runtime.Asked(""); n > asked+1 {
		t.Errorf("%d questions came after the cancel", n-asked)
	}
	work(t, o.service(o.DB)) // the job that stops the run may not have begun
	wait(t, "what it began to end", func() bool { return o.runtime.Busy() == 0 })
	for _, r := range m.Reports {
		if r.Status == standup.TimedOut {
			t.Errorf("%s's report is a [Timeout], for which nobody waited", r.AgentID)
		}
	}
	if _, err := o.Cancel(signedIn(t), m.ID); !errors.Is(err, standup.ErrIdle) {
		t.Errorf("a second cancel: %v, want ErrIdle", err)
	}
	if made := o.made(t); len(made) != 0 {
		t.Errorf("tasks were made of a meeting that was cancelled: %v", made)
	}
}
