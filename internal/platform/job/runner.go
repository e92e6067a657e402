package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// timerKind is the kind of the jobs that timers enqueue. The key of such a job is the
// timer's name.
const timerKind = "timer"

// Run runs jobs until ctx ends. It then stops the running jobs, hands them back to
// the queue and returns.
func (q *Queue) Run(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	if len(q.Timers) > 0 { // otherwise another queue of this process has the timers
		q.Kinds[timerKind] = Kind{Do: q.fire}
	}
	poll, beat := time.NewTicker(q.Poll), time.NewTicker(q.Lease/3)
	defer poll.Stop()
	defer beat.Stop()
	for err := q.start(ctx); err != nil; err = q.start(ctx) {
		if ctx.Err() == nil && !q.away(err) {
			return fmt.Errorf("start background work: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil // stopped before the start
		case <-q.wake:
		case <-poll.C:
		}
	}
	slots := make(chan struct{}, q.Workers)
	var workers sync.WaitGroup
	defer workers.Wait()
	for {
		more := q.startJobs(ctx, slots, &workers)
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		case <-poll.C:
			q.logError(ctx, "timers", q.fireDue(ctx))
		case <-beat.C:
			q.logError(ctx, "heartbeat", q.heartbeat(ctx))
		}
	}
}

// logError logs an error that occurred in the queue itself, not in a job. The queue
// retries the operation later.
func (q *Queue) logError(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !q.away(err) {
		q.Log.ErrorContext(ctx, "background work", "what", what, "err", err)
	}
}

func (q *Queue) away(err error) bool { return q.DB.Away("background work", err) }

// start registers the timers. On SQLite it also ends the leases on this queue's jobs:
// only one process uses the file, so the process that held those leases has ended.
func (q *Queue) start(ctx context.Context) error {
	return q.DB.Tx(ctx, func(tx *db.Tx) error {
		now, err := tx.Clock(ctx, q.Now())
		if err != nil {
			return err
		}
		if q.DB.Engine() == db.SQLite {
			kinds := q.kinds()
			if len(kinds) == 0 {
				return nil
			}
			if _, err := tx.Exec(ctx,
				`UPDATE jobs SET lease_until = ? WHERE state = 'running' AND kind IN (?`+strings.Repeat(`, ?`, len(kinds)-1)+`)`,
				append([]any{now.Add(-time.Second)}, kinds...)...); err != nil {
				return err
			}
		}
		for _, t := range q.Timers {
			if (t.Every > 0) != t.At.IsZero() {
				return fmt.Errorf("timer %s must have exactly one of Every and At", t.Name)
			}
			_, err := tx.Exec(ctx, `INSERT INTO job_timers (name, next_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`,
				t.Name, t.first(now))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// startJobs claims a job for each free worker and starts it. It reports whether
// more jobs may be waiting.
func (q *Queue) startJobs(ctx context.Context, slots chan struct{}, workers *sync.WaitGroup) bool {
	free := cap(slots) - len(slots)
	if free == 0 || ctx.Err() != nil {
		return false
	}
	held, err := q.claim(ctx, free)
	q.logError(ctx, "claim", err)
	for _, h := range held {
		slots <- struct{}{}
		workers.Go(func() {
			defer q.Wake() // a worker became free
			defer func() { <-slots }()
			q.runJob(ctx, h)
		})
	}
	return len(held) == free
}

func (q *Queue) claim(ctx context.Context, limit int) ([]*Held, error) {
	var held []*Held
	due, err := q.due(ctx)
	if err != nil || !due {
		return nil, err
	}
	kinds, own := q.kinds(), q.runningIDs()
	if len(kinds) == 0 {
		return nil, nil
	}
	err = q.DB.Tx(ctx, func(tx *db.Tx) error {
		now, err := tx.Clock(ctx, q.Now())
		if err != nil {
			return err
		}
		// With a plain "id IN (SELECT … LIMIT …)" the subquery may run again for every row
		// and so claim more than limit.
		rows, err := tx.Query(ctx, `
			WITH due AS (
				SELECT id FROM (`+dueJobs+`) AS d
				WHERE kind IN (?`+strings.Repeat(`, ?`, len(kinds)-1)+`) AND id NOT IN (''`+strings.Repeat(`, ?`, len(own))+`)
				ORDER BY run_at LIMIT ?)
			UPDATE jobs SET
				failures = failures + CASE WHEN state = 'running' THEN 1 ELSE 0 END,
				state = 'running', attempt = attempt + 1, owner = ?, lease_until = ?
			WHERE id IN (SELECT id FROM due)
			RETURNING id, kind, key, payload, attempt, failures`,
			slices.Concat(q.dueArgs(now), kinds, own, []any{limit, q.owner, now.Add(q.Lease)})...)
		held, err = db.All(rows, err, func(row db.Row) (*Held, error) {
			h := &Held{queue: q}
			var payload string
			err := row.Scan(&h.ID, &h.Kind, &h.Key, &payload, &h.Attempt, &h.failures)
			h.Payload = []byte(payload)
			return h, err
		})
		return err
	})
	if err != nil {
		return nil, err // if the claim was committed, its lease expires
	}
	return held, nil
}

// runningIDs returns the IDs of the jobs that this process is running. It does not claim them again: if it was too slow
// to renew a lease in time, the next heartbeat does, and the job goes on.
func (q *Queue) runningIDs() (ids []any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range q.running {
		ids = append(ids, id)
	}
	return ids
}

// dueJobs selects the jobs that are ready to claim, with the parameters dueArgs. A time that is too far away was
// stored while the clock was wrong. This process knows its own running jobs, so a clock that is set back does not end
// them. With one condition instead of four statements, SQLite would read all jobs.
const dueJobs = `
	SELECT id, kind, run_at FROM jobs WHERE state = 'ready' AND run_at <= ? UNION ALL
	SELECT id, kind, run_at FROM jobs WHERE state = 'ready' AND run_at > ? UNION ALL
	SELECT id, kind, run_at FROM jobs WHERE state = 'running' AND lease_until < ? UNION ALL
	SELECT id, kind, run_at FROM jobs WHERE state = 'running' AND lease_until > ? AND owner <> ?`

func (q *Queue) dueArgs(now time.Time) []any {
	return []any{now, now.Add(longestBackoff + time.Minute), now, now.Add(max(10*q.Lease, time.Minute)), q.owner}
}

// kinds returns the job kinds that this queue handles. Other kinds belong to another
// queue in this process, or to a replica that runs another version of the program.
func (q *Queue) kinds() (kinds []any) {
	for _, k := range slices.Sorted(maps.Keys(q.Kinds)) {
		kinds = append(kinds, k)
	}
	return kinds
}

// due reports whether a job may be ready to claim. On SQLite it checks with a query, so
// that an idle queue does not take the write lock. On PostgreSQL it always returns true.
func (q *Queue) due(ctx context.Context) (bool, error) {
	if q.DB.Engine() == db.Postgres {
		return true, nil
	}
	now := q.Now()
	var due bool
	err := q.DB.QueryRow(ctx, `
		SELECT EXISTS (`+dueJobs+`)`, q.dueArgs(now)...).Scan(&due)
	return due, err
}

// runJob runs one job and stores the outcome.
func (q *Queue) runJob(ctx context.Context, h *Held) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errShutdown) })
	h.cancel = cancel
	q.mu.Lock()
	q.running[h.ID] = h
	q.mu.Unlock()
	began := time.Now()

	err := q.call(inner, h)
	if cause := context.Cause(inner); err != nil && cause != nil {
		err = cause
	}
	stop()
	cancel(nil)
	state, ferr := q.finish(context.WithoutCancel(ctx), h, err)
	q.mu.Lock()
	delete(q.running, h.ID)
	q.mu.Unlock()
	took := time.Since(began)
	if q.Observe != nil && ferr == nil {
		q.Observe(h.Kind, state, took)
	}
	log := q.Log.With("kind", h.Kind, "key", h.Key, "attempt", h.Attempt, "duration", took.Round(time.Millisecond))
	switch {
	case q.away(ferr): // its lease expires, and it is claimed again
		log.DebugContext(ctx, "could not store the outcome of a job", "err", ferr)
	case q.away(err):
		log.InfoContext(ctx, "job will be retried", "state", state, "err", err)
	case ferr != nil:
		log.ErrorContext(ctx, "could not store the outcome of a job", "err", ferr)
	case err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, errShutdown):
		log.ErrorContext(ctx, "job failed", "state", state, "err", err)
	case h.Kind == timerKind:
		log.DebugContext(ctx, "job", "state", state)
	default:
		log.InfoContext(ctx, "job", "state", state)
	}
}

func (q *Queue) call(ctx context.Context, h *Held) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	k, ok := q.Kinds[h.Kind]
	if !ok {
		return fmt.Errorf("unknown job kind %q", h.Kind)
	}
	if most := q.attempts(h); h.failures >= most {
		return fmt.Errorf("the process ended while it ran this job (failure %d of %d)", h.failures, most)
	}
	return k.Do(ctx, h)
}

// attempts returns the number of failures after which the queue gives up on a job. A
// timer with an interval is not retried. A timer with a schedule, which may fire only
// once a day, is retried like other jobs.
func (q *Queue) attempts(h *Held) int {
	if h.Kind == timerKind {
		if t := q.timer(h.Key); t == nil || t.At.IsZero() {
			return 1
		}
	}
	if k := q.Kinds[h.Kind]; k.Attempts > 0 {
		return k.Attempts
	}
	return 5
}

// finish stores the outcome of an attempt, unless the job was canceled or taken over.
func (q *Queue) finish(ctx context.Context, h *Held, err error) (state string, _ error) {
	if errors.Is(err, ErrLost) {
		return "lost", nil
	}
	k := q.Kinds[h.Kind]
	state = "done"
	switch {
	case errors.Is(err, errShutdown):
		state = "ready" // handed back: the next process continues at once
	case q.away(err):
		state = "ready" // not counted as a failure
	case err != nil && h.failures+1 >= q.attempts(h):
		state = "failed"
	case err != nil:
		state = "ready"
	}
	txErr := h.Write(ctx, func(tx *db.Tx) error {
		if h.Kind == timerKind && state != "ready" {
			_, err := tx.Exec(ctx, `DELETE FROM jobs WHERE id = ?`, h.ID)
			return err
		}
		if err := h.close(ctx, tx, state, err); err != nil {
			return err
		}
		if state == "failed" && k.GaveUp != nil {
			return k.GaveUp(ctx, tx, h.Key, err)
		}
		return nil
	})
	if errors.Is(txErr, ErrLost) {
		return "lost", nil
	}
	return state, txErr
}

func (h *Held) close(ctx context.Context, tx *db.Tx, state string, cause error) error {
	now, err := tx.Clock(ctx, h.queue.Now())
	if err != nil {
		return err
	}
	failures, runAt := h.failures, now
	var message *string
	if h.queue.away(cause) {
		runAt = now.Add(backoff(1))
	} else if cause != nil && !errors.Is(cause, errShutdown) {
		// PostgreSQL rejects invalid UTF-8 and NUL, and the text may come from another
		// program.
		text := strings.ReplaceAll(strings.ToValidUTF8(cause.Error(), "\uFFFD"), "\x00", "\uFFFD")
		message = &text
		failures++
		runAt = now.Add(backoff(failures))
	}
	var finished *time.Time
	if state != "ready" {
		finished = &now
	}
	_, err = tx.Exec(ctx, `
		UPDATE jobs SET state = ?, failures = ?, run_at = ?, last_error = ?, finished_at = ?, owner = NULL, lease_until = NULL
		WHERE id = ?`, state, failures, runAt, message, finished, h.ID)
	return err
}

const longestBackoff = time.Second << 10

// backoff returns how long to wait after the nth failure. The wait starts at 1 s and doubles with
// each failure, up to about 17 minutes. It is then shortened by a random amount of up to half.
func backoff(n int) time.Duration {
	d := time.Second << min(n-1, 10) // at most longestBackoff
	return d - rand.N(d/2)           //nolint:gosec // G404: jitter, not a secret
}

// heartbeat extends the leases of the running jobs in one statement and stops the
// jobs that this process no longer holds. It does not extend the lease of a job that
// was claimed but is not running.
func (q *Queue) heartbeat(ctx context.Context) error {
	q.mu.Lock()
	running := slices.Collect(maps.Values(q.running))
	q.mu.Unlock()
	if len(running) == 0 {
		return nil
	}
	kept := map[string]int{} // id → attempt
	err := q.DB.Tx(ctx, func(tx *db.Tx) error {
		now, err := tx.Clock(ctx, q.Now())
		if err != nil {
			return err
		}
		clear(kept)
		args := []any{now.Add(q.Lease), q.owner}
		for _, h := range running {
			args = append(args, h.ID)
		}
		rows, err := tx.Query(ctx, `
			UPDATE jobs SET lease_until = ? WHERE owner = ? AND state = 'running' AND id IN (?`+strings.Repeat(`, ?`, len(running)-1)+`)
			RETURNING id, attempt`, args...)
		_, err = db.All(rows, err, func(row db.Row) (id string, err error) {
			var attempt int
			err = row.Scan(&id, &attempt)
			kept[id] = attempt
			return id, err
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, h := range running {
		if kept[h.ID] != h.Attempt {
			h.cancel(ErrLost)
		}
	}
	return nil
}
