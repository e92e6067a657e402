package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// nightly is the cron expression for the daily run. The run starts at a quiet time, after the hour
// in which most time zones change their clocks.
const nightly = "15 3 * * *"

// JobKind is the kind of job that applies the retention policies. All these jobs have the same key, so that the
// queue allows one at a time across all processes.
const (
	JobKind = "retention"
	jobKey  = "all"
)

// Service applies the retention policies.
type Service struct {
	DB       *db.DB
	Jobs     *job.Queue
	Log      *slog.Logger
	Now      func() time.Time
	Zone     *time.Location // the time zone of days
	Policies []Policy       // in the order of application
	// Days, if not nil, returns the numbers of days in use, by the names of their variables. They
	// replace those of Policies.
	Days func(context.Context) (map[string]int, error)

	observe func(n int64, took time.Duration) // called after each batch in tests; can be nil
}

// Kind returns the job kind for the queue.
func (s *Service) Kind() job.Kind { return job.Kind{Do: s.work, GaveUp: s.gaveUp, Attempts: 5} }

// Timer returns the timer that starts a run every night. It fails if the time zone has no IANA
// name.
func (s *Service) Timer() (job.Timer, error) {
	at, err := cron.Parse(nightly, s.Zone.String())
	return job.Timer{Name: "retention", At: at, Do: func(ctx context.Context) error {
		_, err := s.enqueue(ctx, nil)
		if errors.Is(err, ErrRunning) {
			return nil // a manual run is in progress
		}
		return err
	}}, err
}

// current returns the policies with the numbers of days in use.
func (s *Service) current(ctx context.Context) ([]Policy, error) {
	if s.Days == nil {
		return s.Policies, nil
	}
	days, err := s.Days(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(s.Policies)
	for i := range out {
		out[i].Days = days[out[i].Setting]
	}
	return out, nil
}

// Due returns, for each policy with the given setting, what a run would do now with the given
// number of days.
func (s *Service) Due(ctx context.Context, setting string, days int) ([]Due, error) {
	out := []Due{}
	for _, p := range s.Policies {
		if p.Setting != setting {
			continue
		}
		d := Due{Policy: p.Name}
		if p.Days = days; p.state() == On {
			v, err := s.preview(ctx, p, s.Now())
			if err != nil {
				return nil, err
			}
			d.Count = v.Count
		}
		out = append(out, d)
	}
	return out, nil
}

// Overview returns the state of each policy, with a preview and the last result.
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	now := s.Now()
	timer, err := s.Timer()
	if err != nil {
		return Overview{}, err
	}
	out := Overview{Timezone: s.Zone.String(), Policies: []Status{}}
	last := map[string]Outcome{}
	err = s.DB.View(ctx, func(q db.Queryer) error {
		run, err := findActive(ctx, q)
		if err == nil {
			run.Policies, err = outcomes(ctx, q, run.ID)
			out.Running = &run
		}
		if err != nil && !db.IsNotFound(err) {
			return err
		}
		all, err := outcomes(ctx, q, "")
		for _, o := range all {
			last[o.Policy] = o
		}
		return err
	})
	if err != nil {
		return Overview{}, fmt.Errorf("read the retention runs: %w", err)
	}
	policies, err := s.current(ctx)
	if err != nil {
		return Overview{}, err
	}
	for _, p := range policies {
		st := Status{Name: p.Name, Does: p.Does, Setting: p.Setting, Days: p.Days, State: p.state()}
		if o, ok := last[p.Name]; ok {
			st.LastRun = &o
		}
		switch st.State {
		case NotYet:
			st.Note = &p.NotYet
		case On:
			st.NextRunAt = clock.Ptr(timer.At.Next(now))
			if st.Preview, err = s.preview(ctx, p, now); err != nil {
				return Overview{}, err
			}
		}
		out.Policies = append(out.Policies, st)
	}
	return out, nil
}

func (s *Service) preview(ctx context.Context, p Policy, now time.Time) (*Preview, error) {
	before, err := daysAgo(now, s.Zone, p.Days)
	if err != nil {
		return nil, err
	}
	n, oldest, err := p.Count(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("preview %s: %w", p.Name, err)
	}
	v := &Preview{Before: clock.At(before), Count: n}
	if n > 0 {
		v.OldestAt = clock.Ptr(oldest)
	}
	return v, nil
}

// Run starts a run now and records it in the audit log. It returns ErrRunning while a run
// is in progress.
func (s *Service) Run(ctx context.Context) (Run, error) {
	return s.enqueue(ctx, func(tx *db.Tx, r Run) error {
		about := event.Subject{Kind: subjectKind, ID: r.ID, Name: "run"}
		return event.Record(ctx, tx, s.Now(), event.Audit, "retention.requested", about, nil)
	})
}

// enqueue queues a run. If the function also is not nil, it is called in the same transaction.
func (s *Service) enqueue(ctx context.Context, also func(*db.Tx, Run) error) (Run, error) {
	var made Run
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		added, err := s.Jobs.Enqueue(ctx, tx, JobKind, jobKey, nil)
		if err != nil {
			return err
		}
		if made, err = findActive(ctx, tx); err != nil {
			if !added && db.IsNotFound(err) { // the run ended between the two statements
				return ErrRunning.With("The current run is about to end. Try again.")
			}
			return err
		}
		if made.Policies, err = outcomes(ctx, tx, made.ID); err != nil {
			return err
		}
		if !added {
			return ErrRunning.With("GET /api/v1/retention shows the progress of the current run.").Fact("run", made)
		}
		if also == nil {
			return nil
		}
		return also(tx, made)
	})
	if err != nil {
		return Run{}, fmt.Errorf("run retention: %w", err)
	}
	return made, nil
}

// AwaitEnd waits until a run has ended, the time limit has passed, or the stop channel is closed.
// It returns the state of the run. Any replica may execute the run.
func (s *Service) AwaitEnd(ctx context.Context, id string, limit time.Duration, stop <-chan struct{}) (Run, error) {
	const poll = 150 * time.Millisecond
	tick := time.NewTicker(poll)
	defer tick.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	for waiting := true; ; {
		r, err := findRun(ctx, s.DB, id)
		if err == nil && (r.Status != Running || !waiting) {
			r.Policies, err = outcomes(ctx, s.DB, id)
			return r, err
		}
		if err != nil {
			return Run{}, fmt.Errorf("wait for retention: %w", err)
		}
		select {
		case <-tick.C:
		case <-stop:
			waiting = false
		case <-over.C:
			waiting = false
		case <-ctx.Done():
			return Run{}, ctx.Err()
		}
	}
}
