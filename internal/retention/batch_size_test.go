package retention

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// beside records an event every few milliseconds until stop is called, and measures how
// long each one waits.
func beside(t testing.TB, d *db.DB) (stop func() []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(actor.With(context.Background(), actor.Actor{ID: "ada", Name: "Ada"}))
	var mu sync.Mutex
	var waits []time.Duration
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for ctx.Err() == nil {
				whole := context.WithoutCancel(ctx)
				began := time.Now()
				err := d.Tx(whole, func(tx *db.Tx) error {
					return event.Record(whole, tx, noon, event.Activity, "task.changed", event.Subject{Kind: "task", ID: "1", Name: "TASK-1"}, nil)
				})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	return func() []time.Duration {
		cancel()
		writing.Wait()
		slices.Sort(waits)
		return waits
	}
}

// TestRunLetsOthersWrite checks that a run hardly delays other writers. The bound is far above the
// measurements of BenchmarkRun, for busy machines.
func TestRunLetsOthersWrite(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		s.run(t)
		const many = 4000
		seed(t, d, many, border.Add(-time.Second))
		stop := beside(t, d)
		r := s.once(t)
		waits := stop()
		if r.Policies[0].Count != many {
			t.Errorf("%d went, want %d", r.Policies[0].Count, many)
		}
		if len(waits) < 4 {
			t.Fatalf("%d others wrote", len(waits))
		}
		// One of them can meet a stall of the whole machine.
		if most, longest := waits[len(waits)*9/10], waits[len(waits)-1]; most > 2*time.Second || longest > 20*time.Second {
			t.Errorf("of %d others nine tenths waited %s, and the last %s", len(waits), most, longest)
		}
	})
}

// BenchmarkRun purges 200,000 of 300,000 events during other writes, and reports how long those
// waited and how long the batches held the database.
func BenchmarkRun(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d := dbtest.Open(b, dbtest.URL(b, engine))
				s := newService(b, d)
				var held []time.Duration
				s.observe = func(_ int64, took time.Duration) { held = append(held, took) }
				seed(b, d, 300_000, border.Add(100_000*time.Second-time.Second))
				s.run(b)
				stop := beside(b, d)
				time.Sleep(5 * time.Second)
				alone := stop()
				stop = beside(b, d)
				b.StartTimer()
				r := s.once(b)
				b.StopTimer()
				waits := stop()
				if r.Policies[0].Count != 200_000 {
					b.Fatalf("%+v", r)
				}
				slices.Sort(held)
				ms := func(list []time.Duration, share float64) float64 {
					return float64(list[int(share*float64(len(list)-1))].Microseconds()) / 1000
				}
				b.ReportMetric(ms(alone, 1), "alone-max-ms")
				b.ReportMetric(ms(alone, 0.99), "alone-p99-ms")
				b.ReportMetric(ms(waits, 1), "wait-max-ms")
				b.ReportMetric(ms(waits, 0.99), "wait-p99-ms")
				b.ReportMetric(ms(held, 1), "held-max-ms")
				b.ReportMetric(ms(held, 0.99), "held-p99-ms")
				b.ReportMetric(ms(held, 0.5), "held-p50-ms")
				b.ReportMetric(float64(len(held)), "batches")
				b.ReportMetric(over(held, 50*time.Millisecond), "held-over-50ms-%")
				b.ReportMetric(over(alone, 50*time.Millisecond), "alone-over-50ms-%")
				b.ReportMetric(over(waits, 50*time.Millisecond), "wait-over-50ms-%")
				b.StartTimer()
			}
		})
	}
}

// over returns the percentage of durations above a limit.
func over(list []time.Duration, much time.Duration) float64 {
	n := 0
	for _, took := range list {
		if took > much {
			n++
		}
	}
	return 100 * float64(n) / float64(len(list))
}
