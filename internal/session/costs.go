package session

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/usage"
)

// The tokens and the cost of a session come from the usage ledger, which reads the session's transcript after each
// model call and when a run ends. So a session, its task and Spend always show the same amounts.

const (
	// costsFactor limits how often the costs are read: the delay is at least publishInterval, and up to costsPause this
	// many times as long as the last read took.
	costsFactor, costsPause = 20, 10 * time.Second
	// costsGrace is how long a new list of sessions waits for the costs.
	costsGrace = time.Second
	// overdueAfter is how long to wait for the ledger to read a session's last change, which it may be unable to. After
	// that, the costs that it has are shown as incomplete.
	overdueAfter = time.Minute
)

// version identifies a session's state, so that changes can be detected.
type version struct {
	id      string
	updated clock.Time
	active  bool
}

func versionOf(r *gateway.Session) version { return version{r.ID, r.UpdatedAt, r.Active} }

// counted is the usage of a session according to the ledger.
type counted struct {
	usage.Total
	transcript string
	upTo       version   // of the session, up to which the ledger is complete; zero if unknown
	unread     version   // the version that the ledger has not read yet
	since      time.Time // since when
	overdue    bool      // it is longer than overdueAfter
}

// next returns the usage of a session after another read of the ledger.
func (c counted) next(total usage.Total, row *gateway.Session) counted {
	c.Total, c.transcript = total, row.ID
	v := versionOf(row)
	switch {
	case !row.Active && total.Version == row.Version():
		c.upTo = v
	case !row.Active && v != c.upTo && v != c.unread:
		c.unread, c.since, c.overdue = v, time.Now(), false
	case v == c.unread && v != c.upTo:
		c.overdue = time.Since(c.since) > overdueAfter
	}
	return c
}

// LedgerGrown tells the service that the ledger may have changed. It does not block.
func (s *Service) LedgerGrown() {
	m := &s.mirror
	m.lock()
	defer m.mu.Unlock()
	m.costsDue = true
	m.wake.Wake()
}

// readCosts reads the usage of all sessions from the ledger.
func (r *reader) readCosts(ctx context.Context) {
	m, began := &r.s.mirror, time.Now()
	m.mu.Lock()
	m.costsDue = false
	rows := make(map[string]gateway.Session, len(m.rows))
	ids := make([]string, 0, len(m.rows))
	for key, k := range m.rows {
		if k.ID != "" {
			rows[key] = k.Session
			ids = append(ids, k.ID)
		}
	}
	m.mu.Unlock()
	totals, err := r.s.Usage.OfTranscripts(ctx, ids)
	r.costsFree = time.Now().Add(max(publishInterval, min(costsFactor*time.Since(began), costsPause)))
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil && !r.s.DB.Away("usage of sessions", err) {
			r.s.Log.WarnContext(ctx, "could not read the costs of sessions from the ledger; retrying", "err", err)
		}
		m.costsDue, r.costsFree = true, time.Now().Add(r.retry("costs"))
		return
	}
	delete(r.tries, "costs")
	for key, row := range rows {
		total, ok := totals[row.ID]
		was := m.costs[key]
		if is := was.next(total, &row); ok && is != was && m.rows[key] != nil {
			m.costs[key] = is
			m.markShown(key)
		}
	}
}

// cost returns the usage of a session, and whether it is known. The caller must hold the lock.
func (m *sessionMirror) cost(k *entry) (usage.Total, bool) {
	c, ok := m.costs[k.Key]
	switch {
	case !ok || c.transcript != k.ID:
		return usage.Total{}, false
	case k.Active: // before its first model call ends, the usage of a new session is unknown, not zero
		return c.Total, c.Tokens != usage.Tokens{}
	case c.upTo == versionOf(&k.Session):
		return c.Total, true
	}
	c.Complete = false
	return c.Total, c.overdue && c.unread == versionOf(&k.Session)
}
