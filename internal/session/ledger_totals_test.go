package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// TestCostsRightAfterARun checks that the cost of a run is known when it has ended, and that the
// runtime's later totals do not change it.
func TestCostsRightAfterARun(t *testing.T) {
	later := began.Add(time.Hour)
	of := func(nanos int64, input int64) mirror.LedgerTotals {
		return mirror.LedgerTotals{Totals: gateway.Totals{Input: input, CostNanoUSD: nanos, Pricing: gateway.Priced}}
	}
	costs := func(t *testing.T, s *Service, want ...money.Nano) {
		t.Helper()
		synctest.Wait()
		for i, row := range list(t, s) {
			switch {
			case want[i] < 0 && (row.CostUSD != nil || row.Tokens != nil || row.CostComplete != nil):
				t.Errorf("%s costs %v, want unknown", row.Key, *row.CostUSD)
			case want[i] >= 0 && (row.CostUSD == nil || *row.CostUSD != want[i] || row.Tokens == nil || !*row.CostComplete):
				t.Errorf("%s costs %v, want %s", row.Key, row.CostUSD, want[i])
			}
		}
	}
	// begin lists a session with totals and one without. Then both, and a new one, have a run.
	begin := func(t *testing.T, s *Service, r *runtime) {
		t.Helper()
		r.rows = append(r.rows, sessionAt("uncounted", 0))
		r.rows[0].ID, r.rows[1].ID = "main", "uncounted"
		r.usage = priced(5, "main")
		r.usage.At = clock.At(began.Add(time.Minute))
		costs(t, s, 5, -1)
		r.change("sessions.changed", func() {
			r.rows[0].UpdatedAt, r.rows[1].UpdatedAt = clock.At(later), clock.At(later)
			r.rows = append(r.rows, sessionAt("new", 3601))
			r.rows[2].UpdatedAt, r.rows[2].ID = clock.At(later), "new"
		})
		time.Sleep(pause)
		costs(t, s, -1, -1, -1)
	}
	// note puts totals into the ledger, for the session as it is now or, if stale, as it was before.
	note := func(t *testing.T, s *Service, r *runtime, key string, n mirror.LedgerTotals, stale bool) {
		t.Helper()
		for i := range r.rows {
			if r.rows[i].ID == key && !stale {
				n.Version = r.rows[i].Version()
			}
		}
		exec := func(query string, args ...any) {
			t.Helper()
			err := s.DB.Tx(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
			if err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO usage_transcripts (session_id, session_key, agent_id, seq, version) VALUES (?, ?, 'cto', 1, ?)`,
			key, "agent:cto:"+key, n.Version)
		if n.Copied {
			exec(`INSERT INTO usage_inherited (session_id, run_id, provider, model, input, output, cache_read, cache_write, other,
				cost_nano) VALUES (?, 'r', 'p', 'm', 1, 0, 0, 0, 0, 1)`, key)
		}
		exec(`INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output,
			cache_read, cache_write, other, cost, estimated)
			VALUES ('transcript', 0, 0, ?, 1, 0, 0, 1, ?, 0, 0, 0, 0, ?, 0)`, key, n.Input, n.CostNanoUSD)
		s.LedgerGrown()
	}
	// In the order of the list: main, new, uncounted.
	t.Run("at once, and the runtime's own change nothing", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			note(t, s, r, "main", of(1_000_000_007, 12), false)
			note(t, s, r, "new", of(3, 4), false)
			costs(t, s, 1_000_000_007, 3, -1)
			time.Sleep(30 * time.Second) // the runtime returns cached totals
			costs(t, s, 1_000_000_007, 3, -1)
			asked := r.count("usage")
			r.change("", func() {
				r.usage = priced(1_000_000_008, "main", "new", "uncounted") // with a rounding difference
				r.usage.Totals["agent:cto:main"] = of(1_000_000_008, 12).Totals
				r.usage.Totals["agent:cto:new"] = of(3, 4).Totals
				r.usage.At = clock.At(later.Add(time.Second))
			})
			time.Sleep(staleInterval + pause)
			costs(t, s, 1_000_000_007, 3, 1_000_000_008)
			if r.count("usage") == asked {
				t.Error("the runtime is not asked for its own")
			}
		})
	})
	t.Run("and the runtime's own count when they differ", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			note(t, s, r, "main", of(7, 12), false)
			costs(t, s, 7, -1, -1)
			r.change("", func() {
				r.usage = priced(9, "main")
				r.usage.At = clock.At(later.Add(time.Second))
			})
			time.Sleep(staleInterval + pause)
			costs(t, s, 9, -1, -1)
		})
	})
	copied := of(7, 12)
	copied.Copied = true
	for name, n := range map[string]mirror.LedgerTotals{
		"not what was read before the run ended": of(7, 12),
		"not less than the runtime has counted":  of(7, 6),
		"not without what was copied":            copied,
	} {
		t.Run(name, func(t *testing.T) {
			mirrored(t, func(t *testing.T, s *Service, r *runtime) {
				begin(t, s, r)
				note(t, s, r, "main", n, strings.HasSuffix(name, "ended"))
				costs(t, s, -1, -1, -1)
			})
		})
	}
	t.Run("not of a session whose beginning the ledger may lack", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			note(t, s, r, "uncounted", of(7, 12), false)
			costs(t, s, -1, -1, -1)
		})
	})
	t.Run("not while a run is going", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			r.change("sessions.changed", func() { r.rows[0].Active = true })
			costs(t, s, -1, -1, -1)
			note(t, s, r, "main", of(7, 12), false)
			costs(t, s, -1, -1, -1)
		})
	})
}
