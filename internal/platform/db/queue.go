package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// How much may be committed at once. Whoever waits for the writer would
// otherwise wait for the commit before, too, so that it costs nobody anything to
// join; but who came first is not to wait for all who came after.
const (
	mostTogether = 32
	longTogether = 4 * time.Millisecond
)

// errLost means that what was written is gone, because the transaction that it
// was written in was taken back for somebody else's sake. Nobody has been told of
// it, so it is done again.
var errLost = errors.New("the transaction was taken back for another one in it")

// writers lets those who want to write to SQLite in, one after the other and in
// the order in which they came: database/sql would let in any of them, and the
// last might wait for ever. What several of them write while others wait is
// committed at once, because a commit costs as much as what is committed. The
// zero writers are ready.
//
// Each runs on its own goroutine and hears only of what became of its own. The
// commit is nobody's: no caller who leaves can stop it. Of one that fails after it
// has written, nothing may stay. That is rare, and savepoints, which would keep
// the others' part, cost each of them a copy of every page that it touches. So
// all is taken back, and they do theirs again, each alone: at most once. So does
// the one that failed, which may have failed because of what is not so any more.
type writers struct {
	mu      sync.Mutex
	busy    bool
	waiting []*writer
	waits   int64
	waited  time.Duration
	long    time.Duration // longTogether in tests
}

// writer is one who waits. It is handed the transaction that it may join, or nil
// when it is to begin one.
type writer struct {
	turn  chan *shared
	alone bool // it joins none
}

// shared is a transaction of SQLite that several callers may write in.
type shared struct {
	raw     *sql.Tx
	began   time.Time
	members int  // that have had their turn
	closed  bool // nobody joins any more
	lost    bool
	broken  error         // with which SQLite ended it by itself; see steady
	done    chan struct{} // closed once it has ended; then err is what came of it
	err     error
	ended   time.Time
}

// enter waits for its turn.
func (w *writers) enter(ctx context.Context, alone bool) (*shared, error) {
	if err := ctx.Err(); err != nil { // asked once: it may end at any moment, and who is in must pass it on
		return nil, err
	}
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil, nil
	}
	began, mine := time.Now(), &writer{turn: make(chan *shared, 1), alone: alone}
	w.waiting = append(w.waiting, mine)
	w.waits++
	w.mu.Unlock()
	var s *shared
	var err error
	select {
	case s = <-mine.turn:
	case <-ctx.Done():
		if err = w.leave(ctx, mine); err == nil {
			s = <-mine.turn // it came at the same time; the first statement will tell
		}
	}
	w.mu.Lock()
	w.waited += time.Since(began)
	w.mu.Unlock()
	return s, err
}

// leave takes one out who waits, unless its turn has come.
func (w *writers) leave(ctx context.Context, mine *writer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.waiting, mine); i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
		return ctx.Err()
	}
	return nil
}

// next hands s to whoever waits longest, and reports whether they took it. A nil
// s, which is that the last one has ended, everybody takes.
func (w *writers) next(s *shared) bool {
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

// stats are those of Pool.
func (w *writers) stats() (waits int64, waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits, w.waited
}

// together is once for SQLite.
func (d *DB) together(ctx context.Context, alone bool, fn func(*Tx) error) error {
	s, err := d.writers.enter(ctx, alone)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if s == nil {
		raw, err := d.write.BeginTx(context.Background(), nil)
		if err != nil {
			d.writers.next(nil)
			return fmt.Errorf("begin: %w", err)
		}
		s = &shared{raw: raw, began: time.Now(), closed: alone, done: make(chan struct{})}
	}
	tx := &Tx{conn: d.over(steady{s.raw, s})}
	tx.dirty = new(bool)
	first := s.members == 0
	if err := d.member(s, tx, fn); err != nil {
		if first {
			return err
		}
		// It may have failed because of what others wrote, and that must be so before
		// anybody is told of it.
		if <-s.done; s.err != nil {
			return errLost
		}
		return err
	}
	if <-s.done; s.err != nil {
		return fmt.Errorf("commit: %w", s.err)
	}
	tx.since = s.began
	tx.tell(s.ended)
	return nil
}

// member runs fn in s, and leaves nothing of it there when it fails or panics.
func (d *DB) member(s *shared, tx *Tx, fn func(*Tx) error) (err error) {
	s.members++
	kept := false
	defer func() {
		s.lost = !kept && (*tx.dirty || s.broken != nil || endsAll(err))
		d.pass(s)
	}()
	if err = fn(tx); s.broken != nil {
		err = s.broken // whatever fn makes of it
	}
	kept = err == nil
	s.closed = s.closed || len(tx.held) > 0 // it is not to be kept waiting for others, who would wait with it
	return err
}

// endsAll tells failures after which SQLite may have ended the transaction by
// itself (https://sqlite.org/lang_transaction.html) from those of one statement.
func endsAll(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff != sqlite3.SQLITE_CONSTRAINT
}

// pass lets the next one join s, or ends it.
func (d *DB) pass(s *shared) {
	open := !s.lost && !s.closed && s.members < mostTogether && time.Since(s.began) < max(longTogether, d.writers.long)
	if open && d.writers.next(s) {
		return
	}
	if s.lost {
		s.err = errLost
		_ = s.raw.Rollback() // whatever it says, the connection is without a transaction then
	} else {
		s.err = s.raw.Commit()
	}
	s.ended = time.Now()
	d.writers.next(nil)
	close(s.done)
}

// steady is a transaction whose statements are not broken off: SQLite would end
// the whole transaction with a statement that writes
// (https://sqlite.org/c3ref/interrupt.html), and others are in it. Who has left
// begins no further one. They are short.
//
// It also sees when SQLite has ended the transaction, as it does when the disk is
// full: what is written after that would be kept by itself, whatever its writer
// is told. So nothing is.
type steady struct {
	*sql.Tx
	of *shared
}

func (s steady) whole(ctx context.Context) context.Context {
	switch {
	case ctx.Err() != nil:
		return ctx // which is what database/sql answers then
	case s.of.broken != nil:
		ended, end := context.WithCancel(ctx)
		end()
		return ended // nobody hears of it, but of what broke the transaction
	}
	return context.Background()
}

func (s steady) saw(err error) {
	if s.of.broken == nil && endsAll(err) {
		s.of.broken = err
	}
}

// ExecContext is that of sql.Tx.
func (s steady) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := s.Tx.ExecContext(s.whole(ctx), query, args...)
	s.saw(err)
	return r, err
}

// QueryContext is that of sql.Tx.
func (s steady) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.Tx.QueryContext(s.whole(ctx), query, args...)
	s.saw(err)
	return rows, err
}

// QueryRowContext is that of sql.Tx.
func (s steady) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := s.Tx.QueryRowContext(s.whole(ctx), query, args...)
	s.saw(row.Err())
	return row
}
