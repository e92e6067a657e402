package session

import (
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
)

const (
	// maxReorder is the largest difference between timestamps, in milliseconds, at which the older
	// row is treated as outdated. A larger difference means that the gateway's clock was set back.
	maxReorder = 5000
	// verifyAfter is how long to wait before reading the list after an event that may be
	// incomplete. Such an event reports a new session or the end of a run, possibly with an
	// outdated last message. The gateway's list can be outdated, too, right after the event.
	verifyAfter = 2 * time.Second
)

// Receive applies an event of the gateway to the mirror, and sends the message in it to the clients
// that follow the session. It never waits for a read of the session list.
func (s *Service) Receive(e mirror.Event) {
	s.applyEvent(e)
	s.relayMessage(e)
}

// applyEvent applies one event to the mirror.
func (s *Service) applyEvent(e mirror.Event) {
	m := &s.mirror
	if e.Active != "" {
		s.activity.record(e.Active, s.Now())
	}
	if e.Resync || e.Name == link.EventDisconnected {
		m.lock()
		defer m.mu.Unlock()
		for key := range m.runs { // their ends may have been missed
			m.markChanged(key)
		}
		clear(m.runs)
		clear(m.awaitingRow)
		clear(m.removed)
		clear(m.unexplained)
		m.epoch++
		m.invalidate()
		m.changes.Broadcast() // waiting requests check the connection
		return
	}
	change := e.Change
	if change == nil {
		return
	}
	came := e.At
	if came.IsZero() {
		came = s.Now()
	}
	m.lock()
	defer m.mu.Unlock()
	m.asOf = latest(m.asOf, clock.At(came))
	if change.Run != nil {
		m.run(*change.Run, came)
	}
	switch {
	case change.Gone && change.Key != "":
		m.remove(change.Key, came)
	case change.Whole:
		m.apply(*change, came)
	case change.Key == "" || m.subscribed == nil:
		m.invalidate()
	case change.Said != "":
		m.setLastMessage(*change, came)
		m.awaitRow(change.Key)
	default:
		m.awaitRow(change.Key)
	}
}

// run applies the start or the end of a run to the mirror. The caller must hold the lock.
func (m *sessionMirror) run(run gateway.RunChange, came time.Time) {
	switch was, going := m.runs[run.SessionKey]; {
	case run.Began && (going || len(m.runs) < maxSessions):
		m.runs[run.SessionKey] = run
	case !run.Began && going && was.RunID == run.RunID:
		delete(m.runs, run.SessionKey)
	}
	if !run.Began {
		m.scheduleVerify()
	}
	if k := m.rows[run.SessionKey]; k != nil {
		next := *k
		next.asOf = latest(k.asOf, clock.At(came))
		m.rows[run.SessionKey] = &next
		m.markChanged(run.SessionKey)
	}
}

// remove removes a session from the mirror. The caller must hold the lock.
func (m *sessionMirror) remove(key string, came time.Time) {
	m.removed[key] = came
	if len(m.removed) > maxSessions { // the list has not been read for a long time
		clear(m.removed)
		m.invalidate()
	}
	if k := m.rows[key]; k != nil && len(m.removedRows) < maxSessions {
		m.removedRows = append(m.removedRows, k.Session)
	}
	delete(m.rows, key)
	delete(m.runs, key)
	delete(m.awaitingRow, key)
	delete(m.unexplained, key)
	delete(m.costs, key)
	m.markChanged(key)
}

// apply applies the session row in an event to the mirror. The caller must hold the lock.
func (m *sessionMirror) apply(change gateway.SessionChange, came time.Time) {
	m.stats.Rows++
	was := m.rows[change.Key]
	delete(m.awaitingRow, change.Key)
	delete(m.unexplained, change.Key)
	if was != nil && outdated(was, change.Stamp, came) {
		m.stats.Late++
		return
	}
	if was == nil {
		if len(m.rows) >= 2*maxSessions {
			m.invalidate() // the next read drops the oldest ones
			return
		}
		m.scheduleVerify()
	}
	delete(m.removed, change.Key)
	k := &entry{Session: change.Row, stamp: change.Stamp, asOf: clock.At(came), came: came, epoch: m.epoch}
	if was != nil {
		k.asOf = latest(k.asOf, was.asOf)
		if was.ID == k.ID && !change.Reset {
			k.LastMessage, k.said, k.by = was.LastMessage, was.said, was.by
		}
	}
	if change.Said != "" {
		k.LastMessage, k.said, k.by = change.Said, came, change.SaidBy
	}
	m.rows[change.Key] = k
	m.wantCosts(was, k)
	m.markChanged(change.Key)
}

// setLastMessage updates a session's last message from an event that contains no session
// row. The caller must hold the lock.
func (m *sessionMirror) setLastMessage(change gateway.SessionChange, came time.Time) {
	if k := m.rows[change.Key]; k != nil && !came.Before(k.came) {
		next := *k
		next.LastMessage, next.said, next.by, next.asOf = change.Said, came, change.SaidBy, latest(k.asOf, clock.At(came))
		m.rows[change.Key] = &next
		m.wantCosts(k, &next)
		m.markChanged(change.Key)
	}
}

// wantCosts requests a read of the costs if an idle session has changed, because the ledger may have read the change
// already. The caller must hold the lock.
func (m *sessionMirror) wantCosts(was, is *entry) {
	if !is.Active && (was == nil || was.Active || was.Version() != is.Version()) {
		m.costsDue = true
		m.wake.Wake()
	}
}

// outdated reports whether a row in an event is older than the current row. It compares the
// gateway's timestamps or, without them, the times at which the rows were received.
func outdated(was *entry, stamp int64, came time.Time) bool {
	if was.stamp > 0 && stamp > 0 {
		by := was.stamp - stamp
		return by > 0 && by < maxReorder
	}
	return came.Before(was.came)
}

// awaitRow records that the gateway should soon send an event with the given session's row. The
// caller must hold the lock.
func (m *sessionMirror) awaitRow(key string) {
	if _, ok := m.awaitingRow[key]; !ok && len(m.awaitingRow) < maxSessions {
		m.awaitingRow[key] = time.Now()
		m.wake.Wake()
	}
}

// scheduleVerify schedules a read of the session list in the background. Requests do not wait for
// it. The caller must hold the lock.
func (m *sessionMirror) scheduleVerify() {
	m.verifyLast = time.Now().Add(verifyAfter)
	if m.verify.IsZero() {
		m.verify = m.verifyLast
		m.wake.Wake()
	}
}
