package session

import (
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/money"
)

// TestCostsAreKnownOrNull checks that unknown costs are null, neither zero nor outdated, and do
// not prevent the list.
func TestCostsAreKnownOrNull(t *testing.T) {
	unknown := func(t *testing.T, s Session) {
		t.Helper()
		if s.Tokens != nil || s.CostUSD != nil || s.CostComplete != nil {
			t.Errorf("tokens %+v, cost %v, complete %v", s.Tokens, s.CostUSD, s.CostComplete)
		}
	}
	known := func(t *testing.T, s Session, want money.Nano) {
		t.Helper()
		if s.Tokens == nil || s.CostUSD == nil || *s.CostUSD != want {
			t.Errorf("tokens %+v, cost %v, want %s", s.Tokens, s.CostUSD, want)
		}
	}
	t.Run("while the runtime counts, and asked again until it has", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.usage.Fresh = false
			unknown(t, list(t, s)[0])
			r.change("", func() { r.usage.Fresh = true })
			time.Sleep(2 * time.Second)
			known(t, list(t, s)[0], 28_314_000)
		})
	})
	t.Run("what has not changed keeps its costs, what has does not", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows = append(r.rows, sessionAt("other", 0))
			r.usage = priced(5, "main", "other")
			list(t, s)
			r.change("sessions.changed", func() { r.rows[0].UpdatedAt, r.usage.Fresh = clock.At(began.Add(time.Hour)), false })
			synctest.Wait()
			got := list(t, s)
			unknown(t, got[0])
			known(t, got[1], 5)
		})
	})
	t.Run("those of a run that is going are of this reading or unknown", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows[0].Active = true
			known(t, list(t, s)[0], 28_314_000)
			time.Sleep(usagePause)
			r.change("sessions.changed", func() { r.usageErr = link.ErrBusy })
			synctest.Wait()
			unknown(t, list(t, s)[0])
		})
	})
	t.Run("none of a first run before its first model call ends", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows[0].Active, r.usage.Totals[r.rows[0].Key] = true, gateway.Totals{Pricing: gateway.Priced}
			unknown(t, list(t, s)[0])
			time.Sleep(usagePause)
			r.change("sessions.changed", func() { r.rows[0].Active = false })
			synctest.Wait()
			known(t, list(t, s)[0], 0)
		})
	})
	t.Run("slow ones come later, and keep nobody waiting", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.slowUse = 10 * time.Second
			now := time.Now()
			unknown(t, list(t, s)[0])
			if d := time.Since(now); d > usageGrace {
				t.Errorf("the list came after %s", d)
			}
			r.change("sessions.changed", func() {}) // without a change of the session
			synctest.Wait()
			now = time.Now()
			unknown(t, list(t, s)[0])
			if d := time.Since(now); d > pause {
				t.Errorf("the second list came after %s", d)
			}
			time.Sleep(10 * time.Second)
			known(t, list(t, s)[0], 28_314_000)
			if n := r.count("usage"); n != 1 && n != 2 {
				t.Errorf("%d totals at once", n)
			}
		})
	})
	t.Run("slow ones of a session that went on meanwhile are not its own", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.slowUse = 5 * time.Second
			list(t, s)
			r.change("sessions.changed", func() { r.rows[0].UpdatedAt = clock.At(began.Add(time.Hour)) })
			time.Sleep(4 * time.Second)
			unknown(t, list(t, s)[0])
			time.Sleep(500 * time.Millisecond) // the old totals arrive
			unknown(t, list(t, s)[0])
			time.Sleep(10 * time.Second) // the new totals arrive
			known(t, list(t, s)[0], 28_314_000)
		})
	})
	// The real gateway returns cached totals for 30 seconds.
	t.Run("those that the runtime repeats do not pass for what has happened since", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			later := clock.At(began.Add(time.Hour))
			r.rows = append(r.rows, sessionAt("other", 0))
			r.usage = priced(5, "main", "other")
			r.usage.At = clock.At(began.Add(time.Second))
			known(t, list(t, s)[0], 5)
			r.change("sessions.changed", func() {
				r.rows[0].UpdatedAt = later
				r.rows = append(r.rows, sessionAt("new", 3601))
			})
			for range 40 {
				synctest.Wait()
				got := list(t, s)
				unknown(t, got[0])
				unknown(t, got[1])
				known(t, got[2], 5) // unchanged
				time.Sleep(time.Second)
			}
			r.change("", func() {
				r.usage = priced(7, "main", "other", "new")
				r.usage.At = clock.At(later.Add(time.Second))
			})
			time.Sleep(staleInterval + pause)
			for _, got := range list(t, s) {
				known(t, got, 7)
			}
		})
	})
	t.Run("without a price, and with one for a part", func(t *testing.T) {
		mirrored(t, func(t *testing.T, s *Service, r *runtime) {
			r.rows = append(r.rows, sessionAt("half", 0), sessionAt("unlisted", -1))
			r.usage.Totals["agent:cto:main"] = gateway.Totals{Input: 7}
			r.usage.Totals["agent:cto:half"] = gateway.Totals{Input: 7, CostNanoUSD: 3, Pricing: gateway.PartlyPriced}
			got := list(t, s)
			if got[0].Tokens == nil || got[0].CostUSD != nil || *got[0].CostComplete {
				t.Errorf("without a price: %+v", got[0])
			}
			known(t, got[1], 3)
			if *got[1].CostComplete {
				t.Error("a part passes for all")
			}
			unknown(t, got[2])
		})
	})
}
