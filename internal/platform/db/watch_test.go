package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// watching counts how often a topic of d woke, until the test ends.
type watching struct {
	mu    sync.Mutex
	woken int
	lost  []error
}

func watch(t *testing.T, d *db.DB, topic string) *watching {
	t.Helper()
	w := &watching{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Watch(ctx, topic, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.woken++
		}, func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lost = append(w.lost, err)
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	w.more(t, 0, "the watcher to listen") // it wakes once when it listens
	return w
}

func (w *watching) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.woken
}

// more waits until the topic has woken more than n times.
func (w *watching) more(t *testing.T, n int, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); w.count() <= n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s for 20 s", what)
		}
	}
}

func wake(t *testing.T, d *db.DB, topic string, result error) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for range 3 {
			if err := tx.Wake(t.Context(), topic); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES (?, ?)`, db.NewID(), time.Now()); err != nil {
			return err
		}
		return result
	})
	if !errors.Is(err, result) {
		t.Fatal(err)
	}
}

// A watcher of a change, in this or another process, must wake soon, and not for
// changes that were rolled back.
func TestWatch(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := dbtest.URL(t, engine)
			d := dbtest.Open(t, url)
			other, err := db.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			here, elsewhere := watch(t, d, "news"), watch(t, d, "weather")
			before := here.count()
			wake(t, d, "news", errors.New("rolled back"))
			if here.count() != before {
				t.Error("a transaction that was rolled back woke")
			}
			wake(t, d, "news", nil)
			if here.count() == before {
				t.Error("a commit of this process did not wake at once")
			}
			for range 3 {
				before := here.count()
				wake(t, other, "news", nil)
				here.more(t, before, "the other's commit")
			}
			if n := elsewhere.count(); engine == db.Postgres && n != 1 {
				t.Errorf("another topic woke %d times", n)
			}
		})
	}
}

// PostgreSQL restarts and proxies cut idle connections: watching must recover by
// itself.
func TestWatchComesBack(t *testing.T) {
	url := dbtest.URL(t, db.Postgres)
	d := dbtest.Open(t, url)
	other, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w := watch(t, d, "news")
	before := w.count()
	var cut int
	err = other.QueryRow(t.Context(), `
		SELECT COUNT(*) FROM (
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query = 'LISTEN "' || 'wardroom_' || md5(current_schema() || '/' || ?) || '"') AS cut`, "news").Scan(&cut)
	if err != nil || cut != 1 {
		t.Fatalf("%d connections were cut, %v", cut, err)
	}
	w.more(t, before, "the new connection")
	before = w.count()
	wake(t, other, "news", nil)
	w.more(t, before, "the commit after it")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lost) != 1 {
		t.Errorf("one loss was told %d times: %v", len(w.lost), w.lost)
	}
}
