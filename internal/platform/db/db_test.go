package db_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/schema"
)

func write(t *testing.T, d *db.DB, query string, args ...any) error {
	t.Helper()
	return d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
}

// A time in another zone must be stored as the same moment: PostgreSQL would keep
// the hour and drop the zone.
func TestTimesKeepTheirMoment(t *testing.T) {
	shanghai := time.FixedZone("CST", 8*3600)
	at := time.Date(2026, 11, 20, 17, 30, 0, 123_456_000, shanghai)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := write(t, d, `INSERT INTO job_timers (name, next_at) VALUES ('x', ?)`, at); err != nil {
			t.Fatal(err)
		}
		var got time.Time
		if err := d.QueryRow(t.Context(), `SELECT next_at FROM job_timers WHERE next_at = ?`, &at).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("read %v, want %v in UTC", got, at)
		}
	})
}

// Every connection must reject a row whose parent is missing, not only the first
// one.
func TestForeignKeysOnEveryConnection(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if write(t, d, `INSERT INTO job_steps VALUES ('none', 'a', '{}', ?)`, time.Now()) == nil {
					t.Error("a step without its job was accepted")
				}
			})
		}
		wg.Wait()
	})
}

// Queries outside a transaction are read-only; SQLite rejects writes there.
func TestReadersCannotWrite(t *testing.T) {
	d := dbtest.New(t)
	rows, err := d.Query(t.Context(), `DELETE FROM users RETURNING id`)
	if err == nil {
		defer rows.Close()
		rows.Next()
		err = rows.Err()
	}
	if err == nil {
		t.Error("a reading connection wrote")
	}
}

// Two writers that read the same row first must not lose an update.
func TestNoLostUpdate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			wg.Go(func() {
				err := d.Tx(t.Context(), func(tx *db.Tx) error {
					var n int
					if err := tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM job_timers`).Scan(&n); err != nil || n > 0 {
						return err
					}
					mu.Lock()
					won++
					mu.Unlock()
					_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES (?, ?)`, string(rune('a'+i)), time.Now())
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%d transactions saw an empty table, want 1", won)
		}
	})
}

// A hook runs after the commit and never after a rollback.
func TestCommitted(t *testing.T) {
	d := dbtest.New(t)
	var heard []string
	refused := errors.New("refused")
	for name, result := range map[string]error{"kept": nil, "rolled back": refused} {
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			tx.Committed(func() { heard = append(heard, name) })
			return result
		})
		if !errors.Is(err, result) {
			t.Errorf("Tx() = %v, want %v", err, result)
		}
	}
	if len(heard) != 1 || heard[0] != "kept" {
		t.Errorf("heard %v, want only the commit", heard)
	}
}

func TestIsDuplicate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const insert = `INSERT INTO job_timers (name, next_at) VALUES ('twice', ?)`
		if err := write(t, d, insert, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := write(t, d, insert, time.Now()); !db.IsDuplicate(err) {
			t.Errorf("second insert: %v, want a duplicate", err)
		}
		if err := write(t, d, `INSERT INTO job_timers (name) VALUES ('no time')`); err == nil || db.IsDuplicate(err) {
			t.Errorf("missing column: %v, want an error that is no duplicate", err)
		}
	})
}

// Two processes that own one file would both run its background work.
func TestOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	first, err := db.Own(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Own(t.Context(), path); !errors.Is(err, db.ErrOwned) {
		t.Errorf("second owner: %v, want ErrOwned", err)
	}
	alias := filepath.Join(t.TempDir(), "alias.db")
	if err := os.Symlink(path, alias); err != nil {
		t.Fatal(err)
	}
	if d, err := db.Own(t.Context(), alias); !errors.Is(err, db.ErrOwned) {
		t.Errorf("an owner under another name: %v, %v, want ErrOwned", d, err)
	}
	visitor, err := db.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("a command beside the owner: %v", err)
	}
	if err := errors.Join(visitor.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := db.Own(t.Context(), path)
	if err != nil {
		t.Fatalf("after the owner left: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// Replicas that start together migrate once, and each engine sees only its own
// files.
func TestMigrateTogether(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			d := dbtest.Open(t, dbtest.URL(t, engine))
			more := fstest.MapFS{
				"9001_words.sqlite.sql":   {Data: []byte("-- +goose Up\nCREATE VIRTUAL TABLE words USING fts5(body);")},
				"9001_words.postgres.sql": {Data: []byte("-- +goose Up\nCREATE TABLE words (body TSVECTOR);")},
			}
			maps.Copy(more, all(t))
			var wg sync.WaitGroup
			var mu sync.Mutex
			var applied []string
			for range 4 {
				wg.Go(func() {
					names, err := d.Migrate(context.Background(), db.Schema{Files: more})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					applied = append(applied, names...)
					mu.Unlock()
				})
			}
			wg.Wait()
			if want := "9001_words." + engine.String() + ".sql"; len(applied) != 1 || applied[0] != want {
				t.Errorf("applied %v, want %s once", applied, want)
			}
			if err := d.Check(t.Context(), db.Schema{Files: more}); err != nil {
				t.Error(err)
			}
		})
	}
}

func all(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	entries, err := fs.ReadDir(schema.FS(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := fs.ReadFile(schema.FS(), e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = &fstest.MapFile{Data: data}
	}
	return files
}

// Retention sizes its batches by this value. If it included the wait for other
// writers, the batches would shrink because of them.
func TestHeld(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var began, wrote time.Time
		var held []time.Duration
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			began = time.Now()
			tx.Held(func(long time.Duration) { held = append(held, long) })
			for range 10 {
				if _, err := tx.Exec(t.Context(), `UPDATE task_counter SET last = last + 1`); err != nil {
					return err
				}
			}
			wrote = time.Now()
			return nil
		})
		if err != nil || len(held) != 1 {
			t.Fatalf("told %v, %v", held, err)
		}
		if held[0] < wrote.Sub(began) {
			t.Errorf("held for %s, and wrote for %s", held[0], wrote.Sub(began))
		}
		rolledBack := errors.New("rolled back")
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			tx.Held(func(long time.Duration) { held = append(held, long) })
			return rolledBack
		})
		if !errors.Is(err, rolledBack) || len(held) != 1 {
			t.Errorf("got %v from a rolled-back transaction, %v", held, err)
		}
	})
}

// After a clean stop the database must be one file: people copy it without the WAL,
// and would lose the last writes.
func TestClosedIsOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	d, err := db.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t, d, `CREATE TABLE words (word TEXT)`); err != nil {
		t.Fatal(err)
	}
	if err := write(t, d, `INSERT INTO words (word) VALUES (?)`, "last"); err != nil {
		t.Fatal(err)
	}
	var m db.ReadCache[string, string]
	read := func(context.Context) (word string, err error) {
		err = d.QueryRow(t.Context(), `SELECT word FROM words`).Scan(&word)
		return word, err
	}
	for range 3 {
		if _, err := m.Read(t.Context(), d, "", read); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the WAL is still there: %v", err)
	}
}

// A rehearsal must leave no changes and wake nobody, so that tests only see side
// effects outside the database.
func TestRehearse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		d.Rehearse()
		ran, heard := 0, 0
		failed := errors.New("failed")
		for name, fail := range map[string]error{"good": nil, "bad": failed} {
			err := d.Tx(t.Context(), func(tx *db.Tx) error {
				ran++
				tx.Committed(func() { heard++ })
				_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES (?, ?)`, name, time.Now())
				return errors.Join(err, fail)
			})
			if !errors.Is(err, fail) {
				t.Error(err)
			}
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM job_timers`).Scan(&n); err != nil || n != 1 || ran != 4 || heard != 1 {
			t.Errorf("%d rows of %d runs, of which %d were heard, %v", n, ran, heard, err)
		}
	})
}

// A process that disappears in the middle of a transaction must not block the
// others for hours.
func TestAbandonedTransactionsEnd(t *testing.T) {
	d := dbtest.Open(t, dbtest.URL(t, db.Postgres))
	var bound string
	if err := d.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&bound); err != nil || bound != "1min" {
		t.Errorf("they end after %q, %v", bound, err)
	}
}
