package db

// Writers that wait at the same time share one transaction and one commit. If one of
// them fails, the others do not notice: if it has written nothing, the transaction goes on
// without it. Otherwise the transaction is rolled back, and each of the others runs
// again in a transaction of its own, at most once for this reason.
//
//   - Tx returns nil only after the caller's change is committed, and an error
//     only if nothing of the change was stored. The one exception is a connection
//     that breaks during the commit: the outcome is then unknown.
//   - When a caller's context ends, its next statement fails. A running statement,
//     the commit and the other writers are not affected.
//   - Only one transaction writes at a time: SQLite has one writer, and on
//     PostgreSQL every write transaction holds one advisory lock (see writePostgres).
//   - On PostgreSQL a caller waits at most 10 s for its turn (see TurnTimeout), and a
//     statement that waits for a lock fails after 5 s (see lockTime).

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits on a transaction that several writers share. A writer loses no time by joining it, because
// otherwise the writer would have to wait until it ends. The limits keep the first writer from
// waiting too long for later ones.
const (
	maxMembers = 32
	// joinTime is how long a transaction accepts members after it has begun. On
	// PostgreSQL the time is longer, because each statement is a round trip.
	joinTime         = 4 * time.Millisecond
	joinTimePostgres = 25 * time.Millisecond
)

// errLost means that a transaction was rolled back through no fault of its caller: another caller
// that shared it failed, or the connection ended before the commit. The caller has not received a
// result, so the transaction runs again.
var errLost = errors.New("the transaction was rolled back with another one that shared it")

// writers lets one writer at a time run its statements, in order of arrival.
// database/sql would choose the next writer at random, so a writer could wait forever.
// The zero value is ready to use.
//
// Each writer runs on its own goroutine. Several writers can share a transaction. If one of
// them fails, the others run again. Savepoints could undo only the failed writer, but they cost
// more: on SQLite, each would copy every page that the writer changes; on PostgreSQL, each
// would take a round trip. Failures are rare, so running the others again is cheaper.
type writers struct {
	mu      sync.Mutex
	busy    bool
	waiting []*writer
	waits   int64
	waited  time.Duration
	long    time.Duration // see joinTime
	most    time.Duration // longest wait for a turn; 0 for no limit
}

// writer is a caller in the queue of writers. It receives the transaction that it can
// join, or nil if it must begin one.
type writer struct {
	turn  chan *sharedTx
	alone bool // must not share a transaction
}

// writeTx is a write transaction. Each engine has its own implementation.
type writeTx interface {
	statements
	// broken returns the error if the engine has ended the transaction, which can
	// then no longer commit. Otherwise it returns nil.
	broken() error
	commit() error
	rollback()
}

// sharedTx is a transaction that can contain the writes of several callers.
type sharedTx struct {
	writeTx
	began   time.Time // when it started to block other writers
	members int       // callers that have run in it
	closed  bool      // accepts no more members
	lost    bool
	numbers map[string]int64 // see Tx.Numbers
	done    chan struct{}    // closed when the transaction has ended and err is set
	err     error
	ended   time.Time
}

// enter waits for the caller's turn. It returns the transaction that the caller can
// join, or nil if the caller must begin one.
func (w *writers) enter(ctx context.Context, alone bool) (*sharedTx, error) {
	if err := ctx.Err(); err != nil { // checked only here: a caller that has its turn must pass it on
		return nil, err
	}
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil, nil
	}
	began, mine := time.Now(), &writer{turn: make(chan *sharedTx, 1), alone: alone}
	w.waiting = append(w.waiting, mine)
	w.waits++
	w.mu.Unlock()
	var late <-chan time.Time
	if w.most > 0 {
		timer := time.NewTimer(w.most)
		defer timer.Stop()
		late = timer.C
	}
	var s *sharedTx
	var err error
	select {
	case s = <-mine.turn:
	case <-ctx.Done():
		s, err = w.leave(mine, ctx.Err())
	case <-late:
		s, err = w.leave(mine, fmt.Errorf("%w: other writers were busy for %s", ErrBusy, w.most))
	}
	w.mu.Lock()
	w.waited += time.Since(began)
	w.mu.Unlock()
	return s, err
}

// leave removes a waiting writer from the queue and returns the given error. If the
// writer's turn has already come, leave returns the transaction for that turn instead.
// The writer's next statement then checks whether its context has ended.
func (w *writers) leave(mine *writer, why error) (*sharedTx, error) {
	w.mu.Lock()
	i := slices.Index(w.waiting, mine)
	if i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
	}
	w.mu.Unlock()
	if i >= 0 {
		return nil, why
	}
	return <-mine.turn, nil
}

// next offers the transaction s to the writer that has waited longest, and reports whether the
// writer takes it. If the previous transaction has ended, s is nil and the writer begins a new one.
func (w *writers) next(s *sharedTx) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.busy = s != nil
		return false
	}
	first := w.waiting[0]
	if s != nil && first.alone {
		return false
	}
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	first.turn <- s
	return true
}

// stats returns the values of Pool.InUse, Pool.Waits and Pool.Waited.
func (w *writers) stats() (inUse, waits int64, waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		inUse = 1
	}
	return inUse, w.waits, w.waited
}

// attempt runs fn once. Unless alone is true, other callers can share the transaction. If the transaction failed for a
// reason that fn did not cause, attempt returns errLost, and fn must run again.
func (d *DB) attempt(ctx context.Context, alone bool, fn func(*Tx) error) error {
	s, err := d.writers.enter(ctx, alone)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if s == nil {
		w, err := d.begin()
		if err != nil {
			d.writers.next(nil)
			return fmt.Errorf("begin: %w", err)
		}
		s = &sharedTx{writeTx: w, began: time.Now(), closed: alone, numbers: map[string]int64{}, done: make(chan struct{})}
	}
	tx := &Tx{conn: d.connFor(s.writeTx), numbers: s.numbers}
	tx.dirty = new(bool)
	first := s.members == 0
	err = d.runMember(s, tx, fn)
	switch {
	case err != nil && first:
		return err
	case err != nil:
		// It may have failed because of another member's changes. Return its error only
		// after those are committed.
		if <-s.done; s.err != nil {
			return errLost
		}
		return err
	}
	if <-s.done; s.err != nil {
		return fmt.Errorf("commit: %w", s.err)
	}
	tx.runHooks(s.ended.Sub(s.began))
	return nil
}

// runMember runs fn as a member of the transaction s and then passes s on to the next
// writer. If fn fails or panics after it has written, s is marked as lost.
func (d *DB) runMember(s *sharedTx, tx *Tx, fn func(*Tx) error) (err error) {
	s.members++
	kept := false
	defer func() {
		s.lost = !kept && (*tx.dirty || s.broken() != nil)
		d.pass(s)
	}()
	err = fn(tx)
	s.closed = s.closed || len(tx.held) > 0 // more members would lengthen the reported time
	if broken := s.broken(); broken != nil && (err == nil || !errors.Is(broken, errAborted)) {
		err = s.memberError(broken) // fn's own error may hide this one
	}
	kept = err == nil
	return err
}

// memberError returns the error for a caller whose shared transaction has failed with err. It
// returns errLost if another caller may have caused the failure.
func (s *sharedTx) memberError(err error) error {
	later, ok := errors.AsType[*laterError](err)
	switch {
	case s.members > 1 && (ok || rolledBack(err)):
		return errLost
	case ok && !errors.Is(err, errConnEnded):
		return later.error
	}
	return err
}

// open reports whether another writer can join the transaction.
func (s *sharedTx) open(d *DB) bool {
	return !s.lost && !s.closed && s.members < maxMembers && time.Since(s.began) < d.writers.long
}

// pass passes the transaction on to the next writer. If no writer can join, it ends the
// transaction.
func (d *DB) pass(s *sharedTx) {
	if s.open(d) && d.writers.next(s) {
		return
	}
	if s.lost {
		s.err = errLost
		s.rollback()
	} else {
		s.err = s.memberError(s.commit())
	}
	s.ended = time.Now()
	d.writers.next(nil)
	close(s.done)
}
