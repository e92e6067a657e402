package session

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
)

// maxSessions is the maximum number of sessions in the mirror, which keeps the most recently
// changed ones.
const maxSessions = 5000

// sessionMirror is the current state of the runtime's sessions. It combines the last list with the events
// received since then. The zero value is ready to use.
//
// Of two rows in events, the one received later is newer, because the gateway creates a row when
// it sends the event, and the events of a connection arrive in order. The gateway creates a list
// more slowly. An event received while a list is being read is therefore newer than the list,
// unless the gateway's timestamps say otherwise.
type sessionMirror struct {
	mu         sync.Mutex
	marked     uint64               // number of invalidations, after which requests wait for a new read
	read       uint64               // value of marked before the last read
	on         any                  // connection of the last read
	err        error                // error of the last read
	changes    mirror.Changes       // of any of the above
	wake       mirror.Signal        // wakes the reader
	notify     mirror.Signal        // wakes the notifier
	rows       map[string]*entry    // by key
	left       int                  // number of sessions that were not read because there are too many
	epoch      uint64               // number of times that events may have been missed, from 1
	asOf       clock.Time           // time of the last event or list
	removed    map[string]time.Time // sessions that events reported as removed, and when; until the next read
	subscribed any                  // connection with a subscription to session changes; nil without one

	runs     map[string]gateway.RunChange // runs in progress according to events, by session key
	costs    map[string]counted           // by session key
	costsDue bool                         // the ledger or the sessions have changed since the costs were read

	awaitingRow map[string]time.Time // sessions with an event but without its row yet, and since when
	verify      time.Time            // when to read the list without a waiting request; zero means never
	verifyLast  time.Time            // a read before this time does not replace the one scheduled last
	grown       bool                 // rows have changed since the last list in Lists
	unexplained map[string]time.Time // sessions that changed in a list without an event, and when that was noticed

	removedRows []gateway.Session // last rows of sessions removed since the last list in Lists

	shown    *snapshot                  // the last snapshot; nil if outdated
	order    []string                   // the keys of the last snapshot in the order of lists
	dirty    map[string]struct{}        // sessions that may differ from what was published
	notified map[string]notifiedSession // state last published, by key
	stats    Counts
}

// entry is the last row received for a session. Entries are replaced, never changed.
type entry struct {
	gateway.Session
	stamp int64      // the gateway's timestamp; 0 if unknown
	asOf  clock.Time // never decreases
	came  time.Time  // when the event was received, or when the read of the list started
	epoch uint64     // epoch of the event; 0 for a row of a list
	said  time.Time  // when an event brought the last message; zero if a list did
	by    string     // the role of the last message's author; empty if unknown, because lists do not contain it
}

// snapshot is the list of sessions at one point in time. It is immutable.
type snapshot struct {
	asOf   clock.Time
	rows   []row // in the order of lists
	place  map[string]int
	agents map[string]Activity
	left   int
}

// Counts are statistics about the mirror since the start of the process.
type Counts struct {
	Readings  uint64 // reads of the list
	Rows      uint64 // rows received with events
	Late      uint64 // of those, outdated ones
	Corrected uint64 // rows that differed between a list and the events
}

// Counts returns statistics about the mirror. A Corrected count above 0 indicates a bug in
// Wardroom or in the gateway.
func (s *Service) Counts() Counts {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	return s.mirror.stats
}

// init initializes the maps. The caller must hold the lock.
func (m *sessionMirror) init() {
	if m.epoch > 0 {
		return
	}
	m.epoch = 1
	m.rows, m.removed, m.costs = map[string]*entry{}, map[string]time.Time{}, map[string]counted{}
	m.runs, m.awaitingRow = map[string]gateway.RunChange{}, map[string]time.Time{}
	m.unexplained = map[string]time.Time{}
	m.dirty, m.notified = map[string]struct{}{}, map[string]notifiedSession{}
}

// lock locks mu and, on first use, initializes the mirror.
func (m *sessionMirror) lock() {
	m.mu.Lock()
	m.init()
}

// invalidate makes requests wait for a new read of the session list. The caller must hold the lock.
func (m *sessionMirror) invalidate() {
	m.marked++
	m.wake.Wake()
}

// markShown records that what clients see of a session may have changed. The caller must hold the lock.
func (m *sessionMirror) markShown(key string) {
	m.dirty[key] = struct{}{}
	m.shown = nil
	m.notify.Wake()
}

// markChanged records that a session may have changed. The caller must hold the lock.
func (m *sessionMirror) markChanged(key string) {
	m.markShown(key)
	if !m.grown { // Lists needs a new list
		m.grown = true
		m.wake.Wake()
	}
}

// current returns a snapshot that is newer than every invalidation before the call. If there is
// none yet, it waits until the session list has been read again on the current connection.
func (s *Service) current(ctx context.Context) (*snapshot, error) {
	m := &s.mirror
	m.lock()
	want := m.marked
	m.mu.Unlock()
	var shown *snapshot
	err := m.changes.Await(ctx, s.Patience, "sessions", func() (bool, error) {
		on, err := s.Runtime.Connection()
		if err != nil {
			return false, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.on != on || m.read < want {
			return false, nil
		}
		if m.err == nil {
			shown = m.compose()
		}
		return true, m.err
	})
	return shown, err
}

// compose returns the current snapshot. The caller must hold the lock.
func (m *sessionMirror) compose() *snapshot {
	if m.shown != nil {
		return m.shown
	}
	shown := &snapshot{
		asOf: m.asOf, rows: make([]row, 0, len(m.rows)), place: make(map[string]int, len(m.rows)), left: m.left,
	}
	for _, key := range m.order { // nearly sorted already
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
	sortRows(shown.rows)
	m.order = m.order[:0]
	for i := range shown.rows {
		shown.place[shown.rows[i].Key] = i
		m.order = append(m.order, shown.rows[i].Key)
	}
	shown.agents = activities(shown.rows)
	m.shown = shown
	return shown
}

// row converts an entry to a row, with the session's run and totals. The caller must hold the
// lock.
func (m *sessionMirror) row(k *entry) row {
	r := row{Session: k.Session, asOf: k.asOf, by: k.by}
	if run, ok := m.runs[k.Key]; ok && k.Active && (k.RunID == "" || k.RunID == run.RunID) {
		r.RunID, r.began = run.RunID, run.At
	}
	r.total, r.counted = m.cost(k)
	return r
}

// merge applies a session list that was requested at asOf. Events received since then take precedence. If sure is
// set, merge returns the keys of sessions with changes that events should have reported but did not. The caller
// must hold the lock.
func (m *sessionMirror) merge(list gateway.Sessions, asOf clock.Time, sure bool) (corrected []string) {
	asked := asOf.Time // whole milliseconds, like event times; within one millisecond, the event counts as newer
	var news []string
	there := make(map[string]bool, len(list.Rows))
	for i := range list.Rows {
		g, stamp := &list.Rows[i], int64(0)
		if i < len(list.Stamps) {
			stamp = list.Stamps[i]
		}
		there[g.Key] = true
		if at, ok := m.removed[g.Key]; ok && !at.Before(asked) {
			there[g.Key] = false
			continue
		}
		if m.mergeRow(g, stamp, asOf) && sure {
			news = append(news, g.Key)
		}
	}
	for key, k := range m.rows {
		if there[key] || m.newer(k, asked) {
			continue
		}
		if _, known := m.removed[key]; sure && !known {
			news = append(news, key)
		}
		delete(m.rows, key)
		m.markChanged(key)
	}
	for key, at := range m.removed {
		if at.Before(asked) {
			delete(m.removed, key)
		}
	}
	for key := range m.costs {
		if m.rows[key] == nil {
			delete(m.costs, key)
		}
	}
	m.left = list.Left
	if asOf.After(m.asOf.Time) {
		m.asOf = asOf
	}
	m.shown = nil
	return m.trackUnexplained(news)
}

// mergeRow applies one row of a list and reports whether the row differs from the state that the
// events have produced. The caller must hold the lock.
func (m *sessionMirror) mergeRow(g *gateway.Session, stamp int64, asOf clock.Time) (other bool) {
	asked := asOf.Time
	was := m.rows[g.Key]
	k := &entry{Session: *g, stamp: stamp, asOf: asOf, came: asked}
	if was != nil {
		if was.LastMessage == g.LastMessage {
			k.by = was.by
		}
		k.asOf = latest(asOf, was.asOf)
		if m.newer(was, asked) && (stamp == 0 || was.stamp == 0 || stamp <= was.stamp) {
			// An event is newer than the list, but its last message is less reliable.
			kept := *was
			if was.said.Before(asked) {
				kept.LastMessage, kept.said, kept.by = g.LastMessage, time.Time{}, k.by
			}
			k = &kept
		}
	}
	m.rows[g.Key] = k
	if was == nil || was.Session != k.Session {
		m.markChanged(g.Key)
	}
	if was == nil {
		return true
	}
	before := was.Session
	before.LastMessage = k.LastMessage // can be older in events
	return before != k.Session
}

// newer reports whether an entry comes from an event received at or after the given time.
// It returns false if events have been missed since then. The caller must hold the lock.
func (m *sessionMirror) newer(k *entry, asked time.Time) bool {
	return k.epoch == m.epoch && !k.came.Before(asked)
}

// trackUnexplained records the keys of sessions that have changed in the list without an event. It returns the keys
// that were recorded more than 3 seconds ago and still have no event. It waits that long because a session's event is
// sent shortly after the change. The caller must hold the lock.
func (m *sessionMirror) trackUnexplained(keys []string) (corrected []string) {
	const moment = 3 * time.Second
	now := time.Now()
	for key, since := range m.unexplained {
		if now.Sub(since) > moment {
			corrected = append(corrected, key)
			delete(m.unexplained, key)
		}
	}
	for _, key := range keys {
		if _, ok := m.unexplained[key]; !ok {
			m.unexplained[key] = now
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
