package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/platform/db"
)

// outage logs each database outage with two lines, one when it begins and one when it
// ends, even if many operations fail in between.
type outage struct {
	ask func(context.Context) error
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	since time.Time      // start of the outage; zero while the database is available
	ended time.Time      // end of the last outage
	last  time.Time      // time of the last failure
	met   map[string]int // number of failures by operation
	began chan struct{}  // receives when an outage begins
}

func newOutage(ask func(context.Context) error, log *slog.Logger, now func() time.Time) *outage {
	return &outage{ask: ask, log: log, now: now, met: map[string]int{}, began: make(chan struct{}, 1)}
}

// notice reports whether err means that the database is unavailable. If so, it counts
// the failure under the given operation. It logs only the first failure of an outage.
func (o *outage) notice(operation string, err error) bool {
	reason, away := db.Unavailable(err)
	if !away {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() && errors.Is(err, db.ErrBusy) && o.now().Sub(o.ended) < db.TurnTimeout {
		return true // it has waited since the last outage, and belongs to it
	}
	o.met[operation]++
	o.last = o.now()
	if !o.since.IsZero() {
		return true
	}
	o.since = o.now()
	o.log.Error("database unavailable", "reason", reason, "err", err)
	select {
	case o.began <- struct{}{}:
	default:
	}
	return true
}

const (
	// retryInterval is how often the database is checked during an outage.
	retryInterval = time.Second
	// calm is how long no operation must have failed before an outage is over. A
	// successful check is not enough, because on a full disk only writes fail.
	calm = 3 * time.Second
)

// watch calls the function recovered at the end of each outage. It returns when ctx ends.
func (o *outage) watch(ctx context.Context, recovered func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.began:
		}
		for again := true; again; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryInterval):
			}
			again = o.check(ctx) != nil || o.metSince(calm)
		}
		o.over(ctx)
		recovered()
	}
}

// metSince reports whether an operation has failed within the last d.
func (o *outage) metSince(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now().Sub(o.last) < d
}

// check queries the database, with a time limit.
func (o *outage) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return o.ask(ctx)
}

// over logs that the outage has ended and resets the failure counts.
func (o *outage) over(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log.InfoContext(ctx, "database available again", "after", o.now().Sub(o.since).Round(time.Millisecond),
		"requests", o.met["requests"], "background_work", o.met["background work"], "live_streams", o.met["live streams"])
	o.since, o.ended, o.met = time.Time{}, o.now(), map[string]int{}
}
