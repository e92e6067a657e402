package session

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

const (
	// eventsBehind is how many events may wait to be looked at. Past it we are
	// dropped, and read everything anew.
	eventsBehind = 1024
	// lateMost is how much older than what we have a row may be by the gateway's
	// stamp to be left out, in milliseconds. More than that is a clock that was set.
	lateMost = 5000
	// verifyAfter is how soon the list is looked at after an event that may not tell
	// all: a run's end, after which the gateway's events lag behind in what was said
	// last, and a session that we did not know.
	verifyAfter = 2 * time.Second
)

// listen notes what the gateway tells, without ever waiting for a reading.
func (s *Service) listen(ctx context.Context) {
	for ctx.Err() == nil {
		events, stop := s.Runtime.Events(eventsBehind)
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
		// We were too slow, or the gateway's client has ended: until we listen again,
		// nothing that is shown is sure.
		s.heard(gateway.Event{Resync: true})
		sleep(ctx, retryFirst)
	}
}

// heard takes one event.
func (s *Service) heard(e gateway.Event) {
	m := &s.mirror
	s.signs.heard(e, s.Now())
	if e.Resync || e.Name == gateway.EventDisconnected {
		m.lock()
		defer m.mu.Unlock()
		for key := range m.runs { // we may have missed how they ended
			m.touch(key)
		}
		clear(m.runs)
		clear(m.owed)
		clear(m.parted)
		clear(m.doubts)
		m.epoch++
		m.mark()
		m.tell() // whoever waits looks whether there is a connection
		return
	}
	change, ok := s.Runtime.SessionOf(e)
	if !ok {
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
		m.part(change.Key, came)
	case change.Whole:
		m.apply(change, came)
	case change.Key == "" || m.subbed == nil:
		m.mark()
	case change.Said != "":
		m.quote(change, came)
		m.owe(change.Key)
	default:
		m.owe(change.Key)
	}
}

// run notes the beginning or the end of a run; the caller holds the lock.
func (m *mirror) run(run gateway.RunChange, came time.Time) {
	switch was, going := m.runs[run.SessionKey]; {
	case run.Began && (going || len(m.runs) < most):
		m.runs[run.SessionKey] = run
	case !run.Began && going && was.RunID == run.RunID:
		delete(m.runs, run.SessionKey)
	}
	if !run.Began {
		m.look(verifyAfter)
	}
	if k := m.rows[run.SessionKey]; k != nil {
		next := *k
		next.asOf = latest(k.asOf, clock.At(came))
		m.rows[run.SessionKey] = &next
		m.touch(run.SessionKey)
	}
}

// part takes a session away; the caller holds the lock.
func (m *mirror) part(key string, came time.Time) {
	m.parted[key] = came
	if len(m.parted) > most { // and no reading for so long
		clear(m.parted)
		m.mark()
	}
	if k := m.rows[key]; k != nil && len(m.passing) < most {
		m.passing = append(m.passing, k.Session)
	}
	delete(m.rows, key)
	delete(m.runs, key)
	delete(m.owed, key)
	delete(m.doubts, key)
	delete(m.totals, key)
	m.touch(key)
}

// apply takes the row of an event; the caller holds the lock.
func (m *mirror) apply(change gateway.SessionChange, came time.Time) {
	m.stats.Rows++
	was := m.rows[change.Key]
	delete(m.owed, change.Key)
	delete(m.doubts, change.Key)
	if was != nil && late(was, change.Stamp, came) {
		m.stats.Late++
		return
	}
	if was == nil {
		if len(m.rows) >= 2*most {
			m.mark() // the oldest go with the next reading
			return
		}
		m.look(verifyAfter)
	}
	delete(m.parted, change.Key)
	k := &known{Session: change.Row, stamp: change.Stamp, asOf: clock.At(came), came: came, epoch: m.epoch}
	if was != nil {
		k.asOf = latest(k.asOf, was.asOf)
		if was.ID == k.ID && !change.Reset {
			k.LastMessage, k.said = was.LastMessage, was.said
		}
	}
	if change.Said != "" {
		k.LastMessage, k.said = change.Said, came
	}
	m.rows[change.Key] = k
	m.price(was, k)
	m.touch(change.Key)
}

// quote takes what was said from an event that has no row; the caller holds the lock.
func (m *mirror) quote(change gateway.SessionChange, came time.Time) {
	if k := m.rows[change.Key]; k != nil && !came.Before(k.came) {
		next := *k
		next.LastMessage, next.said, next.asOf = change.Said, came, latest(k.asOf, clock.At(came))
		m.rows[change.Key] = &next
		m.touch(change.Key)
	}
}

// late says whether a row is older than the one that we have: made before it, as
// the gateway says, or told before the reading began that brought it.
func late(was *known, stamp int64, came time.Time) bool {
	if was.stamp > 0 && stamp > 0 {
		by := was.stamp - stamp
		return by > 0 && by < lateMost
	}
	return came.Before(was.came)
}

// owe notes that the row of a session is due; the caller holds the lock.
func (m *mirror) owe(key string) {
	if _, ok := m.owed[key]; !ok && len(m.owed) < most {
		m.owed[key] = time.Now()
		nudge(m.wake)
	}
}

// look has the list read after a while, for nobody who waits; the caller holds
// the lock.
func (m *mirror) look(after time.Duration) {
	if m.verify.IsZero() {
		m.verify = time.Now().Add(after)
		nudge(m.wake)
	}
}
