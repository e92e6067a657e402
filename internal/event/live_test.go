package event

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

// Whoever watches must see what the list shows, in the order in which it
// happened, all of it, however many write at once.
func TestStreamOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const writers, each = 16, 8
		r := start(t, &Service{DB: d})
		readers := []*reading{r.open(t, "owner", "/events", ""), r.open(t, "admin", "/events", "")}
		for _, s := range readers {
			if g := s.want("0 hello"); g.data != `{"id":0}` {
				t.Errorf("hello says %s", g.data)
			}
		}
		undone := errors.New("undone")
		ctx := actor.With(t.Context(), ada)
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for i := range each {
					err := d.Tx(ctx, func(tx *db.Tx) error {
						if err := Record(ctx, tx, monday, Activity, "task.changed", task1, map[string]string{"why": "<b>\n— 出荷"}); err != nil {
							return err
						}
						if i%4 == 3 {
							return undone
						}
						return Record(ctx, tx, monday, Audit, "task.watched", task1, nil)
					})
					if err != nil && !errors.Is(err, undone) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		shown := map[string]json.RawMessage{}
		for i := range writers * each * 3 / 2 {
			for _, s := range readers {
				g, ok := s.next()
				if !ok || g.id != strconv.Itoa(i+1) {
					t.Fatalf("got %s (%t), want the event %d", g, ok, i+1)
				}
				if g.kind == "task.changed" {
					shown[g.id] = json.RawMessage(g.data)
				}
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.addr+web.Prefix+"/activity?limit=500", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer user")
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var list []json.RawMessage
		if err := json.NewDecoder(res.Body).Decode(&list); err != nil || len(list) != len(shown) {
			t.Fatalf("the list has %d events and the stream %d; %v", len(list), len(shown), err)
		}
		for _, e := range list {
			var at struct{ ID int64 }
			if err := json.Unmarshal(e, &at); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(e), string(shown[strconv.FormatInt(at.ID, 10)])); d != "" {
				t.Fatalf("the list shows it otherwise (-list +stream):\n%s", d)
			}
		}
	})
}

// A dashboard on a train loses its connection all the time. It must neither
// lose an event nor see one twice, wherever the line breaks.
func TestStreamResume(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const drops = 1000
		s := &Service{DB: d}
		ctx, cancel := context.WithCancel(actor.With(context.Background(), ada))
		var background sync.WaitGroup
		background.Go(func() { _ = s.Run(ctx) })
		// The writer stays near the reader: of one far behind, too much was missed
		// to be told.
		ahead := make(chan struct{}, 500)
		background.Go(func() {
			for ctx.Err() == nil {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return
				}
				_ = d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, monday, Activity, "task.changed", task1, nil) })
			}
		})
		defer background.Wait()
		defer cancel()
		broken := errors.New("the line broke")
		caller := func(context.Context) (actor.Actor, error) { return ada, nil }
		last := int64(0)
		for drop := range drops {
			stream, err := s.Open(ctx, Ask{Caller: caller, After: last})
			if err != nil {
				t.Fatal(err)
			}
			line, cut := context.WithTimeout(ctx, patience)
			left := rand.IntN(8) // frames until it breaks
			stream.Run(line, func(frames []byte) error {
				scanFrames(bufio.NewReader(strings.NewReader(string(frames))), func(g got) {
					if left--; left < 0 || t.Failed() {
						return
					}
					switch id, _ := strconv.ParseInt(g.id, 10, 64); {
					case g.kind == "hello" && id == last:
					case g.kind == "task.changed" && id == last+1:
						last = id
						<-ahead
					default:
						t.Errorf("drop %d: after %d came %s", drop, last, g)
					}
				})
				if left < 0 {
					return broken
				}
				return nil
			})
			cut()
			if t.Failed() {
				return
			}
		}
		if last < drops {
			t.Errorf("%d events in %d streams: they stood still", last, drops)
		}
	})
}

// A reader that cannot be told all it missed must know it, or it shows what
// is no longer so.
func TestStreamReset(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for range 10 {
			record(t, d, monday, Activity, "task.changed", task1, nil)
		}
		r := start(t, &Service{DB: d, Limits: Limits{Resume: 6}})
		r.open(t, "user", "/events", "8").want("8 hello", "9 task.changed", "10 task.changed")
		r.open(t, "user", "/events?last_event_id=9", "").want("9 hello", "10 task.changed")
		r.open(t, "user", "/events?last_event_id=1", "9").want("9 hello", "10 task.changed")
		r.open(t, "user", "/events", "4").want("4 hello", "5 task.changed")
		r.open(t, "user", "/events", "10").want("10 hello")
		r.open(t, "user", "/events", "").want("10 hello")
		tooMany, beyond := r.open(t, "user", "/events", "3"), r.open(t, "user", "/events", "11")
		tooMany.want("10 reset")
		beyond.want("10 reset")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `DELETE FROM events WHERE id IN (2, 7)`); err != nil {
				return err
			}
			return errors.Join(Forgot(t.Context(), tx, 7), Forgot(t.Context(), tx, 2)) // it does not go back
		})
		if err != nil {
			t.Fatal(err)
		}
		forgotten := r.open(t, "user", "/events", "6")
		forgotten.want("10 reset")
		r.open(t, "user", "/events", "7").want("7 hello", "8 task.changed")
		record(t, d, monday, Activity, "task.changed", task1, nil)
		for _, s := range []*reading{tooMany, beyond, forgotten} {
			s.want("11 task.changed")
		}
	})
}

// BenchmarkRecord is the price of a place in the log, with 16 writers.
func BenchmarkRecord(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			d := dbtest.Open(b, dbtest.URL(b, engine))
			ctx := actor.With(b.Context(), ada)
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					err := d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, monday, Activity, "task.changed", task1, nil) })
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
