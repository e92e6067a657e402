package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
)

// Intervals between reads of the session list. While no events are missing, only reconcileInterval
// and verifyInterval apply.
const (
	// reconcileInterval is how often the list is read even if nothing requires it.
	// Without a subscription to session changes, it is read every unsubscribedInterval.
	reconcileInterval, unsubscribedInterval = 2 * time.Minute, time.Minute
	// verifyInterval is the minimum time between two reads in the background, that is, if no
	// request waits for them. It is at least verifyFactor times the usual duration of a read.
	verifyInterval, verifyFactor = 5 * time.Second, 10
	// pause is the minimum time between two reads on one connection. It is at least the
	// duration of the last read.
	pause = time.Second
	// rowTimeout is how long to wait for a session's row after an event that does not contain the
	// row.
	rowTimeout = 2 * time.Second
	// publishInterval is the minimum time between two lists in Lists that events cause, and between two reads of
	// the costs. It can delay the display of a run's cost.
	publishInterval = 500 * time.Millisecond
)

// reader reads the list of sessions and their costs. Only Run's goroutine uses it.
type reader struct {
	s              *Service
	mark           uint64         // mirror.marked at the start of the last read
	tried          any            // connection of the last read, successful or not
	subscribeTried any            // connection on which subscribing succeeded or was refused
	began          time.Time      // start of the last read
	took           time.Duration  // duration of the last read
	usual          time.Duration  // the shorter of the last two durations, because one can be an outlier
	free           time.Time      // earliest start of the next read
	due            time.Time      // when to read next if nothing requires it earlier
	published      time.Time      // when Lists last received a list
	tries          map[string]int // failures in a row, by what failed
	warnedLeftOut  bool           // the log has a warning about too many sessions
	costsFree      time.Time      // earliest start of the next read of the costs
}

// Run keeps the mirror up to date until ctx ends. It returns nil after its goroutines
// have ended. It must not run twice at the same time.
func (s *Service) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	s.mirror.lock() // initializes it
	s.mirror.mu.Unlock()
	work.Go(func() { s.watchStalls(ctx) })
	work.Go(func() { s.runNotifier(ctx) })
	work.Go(func() { s.reportMissed(ctx) })
	r := reader{s: s, tries: map[string]int{}}
	loop := mirror.Loop{
		Name: "sessions", DB: s.DB, Log: s.Log,
		Pass: func(ctx context.Context) (time.Duration, error) { return r.step(ctx), nil },
	}
	loop.Run(ctx, &s.mirror.wake)
	return nil
}

// step does the work that is due and returns the time until the next step.
func (r *reader) step(ctx context.Context) time.Duration {
	on, err := r.s.Runtime.Connection()
	if err != nil {
		return reconcileInterval // a connection wakes it earlier
	}
	if !time.Now().Before(r.nextRead(on)) {
		r.refresh(ctx, on)
	}
	if r.changes() && time.Since(r.published) >= publishInterval {
		r.publishRows()
	}
	if r.costsDue() && !time.Now().Before(r.costsFree) {
		r.readCosts(ctx)
	}
	at := r.nextRead(on)
	if r.costsDue() {
		at = first(at, r.costsFree)
	}
	if r.changes() {
		at = first(at, r.published.Add(publishInterval))
	}
	return max(time.Until(at), time.Millisecond)
}

func first(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// nextRead returns the time at which to read the session list. The zero time means immediately.
func (r *reader) nextRead(on any) time.Time {
	if on != r.tried {
		return time.Time{} // at once
	}
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	at := r.due
	for key, since := range m.awaitingRow {
		if due := since.Add(rowTimeout); !due.After(time.Now()) {
			delete(m.awaitingRow, key)
			m.marked++ // requests must not see the old state
		} else {
			at = first(at, due)
		}
	}
	if !m.verify.IsZero() {
		at = first(at, last(m.verify, r.began.Add(max(verifyInterval, verifyFactor*r.usual))))
	}
	if m.marked != r.mark {
		return r.free
	}
	return last(at, r.free)
}

func last(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// changes reports whether events have changed the session list since the last list in Lists.
func (r *reader) changes() bool {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grown && m.on != nil && m.err == nil
}

// publishRows puts the current rows into Lists.
func (r *reader) publishRows() {
	m := &r.s.mirror
	m.mu.Lock()
	m.grown = false
	removedRows := slices.DeleteFunc(m.removedRows, func(g gateway.Session) bool { return m.rows[g.Key] != nil })
	m.removedRows = nil
	m.mu.Unlock()
	r.published = time.Now()
	rows := r.rows()
	asOf := clock.At(r.s.Now())
	if len(removedRows) > 0 { // some may have been added and removed since the last call
		r.s.Lists.Put(slices.Concat(rows, removedRows), asOf)
	}
	r.s.Lists.Put(rows, asOf)
}

// costsDue reports whether the costs of the listed sessions may have changed since they were read.
func (r *reader) costsDue() bool {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.costsDue && m.on != nil && m.err == nil
}

// rows returns all rows in the order in which the API lists sessions.
func (r *reader) rows() []gateway.Session {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	shown := m.compose()
	rows := make([]gateway.Session, len(shown.rows))
	for i := range shown.rows {
		rows[i] = m.rows[shown.rows[i].Key].Session
	}
	return rows
}

// refresh reads the session list once.
func (r *reader) refresh(ctx context.Context, on any) {
	s, m := r.s, &r.s.mirror
	fresh := on != r.tried
	asOf, began := clock.At(s.Now()), time.Now()
	m.mu.Lock()
	sure := !fresh && m.marked == r.mark && m.err == nil && m.subscribed == on
	r.mark, r.tried, r.began = m.marked, on, began
	if m.verify = m.verifyLast; !m.verify.After(began) {
		m.verify = time.Time{}
	}
	clear(m.awaitingRow) // the list has the rows
	m.stats.Readings++
	m.mu.Unlock()
	list, err := r.list(ctx, on)
	before := r.took
	r.took = time.Since(began)
	if r.usual = r.took; before > 0 {
		r.usual = min(r.took, before)
	}
	r.free = time.Now().Add(max(pause, r.took))
	m.mu.Lock()
	r.due = time.Now().Add(reconcileInterval)
	if m.subscribed == nil {
		r.due = time.Now().Add(unsubscribedInterval)
	}
	m.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if still, gone := s.Runtime.Connection(); gone != nil || still != on {
		r.due = r.free // discard the list, which may be from two connections
		return
	}
	if err != nil {
		m.mu.Lock()
		m.on, m.read, m.err = on, r.mark, err
		m.changes.Broadcast()
		m.mu.Unlock()
		r.due = time.Now().Add(r.retry("list"))
		return
	}
	delete(r.tries, "list")
	r.warnLeftOut(list.Left)
	r.publish(ctx, list, asOf, sure)
}

// publish applies a new session list to the mirror and wakes waiting requests.
func (r *reader) publish(ctx context.Context, list gateway.Sessions, asOf clock.Time, sure bool) {
	m := &r.s.mirror
	m.mu.Lock()
	corrected := m.merge(list, asOf, sure)
	m.mu.Unlock()
	quick, cancel := context.WithTimeout(ctx, costsGrace)
	r.readCosts(quick)
	cancel()
	m.mu.Lock()
	m.on, m.read, m.err = r.tried, r.mark, nil
	m.changes.Broadcast()
	m.mu.Unlock()
	if len(corrected) > 0 {
		r.s.Log.InfoContext(ctx, "the list of sessions had changes without an event from the gateway", "sessions",
			len(corrected), "first", corrected[0])
	}
	r.publishRows()
}

// list reads the list of sessions. It first subscribes to session changes if it has not yet tried
// to do so on this connection.
func (r *reader) list(ctx context.Context, on any) (gateway.Sessions, error) {
	m := &r.s.mirror
	if r.subscribeTried != on {
		m.mu.Lock()
		m.subscribed = nil
		m.mu.Unlock()
		err := r.s.Runtime.SubscribeSessions(ctx)
		switch {
		case err == nil:
			m.mu.Lock()
			m.subscribed = on
			m.mu.Unlock()
		case errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrMissingScope):
			// Events about runs need no subscription, so only changes without a run are delayed.
			r.s.Log.WarnContext(ctx,
				"the gateway refused the subscription to session changes; reading sessions every minute and after each run",
				"err", err)
		default:
			return gateway.Sessions{}, err
		}
		r.subscribeTried = on
	}
	return r.s.Runtime.ListSessions(ctx, maxSessions)
}

// retry counts an unsuccessful attempt of the given kind and returns the delay before the next one.
func (r *reader) retry(what string) time.Duration {
	r.tries[what]++
	return mirror.Retry(r.tries[what] - 1)
}

// warnLeftOut logs a warning when the session list begins to omit sessions because there are too
// many.
func (r *reader) warnLeftOut(left int) {
	if left > 0 && !r.warnedLeftOut {
		r.s.Log.Warn("the runtime has too many sessions; the oldest are not shown", "shown", maxSessions, "left_out", left)
	}
	r.warnedLeftOut = left > 0
}
