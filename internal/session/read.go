package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// The pace of the readings. While events tell all, only reconcile and
// verifyEvery count.
const (
	// reconcile is how often the list is read although nothing seems to be amiss,
	// and reconcileDeaf the same while the gateway does not tell what changes.
	reconcile, reconcileDeaf = 2 * time.Minute, time.Minute
	// verifyEvery is the least time between two readings for which nobody waits, and
	// verifyShare how many times as long as one usually takes.
	verifyEvery, verifyShare = 5 * time.Second, 10
	// pause is the least time between two readings of one connection. A list that
	// takes longer is read at most half of the time.
	pause = time.Second
	// owedFor is how long the row may take to come of which an event has told.
	owedFor = 2 * time.Second
	// readEvery is the least time between two calls of Read for what events told. What
	// a run cost is known after it.
	readEvery = 500 * time.Millisecond
	// retryFirst and retryLast bound how soon is tried again what failed, or came
	// without numbers because the runtime was still counting.
	retryFirst, retryLast = time.Second, 30 * time.Second
)

// reader reads the runtime; it belongs to the goroutine of Run.
type reader struct {
	s       *Service
	work    *sync.WaitGroup
	mark    uint64         // that the last reading began after
	tried   any            // the connection of the last reading, also of one that failed
	settled any            // the connection of which we know whether it tells of changed sessions
	began   time.Time      // when it began
	took    time.Duration  // how long it took
	usual   time.Duration  // how long the shorter of the last two took: one alone may have met a busy gateway
	free    time.Time      // when the next one may begin
	due     time.Time      // when the next one is due though there is no reason
	given   time.Time      // when Read was last called
	tries   map[string]int // failures in a row, by what failed
	cut     bool           // we have said that there are too many sessions

	usage     *usageReading // that is under way; nil when there is none
	readings  int           // of totals
	asked     time.Time     // when the last of them began
	usageFree time.Time     // when the next may begin
	usageDue  time.Time     // when it is to
	uncounted clock.Time    // of the last change that the totals do not have yet

	met map[string]bool // sessions of the first list
}

// Run keeps the mirror until ctx ends. It returns nil, after everything that it
// started has ended. Nobody else may run at the same time.
func (s *Service) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	m := &s.mirror
	m.lock()
	wake := m.wake
	m.mu.Unlock()
	work.Go(func() { s.listen(ctx) })
	work.Go(func() { s.watchStalls(ctx) })
	if s.Changed != nil {
		work.Go(func() { s.tellAll(ctx) })
	}
	r := reader{s: s, work: &work, tries: map[string]int{}}
	again := time.NewTimer(reconcile) // an event will tell of a connection
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-again.C:
		case u := <-r.pending():
			r.take(u)
		}
		again.Reset(r.step(ctx))
	}
}

// step does what is due, and says when to look again although nothing happens.
func (r *reader) step(ctx context.Context) time.Duration {
	on, err := r.s.Runtime.Connection()
	if err != nil {
		return reconcile // an event will tell of the next connection
	}
	if !time.Now().Before(r.next(on)) {
		r.refresh(ctx, on)
	}
	if r.changes() && time.Since(r.given) >= readEvery {
		r.give()
	}
	r.takeNoted(ctx)
	now := time.Now()
	at := r.next(on)
	if r.usage == nil && r.sound() {
		if due := r.usageNext(); now.Before(due) {
			at = first(at, due)
		} else {
			r.ask(ctx)
			r.usage.of(r.rows())
		}
	}
	if r.changes() {
		at = first(at, r.given.Add(readEvery))
	}
	return max(at.Sub(now), time.Millisecond)
}

func first(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// next is when the list is to be read.
func (r *reader) next(on any) time.Time {
	if on != r.tried {
		return time.Time{} // at once
	}
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	at := r.due
	for key, since := range m.owed {
		if due := since.Add(owedFor); !due.After(time.Now()) {
			delete(m.owed, key)
			m.marked++ // whoever looks now must not be shown what was before
		} else {
			at = first(at, due)
		}
	}
	if !m.verify.IsZero() {
		at = first(at, last(m.verify, r.began.Add(max(verifyEvery, verifyShare*r.usual))))
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

// changes says whether there is a list, and events have changed what Read was given.
func (r *reader) changes() bool {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.s.Read != nil && m.grown && m.on != nil && m.err == nil
}

// give gives Read what is known now.
func (r *reader) give() {
	m := &r.s.mirror
	m.mu.Lock()
	m.grown = false
	passing := slices.DeleteFunc(m.passing, func(g gateway.Session) bool { return m.rows[g.Key] != nil })
	m.passing = nil
	m.mu.Unlock()
	r.given = time.Now()
	rows := r.rows()
	if len(passing) > 0 { // they may have come and gone since the last time
		r.s.Read(slices.Concat(rows, passing), nil)
	}
	r.s.Read(rows, nil)
}

// sound says whether there is a list.
func (r *reader) sound() bool {
	m := &r.s.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on != nil && m.err == nil
}

// rows are all that are known, in the order of lists.
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

// refresh reads the list once, and the totals with it.
func (r *reader) refresh(ctx context.Context, on any) {
	s, m := r.s, &r.s.mirror
	fresh := on != r.tried
	asOf, began := clock.At(s.Now()), time.Now()
	m.mu.Lock()
	sure := !fresh && m.marked == r.mark && m.err == nil && m.subbed == on
	r.mark, r.tried, r.began = m.marked, on, began
	m.verify = time.Time{}
	clear(m.owed) // of what the list will tell
	m.stats.Readings++
	m.mu.Unlock()
	list, err := r.list(ctx, on, fresh)
	before := r.took
	r.took = time.Since(began)
	if r.usual = r.took; before > 0 {
		r.usual = min(r.took, before)
	}
	r.free = time.Now().Add(max(pause, r.took))
	m.mu.Lock()
	r.due = time.Now().Add(reconcile)
	if m.subbed == nil {
		r.due = time.Now().Add(reconcileDeaf)
	}
	m.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if still, gone := s.Runtime.Connection(); gone != nil || still != on {
		r.due = r.free // what was read may be of two connections; nobody is shown it
		return
	}
	if err != nil {
		m.mu.Lock()
		m.on, m.read, m.err = on, r.mark, err
		m.tell()
		m.mu.Unlock()
		r.due = time.Now().Add(r.retry("list"))
		return
	}
	delete(r.tries, "list")
	r.say(list.Left)
	if !sure {
		r.await(ctx, list.Rows)
	}
	r.publish(list, asOf, sure)
}

// publish shows a reading to whoever waits.
func (r *reader) publish(list gateway.Sessions, asOf clock.Time, sure bool) {
	m := &r.s.mirror
	m.mu.Lock()
	corrected := m.merge(list, asOf, sure)
	m.on, m.read, m.err = r.tried, r.mark, nil
	if r.met == nil {
		r.met = make(map[string]bool, len(m.rows))
		for key := range m.rows {
			r.met[key] = true
		}
	}
	m.tell()
	m.mu.Unlock()
	if len(corrected) > 0 {
		r.s.Log.Info("the gateway's list of sessions had what none of its events has told", "sessions", len(corrected), "first", corrected[0])
	}
	if r.s.Read != nil {
		r.give()
	}
	if u := r.usage; u != nil && u.versions == nil {
		u.of(r.rows())
	}
}

// list reads the list, after it has made sure that we hear of changes.
func (r *reader) list(ctx context.Context, on any, fresh bool) (gateway.Sessions, error) {
	if r.usage == nil && (fresh || !time.Now().Before(r.usageFree)) {
		r.ask(ctx)
	}
	m := &r.s.mirror
	if r.settled != on {
		m.mu.Lock()
		m.subbed = nil
		m.mu.Unlock()
		err := r.s.Runtime.SubscribeSessions(ctx)
		switch {
		case err == nil:
			m.mu.Lock()
			m.subbed = on
			m.mu.Unlock()
		case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
			// Runs are told of to everybody. Only what has no run comes late.
			r.s.Log.WarnContext(ctx, "the gateway will not tell which sessions change; they are read every minute and with every run", "err", err)
		default:
			return gateway.Sessions{}, err
		}
		r.settled = on
	}
	return r.s.Runtime.ListSessions(ctx, most)
}

// retry is how long to wait after one more failure.
func (r *reader) retry(what string) time.Duration {
	wait := min(retryFirst<<min(r.tries[what], 10), retryLast)
	r.tries[what]++
	return wait
}

// say tells the log once when sessions are left out.
func (r *reader) say(left int) {
	if left > 0 && !r.cut {
		r.s.Log.Warn("the runtime has more sessions than are shown; the oldest are left out", "shown", most, "left_out", left)
	}
	r.cut = left > 0
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	rest := time.NewTimer(d)
	defer rest.Stop()
	select {
	case <-ctx.Done():
	case <-rest.C:
	}
}
