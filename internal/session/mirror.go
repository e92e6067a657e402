package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// The pace of the mirror.
const (
	// pause is the least time from one reading to the next. A run is told of in a
	// dozen events within moments; one reading serves them all.
	pause = 250 * time.Millisecond
	// reconcile is how often the list is read although nothing seems to have
	// changed, for the event that never came.
	reconcile = time.Minute
	// retryFirst and retryLast bound how soon is tried again what failed, or came
	// without numbers because the runtime was still counting.
	retryFirst, retryLast = time.Second, 30 * time.Second
	// most is how many sessions are kept, the last changed ones.
	most = 5000
	// eventsBehind is how many events may wait to be looked at. Past it we are
	// dropped, and read everything anew.
	eventsBehind = 1024
)

// mirror is what is known of the runtime's sessions. The zero value is ready to use.
type mirror struct {
	mu      sync.Mutex
	marked  uint64                       // counts the reasons to read anew
	read    uint64                       // the reasons that the last reading came after
	on      any                          // the connection of the last reading
	shown   *snapshot                    // what it brought; nil when it failed
	err     error                        // why it failed
	changed chan struct{}                // closed and replaced when any of these changes
	wake    chan struct{}                // says that there is a reason
	runs    map[string]gateway.RunChange // runs that events say are going, by session key
	last    map[string]row               // what Changed has been told, by key; of the reader alone
}

// snapshot is one reading of the list. It does not change.
type snapshot struct {
	asOf   clock.Time
	rows   []row // in the order of lists
	place  map[string]int
	agents map[string]Activity
	left   int // sessions that were not read, because there are too many
}

// signals makes the channels on first use; the caller holds the lock.
func (m *mirror) signals() (wake, changed chan struct{}) {
	if m.wake == nil {
		m.wake, m.changed = make(chan struct{}, 1), make(chan struct{})
	}
	return m.wake, m.changed
}

// tell wakes whoever waits in current; the caller holds the lock.
func (m *mirror) tell() {
	_, changed := m.signals()
	close(changed)
	m.changed = make(chan struct{})
}

// mark notes a reason to read anew.
func (m *mirror) mark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked++
	wake, _ := m.signals()
	select {
	case wake <- struct{}{}:
	default: // it has been told already
	}
}

// current is the list as it is now: of the present connection, and read after
// everything that was known to have changed when it was asked for.
func (s *Service) current(ctx context.Context) (*snapshot, error) {
	m := &s.mirror
	m.mu.Lock()
	want := m.marked
	m.mu.Unlock()
	late := time.NewTimer(s.Patience)
	defer late.Stop()
	for {
		on, err := s.Runtime.Connection()
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		_, changed := m.signals()
		due := m.on != on || m.read < want
		shown, failed := m.shown, m.err
		m.mu.Unlock()
		switch {
		case due:
		case failed != nil:
			return nil, failed
		default:
			return shown, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, gateway.ErrTimeout.With("The sessions could not be read within %s.", s.Patience)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Run keeps the mirror until ctx ends. It returns nil, after everything that it
// started has ended. Nobody else may run at the same time.
func (s *Service) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { s.listen(ctx) })
	s.mirror.mu.Lock()
	wake, _ := s.mirror.signals()
	s.mirror.mu.Unlock()
	r := reader{s: s, work: &work, totals: map[string]counted{}, tries: map[string]int{}}
	again := time.NewTimer(reconcile)
	defer again.Stop()
	due := time.Now().Add(reconcile)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			if !r.behind() {
				continue // the last reading began after it
			}
		case <-again.C:
		case u := <-r.pending():
			if next := time.Now().Add(r.belated(u)); next.Before(due) {
				due = next
				again.Reset(time.Until(due))
			}
			continue
		}
		began := time.Now()
		due = began.Add(r.refresh(ctx))
		// A list that takes long is read at most half of the time.
		sleep(ctx, max(pause-time.Since(began), r.took))
		again.Reset(time.Until(due))
	}
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

// listen notes what the gateway tells, without ever waiting for a reading.
func (s *Service) listen(ctx context.Context) {
	for ctx.Err() == nil {
		events, stop := s.Runtime.Events(eventsBehind)
		s.heard(gateway.Event{Resync: true}) // whatever happened before we listened
		for open := true; open; {
			select {
			case e, ok := <-events:
				if open = ok; ok {
					s.heard(e)
				}
			case <-ctx.Done():
				open = false
			}
		}
		stop()
		// We were too slow, or the gateway's client has ended.
		sleep(ctx, retryFirst)
	}
}

// heard notes one event.
func (s *Service) heard(e gateway.Event) {
	m := &s.mirror
	run, isRun := e.Run()
	if e.Resync || e.Name == gateway.EventDisconnected || isRun {
		m.mu.Lock()
		switch {
		case !isRun:
			m.runs = nil // we may have missed how they ended
			m.tell()     // whoever waits looks whether there is a connection
		case run.Began && len(m.runs) < most:
			if m.runs == nil {
				m.runs = map[string]gateway.RunChange{}
			}
			m.runs[run.SessionKey] = run
		case !run.Began && m.runs[run.SessionKey].RunID == run.RunID:
			delete(m.runs, run.SessionKey)
		}
		m.mu.Unlock()
	}
	if e.TouchesSessions() {
		m.mark()
	}
}

// reader reads the runtime; it belongs to the goroutine of Run.
type reader struct {
	s          *Service
	work       *sync.WaitGroup
	mark       uint64 // that the last reading began after
	subscribed any    // the connection that tells of changed sessions
	readings   int
	took       time.Duration      // how long the last list took
	usage      *usageReading      // that is under way; nil when there is none
	totals     map[string]counted // by session key
	tries      map[string]int     // failures in a row, by what failed
	uncounted  clock.Time         // of the last change that the totals do not have yet
	cut        bool               // we have said that there are too many sessions
}

// version tells whether a session has changed between two readings.
type version struct {
	id      string
	updated clock.Time
	active  bool
}

func versionOf(r *gateway.Session) version { return version{r.ID, r.UpdatedAt, r.Active} }

// refresh reads the list and its totals once, and says when to do so again
// although nothing has happened.
func (r *reader) refresh(ctx context.Context) time.Duration {
	s, m := r.s, &r.s.mirror
	m.mu.Lock()
	r.mark = m.marked
	m.mu.Unlock()
	on, err := s.Runtime.Connection()
	if err != nil {
		return reconcile // an event will tell of the next connection
	}
	r.readings++
	asOf := clock.At(s.Now())
	began := time.Now()
	list, err := r.list(ctx, on)
	r.took = time.Since(began)
	if ctx.Err() != nil {
		return reconcile
	}
	if still, gone := s.Runtime.Connection(); gone != nil || still != on {
		return pause // what was read may be of two connections; nobody was shown it
	}
	if err != nil {
		s.publish(on, r.mark, nil, err)
		return r.retry("list")
	}
	delete(r.tries, "list")
	if s.Read != nil {
		s.Read(list.Rows, nil)
	}
	next := r.count(ctx, list.Rows)
	r.say(list.Left)
	s.publish(on, r.mark, r.compose(asOf, list), nil)
	return next
}

// behind says whether there is a reason that no reading came after.
func (r *reader) behind() bool {
	r.s.mirror.mu.Lock()
	defer r.s.mirror.mu.Unlock()
	return r.s.mirror.marked != r.mark
}

// list reads the list, after it has made sure that we hear of changes.
func (r *reader) list(ctx context.Context, on any) (gateway.Sessions, error) {
	if r.subscribed != on {
		err := r.s.Runtime.SubscribeSessions(ctx)
		switch {
		case err == nil:
		case errors.Is(err, gateway.ErrRefused) || errors.Is(err, gateway.ErrMissingScope):
			// Runs are told of to everybody. Only what has no run comes late.
			r.s.Log.WarnContext(ctx, "the gateway will not tell which sessions change; they are read every minute and with every run", "err", err)
		default:
			return gateway.Sessions{}, err
		}
		r.subscribed = on
	}
	if r.usage == nil {
		r.ask(ctx)
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

// compose puts together what is known.
func (r *reader) compose(asOf clock.Time, list gateway.Sessions) *snapshot {
	shown := &snapshot{asOf: asOf, rows: make([]row, len(list.Rows)), place: make(map[string]int, len(list.Rows)), left: list.Left}
	r.s.mirror.mu.Lock()
	for i, g := range list.Rows {
		rw := row{Session: g}
		if run, ok := r.s.mirror.runs[g.Key]; ok && g.Active && (g.RunID == "" || g.RunID == run.RunID) {
			rw.RunID, rw.began = run.RunID, run.At
		}
		// While a run is going its session grows without a new version.
		if t, ok := r.totals[g.Key]; ok && t.of == versionOf(&g) && (!g.Active || t.reading == r.readings) {
			rw.totals, rw.counted = t.Totals, true
		}
		shown.rows[i] = rw
	}
	r.s.mirror.mu.Unlock()
	order(shown.rows)
	for i := range shown.rows {
		shown.place[shown.rows[i].Key] = i
	}
	shown.agents = activities(shown.rows)
	return shown
}

// publish shows a reading to whoever waits, and tells Changed what is new.
func (s *Service) publish(on any, mark uint64, shown *snapshot, err error) {
	m := &s.mirror
	m.mu.Lock()
	m.on, m.read, m.shown, m.err = on, mark, shown, err
	m.tell()
	m.mu.Unlock()
	if shown == nil || s.Changed == nil {
		return
	}
	var changed []Session
	var gone []string
	now := make(map[string]row, len(shown.rows))
	for i := range shown.rows {
		r := shown.rows[i]
		now[r.Key] = r
		if was, ok := m.last[r.Key]; !ok || was != r {
			changed = append(changed, r.show(shown.asOf))
		}
	}
	for key := range m.last {
		if _, ok := now[key]; !ok {
			gone = append(gone, key)
		}
	}
	m.last = now
	if len(changed)+len(gone) > 0 {
		s.Changed(changed, gone)
	}
}
