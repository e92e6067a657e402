package session

import (
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// TestCostsAreKnownOrNull checks that the costs of a session are those of the ledger, or null while
// the ledger has not read the session's last change, neither zero nor outdated.
func TestCostsAreKnownOrNull(t *testing.T) {
	const unknown = money.Nano(-1)
	costs := func(t *testing.T, s *Service, want ...money.Nano) {
		t.Helper()
		synctest.Wait()
		for i, row := range list(t, s) {
			switch {
			case want[i] == unknown && (row.CostUSD != nil || row.Tokens != nil || row.CostComplete != nil):
				t.Errorf("%s costs %v, want unknown", row.Key, *row.CostUSD)
			case want[i] != unknown && (row.CostUSD == nil || *row.CostUSD != want[i] || row.Tokens == nil || !*row.CostComplete):
				t.Errorf("%s costs %v, want %s", row.Key, row.CostUSD, want[i])
			}
		}
	}
	later := clock.At(began.Add(time.Hour))
	// begin lists two sessions that the ledger has read.
	begin := func(t *testing.T, s *Service, r *runtime) {
		t.Helper()
		r.rows = append(r.rows, sessionAt("other", 0))
		r.rows[0].ID, r.rows[1].ID = "main", "other"
		read(t, s, r.rows[0], 5)
		read(t, s, r.rows[1], 7)
		costs(t, s, 5, 7)
	}
	goOn := func(g *gateway.Session) { g.UpdatedAt, g.Active = later, true }
	t.Run("until the ledger has read the last change", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			r.change("sessions.changed", func() { r.rows[0].UpdatedAt = later })
			time.Sleep(pause)
			costs(t, s, unknown, 7)
			read(t, s, r.rows[0], 6)
			time.Sleep(pause)
			costs(t, s, 6, 7)
		})
	})
	t.Run("when the ledger was faster than the event", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			next := r.rows[0]
			next.UpdatedAt = later
			read(t, s, next, 6)
			time.Sleep(pause)
			costs(t, s, 6, 7)
			r.push(gateway.SessionChange{Key: next.Key, Row: next, Whole: true})
			time.Sleep(pause)
			costs(t, s, 6, 7)
		})
	})
	t.Run("of a run in progress, as far as it has been read", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			r.change("sessions.changed", func() { goOn(&r.rows[0]) })
			time.Sleep(pause)
			costs(t, s, 5, 7)
			store(t, s, `INSERT INTO usage_going (run_id, provider, model, read_at, at, agent_id, session_key, session_id, source,
				job_id, task_key, standup_id, input, output, cache_read, cache_write, other, cost_nano, price, calls, took)
				VALUES ('r', 'p', 'm', '2000-01-01T00:00:00Z', 0, 'cto', 'agent:cto:main', 'main', 'human', '', '', '', 1, 0, 0, 0, 0, 3, 'runtime', 1, 1)`)
			s.LedgerGrown()
			time.Sleep(pause)
			costs(t, s, 8, 7)
		})
	})
	t.Run("none of a first run before its first model call ends", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows[0].ID, r.rows[0].Active = "main", true
			read(t, s, gateway.Session{Key: r.rows[0].Key, ID: "main"}, 0)
			costs(t, s, unknown)
			r.change("sessions.changed", func() { r.rows[0].Active = false })
			read(t, s, r.rows[0], 0)
			time.Sleep(pause)
			costs(t, s, 0)
		})
	})
	t.Run("of the present conversation, not of the one before", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			r.change("sessions.changed", func() { r.rows[0].ID = "new" })
			time.Sleep(pause)
			costs(t, s, unknown, 7)
		})
	})
	t.Run("that the ledger cannot read: what it has from the runtime's totals", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			r.change("sessions.changed", func() { r.rows[0].UpdatedAt = later })
			time.Sleep(pause)
			used(t, s, "main", 9)
			time.Sleep(overdueAfter - pause)
			costs(t, s, unknown, 7)
			time.Sleep(reconcileInterval)
			if got := list(t, s)[0]; got.CostUSD == nil || *got.CostUSD != 9 || *got.CostComplete {
				t.Errorf("after %s: %+v", overdueAfter, got)
			}
		})
	})
	t.Run("without a price, and with one for a part", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			begin(t, s, r)
			store(t, s, `UPDATE usage_rollup SET priced = 0, cost = 0, unpriced = 1 WHERE name = 'main'`)
			store(t, s, `UPDATE usage_rollup SET unpriced = 1 WHERE name = 'other'`)
			s.LedgerGrown()
			time.Sleep(pause)
			got := list(t, s)
			if got[0].Tokens == nil || got[0].CostUSD != nil || *got[0].CostComplete {
				t.Errorf("without a price: %+v", got[0])
			}
			if got[1].CostUSD == nil || *got[1].CostUSD != 7 || *got[1].CostComplete {
				t.Errorf("with one for a part: %+v", got[1])
			}
		})
	})
}

func store(t *testing.T, s *Service, query string, args ...any) {
	t.Helper()
	err := s.DB.Tx(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// read makes the ledger complete up to a version of a session, with the session's whole cost in nano-dollars.
func read(t *testing.T, s *Service, of gateway.Session, nanos int64) {
	t.Helper()
	store(t, s, `INSERT INTO usage_transcripts (session_id, session_key, agent_id, seq, version) VALUES (?, ?, 'cto', 1, ?)
		ON CONFLICT (session_id) DO UPDATE SET version = excluded.version`, of.ID, of.Key, of.Version())
	if nanos > 0 {
		used(t, s, of.ID, nanos)
	}
	s.LedgerGrown()
}

// used sets the cost of a transcript in the ledger.
func used(t *testing.T, s *Service, id string, nanos int64) {
	t.Helper()
	store(t, s, `INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output,
		cache_read, cache_write, other, cost, estimated, calls, took) VALUES ('transcript', 0, 0, ?, 1, 0, 0, 1, 2, 0, 0, 0, 0, ?, 0, 1, 1)
		ON CONFLICT (dimension, span, start, name) DO UPDATE SET cost = excluded.cost`, id, nanos)
	s.LedgerGrown()
}
