package db

import (
	"context"
	"math"
)

// perCaller is the number of long reads that a caller can run at the same time. It is
// smaller than the number of SQLite's read connections and much smaller than
// PostgreSQL's connection pool.
const perCaller = 2

// LimitReads waits until the caller may start another long read, or until ctx ends.
// Without this limit, one caller could occupy every connection with searches that
// find nothing. Call LimitReads before you take a connection, and call the returned
// function after the read. An empty caller means Wardroom itself, which is not
// limited.
func (d *DB) LimitReads(ctx context.Context, caller string) (release func(), err error) {
	return d.longReads.Enter(ctx, caller, perCaller, math.MaxInt)
}
