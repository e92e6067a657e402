package session

import (
	"context"

	"wardroom/internal/gateway"
)

// The runtime computes the usage of sessions every 30 seconds. Until its totals include
// the last run of a session, the session's totals come from the usage ledger, which reads
// the transcript when a run ends.

// LedgerGrown tells the service that the ledger may have new totals. It does not block.
func (s *Service) LedgerGrown() {
	m := &s.mirror
	m.lock()
	defer m.mu.Unlock()
	m.noted = true
	m.wake.Wake()
}

// includes reports whether the totals come from the runtime and belong to the given version of the
// session.
func (c counted) includes(v version) bool { return c.of == v && !c.noted }

// applyLedgerTotals takes totals from the ledger for sessions that have changed since the runtime
// last computed their totals. Sessions that existed before this process started are skipped until
// the runtime has computed their totals once, because the ledger may lack their first runs.
func (r *reader) applyLedgerTotals(ctx context.Context) {
	m := &r.s.mirror
	m.mu.Lock()
	due := m.noted
	m.noted = false
	type state struct {
		of         version
		transcript int64 // see gateway.Session.Version
	}
	wanted := map[string]state{}
	var transcripts []string
	for key, k := range m.rows {
		v := versionOf(&k.Session)
		was, counted := m.totals[key]
		if due && !k.Active && k.ID != "" && was.of != v && (counted || !r.initial[key]) {
			wanted[key] = state{v, k.Version()}
			transcripts = append(transcripts, k.ID)
		}
	}
	m.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	noted, err := r.s.Usage.OfTranscripts(ctx, transcripts)
	if err != nil {
		if ctx.Err() == nil && !r.s.DB.Away("usage of sessions", err) {
			r.s.Log.WarnContext(ctx, "could not read the costs of the last runs from the ledger; they appear with the runtime's totals", "err", err)
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, w := range wanted {
		v := w.of
		n, ok := noted[v.id]
		was := m.totals[key]
		if !ok || n.Copied || n.Version != w.transcript || was.of.id == v.id && !covers(n.Totals, was.Totals) {
			continue
		}
		if k := m.rows[key]; k != nil && versionOf(&k.Session) == v {
			m.totals[key] = counted{Totals: n.Totals, of: v, reading: m.counted, noted: true}
			m.markChanged(key)
		}
	}
}

// rounding is the tolerance in nano-dollars for comparing costs, because the runtime adds costs in
// floating point.
const rounding = 100

// covers reports whether each value in t is at least as large as the corresponding value in was.
func covers(t, was gateway.Totals) bool {
	return t.Input >= was.Input && t.Output >= was.Output && t.CacheRead >= was.CacheRead && t.CacheWrite >= was.CacheWrite &&
		(was.Pricing == gateway.Unpriced || t.CostNanoUSD >= was.CostNanoUSD-rounding)
}

// same reports whether two sets of totals are equal, ignoring rounding differences in the cost.
func same(a, b gateway.Totals) bool {
	by := a.CostNanoUSD - b.CostNanoUSD
	a.CostNanoUSD = b.CostNanoUSD
	return a == b && -rounding < by && by < rounding
}
