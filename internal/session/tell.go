package session

import (
	"context"
	"time"
)

// tellEvery is how long a session that Changed was told of rests before it is told
// of again, as it is by then. A change after a rest is told at once.
const tellEvery = 250 * time.Millisecond

// toldSession is what Changed was told of a session.
type toldSession struct {
	row   row
	there bool // else that it is gone
	at    time.Time
}

// tellAll tells Changed what is new until ctx ends.
func (s *Service) tellAll(ctx context.Context) {
	m := &s.mirror
	m.lock()
	poke := m.poke
	m.mu.Unlock()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	stalls := time.NewTicker(s.pace())
	defer stalls.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poke:
		case <-again.C:
		case <-stalls.C:
			s.flip()
			continue
		}
		m.mu.Lock()
		changed, gone, rest := m.news(time.Now())
		m.mu.Unlock()
		shown := make([]Session, len(changed))
		for i := range changed {
			shown[i] = s.present(&changed[i])
		}
		s.tell(shown, gone)
		again.Reset(rest)
	}
}

// knownToAll says whether Changed was told of a session, and not that it is gone.
func (m *mirror) knownToAll(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told[key].there
}

// news is what Changed is to be told now, and when to look again. The caller
// holds the lock.
func (m *mirror) news(now time.Time) (changed []row, gone []string, rest time.Duration) {
	rest = time.Hour
	for key := range m.dirty {
		told, known := m.told[key]
		if known {
			if left := tellEvery - now.Sub(told.at); left > 0 {
				rest = min(rest, left)
				continue
			}
		}
		delete(m.dirty, key)
		k := m.rows[key]
		if k == nil {
			if !told.there {
				delete(m.told, key)
				continue
			}
			gone = append(gone, key)
			m.told[key] = toldSession{at: now}
			m.dirty[key] = struct{}{} // to be forgotten, after its rest
			rest = min(rest, tellEvery)
			continue
		}
		if r := m.row(k); !told.there || !told.row.same(&r) {
			changed = append(changed, r)
			m.told[key] = toldSession{r, true, now}
		}
	}
	return changed, gone, rest
}
