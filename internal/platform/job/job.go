// Package job does background work that survives crashes, once across all
// replicas: a job is a row that a process claims with a lease, and each of its
// steps is kept, so that whoever takes over goes on where the last one stopped.
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

// ErrLost means that the job now belongs to another process, or to nobody:
// the holder must stop, and nothing it still writes counts.
var ErrLost = errors.New("the job was taken over or cancelled")

// errShutdown ends the jobs of a process that stops; they are handed back.
var errShutdown = errors.New("the service is shutting down")

// Kind says how one kind of job is done.
type Kind struct {
	// Do does the work. It may be called again for the same job, by this or
	// another process, so that what must happen once belongs into a Step. Its
	// context ends with ErrLost when the job is no longer held.
	Do func(ctx context.Context, h *Held) error

	// GaveUp is called in the transaction that marks the job failed, after
	// Attempts failures, so that what it worked on does not wait for ever.
	GaveUp func(ctx context.Context, tx *db.Tx, key string, cause error) error

	// Attempts is how often it may fail. Zero means 5.
	Attempts int
}

// Timer is work that is due again and again: after each Every, or At the times
// of a place. What was missed while nobody ran is made up for once, at the start.
// Do may be called again for one firing when it was interrupted, and At a time
// also when it failed.
type Timer struct {
	Name  string
	Every time.Duration // from the first start on; zero when At is set
	At    cron.Schedule
	Do    func(ctx context.Context) error
}

// Queue hands out the jobs of one process. A process may have several, each with
// kinds of its own and workers of its own: what waits for hours must not keep
// the timers from firing. One of them has the timers.
type Queue struct {
	DB     *db.DB
	Log    *slog.Logger
	Now    func() time.Time
	Kinds  map[string]Kind
	Timers []Timer

	// Away, when given, tells whether an error says that the database cannot be
	// used at the moment, and logs it. What fails of it is tried again, and is
	// not held against a job.
	Away func(error) bool

	// Observe, when given, is told how each attempt ended: its kind, the state it
	// leaves the job in ("done", "ready", "failed" or "lost"), and how long it
	// took. It must not block.
	Observe func(kind, state string, took time.Duration)

	// Lease is how long a process that does not report keeps its jobs; it
	// reports at a third of it.
	Lease time.Duration
	// Poll is how often the queue looks for what other processes added.
	Poll time.Duration
	// Workers is how many jobs run at once.
	Workers int

	owner string
	wake  chan struct{}

	mu      sync.Mutex
	running map[string]*Held
}

// New returns a queue with leases of 15 s. Fill in Kinds and Timers before Run.
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
	Attempt int // 1 for the first; larger when it was taken over or tried again

	failures int
	queue    *Queue
	cancel   context.CancelCauseFunc
}

// Enqueue adds a job in the caller's transaction. It reports false, and adds
// nothing, while a job of the same kind and key is alive.
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

// Cancel ends the job of a kind and key, if one is alive. Whoever runs it is
// stopped: at once in this process, within a third of the lease in another. It
// waits for what the job is writing; what is read after it stays as it is.
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
	// By id: the next job of that key may be running by then.
	tx.Committed(func() { q.interrupt(ids) })
	return nil
}

// Hold keeps the job of a kind and key, if one is alive, from writing anything
// until the transaction ends, and waits for what it is writing. What is read
// after it stays as it is.
func Hold(ctx context.Context, tx *db.Tx, kind, key string) error {
	_, err := tx.Exec(ctx, `
		UPDATE jobs SET attempt = attempt WHERE kind = ? AND key = ? AND state IN ('ready', 'running')`, kind, key)
	if err != nil {
		return fmt.Errorf("hold %s: %w", kind, err)
	}
	return nil
}

// Alive reports whether a job of that kind and key waits or runs.
func Alive(ctx context.Context, r db.Queryer, kind, key string) (bool, error) {
	var n int
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM jobs WHERE kind = ? AND key = ? AND state IN ('ready', 'running')`, kind, key).Scan(&n)
	return n > 0, err
}

// Count is how many jobs of a kind are in a state.
type Count struct {
	Kind, State string
	Jobs        int64
}

// Counts tells how many jobs of each kind wait ("ready"), run and have failed
// for good, in all processes together. What there is none of is not in it.
func Counts(ctx context.Context, r db.Queryer) ([]Count, error) {
	rows, err := r.Query(ctx, `SELECT kind, state, COUNT(*) FROM jobs WHERE state IN ('ready', 'running', 'failed') GROUP BY kind, state`)
	return db.All(rows, err, func(row db.Row) (Count, error) {
		var c Count
		err := row.Scan(&c.Kind, &c.State, &c.Jobs)
		return c, err
	})
}

// Wake makes the queue look for work now.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default: // it is about to look anyhow
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

// Write runs fn in a transaction that counts only while the job is still held.
func (h *Held) Write(ctx context.Context, fn func(*db.Tx) error) error {
	return h.queue.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := h.fence(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// fence locks the job's row, and fails when it is no longer held.
func (h *Held) fence(ctx context.Context, tx *db.Tx) error {
	n, err := tx.Exec(ctx, `
		UPDATE jobs SET attempt = attempt WHERE id = ? AND owner = ? AND attempt = ? AND state = 'running'`,
		h.ID, h.queue.owner, h.Attempt)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// Step runs fn once in the life of a job, in one transaction with the record
// of its result. A later attempt gets the kept result and fn is not called.
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
