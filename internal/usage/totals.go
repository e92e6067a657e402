package usage

import (
	"context"
	"errors"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Intervals between reads of the runtime's totals. The gateway caches them for 30 seconds and needs three requests to
// compute new ones.
const (
	totalsInterval = 2 * time.Minute
	// changedInterval applies while the totals do not include the latest change of a session. After quickTries reads that
	// do not include that change, it doubles with each further one, up to totalsInterval.
	changedInterval, quickTries = 5 * time.Second, 8
)

// totalsReader reads the runtime's totals of all transcripts. It does so in the background, because a response can be
// several megabytes, and transcripts of runs in progress must be read meanwhile.
type totalsReader struct {
	running sync.WaitGroup
	asked   time.Time  // start of the last read
	changed clock.Time // the latest change of a session at the last read
	tries   int        // reads that did not include it

	mu       sync.Mutex
	reading  bool
	last     *gateway.SessionUsage // nil before the first ones
	failures int                   // in a row
}

// latest returns the last totals that the runtime had computed completely, or nil before the first ones.
func (t *totalsReader) latest() *gateway.SessionUsage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// readTotals starts a read of the runtime's totals if one is due, and returns the time until the next one. Only one
// process at a time reads them.
func (r *reader) readTotals(ctx context.Context, rows []gateway.Session) (next time.Duration, err error) {
	t := &r.totals
	due, reading := t.due(rows)
	if reading {
		return totalsInterval, nil // its end starts the next pass
	}
	if wait := time.Until(due); wait > 0 {
		return wait, nil
	}
	if err := r.claim.Hold(ctx); err != nil {
		return 0, err
	}
	t.start(ctx, r.s)
	return totalsInterval, nil
}

// due returns when to read the totals next, and whether they are being read. The zero time means at once.
func (t *totalsReader) due(rows []gateway.Session) (at time.Time, reading bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var changed clock.Time
	for i := range rows {
		if !rows[i].Active && rows[i].UpdatedAt.After(changed.Time) {
			changed = rows[i].UpdatedAt
		}
	}
	if changed != t.changed {
		t.changed, t.tries = changed, 0
	}
	switch {
	case t.asked.IsZero() || t.reading:
		return time.Time{}, t.reading
	case t.failures > 0:
		return t.asked.Add(mirror.Retry(t.failures - 1)), false
	case t.last == nil || !t.last.At.IsZero() && changed.After(t.last.At.Time):
		return t.asked.Add(min(changedInterval<<min(max(t.tries-quickTries, 0), 10), totalsInterval)), false
	}
	return t.asked.Add(totalsInterval), false
}

// start starts a read.
func (t *totalsReader) start(ctx context.Context, s *Service) {
	t.mu.Lock()
	t.reading, t.asked = true, time.Now()
	t.tries++
	t.mu.Unlock()
	t.running.Go(func() {
		used, err := s.Runtime.Usage(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.reading = false
		switch {
		case err != nil:
			if t.failures == 0 && fault.Of(err) == nil && !errors.Is(err, context.Canceled) {
				s.Log.WarnContext(ctx, "could not read the runtime's totals of its sessions; retrying", "err", err)
			}
			t.failures++
		case used.Fresh:
			t.last, t.failures = &used, 0
		default:
			t.failures = 0
		}
		s.wake.Wake()
	})
}
