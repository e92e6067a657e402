package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// nightly is when a run is due, by the clocks of the zone: at a quiet hour, after
// the changes of the clocks of most zones.
const nightly = "15 3 * * *"

// There is one run at a time, in all processes together.
const (
	jobKind = "retention"
	jobKey  = "all"
)

// Service runs the policies.
type Service struct {
	DB       *db.DB
	Jobs     *job.Queue
	Log      *slog.Logger
	Now      func() time.Time
	Zone     *time.Location // in which days begin and end
	Policies []Policy       // in the order in which they run

	observe func(n int64, took time.Duration) // told of each batch, for measuring; nil is nobody
}

// Kind is how the queue does a run.
func (s *Service) Kind() job.Kind { return job.Kind{Do: s.work, GaveUp: s.gaveUp, Attempts: 5} }

// Timer makes a run due every night. It fails when the zone has no IANA name.
func (s *Service) Timer() (job.Timer, error) {
	at, err := cron.Parse(nightly, s.Zone.String())
	return job.Timer{Name: "retention", At: at, Do: func(ctx context.Context) error {
		_, err := s.enqueue(ctx, nil)
		if errors.Is(err, ErrRunning) {
			return nil // somebody asked for it a moment ago
		}
		return err
	}}, err
}

// Overview tells how each policy stands, what would go now, and what the last
// run did.
func (s *Service) Overview(ctx context.Context) (Overview, error) {
	now := s.Now()
	timer, err := s.Timer()
	if err != nil {
		return Overview{}, err
	}
	out := Overview{Timezone: s.Zone.String(), Policies: []Status{}}
	last := map[string]Outcome{}
	err = s.DB.View(ctx, func(q db.Queryer) error {
		run, err := findAlive(ctx, q)
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
		return Overview{}, fmt.Errorf("read the runs of retention: %w", err)
	}
	for _, p := range s.Policies {
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
		return nil, fmt.Errorf("count what would go by %s: %w", p.Name, err)
	}
	v := &Preview{Before: clock.At(before), Count: n}
	if n > 0 {
		v.OldestAt = clock.Ptr(oldest)
	}
	return v, nil
}

// Run has a run done now, which is noted in the audit. It is refused with
// ErrRunning while one is under way.
func (s *Service) Run(ctx context.Context) (Run, error) {
	return s.enqueue(ctx, func(tx *db.Tx, r Run) error {
		about := event.Subject{Kind: subjectKind, ID: r.ID, Name: "run"}
		return event.Record(ctx, tx, s.Now(), event.Audit, "retention.requested", about, nil)
	})
}

// enqueue adds a run; also is done in its transaction.
func (s *Service) enqueue(ctx context.Context, also func(*db.Tx, Run) error) (Run, error) {
	var made Run
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		added, err := s.Jobs.Enqueue(ctx, tx, jobKind, jobKey, nil)
		if err != nil {
			return err
		}
		if made, err = findAlive(ctx, tx); err != nil {
			if !added && db.IsNotFound(err) { // it ended between the two
				return ErrRunning.With("It is about to end. Send this again.")
			}
			return err
		}
		if made.Policies, err = outcomes(ctx, tx, made.ID); err != nil {
			return err
		}
		if !added {
			return ErrRunning.With("Follow it with GET /api/v1/retention.").Fact("run", made)
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

// AwaitEnd waits up to limit for a run to end, whichever replica does it, or for
// stop to be closed, and returns it as it is then.
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
