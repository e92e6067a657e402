package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// The pace of the reader.
const (
	// pause is the least time from one reading to the next: a run is told of in
	// two events, and what is due at nine is due in many jobs.
	pause = time.Second
	// reconcile is how often everything is read although nothing was told.
	reconcile = 2 * time.Minute
	// tick is how often is looked whether a deadline has passed: then the runtime
	// is asked, because silence may also be a broken stream of events.
	tick = 5 * time.Second
	// eventsBehind is how many events may wait. Past it we are dropped, and read anew.
	eventsBehind = 1024
	// skew is how much the clocks of the runtime and of this service may differ
	// for no run to be overlooked.
	skew = 5 * time.Minute
	// firstPages bounds how much history is read when nothing is known, pages how
	// much in all, of pageRuns each; glance is the first page when much is known.
	firstPages, pages, pageRuns, glance = 5, 50, 200, 20
)

// Run mirrors the jobs and their runs until ctx ends. It returns nil, after
// everything that it started has ended. One process calls it once.
func (s *Service) Run(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	var work sync.WaitGroup
	defer work.Wait()
	wake := make(chan struct{}, 1)
	work.Go(func() { s.listen(ctx, wake) })
	look := time.NewTicker(tick)
	defer look.Stop()
	r := reader{s: s}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-look.C:
			if !r.due(ctx) {
				continue
			}
		}
		began := time.Now()
		r.read(ctx)
		took := time.Since(began)
		sleep(ctx, max(pause-took, took)) // at most half of the time
	}
}

// Look reads everything once and judges by it, for who does not Run.
func (s *Service) Look(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	if _, err := s.Runtime.Connection(); err != nil {
		return err
	}
	r := reader{s: s}
	seen, err := r.ask(ctx, s.Now())
	if err == nil {
		err = s.keep(ctx, seen)
	}
	if err != nil {
		return err
	}
	return s.Judge(ctx)
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	rest := time.NewTimer(d)
	defer rest.Stop()
	select {
	case <-ctx.Done():
	case <-rest.C:
	}
}

// listen wakes the reader when the gateway tells of jobs, without ever waiting.
func (s *Service) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		events, stop := s.Runtime.Events(eventsBehind)
		for open := true; open; {
			var e gateway.Event
			select {
			case e, open = <-events:
			case <-ctx.Done():
				open = false
			}
			if open && (e.Name == "cron" || e.Resync) {
				select {
				case wake <- struct{}{}:
				default: // it has been told already
				}
			}
		}
		stop()
		sleep(ctx, pause) // we were too slow, or the gateway's client has ended
	}
}

// reader belongs to the goroutine of Run.
type reader struct {
	s     *Service
	last  time.Time // when the last reading that succeeded began
	tried time.Time // when the last one did
	texts map[string]string
	said  string // the failure that the log knows of
}

// due reports whether to read although nothing was told.
func (r *reader) due(ctx context.Context) bool {
	now := r.s.Now()
	if _, err := r.s.Runtime.Connection(); err != nil {
		return false
	}
	if now.Sub(r.last) >= reconcile {
		return now.Sub(r.tried) >= tick
	}
	known, err := findReading(ctx, r.s.DB)
	if err != nil {
		return false
	}
	// Somebody else may have read since.
	found, err := anything(ctx, r.s.DB, `SELECT 1 FROM schedule_slots WHERE NOT settled AND state IN ('pending', 'unknown') AND deadline_at <= ? AND deadline_at > ?`, now, known.to)
	return err == nil && found
}

// read reads everything once, and judges by it.
func (r *reader) read(ctx context.Context) {
	s := r.s
	on, err := s.Runtime.Connection()
	if err != nil {
		return // an event will tell of the next connection
	}
	began := s.Now()
	r.tried = began
	seen, err := r.ask(ctx, began)
	if err == nil {
		if still, gone := s.Runtime.Connection(); gone != nil || still != on {
			return // what was read may be of two connections
		}
		err = s.keep(ctx, seen)
	}
	if ctx.Err() != nil {
		return
	}
	s.mirror.ended(on, err)
	r.say(ctx, err)
	if err != nil {
		return
	}
	r.last = began
	r.tell(seen)
	if err := s.Judge(ctx); err != nil {
		r.say(ctx, err)
	}
}

// say tells the log of a failure once, while it lasts.
func (r *reader) say(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
		if f := fault.Of(err); f != nil {
			text = f.Code
		}
	}
	if text != "" && text != r.said {
		r.s.Log.WarnContext(ctx, "the runtime's jobs cannot be read", "err", err)
	}
	r.said = text
}

// seen is one reading.
type seen struct {
	at    time.Time // when it began
	jobs  []gateway.Job
	runs  []Run
	from  time.Time // what ended since then is among runs, or was known before
	known reading
}

// ask reads the list, and as much of the history as is not known yet. The list
// comes first: a run that ends between the two is in the history.
func (r *reader) ask(ctx context.Context, began time.Time) (seen, error) {
	out := seen{at: began}
	var err error
	if out.known, err = findReading(ctx, r.s.DB); err != nil {
		return out, err
	}
	if out.jobs, err = r.s.Runtime.Jobs(ctx, gateway.JobsWanted{}); err != nil {
		return out, err
	}
	limit, size, most := out.known.to.Add(-skew), glance, pages
	if out.known.to.IsZero() {
		limit, size, most = began.Add(-longestAbsence), pageRuns, firstPages
	}
	out.from = out.known.from
	if out.known.to.IsZero() {
		out.from = limit
	}
	offset := 0
	for n := range most {
		page, more, err := r.s.Runtime.JobRuns(ctx, gateway.JobRunsWanted{Limit: size, Offset: offset})
		if err != nil {
			return out, err
		}
		offset += len(page)
		for _, run := range page {
			// What retention has let go is not to come back, and be taken for news.
			if !run.EndedAt.Before(limit) {
				out.runs = append(out.runs, runOf(run))
			}
		}
		if !more || len(page) == 0 || page[len(page)-1].EndedAt.Before(limit) {
			return out, nil
		}
		if n == most-1 {
			out.from = page[len(page)-1].EndedAt.Time
		}
		size = pageRuns
	}
	return out, nil
}

// runOf is a run as it is kept.
func runOf(r gateway.JobRun) Run {
	out := Run{
		JobID: r.JobID, RunID: r.RunID, SessionKey: r.SessionKey, Status: r.Status, Error: r.Error, Summary: r.Summary,
		Manual: strings.HasPrefix(r.RunID, "manual:"), StartedAt: r.RanAt, EndedAt: r.EndedAt,
	}
	switch {
	case out.StartedAt.IsZero():
		out.StartedAt = clock.At(out.EndedAt.Add(-r.Took))
	case out.EndedAt.IsZero():
		out.EndedAt = clock.At(out.StartedAt.Add(r.Took))
	}
	return out
}

// began are the last beginnings that are known of each job, by the time alone.
func (s seen) began() map[string]time.Time {
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

// keep writes what was read. What another replica has read or changed since is
// newer, and stays.
func (s *Service) keep(ctx context.Context, seen seen) error {
	texts := make([]string, len(seen.jobs))
	for i, j := range seen.jobs {
		text, err := textOf(j)
		if err != nil {
			return fmt.Errorf("keep job: %w", err)
		}
		texts[i] = text
	}
	began := seen.began()
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lock); err != nil {
			return err
		}
		known, err := findReading(ctx, tx)
		if err != nil {
			return err
		}
		var over []string
		if seen.at.After(known.to) {
			have, err := allJobs(ctx, tx)
			if err != nil {
				return err
			}
			for i, j := range seen.jobs {
				v := sighting{job: j, text: texts[i], present: true, at: seen.at, knownTo: known.to, began: began[j.ID]}
				if err := s.note(ctx, tx, v, have[j.ID]); err != nil {
					return err
				}
				delete(have, j.ID)
			}
			for id, w := range have {
				if !w.present || w.changedAt.After(seen.at) {
					continue
				}
				over = append(over, id)
				if err := s.note(ctx, tx, sighting{at: seen.at, knownTo: known.to, began: began[id]}, w); err != nil {
					return err
				}
			}
			if err := putReading(ctx, tx, reading{seen.from, seen.at}); err != nil {
				return err
			}
		}
		return s.keepRuns(ctx, tx, seen.runs, over)
	})
	if err != nil {
		return fmt.Errorf("keep jobs: %w", err)
	}
	return nil
}

// note writes how one job was seen, unless it was written after that.
func (s *Service) note(ctx context.Context, tx *db.Tx, v sighting, was *watched) error {
	if was != nil && was.changedAt.After(v.at) {
		return nil
	}
	is, slots, changed := v.see(was, s.Grace)
	if !changed {
		return nil
	}
	if err := putSlots(ctx, tx, slots...); err != nil {
		return err
	}
	return putJobs(ctx, tx, is)
}

// keepRuns writes the runs that are new, and takes back what was brought to the
// inbox where that is over: somebody has run the job by hand, and it went well,
// or it is gone.
func (s *Service) keepRuns(ctx context.Context, tx *db.Tx, runs []Run, over []string) error {
	byHand := map[string]bool{}
	for _, r := range runs {
		isNew, err := addRun(ctx, tx, r)
		if err != nil {
			return err
		}
		if isNew && r.Manual && r.Status == "ok" {
			byHand[r.JobID] = true
		}
	}
	for id := range byHand {
		if err := calm(ctx, tx, id); err != nil {
			return err
		}
	}
	for id := range byHand {
		if err := s.settle(ctx, tx, id, "Somebody has run the job, and it went well."); err != nil {
			return err
		}
	}
	for _, id := range over {
		if err := s.settle(ctx, tx, id, "The runtime has the job no more."); err != nil {
			return err
		}
	}
	return nil
}

// settle takes back whatever was brought to the inbox of a job.
func (s *Service) settle(ctx context.Context, tx *db.Tx, id, why string) error {
	return errors.Join(s.Settle(ctx, tx, cause(Missed, id), why), s.Settle(ctx, tx, cause(Failed, id), why))
}

// cause names what was brought to the inbox.
func cause(state State, id string) string {
	return "schedule/" + string(state) + "/" + id[:min(len(id), 150)]
}

// tell tells Changed which jobs are other than at the last reading of this process.
func (r *reader) tell(seen seen) {
	var changed, gone []string
	texts := make(map[string]string, len(seen.jobs))
	for _, j := range seen.jobs {
		text, err := textOf(j)
		if err != nil {
			continue
		}
		texts[j.ID] = text
		if r.texts[j.ID] != text {
			changed = append(changed, j.ID)
		}
	}
	for id := range r.texts {
		if _, ok := texts[id]; !ok {
			gone = append(gone, id)
		}
	}
	r.texts = texts
	if r.s.Changed != nil && len(changed)+len(gone) > 0 {
		r.s.Changed(changed, gone)
	}
}

// told is an event about a job.
func (s *Service) told(ctx context.Context, tx *db.Tx, class event.Class, kind string, id, name string, data map[string]any) error {
	return event.Record(ctx, tx, s.Now(), class, kind, subject(id, name), data)
}
