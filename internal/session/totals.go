package session

import (
	"context"
	"errors"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Intervals between reads of the sessions' usage totals.
const (
	// usageGrace is how long a list waits for its totals before it is published without
	// them.
	usageGrace = time.Second
	// usagePause is the minimum time between two successful reads on one connection,
	// because a response can be several megabytes.
	usagePause = 4 * time.Second
	// The gateway caches totals for 30 seconds and needs three requests to compute new ones. Until
	// the totals include the latest change, they are read every staleInterval. After staleTries
	// attempts, the delay grows as it does after failures.
	staleInterval, staleTries = 4 * time.Second, 20
)

// version identifies a session's state, so that changes can be detected.
type version struct {
	id      string
	updated clock.Time
	active  bool
}

func versionOf(r *gateway.Session) version { return version{r.ID, r.UpdatedAt, r.Active} }

// counted holds the usage totals of a session.
type counted struct {
	gateway.Totals
	of      version
	reading int  // number of the read of totals
	noted   bool // the totals are from the usage ledger and newer than the runtime's
}

// usageReading is one read of the sessions' usage totals.
type usageReading struct {
	reading  int
	versions map[string]version // of the sessions at the time of the request; nil if not known yet
	rows     []gateway.Session  // the sessions of versions
	answer   chan usageAnswer
}

type usageAnswer struct {
	usage gateway.SessionUsage
	err   error
}

// setSessions stores the sessions as they were when the totals were requested.
func (u *usageReading) setSessions(rows []gateway.Session) {
	u.rows, u.versions = rows, make(map[string]version, len(rows))
	for i := range rows {
		u.versions[rows[i].Key] = versionOf(&rows[i])
	}
}

// startTotals starts reading the sessions' usage totals.
func (r *reader) startTotals(ctx context.Context) {
	r.readings++
	r.asked = time.Now()
	u := &usageReading{reading: r.readings, answer: make(chan usageAnswer, 1)}
	r.usage = u
	r.work.Go(func() {
		usage, err := r.s.Runtime.Usage(ctx)
		u.answer <- usageAnswer{usage, err}
		r.s.mirror.wake.Wake()
	})
}

// usageNext returns the time at which to read the sessions' usage totals.
func (r *reader) usageNext() time.Time {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.totalsWanted {
		m.totalsWanted = false
		r.usageDue = first(r.usageDue, time.Now().Add(mirror.RetryFirst))
	}
	return last(r.usageDue, r.usageFree)
}

// totalsAnswer returns the channel for the result of the current read of usage totals, or nil if no
// read is in progress.
func (r *reader) totalsAnswer() <-chan usageAnswer {
	if r.usage == nil {
		return nil
	}
	return r.usage.answer
}

// awaitTotals waits up to usageGrace for usage totals that were requested together with a session
// list.
func (r *reader) awaitTotals(ctx context.Context, rows []gateway.Session) {
	if r.usage == nil || r.usage.versions != nil {
		return // requested before the list
	}
	r.usage.setSessions(rows)
	limit := time.NewTimer(usageGrace)
	defer limit.Stop()
	select {
	case u := <-r.usage.answer:
		r.handleTotals(u)
	case <-limit.C:
	case <-ctx.Done():
	}
}

// handleTotals stores the totals from a read and schedules the next read. Earlier totals remain
// valid for sessions that have not changed.
func (r *reader) handleTotals(u usageAnswer) {
	read, m := r.usage, &r.s.mirror
	r.usage = nil
	m.mu.Lock()
	m.counted, m.noted = read.reading, true // the ledger may be ahead of these
	for key := range m.totals {
		if k := m.rows[key]; k != nil && k.Active {
			m.markChanged(key) // its totals are from an earlier read
		}
	}
	m.mu.Unlock()
	if u.err != nil || !u.usage.Fresh || read.versions == nil {
		if u.err != nil && r.tries["usage"] == 0 && fault.Of(u.err) == nil && !errors.Is(u.err, context.Canceled) {
			r.s.Log.Warn("could not read the costs of the sessions", "err", u.err)
		}
		r.usageDue = time.Now().Add(r.retry("usage"))
		return
	}
	delete(r.tries, "usage")
	r.usageFree = r.asked.Add(usagePause)
	r.s.Lists.PutTotals(&u.usage)
	r.usageDue = time.Now().Add(reconcileInterval)
	if uncounted := r.storeTotals(read, u.usage); !uncounted.IsZero() {
		r.usageDue = time.Now().Add(r.staleRetry(uncounted))
	}
}

// storeTotals stores the sessions' usage totals in the mirror. It returns the time of the latest
// session change that is not included in the totals, or the zero time.
func (r *reader) storeTotals(read *usageReading, usage gateway.SessionUsage) (uncounted clock.Time) {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, v := range read.versions {
		t, ok := usage.Totals[key]
		switch {
		case !usage.At.IsZero() && v.updated.After(usage.At.Time):
			if !m.totals[key].includes(v) && v.updated.After(uncounted.Time) {
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
		m.markChanged(key)
	}
	for key, k := range m.rows { // changes since the request
		if v := versionOf(&k.Session); v != read.versions[key] && !k.Active && !m.totals[key].includes(v) && v.updated.After(uncounted.Time) {
			uncounted = v.updated
		}
	}
	return uncounted
}

// staleRetry returns how long to wait before reading the totals again if they do not
// include the latest session change yet.
func (r *reader) staleRetry(uncounted clock.Time) time.Duration {
	if uncounted != r.uncounted {
		r.uncounted = uncounted
		delete(r.tries, "stale")
	}
	wait := r.retry("stale")
	if r.tries["stale"] <= staleTries {
		wait = min(wait, staleInterval)
	}
	return wait
}
