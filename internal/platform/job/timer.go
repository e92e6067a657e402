package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/platform/db"
)

// fireDue enqueues a job for each timer that is due. If several replicas try, only the
// first replica to update the timer's row enqueues the job. A timer that missed several
// runs fires only once.
func (q *Queue) fireDue(ctx context.Context) error {
	if len(q.Timers) == 0 {
		return nil
	}
	times, err := q.nextTimes(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range q.Timers {
		next, known := times[t.Name]
		if !known {
			errs = append(errs, fmt.Errorf("timer %s is not registered", t.Name))
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

// nextTimes returns the time of each timer's next run. The keys of the map are the
// timers' names.
func (q *Queue) nextTimes(ctx context.Context) (map[string]time.Time, error) {
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

// first returns the time at which a new timer fires for the first time.
func (t Timer) first(now time.Time) time.Time {
	if t.At.IsZero() {
		return now
	}
	return t.At.Next(now)
}

// due reports whether the timer should fire now, given the planned time of its next run. If that
// time is further away than the timer's interval, the clock was set back. The timer then fires
// immediately instead of waiting for the clock to catch up. A timer with a schedule needs no such
// check, because its planned time is recomputed.
func (t Timer) due(next, now time.Time) bool {
	return !next.After(now) || (t.At.IsZero() && next.After(now.Add(t.Every)))
}

// after returns the time of the timer's next run, and whether it differs from next, the previously
// planned time. If the timer has a schedule, after always recomputes the time, in case the clock
// was set back or the schedule changed.
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
	return nil // the timer belongs to another version of the program
}

// timer returns the timer with the given name, or nil if this version of the program
// has no such timer.
func (q *Queue) timer(name string) *Timer {
	for i := range q.Timers {
		if q.Timers[i].Name == name {
			return &q.Timers[i]
		}
	}
	return nil
}
