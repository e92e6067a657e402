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

// timerKind is the kind of the jobs that timers enqueue; their key is the timer's name.
const timerKind = "timer"

// Run does jobs until ctx ends, then stops the running ones, hands them back
// and returns.
func (q *Queue) Run(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	if len(q.Timers) > 0 { // else they are another queue's of this process
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
			return nil // it was stopped before it began
		case <-q.wake:
		case <-poll.C:
		}
	}
	slots := make(chan struct{}, q.Workers)
	var workers sync.WaitGroup
	defer workers.Wait()
	for {
		more := q.hand(ctx, slots, &workers)
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		case <-poll.C:
			q.note(ctx, "timers", q.fireDue(ctx))
		case <-beat.C:
			q.note(ctx, "heartbeat", q.heartbeat(ctx))
		}
	}
}

// note logs what went wrong in the queue itself; the next round tries again.
func (q *Queue) note(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !q.away(err) {
		q.Log.ErrorContext(ctx, "background work", "what", what, "err", err)
	}
}

func (q *Queue) away(err error) bool { return err != nil && q.Away != nil && q.Away(err) }

// start makes the timers known. On SQLite the owner of the file knows that
// earlier processes are dead, and need not wait for the leases of its kinds to end.
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
			if _, err := tx.Exec(ctx, `UPDATE jobs SET lease_until = ? WHERE state = 'running' AND kind IN (?`+strings.Repeat(`, ?`, len(kinds)-1)+`)`,
				append([]any{now.Add(-time.Second)}, kinds...)...); err != nil {
				return err
			}
		}
		for _, t := range q.Timers {
			if (t.Every > 0) != t.At.IsZero() {
				return fmt.Errorf("timer %s is to fire neither or both ways", t.Name)
			}
			_, err := tx.Exec(ctx, `INSERT INTO job_timers (name, next_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, t.Name, t.first(now))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// hand claims as many jobs as there are free workers and starts them. It
// reports whether there may be more.
func (q *Queue) hand(ctx context.Context, slots chan struct{}, workers *sync.WaitGroup) bool {
	free := cap(slots) - len(slots)
	if free == 0 || ctx.Err() != nil {
		return false
	}
	held, err := q.claim(ctx, free)
	q.note(ctx, "claim", err)
	for _, h := range held {
		slots <- struct{}{}
		workers.Go(func() {
			defer q.Wake() // a worker is free
			defer func() { <-slots }()
			q.work(ctx, h)
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
	kinds := q.kinds()
	if len(kinds) == 0 {
		return nil, nil
	}
	skip := ""
	if q.DB.Engine() == db.Postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	err = q.DB.Tx(ctx, func(tx *db.Tx) error {
		now, err := tx.Clock(ctx, q.Now())
		if err != nil {
			return err
		}
		// A plain "id IN (SELECT … LIMIT …)" may be asked anew for every row, each
		// time past those it has locked, and then takes more than limit.
		rows, err := tx.Query(ctx, `
			WITH due AS (
				SELECT id FROM jobs
				WHERE ((state = 'ready' AND run_at <= ?) OR (state = 'running' AND lease_until < ?))
					AND kind IN (?`+strings.Repeat(`, ?`, len(kinds)-1)+`)
				ORDER BY run_at LIMIT ?`+skip+`)
			UPDATE jobs SET
				failures = failures + CASE WHEN state = 'running' THEN 1 ELSE 0 END,
				state = 'running', attempt = attempt + 1, owner = ?, lease_until = ?
			WHERE id IN (SELECT id FROM due)
			RETURNING id, kind, key, payload, attempt, failures`,
			slices.Concat([]any{now, now}, kinds, []any{limit, q.owner, now.Add(q.Lease)})...)
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
		return nil, err // should it have been committed, the lease ends by itself
	}
	return held, nil
}

// kinds are the kinds of jobs that this queue does. What another version
// enqueued is left to it: replicas are upgraded one by one. So are those of
// another queue of this process.
func (q *Queue) kinds() (kinds []any) {
	for _, k := range slices.Sorted(maps.Keys(q.Kinds)) {
		kinds = append(kinds, k)
	}
	return kinds
}

// due spares an idle SQLite the write lock: it looks before it claims.
func (q *Queue) due(ctx context.Context) (bool, error) {
	if q.DB.Engine() == db.Postgres {
		return true, nil
	}
	now := q.Now()
	var due bool
	err := q.DB.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'ready' AND run_at <= ?)
			OR EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND lease_until < ?)`, now, now).Scan(&due)
	return due, err
}

// work does one job and writes down how it ended.
func (q *Queue) work(ctx context.Context, h *Held) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errShutdown) })
	h.cancel = cancel
	q.mu.Lock()
	if earlier := q.running[h.ID]; earlier != nil {
		earlier.cancel(ErrLost) // this process slept through its own lease
	}
	q.running[h.ID] = h
	q.mu.Unlock()
	began := time.Now()

	err := q.do(inner, h)
	if cause := context.Cause(inner); err != nil && cause != nil {
		err = cause
	}
	stop()
	cancel(nil)
	q.mu.Lock()
	if q.running[h.ID] == h {
		delete(q.running, h.ID)
	}
	q.mu.Unlock()

	state, ferr := q.finish(context.WithoutCancel(ctx), h, err)
	took := time.Since(began)
	if q.Observe != nil && ferr == nil {
		q.Observe(h.Kind, state, took)
	}
	log := q.Log.With("kind", h.Kind, "key", h.Key, "attempt", h.Attempt, "duration", took.Round(time.Millisecond))
	switch {
	case q.away(ferr): // its lease ends, and then it is claimed again
		log.DebugContext(ctx, "job could not be closed", "err", ferr)
	case q.away(err):
		log.InfoContext(ctx, "job is tried again", "state", state, "err", err)
	case ferr != nil:
		log.ErrorContext(ctx, "job could not be closed", "err", ferr)
	case err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, errShutdown):
		log.ErrorContext(ctx, "job failed", "state", state, "err", err)
	case h.Kind == timerKind:
		log.DebugContext(ctx, "job", "state", state)
	default:
		log.InfoContext(ctx, "job", "state", state)
	}
}

func (q *Queue) do(ctx context.Context, h *Held) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	k, ok := q.Kinds[h.Kind]
	if !ok {
		return fmt.Errorf("this version does not know jobs of kind %q", h.Kind)
	}
	if most := q.attempts(h); h.failures >= most {
		return fmt.Errorf("the process ended while it did this, which was failure %d of %d", h.failures, most)
	}
	return k.Do(ctx, h)
}

// attempts is how many failures end a job. The firing of a timer that comes again
// after an interval is given up at the first; one at a time of a place may be the
// day's only one, and has as many as other jobs.
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

// finish writes the outcome, only while this attempt still holds the job.
func (q *Queue) finish(ctx context.Context, h *Held, err error) (state string, _ error) {
	if errors.Is(err, ErrLost) {
		return "lost", nil
	}
	k := q.Kinds[h.Kind]
	state = "done"
	switch {
	case errors.Is(err, errShutdown):
		state = "ready" // handed back: the next process goes on at once
	case q.away(err):
		state = "ready" // no fault of the job
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
		// PostgreSQL takes neither bad UTF-8 nor NUL, and the text may come from outside.
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

// backoff is how long to wait after the nth failure: 1 s doubled each time up
// to about 17 minutes, of which up to half is taken off by chance.
func backoff(n int) time.Duration {
	d := time.Second << min(n-1, 10)
	return d - rand.N(d/2) //nolint:gosec // G404: chance, not a secret
}

// heartbeat extends the leases of what this process does, in one statement,
// and stops the jobs it no longer holds. A job that it holds and does not do is
// left to its lease.
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

// fireDue enqueues the timers that are due. Of any number of replicas the one
// that moves next_at has won the firing; missed firings become one.
func (q *Queue) fireDue(ctx context.Context) error {
	if len(q.Timers) == 0 {
		return nil
	}
	times, err := q.times(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range q.Timers {
		next, known := times[t.Name]
		if !known {
			errs = append(errs, fmt.Errorf("timer %s has no row", t.Name))
			continue
		}
		if _, moved := t.after(next, q.Now()); !moved {
			continue
		}
		errs = append(errs, q.DB.Tx(ctx, func(tx *db.Tx) error {
			now, err := tx.Clock(ctx, q.Now())
			if err != nil {
				return err
			}
			after, moved := t.after(next, now)
			if !moved {
				return nil
			}
			n, err := tx.Exec(ctx, `UPDATE job_timers SET next_at = ? WHERE name = ? AND next_at = ?`, after, t.Name, next)
			if err != nil || n == 0 || !t.due(next, now) {
				return err
			}
			_, err = q.Enqueue(ctx, tx, timerKind, t.Name, nil)
			return err
		}))
	}
	return errors.Join(errs...)
}

// times are when each timer is to fire next, by name.
func (q *Queue) times(ctx context.Context) (map[string]time.Time, error) {
	times := map[string]time.Time{}
	rows, err := q.DB.Query(ctx, `SELECT name, next_at FROM job_timers`)
	_, err = db.All(rows, err, func(r db.Row) (name string, err error) {
		var next time.Time
		err = r.Scan(&name, &next)
		times[name] = next
		return name, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the timers: %w", err)
	}
	return times, nil
}

// first is when a timer fires that never has.
func (t Timer) first(now time.Time) time.Time {
	if t.At.IsZero() {
		return now
	}
	return t.At.Next(now)
}

// due reports whether a timer that is to fire at next does so now. One that is
// further off than its interval was set before the clock was put back, and
// would be silent until the clock is there again. One with times of its own has
// nothing to make up for then.
func (t Timer) due(next, now time.Time) bool {
	return !next.After(now) || (t.At.IsZero() && next.After(now.Add(t.Every)))
}

// after is when a timer that is to fire at next is to fire then, as it is now,
// and whether that is another time. The times of one that are its own hold
// against what was noted, should the clock have been put back or the timer have
// got other times.
func (t Timer) after(next, now time.Time) (after time.Time, moved bool) {
	if !t.At.IsZero() {
		after = t.At.Next(now)
		return after, !after.Equal(next)
	}
	if !t.due(next, now) {
		return next, false
	}
	after = next.Add(t.Every)
	if !after.After(now) || next.After(now) {
		after = now.Add(t.Every)
	}
	return after, true
}

func (q *Queue) fire(ctx context.Context, h *Held) error {
	if t := q.timer(h.Key); t != nil {
		return t.Do(ctx)
	}
	return nil // a timer of another version
}

// timer is the timer of that name, nil when this version has none.
func (q *Queue) timer(name string) *Timer {
	for i := range q.Timers {
		if q.Timers[i].Name == name {
			return &q.Timers[i]
		}
	}
	return nil
}
