package db

import (
	"context"
	"sync"
)

// perCaller is how many long readings of one caller run at once: fewer than
// SQLite has connections for readers, and far fewer than PostgreSQL's pool.
const perCaller = 2

// turns let a few at a time through for each caller. The zero turns are ready.
type turns struct {
	mu   sync.Mutex
	open map[string]*turn
}

type turn struct {
	in    chan struct{} // as many as are in it
	users int           // those in it and those who wait
}

// Turn waits until the caller may begin another long reading, or until ctx
// ends. One caller could otherwise take all connections with searches that find
// nothing, and everybody else would wait, or be told that the database is away.
// Take the turn before a connection, and leave it after. The empty caller, which
// is the service itself, does not wait.
func (d *DB) Turn(ctx context.Context, caller string) (leave func(), err error) {
	if caller == "" {
		return func() {}, nil
	}
	t := &d.turns
	t.mu.Lock()
	if t.open == nil {
		t.open = map[string]*turn{}
	}
	one := t.open[caller]
	if one == nil {
		one = &turn{in: make(chan struct{}, perCaller)}
		t.open[caller] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case one.in <- struct{}{}:
		return func() { <-one.in; t.drop(caller, one) }, nil
	case <-ctx.Done():
		t.drop(caller, one)
		return nil, ctx.Err()
	}
}

// drop forgets the turn that nobody uses any more.
func (t *turns) drop(caller string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.open, caller)
	}
}
