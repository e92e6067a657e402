package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/redact"
	"wardroom/internal/task"
	"wardroom/internal/usage"
)

// Service serves and changes the runtime's scheduled jobs, and keeps the slot ledger. Run mirrors
// the jobs, and Judge updates the ledger. Do not change exported fields after calling Run or Judge.
type Service struct {
	DB       *db.DB
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Inbox    *inbox.Service
	Redact   *redact.Redactor
	Zone     *time.Location // the default time zone of new jobs
	Grace    time.Duration  // how late a run can start before it is missed
	Patience time.Duration  // how long requests wait for the first read
	Holds    *hold.Service
	Tasks    *task.Service  // gets the tasks of runs
	Usage    *usage.Service // has what runs cost
	Events   *event.Service // tells live streams which jobs have changed

	// StartsStandup reports whether a job starts the standups of a team. Then a standup that did not start raises an inbox
	// item, and not a run that was missed or failed.
	StartsStandup func(context.Context, db.Queryer, gateway.Job) (bool, error)

	mirror     jobMirror
	connection connection
	judged     judged
}

// Filter selects jobs to list. The zero Filter selects all.
type Filter struct {
	AgentID, Kind string
	Enabled       *bool
}

func (f Filter) matches(j gateway.Job) bool {
	return (f.AgentID == "" || f.AgentID == j.AgentID) && (f.Kind == "" || f.Kind == j.Schedule.Kind) &&
		(f.Enabled == nil || *f.Enabled == j.Enabled)
}

// Known says how fresh a result is.
type Known struct {
	AsOf clock.Time
	Away string // why the runtime is unreachable; empty if it is reachable
}

// List returns at most limit jobs that match the filter, sorted by ID and starting after the given
// ID. While the runtime is unreachable, it returns the last known jobs. It fails only if the jobs
// have never been read.
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
		if len(jobs) < limit && w.job.ID > after && f.matches(w.job) {
			jobs = append(jobs, s.api(w, known))
		}
	}
	return jobs, known, nil
}

// Get returns one job. It may be one that Wardroom knows only from its runs.
func (s *Service) Get(ctx context.Context, id string) (Job, error) {
	known, err := s.known(ctx)
	if err != nil {
		return Job{}, err
	}
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	if w == nil || !w.present && w.job.Schedule.Kind != "" {
		return Job{}, gateway.ErrNoJob.With("GET /agentrt/jobs lists the available jobs.")
	}
	return s.api(*w, known), nil
}

// known returns how fresh the mirror is. If the jobs have never been read, it waits for the first
// read, or returns the error that prevents that read.
func (s *Service) known(ctx context.Context) (Known, error) {
	var k Known
	err := s.mirror.changes.Await(ctx, s.Patience, "jobs", func() (bool, error) {
		on, err := s.Runtime.Connection()
		read, failed := s.mirror.status(on)
		if err == nil {
			err = failed
		}
		r, found := s.reading(ctx, s.DB)
		if found != nil {
			return false, fmt.Errorf("read the state of the job mirror: %w", found)
		}
		if r.to.IsZero() {
			return false, err
		}
		k.AsOf = clock.At(r.to)
		if f := fault.Of(err); f != nil {
			k.Away = cmp.Or(f.Detail, f.Title)
		} else if !read {
			k.Away = "Reading the jobs."
		}
		return true, nil
	})
	return k, err
}

// AwaitRead waits until the jobs have been read over the current connection to the gateway, at most for Patience. It
// returns at once if there is no connection or if they cannot be read.
func (s *Service) AwaitRead(ctx context.Context) {
	_ = s.mirror.changes.Await(ctx, s.Patience, "jobs", func() (bool, error) {
		on, err := s.Runtime.Connection()
		read, failed := s.mirror.status(on)
		return read, errors.Join(err, failed)
	})
}

// api converts a stored job to a Job for API responses.
func (s *Service) api(w mirroredJob, k Known) Job {
	now := s.Now()
	j := Job{
		Job: w.job, Task: w.task, NextRuns: []Time{}, Since: w.since, Grace: int64(s.Grace / time.Second), AsOf: k.AsOf,
		Live: k.Away == "",
	}
	p, why := planOf(w.job)
	j.Unwatched = unwatched(w.job)
	j.Watched = j.Unwatched == ""
	if why != "" {
		return j
	}
	zone, err := clock.Zone(w.job.Schedule.Zone)
	if err != nil {
		zone = time.UTC
	}
	for _, at := range p.upcoming(w.job, now, maxNextRuns) {
		j.NextRuns = append(j.NextRuns, Time{At: clock.At(at), Local: at.In(zone).Format(time.RFC3339)})
	}
	return j
}

// Runs returns one page of a job's finished runs, newest first, including runs that the runtime has
// since deleted.
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
	if err != nil {
		return part, err
	}
	return part, s.addCosts(ctx, part.Rows)
}

// addCosts adds what the runs cost, as far as the ledger knows their transcripts.
func (s *Service) addCosts(ctx context.Context, runs []Run) error {
	var ids []string
	for i := range runs {
		if _, id, ok := gateway.RunOfJob(runs[i].SessionKey); ok {
			ids = append(ids, id)
		}
	}
	used, err := s.Usage.OfTranscripts(ctx, ids)
	if err != nil {
		return fmt.Errorf("read the costs of a job's runs: %w", err)
	}
	for i := range runs {
		_, id, _ := gateway.RunOfJob(runs[i].SessionKey)
		if u, ok := used[id]; ok && u.Priced {
			runs[i].CostUSD = new(u.Cost)
		}
	}
	return nil
}

// exists returns gateway.ErrNoJob if no current or former job has the given ID.
func (s *Service) exists(ctx context.Context, id string) error {
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if w == nil {
		return gateway.ErrNoJob.With("GET /agentrt/jobs lists the available jobs.")
	}
	return nil
}

// CountOld returns how many slots and runs PurgeOld would delete without a limit, and the time of
// the oldest one. If the number is 0, the time is zero.
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

// PurgeOld deletes slots and runs older than the given time, at most limit in total, in the
// caller's transaction. It returns how many it deleted.
func (s *Service) PurgeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	n, err := purge(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("purge old slots: %w", err)
	}
	return n, nil
}

// subject returns the subject of events and inbox items about a job.
func subject(id, name string) event.Subject {
	return event.Subject{Kind: event.TopicSchedule, ID: id, Name: name}
}

// jobMirror holds the result of this process's last read of the jobs. The zero value is ready to
// use.
type jobMirror struct {
	wake     mirror.Signal
	outdated atomic.Bool // an event requires a read
	changes  mirror.Changes

	mu  sync.Mutex
	on  any   // connection of the last read; nil before the first
	err error // error of the last read
}

// status reports whether the last read on a connection succeeded. It also returns the error of that
// read.
func (m *jobMirror) status(on any) (read bool, failed error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on == nil || m.on != on {
		return false, nil
	}
	return m.err == nil, m.err
}

// ended stores the result of reading the runtime's jobs.
func (m *jobMirror) ended(on any, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.mu.Lock()
	m.on, m.err = on, err
	m.mu.Unlock()
	m.changes.Broadcast()
}
