package db

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// outage logs each outage of the database with two lines, one when it begins and one when it
// ends, even if many operations fail in between.
type outage struct {
	mu    sync.Mutex
	log   *slog.Logger   // nil disables logging
	since time.Time      // start of the outage; zero while the database is available
	ended time.Time      // end of the last outage
	last  time.Time      // time of the last failure
	met   map[string]int // number of failures by operation
	began chan struct{}  // receives when an outage begins; nil until WatchOutages is called
}

const (
	// retryInterval is how often the database is checked during an outage.
	retryInterval = time.Second
	// calm is how long no operation must have failed before an outage is over. A
	// successful check is not enough, because on a full disk only writes fail.
	calm = 3 * time.Second
)

// LogOutages makes d log each outage with two lines. Call it before other goroutines use d.
func (d *DB) LogOutages(log *slog.Logger) { d.outage.log = log }

// Away reports whether err means that the database is unavailable. If so, it counts the
// failure under the given operation. It logs only the first failure of an outage.
func (d *DB) Away(operation string, err error) bool {
	reason, away := Unavailable(err)
	if away {
		d.outage.notice(operation, reason, err)
	}
	return away
}

// notice counts a failure, and logs it if it is the first one of an outage.
func (o *outage) notice(operation, reason string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() {
		if errors.Is(err, ErrBusy) && now.Sub(o.ended) < TurnTimeout {
			return // it has waited since the last outage, and belongs to it
		}
		o.since, o.met = now, map[string]int{}
		o.logger().Error("database unavailable", "reason", reason, "err", err)
		select {
		case o.began <- struct{}{}:
		default:
		}
	}
	o.last = now
	o.met[operation]++
}

// WatchOutages calls check repeatedly during each outage, and recovered at its end. It returns when
// ctx ends.
func (d *DB) WatchOutages(ctx context.Context, check func(context.Context) error, recovered func()) {
	o := &d.outage
	for began := o.watch(); ; {
		select {
		case <-ctx.Done():
			return
		case <-began:
		}
		for again := true; again; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryInterval):
			}
			again = checkInTime(ctx, check) != nil || o.metSince(calm)
		}
		o.over(ctx)
		recovered()
	}
}

// checkInTime calls check with a time limit.
func checkInTime(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return check(ctx)
}

// watch returns a channel that receives when an outage begins, and at once during one.
func (o *outage) watch() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began = make(chan struct{}, 1)
	if !o.since.IsZero() {
		o.began <- struct{}{}
	}
	return o.began
}

// metSince reports whether an operation has failed within the last d.
func (o *outage) metSince(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.last) < d
}

// over logs that the outage has ended.
func (o *outage) over(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = time.Now()
	o.logger().InfoContext(ctx, "database available again", "after", o.ended.Sub(o.since).Round(time.Millisecond),
		"requests", o.met["requests"], "background_work", o.met["background work"], "live_streams", o.met["live streams"])
	o.since = time.Time{}
}

func (o *outage) logger() *slog.Logger {
	if o.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.log
}
