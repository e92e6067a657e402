package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
// has worked for two weeks when it starts for the first time. Nothing of that is
// written past the features: the runtime has a past of its own (demo.Remember),
// which the mirrors read as they read any; the board and the standups are made by
// the same services as always, on a clock that is turned back; and on that clock
// the schedules look at the runtime's jobs once a day, and judge by their runs.
//
// It goes on at every later start: from when the service last saw the runtime
// until then the team has worked, too.

const (
	pastDays     = 14 // how far the team's past reaches back, and how far it remembers it
	pastStandups = 3  // days of which it has held standups
)

// firstPast is that of a demo that starts for the first time.
func firstPast(began time.Time) []demo.Span {
	return []demo.Span{{From: began.AddDate(0, 0, -pastDays), Until: began}}
}

// goOn adds to the past what the team has done since the service last saw it: what
// it did until then is in the ledgers, and its own memory of that is lost.
func (s *demoState) goOn(ctx context.Context, a *App, now time.Time) {
	from := now.AddDate(0, 0, -pastDays)
	if _, known, err := a.Schedules.List(ctx, schedule.Filter{}, "", 0); err == nil && known.AsOf.After(from) {
		from = known.AsOf.Time
	}
	if n := len(s.Past); n > 0 && s.Past[n-1].Until.After(from) {
		from = s.Past[n-1].Until // the demo has ended before anything was seen
	}
	if now.After(from) {
		s.Past = append(s.Past, demo.Span{From: from, Until: now})
	}
}

// remembered is from when on the team remembers what it has done.
func remembered(now time.Time) time.Time {
	return now.UTC().AddDate(0, 0, -pastDays).Truncate(24 * time.Hour)
}

// remember gives the agents their past.
func (d *Demo) remember(s demoState) error {
	if len(s.Past) == 0 {
		return nil
	}
	return d.Runtime.SeedPast(demo.Past{Spans: s.Past, Since: remembered(s.Past[len(s.Past)-1].Until), Work: demoWork()})
}

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
		return d.Runtime.CountSessions(agentID, since, d.clock.Now()), nil
	}
	// On a clock that leaps nobody may seem dead for holding a job.
	d.past.Meetings.Poll, d.past.Meetings.Lease = 20*time.Millisecond, 24*time.Hour
	return nil
}

// holdMeetings has the queue of the past work until the end is called for.
func (d *Demo) holdMeetings(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := d.past.Meetings.Run(ctx); err != nil {
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
	const patience = time.Minute
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

// watchTimes are when the schedules looked at the jobs: once a day, and at the end.
func (d *Demo) watchTimes() []time.Time {
	var times []time.Time
	for ago := pastDays; ago >= 0; ago-- {
		times = append(times, d.began.AddDate(0, 0, -ago))
	}
	return times
}

// openSchedules lets the schedules of the past see the runtime, until the end is
// called for.
func (d *Demo) openSchedules(ctx context.Context) (end func(), err error) {
	client, err := gateway.New(gatewayOptions(d.App.cfg, slog.New(slog.DiscardHandler), gateway.Backoff{}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { _ = client.Run(ctx) })
	end = func() {
		cancel()
		work.Wait()
	}
	const patience = 20 * time.Second
	late, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if _, err := client.Await(late); err != nil {
		end()
		return nil, fmt.Errorf("look at the demo's jobs: %w", err)
	}
	runs, err := jobRuns(late, client)
	if err != nil {
		end()
		return nil, fmt.Errorf("read the runs of the demo's jobs: %w", err)
	}
	s := d.past.Schedules
	s.Runtime, s.Changed = &hindsight{client, d.clock, runs}, nil
	s.Log = slog.New(slog.DiscardHandler) // what did not run is no news of now
	return end, nil
}

// jobRuns are all runs that the runtime knows, the newest first.
func jobRuns(ctx context.Context, c *gateway.Client) (all []gateway.JobRun, err error) {
	const atOnce = 200
	for more := true; more; {
		var part []gateway.JobRun
		if part, more, err = c.JobRuns(ctx, gateway.JobRunsWanted{Limit: atOnce, Offset: len(all)}); err != nil {
			return nil, err
		}
		all = append(all, part...)
		more = more && len(part) > 0
	}
	return all, nil
}

// hindsight is the runtime as the schedules of the past meet it: of the runs that
// it knows they see those that had ended by then.
type hindsight struct {
	*gateway.Client

	clock *demoClock
	runs  []gateway.JobRun // the newest first
}

// JobRuns are those that had ended by what the clock shows.
func (h *hindsight) JobRuns(_ context.Context, want gateway.JobRunsWanted) (runs []gateway.JobRun, more bool, err error) {
	now := h.clock.Now()
	ended := slices.IndexFunc(h.runs, func(r gateway.JobRun) bool { return !r.EndedAt.After(now) })
	if ended < 0 {
		return nil, false, nil
	}
	runs = h.runs[min(ended+want.Offset, len(h.runs)):]
	return runs[:min(want.Limit, len(runs))], want.Limit < len(runs), nil
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
	said, err := r.agents.AnswerDirectly(ctx, q.AgentID, q.SessionKey, q.RunID, q.Message, took)
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
