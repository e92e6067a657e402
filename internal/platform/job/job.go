// Package job runs background work that survives crashes and is not duplicated across
// replicas. A job is a database row that a process claims with a lease. The results of
// completed steps are stored, so that another process can continue where the last one
// stopped.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
)

// ErrLost means that the job was canceled or taken over by another process. The
// function that runs the job must stop; its further writes have no effect.
var ErrLost = errors.New("the job was taken over or canceled")

// errShutdown is the cancellation cause of jobs that are still running when the
// process stops. They return to the queue.
var errShutdown = errors.New("the process is shutting down")

// Kind defines how jobs of one kind run.
type Kind struct {
	// Do runs the job. It can be called again for the same job, by this or another
	// process, so work that must happen only once belongs in a Step. Its context ends
	// with ErrLost when this process no longer holds the job.
	Do func(ctx context.Context, h *Held) error

	// GaveUp is called when a job has failed Attempts times. It runs in the
	// transaction that marks the job as failed, so its changes are stored together
	// with that state.
	GaveUp func(ctx context.Context, tx *db.Tx, key string, cause error) error

	// Attempts is the number of failures after which the queue gives up on a job.
	// Zero means 5.
	Attempts int
}

// Timer calls a function repeatedly, at an interval (Every) or on a schedule (At).
// Runs that were missed while no process was running are replaced by one run at
// startup. If a run is interrupted, Do is called again. If At is set, Do is also
// called again after a failure.
type Timer struct {
	Name  string
	Every time.Duration // interval, counted from the first start; zero if At is set
	At    cron.Schedule
	Do    func(ctx context.Context) error
}

// Queue runs jobs in one process. A process can have several queues, each with its own kinds and
// workers. Only one of them has timers, and long jobs run in another so that they do not delay the
// timers. A job that fails because the database is unavailable is retried, and the failure is not counted.
type Queue struct {
	DB     *db.DB
	Log    *slog.Logger
	Now    func() time.Time
	Kinds  map[string]Kind
	Timers []Timer

	// Observe, if set, is called after each attempt with the kind, the resulting
	// state of the job ("done", "ready", "failed" or "lost") and the duration. It
	// must not block.
	Observe func(kind, state string, took time.Duration)

	// Lease is how long a process keeps its jobs without a heartbeat. The queue sends
	// a heartbeat every third of a lease.
	Lease time.Duration
	// Poll is how often the queue checks for jobs added by other processes.
	Poll time.Duration
	// Workers is the maximum number of jobs that run at the same time.
	Workers int

	owner string
	wake  chan struct{}

	mu      sync.Mutex
	running map[string]*Held
}

// New returns a queue with leases of 15 s. Set Kinds and Timers before calling Run.
func New(d *db.DB, log *slog.Logger, now func() time.Time) *Queue {
	return &Queue{
		DB: d, Log: log, Now: now, Kinds: map[string]Kind{},
		Lease: 15 * time.Second, Poll: time.Second, Workers: 8,
		owner: db.NewID(), wake: make(chan struct{}, 1), running: map[string]*Held{},
	}
}

// Held is a job that this process holds.
type Held struct {
	ID      string
	Kind    string
	Key     string
	Payload json.RawMessage
	Attempt int // 1 for the first attempt; counts takeovers and retries

	failures int
	queue    *Queue
	cancel   context.CancelCauseFunc
}

// Enqueue adds a job in the caller's transaction. It returns false and adds nothing
// if a job with the same kind and key is waiting or running.
func (q *Queue) Enqueue(ctx context.Context, tx *db.Tx, kind, key string, payload any) (bool, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return false, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	now, err := tx.Clock(ctx, q.Now())
	if err != nil {
		return false, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO jobs (id, kind, key, payload, state, run_at, attempt, failures, created_at)
		VALUES (?, ?, ?, ?, 'ready', ?, 0, 0, ?)
		ON CONFLICT (kind, key) WHERE state IN ('ready', 'running') DO NOTHING`,
		db.NewID(), kind, key, string(body), now, now)
	if err != nil {
		return false, fmt.Errorf("enqueue %s: %w", kind, err)
	}
	tx.Committed(q.Wake)
	return n == 1, nil
}

// Cancel cancels the waiting or running job with the given kind and key, if there is
// one. A job in this process is interrupted when tx commits; a job in another process
// stops within a third of the lease. Later writes by the job have no effect.
func (q *Queue) Cancel(ctx context.Context, tx *db.Tx, kind, key string) error {
	now, err := tx.Clock(ctx, q.Now())
	if err != nil {
		return fmt.Errorf("cancel %s: %w", kind, err)
	}
	rows, err := tx.Query(ctx, `
		UPDATE jobs SET state = 'cancelled', finished_at = ?, owner = NULL, lease_until = NULL
		WHERE kind = ? AND key = ? AND state IN ('ready', 'running') RETURNING id`, now, kind, key)
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return fmt.Errorf("cancel %s: %w", kind, err)
	}
	// Interrupt by ID, because the next job of that key may already be running.
	tx.Committed(func() { q.interrupt(ids) })
	return nil
}

// Count is the number of jobs that have the same kind and state.
type Count struct {
	Kind, State string
	Jobs        int64
}

// Counts returns how many jobs of each kind are ready, running or failed, across
// all processes. Combinations without jobs are left out.
func Counts(ctx context.Context, r db.Queryer) ([]Count, error) {
	rows, err := r.Query(ctx,
		`SELECT kind, state, COUNT(*) FROM jobs WHERE state IN ('ready', 'running', 'failed') GROUP BY kind, state`)
	return db.All(rows, err, func(row db.Row) (Count, error) {
		var c Count
		err := row.Scan(&c.Kind, &c.State, &c.Jobs)
		return c, err
	})
}

// Wake makes the queue check for jobs immediately.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default: // a check is already pending
	}
}

func (q *Queue) interrupt(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if h := q.running[id]; h != nil {
			h.cancel(ErrLost)
		}
	}
}

// Write calls fn in a transaction. If this process no longer holds the job, Write
// returns ErrLost without calling fn.
func (h *Held) Write(ctx context.Context, fn func(*db.Tx) error) error {
	return h.queue.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := h.fence(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// fence returns ErrLost if the job is no longer held.
func (h *Held) fence(ctx context.Context, tx *db.Tx) error {
	n, err := tx.Exec(ctx, `
		UPDATE jobs SET attempt = attempt WHERE id = ? AND owner = ? AND attempt = ? AND state = 'running'`,
		h.ID, h.queue.owner, h.Attempt)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// Step runs fn in a transaction that also stores the result under the given name. If an
// earlier attempt stored a result, Step returns that result without calling fn.
func Step[T any](ctx context.Context, h *Held, name string, fn func(*db.Tx) (T, error)) (T, error) {
	var out T
	err := h.Write(ctx, func(tx *db.Tx) error {
		var kept string
		err := tx.QueryRow(ctx, `SELECT result FROM job_steps WHERE job_id = ? AND name = ?`, h.ID, name).Scan(&kept)
		if err == nil {
			return json.Unmarshal([]byte(kept), &out)
		}
		if !db.IsNotFound(err) {
			return err
		}
		if out, err = fn(tx); err != nil {
			return err
		}
		result, err := json.Marshal(out)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO job_steps (job_id, name, result, done_at) VALUES (?, ?, ?, ?)`,
			h.ID, name, string(result), h.queue.Now())
		return err
	})
	if err != nil {
		return out, fmt.Errorf("step %q: %w", name, err)
	}
	return out, nil
}
