package db

import (
	"context"
	"sync"
)

// perCaller is the number of long reads that a caller can run at the same time. It is
// smaller than the number of SQLite's read connections and much smaller than
// PostgreSQL's connection pool.
const perCaller = 2

// callerLimits limits how many long reads each caller can run at the same time. The
// zero value is ready to use.
type callerLimits struct {
	mu   sync.Mutex
	open map[string]*callerLimit
}

type callerLimit struct {
	in    chan struct{} // one element for each running read
	users int           // running and waiting reads
}

// LimitReads waits until the caller may start another long read, or until ctx ends.
// Without this limit, one caller could occupy every connection with searches that
// find nothing. Call LimitReads before you take a connection, and call the returned
// function after the read. An empty caller means Wardroom itself, which is not
// limited.
func (d *DB) LimitReads(ctx context.Context, caller string) (release func(), err error) {
	if caller == "" {
		return func() {}, nil
	}
	t := &d.limits
	t.mu.Lock()
	if t.open == nil {
		t.open = map[string]*callerLimit{}
	}
	one := t.open[caller]
	if one == nil {
		one = &callerLimit{in: make(chan struct{}, perCaller)}
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

// drop records that a caller's read has ended. If no other read of this caller is
// running or waiting, drop deletes the caller's map entry.
func (t *callerLimits) drop(caller string, one *callerLimit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.open, caller)
	}
}
