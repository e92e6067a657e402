package retention

import (
	"context"
	"time"
)

// A batch is one transaction, and others who write wait for it: on SQLite all of
// them, on PostgreSQL whoever has an event to record. It is to take no more than
// 50 ms. How much fits into that depends on the machine and the hour, so each
// batch is as large as the last one has shown to be good, with room to spare: the
// next may be slower, and on SQLite now and then a commit also carries what was
// written over into the file. On a machine that is busy with something else the
// same work takes several times as long, so that they shrink fast and grow slowly.
const (
	firstBatch = 50
	leastBatch = 5
	mostBatch  = 500
	farTooLong = 20 * time.Millisecond
	tooLong    = 12 * time.Millisecond
	farBelow   = 5 * time.Millisecond
	leastRest  = 5 * time.Millisecond
)

// nextSize is how large the batch after one of this size is to be.
func nextSize(size int, held time.Duration) int {
	switch {
	case held > farTooLong:
		return max(size/4, leastBatch)
	case held > tooLong:
		return max(size/2, leastBatch)
	case held < farBelow:
		return min(size+max(size/8, 1), mostBatch)
	}
	return size
}

// rest leaves the database to the others for as long as the last batch took.
func rest(ctx context.Context, took time.Duration) error {
	pause := time.NewTimer(max(took, leastRest))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-pause.C:
		return nil
	}
}
