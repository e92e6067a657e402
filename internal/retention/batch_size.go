package retention

import (
	"context"
	"time"
)

// Limits on the batch size. A batch is one transaction. On SQLite it blocks all other writers, and
// on PostgreSQL all transactions that record an event, so it must not take more than 50 ms. The
// size is adapted to the duration of the last batch. It shrinks fast and grows slowly, because a
// busy machine can be several times slower. The thresholds are far below 50 ms, because some
// batches take longer, such as one whose commit makes SQLite run a checkpoint.
const (
	firstBatch   = 50
	minBatch     = 5
	maxBatch     = 500
	quarterAbove = 20 * time.Millisecond
	halveAbove   = 12 * time.Millisecond
	growBelow    = 5 * time.Millisecond
	minRest      = 5 * time.Millisecond
)

// nextSize returns the size of the next batch, given the size of the last batch and how
// long that batch held the write lock.
func nextSize(size int, held time.Duration) int {
	switch {
	case held > quarterAbove:
		return max(size/4, minBatch)
	case held > halveAbove:
		return max(size/2, minBatch)
	case held < growBelow:
		return min(size+max(size/8, 1), maxBatch)
	}
	return size
}

// pause waits as long as the last batch took, so that other transactions can write.
func pause(ctx context.Context, took time.Duration) error {
	rest := time.NewTimer(max(took, minRest))
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-rest.C:
		return nil
	}
}
