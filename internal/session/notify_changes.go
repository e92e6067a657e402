package session

import (
	"context"
	"time"
)

// notifyInterval is the minimum time between two calls to Changed for the same session. The first
// change after a pause is reported immediately.
const notifyInterval = 250 * time.Millisecond

// notifiedSession is a session's state as last passed to Changed.
type notifiedSession struct {
	row   row
	there bool // false if removed
	at    time.Time
}

// runNotifier passes all session changes to Changed until ctx ends.
func (s *Service) runNotifier(ctx context.Context) {
	m := &s.mirror
	m.lock()
	notifyWake := m.notifyWake
	m.mu.Unlock()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	stalls := time.NewTicker(s.stallCheckInterval())
	defer stalls.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-notifyWake:
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

// wasNotified reports whether Changed has reported a session but not yet its removal.
func (m *mirror) wasNotified(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notified[key].there
}

// pendingChanges returns the changes to report now, and how long to wait before the next call. The
// caller must hold the lock.
func (m *mirror) pendingChanges(now time.Time) (changed []row, gone []string, rest time.Duration) {
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
