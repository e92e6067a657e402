package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Under load, readers must be served in order, or some wait for hundreds of later
// ones.
func TestReadQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &readQueue{free: 2}
		var held []*readSlot
		for range 2 {
			p, err := g.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, p)
		}
		gone, leave := context.WithCancel(t.Context())
		order := make(chan int, 10)
		for i := range 10 {
			go func() {
				ctx := t.Context()
				if i == 4 {
					ctx = gone
				}
				p, err := g.enter(ctx)
				if i == 4 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("who left got %v", err)
					}
					return
				}
				order <- i
				p.release()
				p.release() // the second call has no effect
			}()
			synctest.Wait() // it waits in the queue
			time.Sleep(time.Second)
		}
		leave()
		synctest.Wait()
		held[0].release()
		synctest.Wait()
		held[1].release()
		synctest.Wait()
		close(order)
		last := -1
		for i := range order {
			if i <= last {
				t.Errorf("%d came after %d", i, last)
			}
			last = i
		}
		if last != 9 || g.free != 2 || len(g.waiting) != 0 {
			t.Errorf("the last was %d; %d places are free, %d wait", last, g.free, len(g.waiting))
		}
		if n, took := g.waits(); n != 10 || took != (10+9+8+7+6+5+4+3+2+1)*time.Second {
			t.Errorf("%d waited %s", n, took)
		}
		if _, err := g.enter(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("who has left gets in: %v", err)
		}
	})
}

// A slot that is not released would be lost forever.
func TestReadSlotsAreReleased(t *testing.T) {
	d := openFile(t)
	word := func(r Row) (w string, err error) { return w, r.Scan(&w) }
	ended, end := context.WithCancel(t.Context())
	end()
	for name, use := range map[string]func(q Queryer) error{
		"a row": func(q Queryer) error {
			var w string
			return q.QueryRow(t.Context(), `SELECT word FROM words WHERE n = 1`).Scan(&w)
		},
		"no row": func(q Queryer) error {
			var w string
			if err := q.QueryRow(t.Context(), `SELECT word FROM words WHERE n = 99`).Scan(&w); !IsNotFound(err) {
				return fmt.Errorf("it is %w", err)
			}
			return nil
		},
		"a wrong statement": func(q Queryer) error {
			rows, err := q.Query(t.Context(), `SELECT nothing FROM words`)
			if _, err = All(rows, err, word); err == nil {
				return errors.New("it works")
			}
			if q.QueryRow(t.Context(), `SELECT nothing FROM words`).Err() == nil {
				return errors.New("it works")
			}
			return nil
		},
		"a statement that is not kept": func(q Queryer) error {
			var v int64
			return q.QueryRow(t.Context(), `PRAGMA user_version`).Scan(&v)
		},
		"rows that are not read to their end": func(q Queryer) error {
			rows, err := q.Query(t.Context(), `SELECT word FROM words`)
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			return rows.Err()
		},
		"a caller who left before": func(q Queryer) error {
			var w string
			if err := q.QueryRow(ended, `SELECT word FROM words WHERE n = 1`).Scan(&w); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("it is %w", err)
			}
			rows, err := q.Query(ended, `SELECT word FROM words`)
			if _, err = All(rows, err, word); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("it is %w", err)
			}
			return nil
		},
		"a caller who leaves": func(q Queryer) error {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			rows, err := q.Query(ctx, `SELECT word FROM words`)
			if err != nil {
				return err
			}
			defer rows.Close()
			leave()
			for rows.Next() { // until database/sql detects the end of the context
			}
			if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		},
		"a view": func(Queryer) error {
			return d.View(t.Context(), func(q Queryer) error {
				var w string
				return q.QueryRow(t.Context(), `SELECT word FROM words WHERE n = 1`).Scan(&w)
			})
		},
		"a view that fails": func(Queryer) error {
			failed := errors.New("failed")
			if err := d.View(t.Context(), func(Queryer) error { return failed }); !errors.Is(err, failed) {
				return fmt.Errorf("it is %w", err)
			}
			return nil
		},
	} {
		for how, q := range map[string]Queryer{"as usual": d, "briefly": d.Brief()} {
			t.Run(name+", "+how, func(t *testing.T) {
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						if err := use(q); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				d.readQueue.mu.Lock()
				defer d.readQueue.mu.Unlock()
				if d.readQueue.free != 4 || len(d.readQueue.waiting) > 0 {
					t.Errorf("%d places are free, and %d wait", d.readQueue.free, len(d.readQueue.waiting))
				}
			})
		}
	}
}

// A cached value must become invalid with the next commit of any process.
func TestReadCache(t *testing.T) {
	d := openFile(t)
	beside, err := Open(t.Context(), d.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := beside.Close(); err != nil {
			t.Error(err)
		}
	})
	var m ReadCache[int, string]
	reads := 0
	word := func() string {
		t.Helper()
		w, err := m.Read(t.Context(), d, 1, func(context.Context) (w string, err error) {
			reads++
			err = d.Brief().QueryRow(t.Context(), `SELECT word FROM words WHERE n = 1`).Scan(&w)
			return w, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for i := range 20 {
		w := fmt.Sprint("word ", i)
		change(t, []*DB{d, beside}[i%2], `UPDATE words SET word = ? WHERE n = 1`, w)
		for range 3 {
			if got := word(); got != w {
				t.Errorf("after change %d it is %q", i, got)
			}
		}
		if reads != i+1 {
			t.Fatalf("after change %d it was read %d times", i, reads)
		}
	}
	t.Run("not what failed", func(t *testing.T) {
		failed := errors.New("failed")
		for _, want := range []error{failed, nil} {
			if _, err := m.Read(t.Context(), d, 2, func(context.Context) (string, error) { return "", want }); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
	})
	t.Run("not without end", func(t *testing.T) {
		for i := range 3 * maxCached {
			if _, err := m.Read(t.Context(), d, i, func(context.Context) (string, error) { return "", nil }); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.known) > maxCached {
			t.Errorf("%d are kept", len(m.known))
		}
	})
}

// No reader may see data from before a change that it has seen committed, however
// many read and write at the same time.
func TestReadCacheConcurrent(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		d := opened(t, address)
		change(t, d, `CREATE TABLE counts (n INTEGER)`)
		change(t, d, `INSERT INTO counts (n) VALUES (0)`)
		var m ReadCache[string, int64]
		var committed atomic.Int64
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for committed.Load() < 200 {
					least := committed.Load()
					n, err := m.Read(t.Context(), d, "n", func(ctx context.Context) (n int64, err error) {
						err = d.Brief().QueryRow(ctx, `SELECT n FROM counts`).Scan(&n)
						return n, err
					})
					if err != nil || n < least {
						t.Errorf("%d after %d were committed, %v", n, least, err)
						return
					}
				}
			})
		}
		for range 200 {
			change(t, d, `UPDATE counts SET n = n + 1`)
			committed.Add(1)
		}
		all.Wait()
	})
}

// Many concurrent requests must share one read, but none may get a result from
// before it started: the caller's account may have been closed since.
func TestReadCacheSharesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m ReadCache[string, int]
		d := &DB{conn: conn{engine: Postgres}}
		begun, answer := 0, make(chan error)
		read := func(ctx context.Context) (int, error) {
			begun++
			n := begun
			select {
			case err := <-answer:
				return n, err
			case <-ctx.Done():
				return n, ctx.Err()
			}
		}
		got := make(chan string, 10)
		ask := func(ctx context.Context) {
			go func() {
				n, err := m.Read(ctx, d, "ada", read)
				got <- fmt.Sprint(n, err)
			}()
			synctest.Wait()
		}
		want := func(all ...string) {
			t.Helper()
			synctest.Wait()
			for _, one := range all {
				if is := <-got; is != one {
					t.Errorf("%q, want %q", is, one)
				}
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		ask(t.Context())
		ask(leaving)
		ask(t.Context())
		ask(t.Context())
		leave()
		want("0 context canceled")
		answer <- nil
		want("1 <nil>")
		failed := errors.New("failed")
		answer <- failed
		want("2 failed", "2 failed")
		if begun != 2 || m.reads.Running() > 0 {
			t.Errorf("%d readings, and %d keys are left", begun, m.reads.Running())
		}
		ask(t.Context())
		if is := <-got; !strings.Contains(is, errNoAnswer.Error()) {
			t.Errorf("a reading that took too long: %s", is)
		}
	})
}
