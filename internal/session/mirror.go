package session

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// most is how many sessions are kept, the last changed ones.
const most = 5000

// mirror is what is known of the runtime's sessions: the list as it was read, and
// on it what events have told since. The zero value is ready to use.
//
// Rows are put in order by when they came to us: the gateway makes a row when it
// sends the event, and the events of one connection come in their order. Only a
// list takes its time, so that what events tell while it is read is newer than
// what it says, unless the gateway's own stamps say otherwise.
type mirror struct {
	mu      sync.Mutex
	marked  uint64               // counts the reasons to read anew before anybody is shown anything
	read    uint64               // the reasons that the last reading came after
	on      any                  // the connection of the last reading
	err     error                // why it failed
	changed chan struct{}        // closed and replaced when any of these changes
	wake    chan struct{}        // says that there is something to do for the reader
	poke    chan struct{}        // the same for who tells
	rows    map[string]*known    // by key
	left    int                  // sessions that were not read, because there are too many
	epoch   uint64               // counts the times at which events may have been missed, from 1
	asOf    clock.Time           // of the last thing that we heard of any of them
	parted  map[string]time.Time // sessions that events say are gone, and when we heard; until the next reading
	subbed  any                  // the connection that tells of changed sessions; nil when it does not

	runs    map[string]gateway.RunChange // runs that events say are going, by session key
	totals  map[string]counted           // by session key
	counted int                          // the last reading of totals that has ended

	owed   map[string]time.Time // sessions of which something was told without their row, and since when
	verify time.Time            // when the list is to be looked at, though nobody need wait for it; zero is never
	grown  bool                 // rows have changed since they were last given to Read
	doubts map[string]time.Time // sessions of which a reading knew what no event had told, and since when
	bare   bool                 // a session at rest has changed, so that its totals are not known
	noted  bool                 // the usage ledger may have totals that are not shown

	passing []gateway.Session // that have gone since Read was last given all, as they were

	shown *snapshot              // what was composed last; nil when it is not right any more
	order []string               // the keys of what was composed last, in the order of lists
	dirty map[string]struct{}    // sessions that may be other than what Changed was told
	told  map[string]toldSession // what Changed was told last, by key
	stats Counts
}

// known is the last row of a session. It is replaced, never changed.
type known struct {
	gateway.Session
	stamp int64      // when the gateway made it; 0 when it does not say
	asOf  clock.Time // never before that of the row before it
	came  time.Time  // when it came, or the reading began that brought it
	epoch uint64     // of the events that brought it; 0 when a list did
	said  time.Time  // when an event told what was said last; zero when a list did
}

// snapshot is the list at one moment. It does not change.
type snapshot struct {
	asOf   clock.Time
	rows   []row // in the order of lists
	place  map[string]int
	agents map[string]Activity
	left   int
}

// Counts are what the mirror has done since the start of the process.
type Counts struct {
	Readings  uint64 // of the whole list
	Rows      uint64 // that events brought
	Late      uint64 // of them, those that were older than what we had
	Corrected uint64 // rows that a reading found other than events had made them, or that no event told of
}

// Counts says what the mirror has done so far. Corrections are a fault of ours,
// or of the gateway's.
func (s *Service) Counts() Counts {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	return s.mirror.stats
}

// init makes what the zero value lacks; the caller holds the lock.
func (m *mirror) init() {
	if m.wake != nil {
		return
	}
	m.wake, m.poke, m.changed = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	m.epoch = 1
	m.rows, m.parted, m.totals = map[string]*known{}, map[string]time.Time{}, map[string]counted{}
	m.runs, m.owed = map[string]gateway.RunChange{}, map[string]time.Time{}
	m.doubts = map[string]time.Time{}
	m.dirty, m.told = map[string]struct{}{}, map[string]toldSession{}
}

// lock is mu.Lock for whoever uses what init makes.
func (m *mirror) lock() {
	m.mu.Lock()
	m.init()
}

// tell wakes whoever waits in current; the caller holds the lock.
func (m *mirror) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// nudge wakes somebody who works by a channel of one place.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has been told already
	}
}

// mark notes a reason to read anew; the caller holds the lock.
func (m *mirror) mark() {
	m.marked++
	nudge(m.wake)
}

// touch notes that a session may look other than before; the caller holds the lock.
func (m *mirror) touch(key string) {
	m.dirty[key] = struct{}{}
	m.shown = nil
	nudge(m.poke)
	if !m.grown { // there is something to give to Read
		m.grown = true
		nudge(m.wake)
	}
}

// current is the list as it is now: of the present connection, and read after
// everything that was known to have changed, and not how, when it was asked for.
func (s *Service) current(ctx context.Context) (*snapshot, error) {
	m := &s.mirror
	m.lock()
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
		switch {
		case m.on != on || m.read < want:
		case m.err != nil:
			defer m.mu.Unlock()
			return nil, m.err
		default:
			defer m.mu.Unlock()
			return m.compose(), nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
			return nil, gateway.ErrTimeout.With("The sessions could not be read within %s.", s.Patience)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// compose puts together what is known; the caller holds the lock.
func (m *mirror) compose() *snapshot {
	if m.shown != nil {
		return m.shown
	}
	shown := &snapshot{asOf: m.asOf, rows: make([]row, 0, len(m.rows)), place: make(map[string]int, len(m.rows)), left: m.left}
	for _, key := range m.order { // which is nearly the order that it has now
		if k, ok := m.rows[key]; ok {
			shown.place[key] = len(shown.rows)
			shown.rows = append(shown.rows, m.row(k))
		}
	}
	for key, k := range m.rows {
		if _, ok := shown.place[key]; !ok {
			shown.rows = append(shown.rows, m.row(k))
		}
	}
	order(shown.rows)
	m.order = m.order[:0]
	for i := range shown.rows {
		shown.place[shown.rows[i].Key] = i
		m.order = append(m.order, shown.rows[i].Key)
	}
	shown.agents = activities(shown.rows)
	m.shown = shown
	return shown
}

// row is a session with all that is known of it; the caller holds the lock.
func (m *mirror) row(k *known) row {
	r := row{Session: k.Session, asOf: k.asOf}
	if run, ok := m.runs[k.Key]; ok && k.Active && (k.RunID == "" || k.RunID == run.RunID) {
		r.RunID, r.began = run.RunID, run.At
	}
	// While a run is going its session grows without a new version.
	if t, ok := m.totals[k.Key]; ok && t.of == versionOf(&k.Session) && (!k.Active || t.reading == m.counted) {
		r.totals, r.counted = t.Totals, true
	}
	return r
}

// merge puts a list that was asked for at a moment under what events have told
// since. sure says that events should have told all that is in it; the return
// value is of which sessions they never did. The caller holds the lock.
func (m *mirror) merge(list gateway.Sessions, asOf clock.Time, sure bool) (corrected []string) {
	asked := asOf.Time // in whole milliseconds, like the moments of events: in the same one the event is the newer
	var news []string
	there := make(map[string]bool, len(list.Rows))
	for i := range list.Rows {
		g, stamp := &list.Rows[i], int64(0)
		if i < len(list.Stamps) {
			stamp = list.Stamps[i]
		}
		there[g.Key] = true
		if at, ok := m.parted[g.Key]; ok && !at.Before(asked) {
			there[g.Key] = false
			continue
		}
		if m.place(g, stamp, asOf) && sure {
			news = append(news, g.Key)
		}
	}
	for key, k := range m.rows {
		if there[key] || m.newer(k, asked) {
			continue
		}
		if _, known := m.parted[key]; sure && !known {
			news = append(news, key)
		}
		delete(m.rows, key)
		m.touch(key)
	}
	for key, at := range m.parted {
		if at.Before(asked) {
			delete(m.parted, key)
		}
	}
	for key := range m.totals {
		if m.rows[key] == nil {
			delete(m.totals, key)
		}
	}
	m.left = list.Left
	if asOf.After(m.asOf.Time) {
		m.asOf = asOf
	}
	m.shown = nil
	return m.doubt(news)
}

// place takes one row of a list, and says whether it is other than what events
// had made of it. The caller holds the lock.
func (m *mirror) place(g *gateway.Session, stamp int64, asOf clock.Time) (other bool) {
	asked := asOf.Time
	was := m.rows[g.Key]
	k := &known{Session: *g, stamp: stamp, asOf: asOf, came: asked}
	if was != nil {
		k.asOf = latest(asOf, was.asOf)
		if m.newer(was, asked) && (stamp == 0 || was.stamp == 0 || stamp <= was.stamp) {
			// An event has told of it meanwhile, and only the list knows for certain what
			// was said last.
			kept := *was
			if was.said.Before(asked) {
				kept.LastMessage, kept.said = g.LastMessage, time.Time{}
			}
			k = &kept
		}
	}
	m.rows[g.Key] = k
	m.price(was, k)
	if was == nil || was.Session != k.Session {
		m.touch(g.Key)
	}
	if was == nil {
		return true
	}
	before := was.Session
	before.LastMessage = k.LastMessage // events may have an older one
	return before != k.Session
}

// price has the totals asked for of a session at rest that has changed; the
// caller holds the lock.
func (m *mirror) price(was, k *known) {
	v := versionOf(&k.Session)
	if k.Active || m.bare || was != nil && versionOf(&was.Session) == v || m.totals[k.Key].of == v {
		return
	}
	m.bare = true
	nudge(m.wake)
}

// newer says whether an event told of a session after a list was asked for, and
// none was missed since; the caller holds the lock.
func (m *mirror) newer(k *known, asked time.Time) bool {
	return k.epoch == m.epoch && !k.came.Before(asked)
}

// doubt notes sessions of which a list knew what no event had told by then, and
// returns those of before of which none has told since: the state of a session
// changes a moment before its event is made. The caller holds the lock.
func (m *mirror) doubt(keys []string) (corrected []string) {
	const moment = 3 * time.Second
	now := time.Now()
	for key, since := range m.doubts {
		if now.Sub(since) > moment {
			corrected = append(corrected, key)
			delete(m.doubts, key)
		}
	}
	for _, key := range keys {
		if _, ok := m.doubts[key]; !ok {
			m.doubts[key] = now
		}
	}
	m.stats.Corrected += uint64(len(corrected))
	return corrected
}

func latest(a, b clock.Time) clock.Time {
	if b.After(a.Time) {
		return b
	}
	return a
}
