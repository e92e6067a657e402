package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/schedule"
	"wardroom/internal/standup"
)

// A demo that begins empty shows nothing of what the service is for. So its team
// has worked for some days when it starts for the first time. Nothing of that is
// written past the features: the runtime has a past of its own (demo.Remember),
// which the mirrors read as they read any; the board and the standups are made by
// the same services as always, on a clock that is turned back; and the jobs were
// seen once some days ago, so that what was due since is judged by its runs.

const (
	pastDays     = 6 // how far the team's past reaches back
	pastWatched  = 3 // since when its timed jobs are watched, in days
	pastStandups = 3 // days of which it has held standups
)

// demoClock is a clock that can be turned back; the zero one is right.
type demoClock struct{ back atomic.Int64 } // milliseconds since 1970; 0 is now

// Now is what the clock shows.
func (c *demoClock) Now() time.Time {
	if ms := c.back.Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return clock.Now()
}

// set makes the clock stand at a time; the zero time makes it right again.
func (c *demoClock) set(t time.Time) {
	if t.IsZero() {
		c.back.Store(0)
		return
	}
	c.back.Store(t.UnixMilli())
}

// pass lets time pass on a clock that stands.
func (c *demoClock) pass(d time.Duration) { c.back.Add(d.Milliseconds()) }

// wirePast builds the service once more on the demo's clock: whatever a feature
// does of another one's, it does at that time as well. Nothing of it is ever run
// but its queue, for the standups.
func (d *Demo) wirePast() error {
	d.past = &App{cfg: d.App.cfg, opts: d.App.opts, log: d.App.log, DB: d.App.DB, Gateway: d.App.Gateway}
	d.past.opts.Now = d.clock.Now
	if err := d.past.wire(); err != nil {
		return err
	}
	d.past.Standups.Runtime = &rehearsal{agents: d.Runtime, clock: d.clock}
	d.past.Standups.Sessions = func(_ context.Context, agentID string, since time.Time) (int, error) {
		return d.Runtime.Used(agentID, since, d.clock.Now()), nil
	}
	// On a clock that leaps nobody may seem dead for holding a job.
	d.past.Queue.Timers, d.past.Queue.Poll, d.past.Queue.Lease = nil, 20*time.Millisecond, 24*time.Hour
	return nil
}

// holdMeetings has the queue of the past work until the end is called for.
func (d *Demo) holdMeetings(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := d.past.Queue.Run(ctx); err != nil {
			d.past.log.ErrorContext(ctx, "the demo's past cannot be held", "err", err)
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// standupTimes are when the standups of the past began: at six minutes past eight.
func (d *Demo) standupTimes() []time.Time {
	day := d.began.In(d.App.cfg.Timezone)
	var times []time.Time
	for ago := pastStandups; ago > 0; ago-- {
		times = append(times, time.Date(day.Year(), day.Month(), day.Day()-ago, 8, 6, 0, 0, day.Location()))
	}
	return times
}

// hold holds the standup of the day that the clock shows, unless that was done.
func (d *Demo) hold(ctx context.Context) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(actor.With(ctx, actor.System), patience)
	defer cancel()
	s := d.past.Standups
	m, _, err := s.Open(ctx, standup.New{})
	if err != nil || m.Status == standup.Completed {
		return err
	}
	if _, err := s.Run(ctx, m.ID, false); err != nil && !errors.Is(err, standup.ErrRunning) {
		return err
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for m.Status != standup.Completed {
		select {
		case <-ctx.Done():
			return fmt.Errorf("hold the standup of %s: %w", m.Date, ctx.Err())
		case <-look.C:
		}
		if m, err = s.Get(ctx, m.ID); err != nil {
			return err
		}
		if m.Failure != nil {
			return fmt.Errorf("hold the standup of %s: %s", m.Date, m.Failure.Detail)
		}
	}
	return nil
}

// lookBack has the jobs of the runtime seen once at a time that is over. What was
// due since then and what became of it the service finds out by itself.
func (d *Demo) lookBack(ctx context.Context, at time.Time) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := gateway.New(gatewayOptions(d.App.cfg, slog.New(slog.DiscardHandler), gateway.Backoff{}))
	if err != nil {
		return err
	}
	seen := make(chan struct{})
	told := sync.OnceFunc(func() { close(seen) })
	s := &schedule.Service{
		DB: d.App.DB, Runtime: client, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return at },
		Zone: d.App.cfg.Timezone, Grace: d.App.cfg.ScheduleGrace, Patience: d.App.cfg.GatewayTimeout,
		Raise: d.App.raiseOfSchedule, Settle: d.App.Inbox.Settle, Changed: func([]string, []string) { told() },
	}
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel() // before it waits
	work.Go(func() { _ = client.Run(ctx) })
	work.Go(func() { _ = s.Run(ctx) })
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("look at the demo's jobs: %w", ctx.Err())
	}
}

// rehearsal is the runtime as the standups of the past meet it: the demo's agents,
// who answer at once, on a clock that goes on as long as they would have taken.
type rehearsal struct {
	agents *demo.Runtime
	clock  *demoClock
}

const pastBoot = "before the demo"

// Status says that the agents are there.
func (r *rehearsal) Status() gateway.Status {
	return gateway.Status{State: gateway.Connected, BootID: pastBoot, ConnectedAt: clock.Ptr(r.clock.Now())}
}

// Await does not wait: the agents are there.
func (r *rehearsal) Await(context.Context) (string, error) { return pastBoot, nil }

// Start asks a question, and has the answer.
func (r *rehearsal) Start(ctx context.Context, q gateway.Question) (gateway.Started, error) {
	took := 4*time.Second + time.Duration(len(q.Message)%5000)*time.Millisecond
	said, err := r.agents.Rehearse(ctx, q.AgentID, q.SessionKey, q.RunID, q.Message, took)
	if err != nil {
		return gateway.Started{}, err
	}
	r.clock.pass(took)
	return gateway.Started{RunID: q.RunID, BootID: pastBoot, Answer: &gateway.Answer{
		Outcome: gateway.Finished, Text: said.Text,
		Usage: &gateway.Usage{
			Provider: said.Provider, Model: said.Model, Input: said.Input, Output: said.Output,
			CacheRead: said.CacheRead, CacheWrite: said.CacheWrite, CostNanoUSD: &said.CostNano, SessionID: said.SessionID,
		},
	}}, nil
}

// Wait knows no run that goes on.
func (r *rehearsal) Wait(context.Context, string, time.Duration) (gateway.Answer, error) {
	return gateway.Answer{}, nil
}

// Find finds nothing: what was asked was answered.
func (r *rehearsal) Find(context.Context, string, string) (gateway.Trace, error) {
	return gateway.Trace{}, nil
}

// Stop has nothing to stop.
func (r *rehearsal) Stop(context.Context, string, string) (bool, error) { return false, nil }
