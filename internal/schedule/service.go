package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Service shows and changes the runtime's timed jobs, and keeps the ledger of
// their slots. Nothing is learned until Run, and nothing judged without Judge;
// its exported fields are not changed after.
type Service struct {
	DB       *db.DB
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Zone     *time.Location // of a new job that names none
	Grace    time.Duration  // how late a run may begin before it is missed
	Patience time.Duration  // how long who comes first waits for the first reading
	// Raise brings something to the inbox, and Settle takes it back, both as the
	// last thing of a transaction but for events.
	Raise  func(ctx context.Context, tx *db.Tx, m Matter) error
	Settle func(ctx context.Context, tx *db.Tx, cause, why string) error
	// Changed, when not nil, is told the ids of the jobs that are other than before,
	// and of those that are gone. It is called by one goroutine, and must be quick.
	Changed func(changed, gone []string)

	mirror mirror
	judged judged
}

// Filter says which jobs to list. The zero Filter lists all.
type Filter struct {
	AgentID, Kind string
	Enabled       *bool
}

func (f Filter) takes(j gateway.Job) bool {
	return (f.AgentID == "" || f.AgentID == j.AgentID) && (f.Kind == "" || f.Kind == j.Schedule.Kind) && (f.Enabled == nil || *f.Enabled == j.Enabled)
}

// Known says how old an answer is.
type Known struct {
	AsOf clock.Time
	Away string // why the runtime is not there; empty when it is
}

// List is the jobs that the filter takes, by their ids, behind one of them, at
// most limit. While the runtime is away it is the jobs as they were last seen;
// it fails with the reason only when none ever were.
func (s *Service) List(ctx context.Context, f Filter, after string, limit int) ([]Job, Known, error) {
	known, err := s.known(ctx)
	if err != nil {
		return nil, known, err
	}
	all, err := presentJobs(ctx, s.DB)
	if err != nil {
		return nil, known, fmt.Errorf("list jobs: %w", err)
	}
	var jobs []Job
	for _, w := range all {
		if len(jobs) < limit && w.job.ID > after && f.takes(w.job) {
			jobs = append(jobs, s.show(w, known))
		}
	}
	return jobs, known, nil
}

// Get is one job.
func (s *Service) Get(ctx context.Context, id string) (Job, error) {
	known, err := s.known(ctx)
	if err != nil {
		return Job{}, err
	}
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	if w == nil || !w.present {
		return Job{}, gateway.ErrNoJob.With("GET /agentrt/jobs lists those that it has.")
	}
	return s.show(*w, known), nil
}

// known says how old the mirror is. Before the first reading ever it waits for
// it, or fails with the reason why there is none.
func (s *Service) known(ctx context.Context) (Known, error) {
	late := time.NewTimer(s.Patience)
	defer late.Stop()
	for {
		on, err := s.Runtime.Connection()
		changed, read, failed := s.mirror.look(on)
		if err == nil {
			err = failed
		}
		r, found := findReading(ctx, s.DB)
		switch {
		case found != nil:
			return Known{}, fmt.Errorf("read what is known of the jobs: %w", found)
		case !r.to.IsZero():
			k := Known{AsOf: clock.At(r.to)}
			if f := fault.Of(err); f != nil {
				k.Away = or(f.Detail, f.Title)
			} else if !read {
				k.Away = "The jobs are being read."
			}
			return k, nil
		case err != nil:
			return Known{}, err
		}
		select {
		case <-changed:
		case <-late.C:
			return Known{}, gateway.ErrTimeout.With("The jobs could not be read within %s.", s.Patience)
		case <-ctx.Done():
			return Known{}, context.Cause(ctx)
		}
	}
}

// show is a job as the API answers it.
func (s *Service) show(w watched, k Known) Job {
	now := s.Now()
	j := Job{Job: w.job, NextRuns: []Time{}, Since: w.since, Grace: int64(s.Grace / time.Second), AsOf: k.AsOf, Live: k.Away == ""}
	p, why := planOf(w.job)
	j.Unwatched, j.Watched = why, why == ""
	if !j.Watched {
		return j
	}
	zone, err := clock.Zone(w.job.Schedule.Zone)
	if err != nil {
		zone = time.UTC
	}
	for _, at := range p.upcoming(w.job, now, shown) {
		j.NextRuns = append(j.NextRuns, Time{At: clock.At(at), Local: at.In(zone).Format(time.RFC3339)})
	}
	return j
}

// Runs are the runs of a job that have ended, the newest first, as the runtime
// told them, also when it has forgotten them since.
func (s *Service) Runs(ctx context.Context, id string, want page.Want) (part page.Part[Run], err error) {
	if err := s.exists(ctx, id); err != nil {
		return part, err
	}
	err = list.View(ctx, s.DB, want, func(q db.Queryer) error {
		var w list.Where
		w.And(`job_id = ?`, id)
		part, err = runs.Read(ctx, q, w, want)
		return err
	})
	return part, err
}

// exists fails with gateway.ErrNoJob unless there is, or was, a job of that id.
func (s *Service) exists(ctx context.Context, id string) error {
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if w == nil {
		return gateway.ErrNoJob.With("GET /agentrt/jobs lists those that it has.")
	}
	return nil
}

// CountOld tells how much PurgeOld would remove of the ledger and of the runs in
// all, and when the first slot was due or run ended: the zero time when there is nothing.
func (s *Service) CountOld(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error) {
	var at *clock.Time
	if err := s.DB.QueryRow(ctx, countOld, before, before).Scan(&n, &at); err != nil {
		return 0, oldest, fmt.Errorf("count old slots and runs: %w", err)
	}
	if at != nil {
		oldest = at.Time
	}
	return n, oldest, nil
}

// PurgeOld removes what was before then of the ledger and of the runs, at most
// limit of each, in a transaction of its caller's, and says how much went.
func (s *Service) PurgeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	if err := tx.Lock(ctx, lock); err != nil {
		return 0, err
	}
	n, err := purge(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("remove old slots: %w", err)
	}
	return n, nil
}

// subject is what events and items of the inbox tell of.
func subject(id, name string) event.Subject {
	return event.Subject{Kind: event.TopicSchedule, ID: id, Name: name}
}

// mirror is what this process knows of its own reading. The zero value is ready
// to use.
type mirror struct {
	mu      sync.Mutex
	on      any   // the connection of the last reading; nil before the first
	err     error // why it failed
	changed chan struct{}
}

// look tells whether there was a reading on a connection, how it ended, and what
// is closed after the next.
func (m *mirror) look(on any) (changed <-chan struct{}, read bool, failed error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	if m.on == nil || m.on != on {
		return m.changed, false, nil
	}
	return m.changed, m.err == nil, m.err
}

// ended notes how a reading ended.
func (m *mirror) ended(on any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(err, context.Canceled) {
		return
	}
	m.on, m.err = on, err
	if m.changed != nil {
		close(m.changed)
	}
	m.changed = make(chan struct{})
}
