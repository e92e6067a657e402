package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/platform/db"
)

// outage tells of times without a database with one line when one begins and
// one when it ends, however many met it.
type outage struct {
	ask func(context.Context) error
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	since time.Time      // zero while the database is there
	last  time.Time      // when it was last met
	met   map[string]int // how often, by what
	began chan struct{}  // says that there is one
}

func newOutage(ask func(context.Context) error, log *slog.Logger, now func() time.Time) *outage {
	return &outage{ask: ask, log: log, now: now, met: map[string]int{}, began: make(chan struct{}, 1)}
}

// notice reports whether err says that the database is away, and counts it for
// what met it.
func (o *outage) notice(what string, err error) bool {
	reason, away := db.Unavailable(err)
	if !away {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.met[what]++
	o.last = o.now()
	if !o.since.IsZero() {
		return true
	}
	o.since = o.now()
	o.log.Error("the database is away", "reason", reason, "err", err)
	select {
	case o.began <- struct{}{}:
	default:
	}
	return true
}

const (
	// askAgain is how often the database is asked whether it is back.
	askAgain = time.Second
	// calm is how long nobody must have met the outage for it to be over: a full
	// disk can be read, and only those who write notice it.
	calm = 3 * time.Second
)

// watch waits for the end of each outage, until ctx ends. Then it calls back.
func (o *outage) watch(ctx context.Context, back func()) {
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
			case <-time.After(askAgain):
			}
			again = o.asked(ctx) != nil || o.metSince(calm)
		}
		o.over(ctx)
		back()
	}
}

func (o *outage) metSince(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now().Sub(o.last) < d
}

func (o *outage) asked(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return o.ask(ctx)
}

func (o *outage) over(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log.InfoContext(ctx, "the database is back", "after", o.now().Sub(o.since).Round(time.Millisecond),
		"requests", o.met["requests"], "background_work", o.met["background work"], "live_streams", o.met["live streams"])
	o.since, o.met = time.Time{}, map[string]int{}
}
