package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/schedule"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

// At its first start, the demo has two weeks of history, because an empty demo would
// show little. Nothing is written directly to the database: the runtime generates
// past sessions (demo.Remember), which Wardroom reads like any others; the regular
// services create the board and the standups with a clock that is set back; and the
// schedule service reads the runtime's jobs once for each past day.
//
// Each later start adds history for the time since Wardroom last saw the runtime.

// pastDays is the length of the demo's past, and how far back the runtime keeps it.
const pastDays = 14

// firstPast returns a single period: the one that the generated history covers on first start.
func firstPast(began time.Time) []demo.Span {
	return []demo.Span{{From: began.AddDate(0, 0, -pastDays), Until: began}}
}

// goOn extends the generated history to the present. The added part starts when Wardroom
// last read the runtime, because Wardroom's database already contains the earlier history.
func (s *demoState) goOn(ctx context.Context, a *App, now time.Time) {
	from := now.AddDate(0, 0, -pastDays)
	if _, known, err := a.Schedules.List(ctx, schedule.Filter{}, "", 0); err == nil && known.AsOf.After(from) {
		from = known.AsOf.Time
	}
	if n := len(s.Past); n > 0 && s.Past[n-1].Until.After(from) {
		from = s.Past[n-1].Until // the demo stopped before it read the runtime
	}
	if now.After(from) {
		s.Past = append(s.Past, demo.Span{From: from, Until: now})
	}
}

// remembered returns the start of the period for which the runtime keeps history.
func (d *Demo) remembered(now time.Time) time.Time {
	return demo.Midnight(now.In(d.App.cfg.Timezone).AddDate(0, 0, -pastDays))
}

// remember loads the generated history into the demo runtime.
func (d *Demo) remember(s demoState) error {
	if len(s.Past) == 0 {
		return nil
	}
	return d.Runtime.SeedPast(demo.Past{
		Spans: s.Past, Since: d.remembered(s.Past[len(s.Past)-1].Until), Zone: d.App.cfg.Timezone,
		Work: d.demoWork(), Jobs: demoJobs(),
	})
}

// demoClock is a clock that can be stopped at a past time. The zero value shows the
// current time.
type demoClock struct{ back atomic.Int64 } // milliseconds since 1970; 0 is the current time

// Now returns the demo clock's time.
func (c *demoClock) Now() time.Time {
	if ms := c.back.Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return clock.Now()
}

// set stops the clock at the time t. If t is zero, the clock shows the current time
// again.
func (c *demoClock) set(t time.Time) {
	if t.IsZero() {
		c.back.Store(0)
		return
	}
	c.back.Store(t.UnixMilli())
}

// pass moves a stopped clock forward by the duration d.
func (c *demoClock) pass(d time.Duration) { c.back.Add(d.Milliseconds()) }

// wirePast creates a second App that uses the demo's clock, so that everything it writes
// is dated in the past. Of its background queues, only the standup queue runs.
func (d *Demo) wirePast() error {
	d.past = &App{cfg: d.App.cfg, opts: d.App.opts, log: d.App.log, DB: d.App.DB, Gateway: d.App.Gateway}
	d.past.opts.Now = d.clock.Now
	if err := d.past.wire(); err != nil {
		return err
	}
	// The agents' past work does not come from dispatches.
	d.past.Tasks.Send = func(context.Context, *db.Tx, string, string) error { return nil }
	d.past.Standups.Runtime = &rehearsal{agents: d.Runtime, clock: d.clock}
	d.past.Standups.Sessions = &pastSessions{d.Runtime, d.clock}
	d.past.Standups.Usage = &pastLedger{d.past.Usage, d.Runtime, d.clock}
	// The clock leaps ahead, and a job's lease must not expire because of that.
	d.past.StandupQueue.Poll, d.past.StandupQueue.Lease = 20*time.Millisecond, 24*time.Hour
	return nil
}

// pastSessions counts the demo runtime's sessions up to the demo clock's time.
type pastSessions struct {
	runtime *demo.Runtime
	clock   *demoClock
}

// CountUsed implements standup.Sessions.
func (p *pastSessions) CountUsed(_ context.Context, agentID string, since time.Time) (int, error) {
	return p.runtime.CountSessions(agentID, since, p.clock.Now()), nil
}

// pastLedger is a ledger that has the demo runtime's usage up to the demo clock's time. The real one reads
// the past sessions only later, and must agree with what the past standups saw.
type pastLedger struct {
	*usage.Service

	runtime *demo.Runtime
	clock   *demoClock
}

// OfAgentSince implements standup.Ledger.
func (l *pastLedger) OfAgentSince(_ context.Context, agentID string, since time.Time) (usage.Sums, error) {
	u := l.runtime.UsageBetween(agentID, since, l.clock.Now())
	return usage.Sums{
		Runs: int64(u.Runs), CostUSD: new(money.Nano(u.CostNano)),
		Tokens: usage.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
	}, nil
}

// runStandupQueue runs the queue that creates the past standups. It returns a
// function that stops the queue.
func (d *Demo) runStandupQueue(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := d.past.StandupQueue.Run(ctx); err != nil {
			d.past.log.ErrorContext(ctx, "could not create the demo's past standups", "err", err)
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// standupTimes returns the start times of the past standups: at 08:06 on each of the ten weekdays of
// the demo's past.
func (d *Demo) standupTimes() []time.Time {
	day := d.began.In(d.App.cfg.Timezone)
	var times []time.Time
	for ago := pastDays; ago > 0; ago-- {
		at := time.Date(day.Year(), day.Month(), day.Day()-ago, 8, 6, 0, 0, day.Location())
		if d := at.Weekday(); d != time.Saturday && d != time.Sunday {
			times = append(times, at)
		}
	}
	return times
}

// hold runs the standup for the day that the demo's clock shows, unless that standup
// is already completed.
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
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for m.Status != standup.Completed {
		select {
		case <-ctx.Done():
			return fmt.Errorf("run the standup of %s: %w", m.Date, ctx.Err())
		case <-poll.C:
		}
		if m, err = s.Get(ctx, m.ID); err != nil {
			return err
		}
		if m.Failure != nil {
			return fmt.Errorf("run the standup of %s: %s", m.Date, m.Failure.Detail)
		}
	}
	return nil
}

// watchTimes returns the past times at which the schedule service reads the runtime's
// jobs: once for each day of the generated past, up to the demo's first start, and before each
// standup, which counts the jobs that have failed.
func (d *Demo) watchTimes() []time.Time {
	var times []time.Time
	for _, at := range d.standupTimes() {
		times = append(times, at.Add(-time.Minute))
	}
	for ago := pastDays; ago >= 0; ago-- {
		times = append(times, d.began.AddDate(0, 0, -ago))
	}
	return times
}

// openSchedules connects the demo runtime to the schedule service that records past job
// runs. It returns a function that closes the connection.
func (d *Demo) openSchedules(ctx context.Context) (end func(), err error) {
	client, err := gateway.New(gatewayOptions(d.App.cfg, slog.New(slog.DiscardHandler), link.Backoff{}))
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
		return nil, fmt.Errorf("connect to the demo runtime: %w", err)
	}
	runs, err := jobRuns(late, client)
	if err != nil {
		end()
		return nil, fmt.Errorf("read the runs of the demo's jobs: %w", err)
	}
	s := d.past.Schedules
	s.Runtime = &pastRuns{client, d.clock, runs}
	s.Log = slog.New(slog.DiscardHandler) // past missed jobs are not worth a log line
	return end, nil
}

// jobRuns returns all of the runtime's job runs, newest first.
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

// pastRuns is a gateway client whose JobRuns method returns only the job runs that had ended by
// the demo clock's time.
type pastRuns struct {
	*gateway.Client

	clock *demoClock
	runs  []gateway.JobRun // newest first
}

// JobRuns returns the job runs that had ended by the demo clock's time.
func (h *pastRuns) JobRuns(
	_ context.Context, want gateway.JobRunsWanted,
) (runs []gateway.JobRun, more bool, err error) {
	now := h.clock.Now()
	ended := slices.IndexFunc(h.runs, func(r gateway.JobRun) bool { return !r.EndedAt.After(now) })
	if ended < 0 {
		return nil, false, nil
	}
	runs = h.runs[min(ended+want.Offset, len(h.runs)):]
	return runs[:min(want.Limit, len(runs))], want.Limit < len(runs), nil
}

// rehearsal replaces the runtime while past standups are generated. The demo's agents
// answer immediately, and the demo's clock moves forward by the time that each answer
// would have taken. The facilitator's action items about a task name that task, so that they
// create none and a new task has a number after those of the board.
type rehearsal struct {
	agents *demo.Runtime
	clock  *demoClock
}

const pastBoot = "before the demo"

// itemAboutTask matches the title of an action item that is about a task, in the facilitator's JSON.
var itemAboutTask = regexp.MustCompile(`"title": ?"(?:Clear the blocker on|Review) (TASK-\d+)`)

// Status always reports that the gateway is connected.
func (r *rehearsal) Status() link.Status {
	return link.Status{State: link.Connected, BootID: pastBoot, ConnectedAt: clock.Ptr(r.clock.Now())}
}

// Await returns immediately, because the gateway is always connected.
func (r *rehearsal) Await(context.Context) (string, error) { return pastBoot, nil }

// Start asks an agent a question. The result already contains the agent's answer.
func (r *rehearsal) Start(ctx context.Context, q gateway.Question) (gateway.Started, error) {
	took := 4*time.Second + time.Duration(len(q.Message)%5000)*time.Millisecond
	said, err := r.agents.AnswerDirectly(ctx, q.AgentID, q.SessionKey, q.RunID, q.Message, took)
	if err != nil {
		return gateway.Started{}, err
	}
	r.clock.pass(took)
	return gateway.Started{RunID: q.RunID, BootID: pastBoot, Answer: &gateway.Answer{
		Outcome: gateway.Finished, Text: itemAboutTask.ReplaceAllString(said.Text, `"task": "$1", $0`),
		Usage: &gateway.Usage{
			Provider: said.Provider, Model: said.Model, Input: said.Input, Output: said.Output,
			CacheRead: said.CacheRead, CacheWrite: said.CacheWrite, CostNanoUSD: &said.CostNano, SessionID: said.SessionID,
		},
	}}, nil
}

// Wait returns an empty answer, because Start has already returned the answer.
func (r *rehearsal) Wait(context.Context, string, time.Duration) (gateway.Answer, error) {
	return gateway.Answer{}, nil
}

// Find returns an empty trace, because every run ends before Start returns.
func (r *rehearsal) Find(context.Context, string, string) (gateway.Trace, error) {
	return gateway.Trace{}, nil
}

// Stop does nothing, because every run ends before Start returns.
func (r *rehearsal) Stop(context.Context, string, string) (bool, error) { return false, nil }
