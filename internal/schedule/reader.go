package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Intervals and limits for mirroring the runtime's jobs.
const (
	// pause is the minimum time between two reads. A run causes two events, and many jobs
	// are often due at the same time.
	pause = time.Second
	// reconcileInterval is how often everything is read even if no event arrives.
	reconcileInterval = 2 * time.Minute
	// checkInterval is how often deadlines are checked. After a deadline, the runtime is read even
	// without an event, because the event stream may be broken.
	checkInterval = 5 * time.Second
	// skew is the largest tolerated difference between the clocks of the runtime and of
	// Wardroom.
	skew = 5 * time.Minute
	// maxPages limits how many pages of the history are read, and maxFirstPages is the limit for
	// the first read. A page has runsPerPage runs, except that on later reads the first page has
	// knownPageRuns runs.
	maxFirstPages, maxPages, runsPerPage, knownPageRuns = 5, 50, 200, 20
)

// Run mirrors the jobs and their runs until ctx ends, and then returns nil. It must not run twice
// at the same time in one process.
func (s *Service) Run(ctx context.Context) error {
	r := reader{s: s}
	loop := mirror.Loop{Name: "jobs", DB: s.DB, Log: s.Log, Pass: r.pass, Rest: pause}
	loop.Run(actor.With(ctx, actor.System), &s.mirror.wake)
	return nil
}

// Receive wakes the reader if an event of the gateway is about jobs, and notes when the connection
// to the gateway is made or lost.
func (s *Service) Receive(e mirror.Event) {
	s.connection.note(e)
	if e.Name == "cron" || e.Resync {
		s.mirror.outdated.Store(true)
		s.mirror.wake.Wake()
	}
}

// ReadOnce mirrors the jobs and their runs once and updates the slot ledger. It is for callers that
// do not call Run.
func (s *Service) ReadOnce(ctx context.Context) error {
	if _, err := s.Runtime.Connection(); err != nil {
		return err
	}
	r := reader{s: s}
	return r.read(actor.With(ctx, actor.System))
}

// reader reads the jobs and their runs from the runtime. It is not safe for concurrent use.
type reader struct {
	s     *Service
	last  time.Time         // start of the last successful read
	tried time.Time         // start of the last read, successful or not
	texts map[string]string // definitions at the last read, by job ID
}

// pass reads the runtime if an event or a deadline requires it. It takes at least twice as long as
// the read, so that reading takes at most half of the time.
func (r *reader) pass(ctx context.Context) (time.Duration, error) {
	outdated := r.s.mirror.outdated.Swap(false)
	if !outdated && !r.due(ctx) {
		return checkInterval, nil
	}
	began := time.Now()
	err := r.read(ctx)
	if err != nil && outdated {
		r.s.mirror.outdated.Store(true)
	}
	mirror.Sleep(ctx, time.Since(began)-pause)
	return checkInterval, err
}

// due reports whether the runtime should be read now even though no event has woken the reader.
func (r *reader) due(ctx context.Context) bool {
	now := r.s.Now()
	if _, err := r.s.Runtime.Connection(); err != nil {
		return false
	}
	if since := now.Sub(r.last); since >= reconcileInterval || since < 0 { // the clock may be set back
		return now.Sub(r.tried).Abs() >= checkInterval
	}
	known, err := r.s.reading(ctx, r.s.DB)
	if err != nil {
		return false
	}
	// Another replica may have read the runtime in the meantime.
	found, err := rowExists(ctx, r.s.DB, `SELECT 1 FROM schedule_slots WHERE NOT settled AND state IN ('pending', 'unknown') AND deadline_at <= ? AND deadline_at > ?`, now, known.to)
	return err == nil && found
}

// read mirrors the jobs and their runs once and updates the slot ledger.
func (r *reader) read(ctx context.Context) error {
	s := r.s
	on, err := s.Runtime.Connection()
	if err != nil {
		return nil //nolint:nilerr // the next connection causes an event
	}
	began := s.Now()
	r.tried = began
	seen, err := r.fetch(ctx, began)
	if err == nil {
		if still, gone := s.Runtime.Connection(); gone != nil || still != on {
			return nil //nolint:nilerr // the data may be from two connections
		}
		err = s.store(ctx, seen)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mirror.ended(on, err)
	if err != nil {
		return err
	}
	r.last = began
	r.publish(seen)
	return s.Judge(ctx)
}

// snapshot holds the jobs and runs that one read of the runtime returned.
type snapshot struct {
	at       time.Time // start of the read
	jobs     []gateway.Job
	runs     []Run
	from     time.Time // all runs that ended since then are in runs or already stored
	known    reading
	unlisted map[string]bool // jobs that the runtime has, in jobs, but not in its list
	missing  map[string]bool // jobs with runs that the runtime does not have
}

// fetch reads the list of jobs, and the runs in the history that may be new. It reads the list
// first, so that the history includes any run that ends between the two reads.
func (r *reader) fetch(ctx context.Context, began time.Time) (snapshot, error) {
	out := snapshot{at: began, unlisted: map[string]bool{}, missing: map[string]bool{}}
	var err error
	if out.known, err = r.s.reading(ctx, r.s.DB); err != nil {
		return out, err
	}
	if out.jobs, err = r.s.Runtime.Jobs(ctx, gateway.JobsWanted{}); err != nil {
		return out, err
	}
	if err = r.fetchRuns(ctx, &out); err != nil {
		return out, err
	}
	present, err := presentJobs(ctx, r.s.DB)
	if err != nil {
		return out, err
	}
	if err = r.fetchUnlisted(ctx, &out, present); err != nil {
		return out, err
	}
	if err = r.checkRuns(ctx, out.runs); err != nil {
		return out, err
	}
	for i := range out.jobs {
		out.jobs[i].State.LastError = r.s.Redact.Text(out.jobs[i].State.LastError)
	}
	out.keepFailures(present)
	return out, nil
}

// fetchRuns reads the runs in the history that may be new.
func (r *reader) fetchRuns(ctx context.Context, out *snapshot) error {
	limit, size, most := out.known.to.Add(-skew), knownPageRuns, maxPages
	if out.known.to.IsZero() {
		limit, size, most = out.at.Add(-maxAbsence), runsPerPage, maxFirstPages
	}
	out.from = out.known.from
	if out.known.to.IsZero() {
		out.from = limit
	}
	offset := 0
	for n := range most {
		page, more, err := r.s.Runtime.JobRuns(ctx, gateway.JobRunsWanted{Limit: size, Offset: offset})
		if err != nil {
			return err
		}
		offset += len(page)
		for _, run := range page {
			// Runs that retention has purged must not return as new ones.
			if !run.EndedAt.Before(limit) {
				kept := runOf(run)
				kept.Error, kept.Summary = r.s.Redact.Text(kept.Error), r.s.Redact.Text(kept.Summary)
				out.runs = append(out.runs, kept)
			}
		}
		if !more || len(page) == 0 || page[len(page)-1].EndedAt.Before(limit) {
			return nil
		}
		if n == most-1 {
			out.from = page[len(page)-1].EndedAt.Time
		}
		size = runsPerPage
	}
	return nil
}

// runOf converts a gateway.JobRun to a Run.
func runOf(r gateway.JobRun) Run {
	return Run{
		JobID: r.JobID, RunID: r.RunID, SessionKey: r.SessionKey, Status: r.Status, Error: r.Error, Summary: r.Summary,
		Manual: strings.HasPrefix(r.RunID, "manual:"), StartedAt: r.RanAt, EndedAt: r.EndedAt,
		undelivered: r.Undelivered, jobName: r.JobName,
	}
}

// began returns the start time of the last scheduled run of each job.
func (s snapshot) began() map[string]time.Time {
	out := map[string]time.Time{}
	note := func(id string, at *clock.Time) {
		if at != nil && at.After(out[id]) {
			out[id] = at.Time
		}
	}
	for _, r := range s.runs {
		if !r.Manual {
			note(r.JobID, &r.StartedAt)
		}
	}
	for _, j := range s.jobs {
		note(j.ID, j.State.RunningAt)
	}
	return out
}

// store writes a snapshot, but keeps any newer data that another replica has stored.
func (s *Service) store(ctx context.Context, seen snapshot) error {
	texts := make([]string, len(seen.jobs))
	for i, j := range seen.jobs {
		text, err := textOf(j)
		if err != nil {
			return fmt.Errorf("store job: %w", err)
		}
		texts[i] = text
	}
	began := seen.began()
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		known, err := s.reading(ctx, tx)
		if err != nil {
			return err
		}
		var removed []string
		if seen.at.After(known.to) {
			have, err := allJobs(ctx, tx)
			if err != nil {
				return err
			}
			for i, j := range seen.jobs {
				v := observation{job: j, text: texts[i], present: true, at: seen.at, knownTo: known.to, began: began[j.ID]}
				if err := s.storeJob(ctx, tx, v, have[j.ID]); err != nil {
					return err
				}
				delete(have, j.ID)
			}
			for id, w := range have {
				if !w.present || w.changedAt.After(seen.at) && !s.ahead(w.changedAt.Time) {
					continue
				}
				removed = append(removed, id)
				if err := s.storeJob(ctx, tx, observation{at: seen.at, knownTo: known.to, began: began[id]}, w); err != nil {
					return err
				}
			}
			if err := putReading(ctx, tx, s.connection.next(known, seen.from, seen.at)); err != nil {
				return err
			}
		}
		if err := s.storeRuns(ctx, tx, seen, removed); err != nil {
			return err
		}
		return s.makeTasks(ctx, tx, seen)
	})
	if err != nil {
		return fmt.Errorf("store jobs: %w", err)
	}
	return nil
}

// ahead reports whether a stored time is in the future, because the clock was wrong when it was stored.
func (s *Service) ahead(t time.Time) bool { return t.After(s.Now().Add(clock.Skew)) }

// storeJob stores an observed job, unless the stored row is newer than the observation.
func (s *Service) storeJob(ctx context.Context, tx *db.Tx, v observation, was *mirroredJob) error {
	if was != nil && was.changedAt.After(v.at) && !s.ahead(was.changedAt.Time) {
		return nil
	}
	is, slots, changed := v.apply(was, s.Grace)
	if !changed {
		return nil
	}
	if err := putSlots(ctx, tx, slots...); err != nil {
		return err
	}
	return putJobs(ctx, tx, is)
}

// storeRuns stores new runs. It resolves a job's inbox items if one of the new runs is a successful
// manual run of the job, or if the job was removed.
func (s *Service) storeRuns(ctx context.Context, tx *db.Tx, seen snapshot, removed []string) error {
	byHand, latest := map[string]bool{}, map[string]Run{}
	for _, r := range seen.runs {
		isNew, err := addRun(ctx, tx, r)
		if err != nil {
			return err
		}
		if isNew && r.Manual && r.Status == "ok" {
			byHand[r.JobID] = true
		}
		if isNew && r.EndedAt.After(latest[r.JobID].EndedAt.Time) {
			latest[r.JobID] = r
		}
	}
	if err := errors.Join(s.reportDeliveries(ctx, tx, latest), s.reportUnlisted(ctx, tx, seen, latest)); err != nil {
		return err
	}
	for id := range byHand {
		if err := clearAlarm(ctx, tx, id); err != nil {
			return err
		}
	}
	for id := range byHand {
		if err := s.resolveItems(ctx, tx, id, "A manual run of the job succeeded."); err != nil {
			return err
		}
	}
	for _, id := range removed {
		if err := s.resolveUndelivered(ctx, tx, id, "The job was deleted in the runtime."); err != nil {
			return err
		}
		if err := s.resolveItems(ctx, tx, id, "The job was deleted in the runtime."); err != nil {
			return err
		}
	}
	return nil
}

// resolveItems resolves all inbox items of a job.
func (s *Service) resolveItems(ctx context.Context, tx *db.Tx, id, why string) error {
	return errors.Join(s.Inbox.ResolveCause(ctx, tx, cause(Missed, id), why),
		s.Inbox.ResolveCause(ctx, tx, cause(Failed, id), why))
}

// cause returns the text that identifies the cause of a job's inbox item.
func cause(state State, id string) string {
	return "schedule/" + string(state) + "/" + id[:min(len(id), 150)]
}

// jobsChanged is the event payload for changed and removed jobs. Clients that receive it reload the
// jobs.
type jobsChanged struct {
	Changed []string `json:"changed"`
	Gone    []string `json:"gone"`
}

// publish publishes the jobs that have changed since this process last read them.
func (r *reader) publish(seen snapshot) {
	is := jobsChanged{[]string{}, []string{}}
	texts := make(map[string]string, len(seen.jobs))
	for _, j := range seen.jobs {
		text, err := textOf(j)
		if err != nil {
			continue
		}
		texts[j.ID] = text
		if r.texts[j.ID] != text {
			is.Changed = append(is.Changed, j.ID)
		}
	}
	for id := range r.texts {
		if _, ok := texts[id]; !ok {
			is.Gone = append(is.Gone, id)
		}
	}
	r.texts = texts
	if len(is.Changed)+len(is.Gone) > 0 {
		r.s.Events.Publish(event.State{Kind: "jobs.changed", Topics: []string{event.TopicSchedule}, Data: is})
	}
}

// recordEvent records an event about a job.
func (s *Service) recordEvent(
	ctx context.Context, tx *db.Tx, class event.Class, kind string, id, name string, data map[string]any,
) error {
	return event.Record(ctx, tx, s.Now(), class, kind, subject(id, name), data)
}
