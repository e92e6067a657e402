package standup_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// flaky is a runtime whose calls a test can override; nil hooks use the real runtime.
type flaky struct {
	standup.Runtime
	status func(link.Status) link.Status
	start  func(ctx context.Context, q gateway.Question) (gateway.Started, error)
	stop   func(ctx context.Context, key, run string) (bool, error)
	find   func(ctx context.Context, key, run string) (gateway.Trace, error)
	wait   func(ctx context.Context, run string, limit time.Duration) (gateway.Answer, error)
}

func (f *flaky) Status() link.Status {
	if f.status != nil {
		return f.status(f.Runtime.Status())
	}
	return f.Runtime.Status()
}

func (f *flaky) Start(ctx context.Context, q gateway.Question) (gateway.Started, error) {
	if f.start != nil {
		return f.start(ctx, q)
	}
	return f.Runtime.Start(ctx, q)
}

func (f *flaky) Stop(ctx context.Context, key, run string) (bool, error) {
	if f.stop != nil {
		return f.stop(ctx, key, run)
	}
	return f.Runtime.Stop(ctx, key, run)
}

func (f *flaky) Find(ctx context.Context, key, run string) (gateway.Trace, error) {
	if f.find != nil {
		return f.find(ctx, key, run)
	}
	return f.Runtime.Find(ctx, key, run)
}

func (f *flaky) Wait(ctx context.Context, run string, limit time.Duration) (gateway.Answer, error) {
	if f.wait != nil {
		return f.wait(ctx, run, limit)
	}
	return f.Runtime.Wait(ctx, run, limit)
}

// sleep advances the clock of the services.
func (o *office) sleep(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ahead += d
}

// The wait for the gateway is bounded even if the connection breaks right before it.
func TestGoneInBetween(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Patience, o.Deadline = shortPatience, 20*time.Second
	o.Runtime = &flaky{Runtime: o.connect(t, "http://127.0.0.1:9"), status: func(s link.Status) link.Status {
		s.State = link.Connected
		return s
	}}
	work(t, o.Service)
	wantEnd(t, o.hold(t, o.open(t).ID), standup.Error, standup.GatewayUnreachable)
}

// A runtime that is connected but accepts no question counts as unavailable, long before
// the deadline.
func TestRuntimeMute(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Patience, o.Deadline = shortPatience, 20*time.Second
	o.Runtime = &flaky{Runtime: o.client, start: func(context.Context, gateway.Question) (gateway.Started, error) {
		return gateway.Started{}, link.ErrTimeout.With("agent had no answer.")
	}}
	work(t, o.Service)
	wantEnd(t, o.hold(t, o.open(t).ID), standup.Error, standup.GatewayUnreachable)
}

// No answer in time is a [Timeout], whether or not the run can be stopped.
func TestTimeoutStop(t *testing.T) {
	t.Parallel()
	for name, spoiled := range map[string]error{
		"the connection breaks after the stop": link.ErrUnreachable,
		"the stop is refused":                  link.ErrRefused.With("not yours"),
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, dbtest.New(t))
			o.runtime.Silence("cpo", true)
			o.AgentTimeout = shortTime
			var stops atomic.Int32
			o.Runtime = &flaky{Runtime: o.client, stop: func(ctx context.Context, key, run string) (bool, error) {
				stopped, err := o.client.Stop(ctx, key, run)
				if stops.Add(1) == 1 {
					return false, spoiled
				}
				return stopped, err
			}}
			work(t, o.Service)
			m := o.hold(t, o.open(t).ID)
			wantEnd(t, m, standup.Completed, "")
			wantReports(t, m, standup.Answered, standup.TimedOut, standup.Answered)
		})
	}
}

// If the runtime refuses to look up a question, that report fails and the standup
// continues.
func TestFindRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Runtime = &flaky{
		Runtime: o.client,
		wait: func(ctx context.Context, run string, limit time.Duration) (gateway.Answer, error) {
			if strings.Contains(run, "-cto-") {
				return gateway.Answer{}, link.ErrUnreachable
			}
			return o.client.Wait(ctx, run, limit)
		},
		find: func(context.Context, string, string) (gateway.Trace, error) {
			return gateway.Trace{}, link.ErrRefused.With("no history for you")
		},
	}
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Failed, standup.Answered, standup.Answered)
}

// An agent gets its full timeout for a question that was stored but not sent before
// Wardroom stopped.
func TestUnsentQuestion(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Delay("cto", 300*time.Millisecond)
	sending := make(chan struct{})
	o.Runtime = &flaky{Runtime: o.client, start: func(ctx context.Context, _ gateway.Question) (gateway.Started, error) {
		close(sending)
		<-ctx.Done()
		return gateway.Started{}, ctx.Err()
	}}
	stop := work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	<-sending
	stop()
	o.sleep(o.AgentTimeout + 5*time.Second)
	work(t, o.service(o.DB))
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
}

// If Wardroom and the runtime are down longer than the agent timeout, the agent is asked
// again with its full timeout.
func TestAskedAnewWithTime(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Delay("cto", longThought)
	stop := work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	wait(t, "the question to be accepted", func() bool {
		var n int
		err := o.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM standup_questions WHERE accepted`).Scan(&n)
		return err == nil && n == 1
	})
	stop()
	o.runtime.Delay("cto", 300*time.Millisecond)
	o.runtime.Restart(0)
	o.sleep(o.AgentTimeout + 5*time.Second)
	work(t, o.service(o.DB))
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
	o.wantAsked(t, map[string]int{"cto": 2})
}

// A cancel while the question is in transit also stops the run that starts afterwards.
func TestCancelWhileAsking(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Silence("cto", true)
		m := o.open(t)
		o.Runtime = &flaky{Runtime: o.client, start: func(ctx context.Context, q gateway.Question) (gateway.Started, error) {
			if _, err := o.Cancel(signedIn(t), m.ID); err != nil {
				t.Error(err)
			}
			return o.client.Start(context.WithoutCancel(ctx), q)
		}}
		work(t, o.Service)
		wantEnd(t, o.hold(t, m.ID), standup.Error, standup.Cancelled)
		o.asked(t, "cto")
		wait(t, "its run to be stopped", func() bool {
			found, err := o.client.Find(t.Context(), "agent:cto:standup:"+m.Date, "standup-"+m.ID+"-cto-1")
			return err == nil && found.Asked && !found.Active
		})
	})
}

// A database error right after a question was accepted does not fail the report: the agent
// is asked once.
func TestQuestionThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	o := newOffice(t, d)
	exec := func(query string) { // usable from other goroutines, where t.Fatal is not
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), query)
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	var taken atomic.Int64
	o.Runtime = &flaky{Runtime: o.client, start: func(ctx context.Context, q gateway.Question) (gateway.Started, error) {
		s, err := o.client.Start(ctx, q)
		if q.AgentID == "cpo" && taken.Add(1) == 1 {
			exec(`CREATE TRIGGER broken BEFORE UPDATE ON standup_questions WHEN NEW.state = 'open'
				BEGIN SELECT RAISE(ABORT, 'the database is broken'); END`)
			time.AfterFunc(100*time.Millisecond, func() { exec(`DROP TRIGGER broken`) })
		}
		return s, err
	}}
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
	o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1})
}
