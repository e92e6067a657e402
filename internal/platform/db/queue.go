package db

// Writers that wait at the same time share one transaction and one commit, on
// both engines. One transaction of the whole database writes at a time: SQLite
// has one writer, and on PostgreSQL every writing transaction holds one advisory
// lock (see writePostgres). What each caller is guaranteed:
//
//   - It hears nil only after its own change is committed, and an error only
//     when nothing of its change is in the database. (The one exception is a
//     connection that breaks during the commit: then nobody knows.)
//   - When one of those who share fails after it has written, nothing of the
//     shared transaction is kept. The others run again, each in a transaction of
//     its own, at most once for this reason, and never hear of the failure.
//   - One that fails before it has written costs the others nothing.
//   - The end of a caller's context stops its own next statement, never a
//     statement that runs, the commit, or anybody else.
//   - A caller waits at most 10 s for its turn on PostgreSQL (see patience), and
//     a statement that waits for a lock fails after 5 s (see lockTime).

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// How much may be committed at once. Joining costs nobody anything, because who
// waits for the writer would also wait for the commit before; but the first is
// not to wait for everyone who comes later.
const (
	mostTogether = 32
	// longTogether is until when others may join. PostgreSQL has longer, since each
	// of their statements is a round trip to it.
	longTogether         = 4 * time.Millisecond
	longTogetherPostgres = 25 * time.Millisecond
)

// errLost means that a transaction was rolled back for a reason that is not its
// caller's: another one in it failed, or its connection ended before the commit.
// Nobody has heard of its result, so it runs again.
var errLost = errors.New("the transaction was rolled back with another one that shared it")

// writers lets those who want to write in, one after the other, in the order in
// which they came: database/sql would let in any of them, and the last might wait
// for ever. The zero writers are ready.
//
// Each writes on its own goroutine. SQLite could keep the others' part of a
// failed transaction by savepoints, but they cost each of them a copy of every
// page that it touches, and PostgreSQL a round trip; failures are rare.
type writers struct {
	mu      sync.Mutex
	busy    bool
	waiting []*writer
	waits   int64
	waited  time.Duration
	long    time.Duration // until when others may join one
	most    time.Duration // how long one may wait; 0 is for as long as its context lasts
}

// writer is one who waits. It is handed the transaction to join, or nil when it
// is to begin one.
type writer struct {
	turn  chan *shared
	alone bool // it joins none
}

// writing is a transaction of an engine.
type writing interface {
	statements
	// broken returns the error with which the engine has ended the transaction by
	// itself, so that nothing of it can be committed; nil while it goes on.
	broken() error
	commit() error
	rollback()
}

// shared is a transaction that several callers may write in.
type shared struct {
	writing
	began   time.Time // since when others wait for it
	members int       // that have had their turn
	closed  bool      // nobody joins any more
	lost    bool
	done    chan struct{} // closed once it has ended; then err is its result
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
	var late <-chan time.Time
	if w.most > 0 {
		timer := time.NewTimer(w.most)
		defer timer.Stop()
		late = timer.C
	}
	var s *shared
	var err error
	select {
	case s = <-mine.turn:
	case <-ctx.Done():
		s, err = w.leave(mine, ctx.Err())
	case <-late:
		s, err = w.leave(mine, fmt.Errorf("%w: others have been writing for %s", ErrBusy, w.most))
	}
	w.mu.Lock()
	w.waited += time.Since(began)
	w.mu.Unlock()
	return s, err
}

// leave takes one out who waits, and returns why. One whose turn has come at the
// same time gets it; its first statement will look at its context.
func (w *writers) leave(mine *writer, why error) (*shared, error) {
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

// next hands s to whoever waits longest, and reports whether they took it. A nil
// s, which means that the last transaction has ended, everybody takes.
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
func (w *writers) stats() (inUse, waits int64, waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		inUse = 1
	}
	return inUse, w.waits, w.waited
}

// attempt runs fn once, in a transaction that others may share unless alone. It
// returns errLost when fn must run again for a reason that is not its own.
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
		s = &shared{writing: w, began: time.Now(), closed: alone, done: make(chan struct{})}
	}
	tx := &Tx{conn: d.over(s.writing)}
	tx.dirty = new(bool)
	first := s.members == 0
	err = d.member(s, tx, fn)
	switch {
	case err != nil && first:
		return err
	case err != nil:
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
	tx.tell(s.ended.Sub(s.began))
	return nil
}

// member runs fn in s, leaves nothing of it there when it fails or panics, and
// passes s on.
func (d *DB) member(s *shared, tx *Tx, fn func(*Tx) error) (err error) {
	s.members++
	kept := false
	defer func() {
		s.lost = !kept && (*tx.dirty || s.broken() != nil)
		d.pass(s)
	}()
	err = fn(tx)
	s.closed = s.closed || len(tx.held) > 0 // it is not to be kept waiting for others, who would wait with it
	if broken := s.broken(); broken != nil && (err == nil || !errors.Is(broken, errAborted)) {
		err = s.blame(broken) // fn cannot know better
	}
	kept = err == nil
	return err
}

// blame is what a member is told of an error that may be another one's.
func (s *shared) blame(err error) error {
	later, ok := errors.AsType[*laterError](err)
	switch {
	case s.members > 1 && (ok || undone(err)):
		return errLost
	case ok && !errors.Is(err, errCut):
		return later.error
	}
	return err
}

// open reports whether another caller may join.
func (s *shared) open(d *DB) bool {
	return !s.lost && !s.closed && s.members < mostTogether && time.Since(s.began) < d.writers.long
}

// pass lets the next one join s, or ends it.
func (d *DB) pass(s *shared) {
	if s.open(d) && d.writers.next(s) {
		return
	}
	if s.lost {
		s.err = errLost
		s.rollback()
	} else {
		s.err = s.blame(s.commit())
	}
	s.ended = time.Now()
	d.writers.next(nil)
	close(s.done)
}
