package session

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// The pace of the totals.
const (
	// usageGrace is how much longer than the list its costs may take for both to
	// be shown at once; after it the list is shown without.
	usageGrace = time.Second
	// The gateway repeats totals for half a minute and then counts anew, which takes
	// it three questions. Until those of the last change are there, it is asked every
	// staleLast; after staleTries as seldom as after any failure.
	staleLast, staleTries = 4 * time.Second, 20
)

// counted are the totals of a session, and of what.
type counted struct {
	gateway.Totals
	of      version
	reading int // in which they were read
}

// usageReading is one asking for the totals.
type usageReading struct {
	reading  int
	versions map[string]version // the list that was read at the same time; nil when that failed
	rows     []gateway.Session  // the same
	answer   chan usageAnswer
}

type usageAnswer struct {
	usage gateway.SessionUsage
	err   error
}

// ask begins to read the totals.
func (r *reader) ask(ctx context.Context) {
	u := &usageReading{reading: r.readings, answer: make(chan usageAnswer, 1)}
	r.usage = u
	r.work.Go(func() {
		usage, err := r.s.Runtime.Usage(ctx)
		u.answer <- usageAnswer{usage, err}
	})
}

// pending is where the totals arrive that were too late for their list.
func (r *reader) pending() <-chan usageAnswer {
	if r.usage == nil {
		return nil
	}
	return r.usage.answer
}

// count waits a moment for the totals of these rows, and says when to read again.
func (r *reader) count(ctx context.Context, rows []gateway.Session) time.Duration {
	there := make(map[string]bool, len(rows))
	for i := range rows {
		there[rows[i].Key] = true
	}
	for key := range r.totals {
		if !there[key] {
			delete(r.totals, key)
		}
	}
	if r.usage.reading < r.readings {
		return reconcile // they are slow, and come when they come
	}
	r.usage.rows = rows
	r.usage.versions = make(map[string]version, len(rows))
	for i := range rows {
		r.usage.versions[rows[i].Key] = versionOf(&rows[i])
	}
	limit := time.NewTimer(usageGrace)
	defer limit.Stop()
	select {
	case u := <-r.usage.answer:
		return r.take(u)
	case <-limit.C:
	case <-ctx.Done():
	}
	return reconcile
}

// take keeps totals that have come, and says when to read again. Numbers of
// before stay good for a session that has not changed since.
func (r *reader) take(u usageAnswer) time.Duration {
	read := r.usage
	r.usage = nil
	if u.err != nil || !u.usage.Fresh {
		if u.err != nil && r.tries["usage"] == 0 && fault.Of(u.err) == nil {
			r.s.Log.Warn("the costs of the sessions could not be read", "err", u.err)
		}
		return r.retry("usage")
	}
	delete(r.tries, "usage")
	if r.s.Read != nil && read.versions != nil {
		r.s.Read(read.rows, &u.usage)
	}
	var uncounted clock.Time
	for key, v := range read.versions {
		t, ok := u.usage.Totals[key]
		switch {
		case !u.usage.At.IsZero() && v.updated.After(u.usage.At.Time):
			if r.totals[key].of != v && v.updated.After(uncounted.Time) {
				uncounted = v.updated
			}
		case ok:
			r.totals[key] = counted{t, v, read.reading}
		default:
			delete(r.totals, key)
		}
	}
	switch {
	case read.reading < r.readings:
		return pause // for what has changed meanwhile
	case !uncounted.IsZero():
		return r.stale(uncounted)
	default:
		return reconcile
	}
}

// stale is how long to wait for totals that have the last change in them.
func (r *reader) stale(uncounted clock.Time) time.Duration {
	if uncounted != r.uncounted {
		r.uncounted = uncounted
		delete(r.tries, "stale")
	}
	wait := r.retry("stale")
	if r.tries["stale"] <= staleTries {
		wait = min(wait, staleLast)
	}
	return wait
}

// belated takes totals that came after their list, shows them, and says when to
// read again.
func (r *reader) belated(u usageAnswer) time.Duration {
	next := r.take(u)
	s, m := r.s, &r.s.mirror
	m.mu.Lock()
	on, mark, shown := m.on, m.read, m.shown
	m.mu.Unlock()
	if shown == nil {
		return next
	}
	list := gateway.Sessions{Rows: make([]gateway.Session, len(shown.rows)), Left: shown.left}
	for i := range shown.rows {
		list.Rows[i] = shown.rows[i].Session
	}
	s.publish(on, mark, r.compose(shown.asOf, list), nil)
	return next
}
