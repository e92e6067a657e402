package session

import (
	"context"
	"time"

	"wardroom/internal/gateway"
)

// The runtime counts what sessions have used every half minute. Until it has
// counted the last run of a session, its totals are those of the usage ledger, which
// reads the transcript when a run ends.

// Noted is what the usage ledger has of a transcript.
type Noted struct {
	gateway.Totals
	Version time.Time // the last change of the session up to which all is in the ledger
	Copied  bool      // the transcript began as a copy: the runtime counts more for it than the ledger
}

// LedgerGrown says that Noted may have more than before. It does not wait.
func (s *Service) LedgerGrown() {
	m := &s.mirror
	m.lock()
	defer m.mu.Unlock()
	m.noted = true
	nudge(m.wake)
}

// tell says whether the runtime has counted a session up to a version.
func (c counted) tell(v version) bool { return c.of == v && !c.noted }

// takeNoted shows what the ledger has of sessions that the runtime has not counted
// since their last change. It leaves out a session that was there before we looked
// for the first time, until the runtime has counted it once: the ledger may lack
// its beginning.
func (r *reader) takeNoted(ctx context.Context) {
	m := &r.s.mirror
	m.mu.Lock()
	due := m.noted && r.s.Noted != nil
	m.noted = false
	wanted := map[string]version{}
	var transcripts []string
	for key, k := range m.rows {
		v := versionOf(&k.Session)
		was, counted := m.totals[key]
		if due && !k.Active && k.ID != "" && was.of != v && (counted || !r.met[key]) {
			wanted[key] = v
			transcripts = append(transcripts, k.ID)
		}
	}
	m.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	noted, err := r.s.Noted(ctx, transcripts)
	if err != nil {
		if ctx.Err() == nil && (r.s.Away == nil || !r.s.Away(err)) {
			r.s.Log.WarnContext(ctx, "the costs of the last runs cannot be read; they are shown when the runtime has counted them", "err", err)
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, v := range wanted {
		n, ok := noted[v.id]
		was := m.totals[key]
		if !ok || n.Copied || n.Version.Before(v.updated.Time) || was.of.id == v.id && !covers(n.Totals, was.Totals) {
			continue
		}
		if k := m.rows[key]; k != nil && versionOf(&k.Session) == v {
			m.totals[key] = counted{Totals: n.Totals, of: v, reading: m.counted, noted: true}
			m.touch(key)
		}
	}
}

// rounding is how far two sums of the same costs may differ, in nano-dollars: the
// runtime adds up in floating point.
const rounding = 100

// covers says whether t has at least what was.
func covers(t, was gateway.Totals) bool {
	return t.Input >= was.Input && t.Output >= was.Output && t.CacheRead >= was.CacheRead && t.CacheWrite >= was.CacheWrite &&
		(was.Pricing == gateway.Unpriced || t.CostNanoUSD >= was.CostNanoUSD-rounding)
}

// same says whether two totals are the same but for rounding.
func same(a, b gateway.Totals) bool {
	by := a.CostNanoUSD - b.CostNanoUSD
	a.CostNanoUSD = b.CostNanoUSD
	return a == b && -rounding < by && by < rounding
}
