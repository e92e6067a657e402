package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Writers that wait while the database is closed must get an error and not wait
// forever.
func TestWritersOfAClosedDatabase(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c := newCrowd(t, filepath.Join(t.TempDir(), "test.db"))
	leaving, leave := context.WithCancel(t.Context())
	c.add(t.Context(), "a", nil)
	c.add(leaving, "b", nil)
	c.add(t.Context(), "c", nil)
	if err := c.Close(); err != nil { // and again when the test ends
		t.Error(err)
	}
	leave()
	close(c.release)
	c.writing.Wait()
	after, err := openSQLite(t.Context(), c.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		var n int
		if err := after.QueryRow(t.Context(), `SELECT COUNT(*) FROM names WHERE name = ?`, name).Scan(&n); err != nil || (n == 1) != (c.errs[name] == nil) {
			t.Errorf("%s was told %v, and %d are there, %v", name, c.errs[name], n, err)
		}
	}
	if err := after.Close(); err != nil {
		t.Error(err)
	}
}

// While another process writes, callers wait, but not forever. Their results must
// be correct, and writing must work again afterwards.
func TestWritersBesideAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	d, err := openSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := openSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	change(t, d, `CREATE TABLE names (name TEXT PRIMARY KEY)`)
	if _, err := d.write.ExecContext(t.Context(), `PRAGMA busy_timeout = 5`); err != nil {
		t.Fatal(err)
	}
	raw, err := beside.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const many = 30
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			ctx, leave := context.WithCancel(t.Context())
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*time.Millisecond, leave)
			}
			defer leave()
			errs[i] = d.Tx(ctx, func(tx *Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO names VALUES (?)`, fmt.Sprint(i))
				return err
			})
		})
	}
	time.AfterFunc(100*time.Millisecond, func() {
		if err := raw.Rollback(); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	for i, err := range errs {
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM names WHERE name = ?`, fmt.Sprint(i)).Scan(&n); err != nil {
			t.Error(err)
		}
		if (err == nil) != (n == 1) {
			t.Errorf("%d was told %v, and %d are there", i, err, n)
		}
		if err != nil && !errors.Is(err, context.Canceled) && !isRace(err) {
			t.Errorf("%d was told %v", i, err)
		}
	}
	change(t, d, `INSERT INTO names VALUES ('after')`)
	if err := errors.Join(d.Close(), beside.Close()); err != nil {
		t.Error(err)
	}
}
