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
	// usagePause is the least time from one asking that had an answer with numbers to
	// the next on one connection: it may have megabytes.
	usagePause = 4 * time.Second
	// The gateway repeats totals for half a minute and then counts anew, which takes
	// it three questions. Until those of the last change are there, it is asked every
	// staleLast; after staleTries as seldom as after any failure.
	staleLast, staleTries = 4 * time.Second, 20
)

// version tells whether a session has changed between two readings.
type version struct {
	id      string
	updated clock.Time
	active  bool
}

func versionOf(r *gateway.Session) version { return version{r.ID, r.UpdatedAt, r.Active} }

// counted are the totals of a session, and of what.
type counted struct {
	gateway.Totals
	of      version
	reading int  // in which they were read
	noted   bool // they are the usage ledger's, and the runtime has not counted so far yet
}

// usageReading is one asking for the totals.
type usageReading struct {
	reading  int
	versions map[string]version // of the sessions when it was asked; nil while they are not known
	rows     []gateway.Session  // the same
	answer   chan usageAnswer
}

type usageAnswer struct {
	usage gateway.SessionUsage
	err   error
}

// of says which sessions are meant.
func (u *usageReading) of(rows []gateway.Session) {
	u.rows, u.versions = rows, make(map[string]version, len(rows))
	for i := range rows {
		u.versions[rows[i].Key] = versionOf(&rows[i])
	}
}

// ask begins to read the totals.
func (r *reader) ask(ctx context.Context) {
	r.readings++
	r.asked = time.Now()
	u := &usageReading{reading: r.readings, answer: make(chan usageAnswer, 1)}
	r.usage = u
	r.work.Go(func() {
		usage, err := r.s.Runtime.Usage(ctx)
		u.answer <- usageAnswer{usage, err}
	})
}

// usageNext is when to ask for the totals.
func (r *reader) usageNext() time.Time {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bare {
		m.bare = false
		r.usageDue = first(r.usageDue, time.Now().Add(retryFirst))
	}
	return last(r.usageDue, r.usageFree)
}

// pending is where the totals arrive that nobody waits for.
func (r *reader) pending() <-chan usageAnswer {
	if r.usage == nil {
		return nil
	}
	return r.usage.answer
}

// await waits a moment for the totals that were asked for with a list.
func (r *reader) await(ctx context.Context, rows []gateway.Session) {
	if r.usage == nil || r.usage.versions != nil {
		return // they are slow, and come when they come
	}
	r.usage.of(rows)
	limit := time.NewTimer(usageGrace)
	defer limit.Stop()
	select {
	case u := <-r.usage.answer:
		r.take(u)
	case <-limit.C:
	case <-ctx.Done():
	}
}

// take keeps totals that have come, and notes when to ask again. Numbers of
// before stay good for a session that has not changed since.
func (r *reader) take(u usageAnswer) {
	read, m := r.usage, &r.s.mirror
	r.usage = nil
	m.mu.Lock()
	m.counted, m.noted = read.reading, true // the ledger may have what these lack
	for key := range m.totals {
		if k := m.rows[key]; k != nil && k.Active {
			m.touch(key) // what it had was of the reading before
		}
	}
	m.mu.Unlock()
	if u.err != nil || !u.usage.Fresh || read.versions == nil {
		if u.err != nil && r.tries["usage"] == 0 && fault.Of(u.err) == nil {
			r.s.Log.Warn("the costs of the sessions could not be read", "err", u.err)
		}
		r.usageDue = time.Now().Add(r.retry("usage"))
		return
	}
	delete(r.tries, "usage")
	r.usageFree = r.asked.Add(usagePause)
	if r.s.Read != nil {
		r.s.Read(read.rows, &u.usage)
	}
	r.usageDue = time.Now().Add(reconcile)
	if uncounted := r.keep(read, u.usage); !uncounted.IsZero() {
		r.usageDue = time.Now().Add(r.stale(uncounted))
	}
}

// keep keeps what was counted, and says when the last session changed that was not.
func (r *reader) keep(read *usageReading, usage gateway.SessionUsage) (uncounted clock.Time) {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, v := range read.versions {
		t, ok := usage.Totals[key]
		switch {
		case !usage.At.IsZero() && v.updated.After(usage.At.Time):
			if !m.totals[key].tell(v) && v.updated.After(uncounted.Time) {
				uncounted = v.updated
			}
			continue
		case ok:
			if was := m.totals[key]; was.noted && was.of == v && same(was.Totals, t) {
				t = was.Totals
			}
			m.totals[key] = counted{Totals: t, of: v, reading: read.reading}
		default:
			delete(m.totals, key)
		}
		m.touch(key)
	}
	for key, k := range m.rows { // what has changed since it was asked
		if v := versionOf(&k.Session); v != read.versions[key] && !k.Active && !m.totals[key].tell(v) && v.updated.After(uncounted.Time) {
			uncounted = v.updated
		}
	}
	return uncounted
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
