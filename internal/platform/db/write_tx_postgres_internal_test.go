package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// twoReplicas are two processes on one PostgreSQL schema with a table of names,
// with limits short enough for a test.
func twoReplicas(t *testing.T, address string) (first, second *DB) {
	t.Helper()
	first, second = opened(t, address), opened(t, address)
	for _, d := range []*DB{first, second} {
		d.enter = beginStatement(time.Second, 10*time.Second, 300*time.Millisecond)
	}
	change(t, first, `CREATE TABLE names (name TEXT PRIMARY KEY)`)
	return first, second
}

func insert(ctx context.Context, d *DB, name string, then func(*Tx) error) error {
	return d.Tx(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO names VALUES (?)`, name); err != nil || then == nil {
			return err
		}
		return then(tx)
	})
}

func namesOf(t *testing.T, d *DB) string {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT name FROM names ORDER BY name`)
	names, err := All(rows, err, func(r Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// A process that freezes in the middle of a transaction must lose it before the
// others give up, and run it again when it resumes.
func TestFrozenWriter(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		first, second := twoReplicas(t, address)
		frozen, ran := make(chan struct{}), 0
		told := make(chan error, 1)
		go func() {
			told <- insert(t.Context(), first, "frozen", func(*Tx) error {
				if ran++; ran == 1 {
					close(frozen)
					time.Sleep(time.Second) // far longer than idleTxTimeout
				}
				return nil
			})
		}()
		<-frozen
		if err := insert(t.Context(), second, "other", nil); err != nil {
			t.Errorf("beside a frozen one: %v", err)
		}
		if err := <-told; err != nil || ran != 2 {
			t.Errorf("the frozen one was told %v after %d runs", err, ran)
		}
		if got := namesOf(t, second); got != "frozen other" {
			t.Errorf("%s are there", got)
		}
	})
}

// A change that waits for a lock must fail in time, and the members that share its
// transaction must succeed without it.
func TestWritersBehindALock(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		c := newCrowd(t, address)
		change := func(tx *Tx) error {
			_, err := tx.Exec(context.Background(), `UPDATE names SET name = 'mine' WHERE name = 'locked'`)
			return err
		}
		beside := opened(t, address)
		if _, err := beside.write.ExecContext(t.Context(), `INSERT INTO names VALUES ('locked')`); err != nil {
			t.Fatal(err)
		}
		foreign, err := beside.write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := foreign.ExecContext(t.Context(), `UPDATE names SET name = 'theirs' WHERE name = 'locked'`); err != nil {
			t.Fatal(err)
		}
		c.add(t.Context(), "a", nil)
		c.add(t.Context(), "b", change)
		c.add(t.Context(), "c", nil)
		began := time.Now()
		if names := strings.Join(c.let(), " "); names != "a c locked" {
			t.Errorf("%s are there", names)
		}
		if reason, away := Unavailable(c.errs["b"]); !away || !strings.Contains(reason, "lock") || c.errs["a"] != nil || c.errs["c"] != nil {
			t.Errorf("they were told %v", c.errs)
		}
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("it took %s", took)
		}
		if err := foreign.Rollback(); err != nil {
			t.Error(err)
		}
	})
}

// A caller behind a process that keeps writing must get an error in time, and not
// block others.
func TestWritersArePatient(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		d := opened(t, address)
		d.writers.most = 50 * time.Millisecond
		release, begun := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if err := d.Tx(t.Context(), func(*Tx) error { close(begun); <-release; return nil }); err != nil {
				t.Error(err)
			}
		})
		<-begun
		if err := d.Tx(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrBusy) {
			t.Errorf("who waits was told %v", err)
		}
		close(release)
		all.Wait()
		if err := d.Tx(t.Context(), func(*Tx) error { return nil }); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// Deferred statements must run in order, and an error must only reach the caller
// that deferred the statement.
func TestLater(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		broken := func(tx *Tx) error {
			return tx.Later(context.Background(), `INSERT INTO names VALUES (?)`, "bad")
		}
		for _, order := range [][]string{{"a", "bad", "c"}, {"a", "c", "bad"}} {
			c := newCrowd(t, address)
			for _, name := range order {
				if name == "bad" {
					c.add(t.Context(), name, broken)
					continue
				}
				c.add(t.Context(), name, func(tx *Tx) error {
					if err := tx.Later(context.Background(), `INSERT INTO names VALUES (?)`, name+" later"); err != nil {
						return err
					}
					var n int
					err := tx.QueryRow(context.Background(), `SELECT COUNT(*) FROM names WHERE name = ?`, name+" later").Scan(&n)
					if err == nil && n != 1 {
						t.Errorf("%s does not see what it put off", name)
					}
					return errors.Join(err, tx.Later(context.Background(), `INSERT INTO names VALUES (?)`, name+" last"))
				})
			}
			if got := strings.Join(c.let(), ","); got != "a,a last,a later,c,c last,c later" {
				t.Errorf("%v: %s are there", order, got)
			}
			if !IsDuplicate(c.errs["bad"]) || c.errs["a"] != nil || c.errs["c"] != nil {
				t.Errorf("%v: they were told %v", order, c.errs)
			}
			change(t, c.DB, `DROP TABLE names`)
		}
	})
}

// Once a newer version has migrated the database, an older one must not write a
// single row, whatever it was doing.
func TestNothingIsWrittenToANewerSchema(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		old, next := opened(t, address), opened(t, address)
		file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)} }
		one := fstest.MapFS{"1_names.sql": file(`CREATE TABLE names (name TEXT, version BIGINT);`)}
		two := fstest.MapFS{"1_names.sql": one["1_names.sql"], "2_more.sql": file(`CREATE TABLE more (n INTEGER);`)}
		if _, err := old.Migrate(t.Context(), Schema{one, "1.0"}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := 0; ; n++ {
					err := old.Tx(t.Context(), func(tx *Tx) error {
						_, err := tx.Exec(t.Context(), `INSERT INTO names VALUES (?, (SELECT MAX(version_id) FROM migrations))`, fmt.Sprint(i, n))
						return err
					})
					if errors.Is(err, ErrNewer) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		time.Sleep(100 * time.Millisecond) // so that they are at it
		if _, err := next.Migrate(t.Context(), Schema{two, "2.0"}); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		var before, after int
		if err := old.QueryRow(t.Context(), `SELECT COUNT(*) FILTER (WHERE version = 1), COUNT(*) FILTER (WHERE version > 1) FROM names`).Scan(&before, &after); err != nil || before == 0 || after > 0 {
			t.Errorf("%d rows were written before, and %d after, %v", before, after, err)
		}
		if err := old.Newer(t.Context()); !errors.Is(err, ErrNewer) {
			t.Errorf("the older one finds %v", err)
		}
		if err := next.Newer(t.Context()); err != nil {
			t.Errorf("the newer one finds %v", err)
		}
	})
}

// An older version must name the version that is needed, even if that is not
// recorded, and change nothing.
func TestOlderProgramIsRefused(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		d := opened(t, address)
		file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)} }
		one := fstest.MapFS{"1_names.sql": file(`CREATE TABLE schema_programs (version BIGINT PRIMARY KEY, program TEXT NOT NULL);`)}
		two := fstest.MapFS{"1_names.sql": one["1_names.sql"], "2_more.sql": file(`CREATE TABLE more (n INTEGER);`)}
		if err := d.Check(t.Context(), Schema{one, "1.0"}); !errors.Is(err, ErrPending) {
			t.Errorf("an empty database: %v", err)
		}
		for _, program := range []string{"1.0", "1.1"} {
			if _, err := d.Migrate(t.Context(), Schema{one, program}); err != nil {
				t.Fatal(err)
			}
		}
		for _, program := range []string{"2.0", "2.1"} {
			if _, err := d.Migrate(t.Context(), Schema{two, program}); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(want string) {
			t.Helper()
			_, migrate := d.Migrate(t.Context(), Schema{one, "1.0"})
			for _, err := range []error{migrate, d.Check(t.Context(), Schema{one, "1.0"})} {
				if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q in it", err, want)
				}
			}
		}
		refused("at version 2, and Wardroom 1.0 supports up to version 1. Start Wardroom 2.0 or later")
		change(t, d, `DELETE FROM schema_programs WHERE version = 2`)
		refused("Start a version of Wardroom that supports schema version 2")
	})
}
