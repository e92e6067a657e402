package session

import (
	"context"
	"slices"
	"time"

	"wardroom/internal/event"
)

// notifyInterval is the minimum time between two states published of the same session. The first
// change after a pause is reported immediately.
const notifyInterval = 250 * time.Millisecond

// notifiedSession is a session's state as last published.
type notifiedSession struct {
	row   row
	there bool // false if removed
	at    time.Time
}

// runNotifier publishes all session changes until ctx ends.
func (s *Service) runNotifier(ctx context.Context) {
	m := &s.mirror
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	stalls := time.NewTicker(s.stallCheckInterval())
	defer stalls.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.notify.C():
		case <-again.C:
		case <-stalls.C:
			s.notifyStalled()
			continue
		}
		m.mu.Lock()
		changed, gone, rest := m.pendingChanges(time.Now())
		m.mu.Unlock()
		shown := make([]Session, len(changed))
		for i := range changed {
			shown[i] = s.apiSession(&changed[i])
		}
		s.notifyChanged(shown, gone)
		again.Reset(rest)
	}
}

// wasNotified reports whether a session was published but not yet its removal.
func (m *sessionMirror) wasNotified(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notified[key].there
}

// pendingChanges returns the changes to report now, and how long to wait before the next call. The
// caller must hold the lock.
func (m *sessionMirror) pendingChanges(now time.Time) (changed []row, gone []string, rest time.Duration) {
	rest = time.Hour
	for key := range m.dirty {
		last, known := m.notified[key]
		if known {
			if left := notifyInterval - now.Sub(last.at); left > 0 {
				rest = min(rest, left)
				continue
			}
		}
		delete(m.dirty, key)
		k := m.rows[key]
		if k == nil {
			if !last.there {
				delete(m.notified, key)
				continue
			}
			gone = append(gone, key)
			m.notified[key] = notifiedSession{at: now}
			m.dirty[key] = struct{}{} // to be deleted after notifyInterval
			rest = min(rest, notifyInterval)
			continue
		}
		if r := m.row(k); !last.there || !last.row.same(&r) {
			changed = append(changed, r)
			m.notified[key] = notifiedSession{r, true, now}
		}
	}
	return changed, gone, rest
}

// notifyChanged publishes changes and remembers which sessions it reported as stalled.
func (s *Service) notifyChanged(changed []Session, gone []string) {
	if len(changed)+len(gone) == 0 {
		return
	}
	if s.activity.reported == nil {
		s.activity.reported = map[string]bool{}
	}
	for i := range changed {
		if changed[i].Stalled {
			s.activity.reported[changed[i].Key] = true
		} else {
			delete(s.activity.reported, changed[i].Key)
		}
	}
	for _, key := range gone {
		delete(s.activity.reported, key)
	}
	s.publish(changed, gone)
}

// sessionBatch is the maximum number of sessions in one published batch. A batch of this size takes
// a few hundred kilobytes. A live stream can buffer 64 batches, and after a reconnect every session
// may have changed.
const sessionBatch = 250

// goneSession is the event payload for a session that the runtime removed.
type goneSession struct {
	Key string `json:"key"`
}

// publish publishes changed and removed sessions.
func (s *Service) publish(changed []Session, gone []string) {
	topics := []string{event.TopicSession}
	states := make([]event.State, 0, len(changed)+len(gone))
	for i := range changed {
		states = append(states, event.State{Kind: "session.changed", Topics: topics, Data: &changed[i]})
	}
	for _, key := range gone {
		states = append(states, event.State{Kind: "session.gone", Topics: topics, Data: goneSession{key}})
	}
	for batch := range slices.Chunk(states, sessionBatch) {
		s.Events.Publish(batch...)
	}
}
