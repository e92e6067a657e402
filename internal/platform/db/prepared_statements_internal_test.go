package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

func openFile(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	change(t, d, `CREATE TABLE words (n INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE)`)
	for i, w := range []string{"one", "two", "three"} {
		change(t, d, `INSERT INTO words (n, word) VALUES (?, ?)`, i+1, w)
	}
	return d
}

func change(t *testing.T, d *DB, query string, args ...any) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kept returns how many prepared statements the write connection has, and how many
// are in use.
func kept(t *testing.T, pool *sql.DB) (known, busy int) {
	t.Helper()
	c, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(raw any) error {
		p, ok := raw.(*prepared)
		if !ok {
			return fmt.Errorf("it is a %T", raw)
		}
		for _, s := range p.known {
			if s.busy {
				busy++
			}
		}
		known = len(p.known)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known, busy
}

// A cached statement must return the same results as a new one, whatever happened
// on its last use.
func TestPrepared(t *testing.T) {
	const byNumber, all = `SELECT word FROM words WHERE n = ?`, `SELECT word FROM words ORDER BY n`
	word := func(t *testing.T, q Queryer, n any) (w string) {
		t.Helper()
		if err := q.QueryRow(t.Context(), byNumber, n).Scan(&w); err != nil {
			t.Errorf("%v: %v", n, err)
		}
		return w
	}
	t.Run("it is prepared once", func(t *testing.T) {
		d := openFile(t)
		before, _ := kept(t, d.write)
		for range 3 {
			change(t, d, `UPDATE words SET word = word || '!' WHERE n = ?`, 1)
		}
		if known, busy := kept(t, d.write); known != before+1 || busy != 0 {
			t.Errorf("%d statements, before %d, and %d in use", known, before, busy)
		}
		if w := word(t, d, 1); w != "one!!!" {
			t.Error(w)
		}
	})
	t.Run("while its rows are read it is asked again", func(t *testing.T) {
		d := openFile(t)
		err := d.View(t.Context(), func(q Queryer) error {
			rows, err := q.Query(t.Context(), all)
			if err != nil {
				return err
			}
			defer rows.Close()
			for i := 1; rows.Next(); i++ {
				list, err := q.Query(t.Context(), all)
				words, err := All(list, err, func(r Row) (w string, err error) { return w, r.Scan(&w) })
				var w string
				if err := rows.Scan(&w); err != nil || w != word(t, q, i) {
					t.Errorf("row %d is %s, %v", i, w, err)
				}
				if err != nil || len(words) != 3 {
					t.Errorf("%v, %v", words, err)
				}
			}
			return rows.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("after a failure", func(t *testing.T) {
		d := openFile(t)
		for range 2 {
			err := d.Tx(t.Context(), func(tx *Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO words (n, word) VALUES (?, ?)`, 9, "one")
				return err
			})
			if !IsDuplicate(err) {
				t.Error(err)
			}
		}
		change(t, d, `INSERT INTO words (n, word) VALUES (?, ?)`, 9, "nine")
		if w := word(t, d, 9); w != "nine" {
			t.Error(w)
		}
		if err := d.QueryRow(t.Context(), `SELECT nothing FROM words`).Err(); err == nil {
			t.Error("a wrong query was prepared")
		}
	})
	t.Run("after a caller left", func(t *testing.T) {
		d := openFile(t)
		ctx, leave := context.WithCancel(t.Context())
		rows, err := d.Query(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if !rows.Next() {
			t.Fatal("there are no rows")
		}
		leave()
		for rows.Next() { // until database/sql detects the end of the context
		}
		if err := rows.Err(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		list, err := d.Query(t.Context(), all)
		if words, err := All(list, err, func(r Row) (w string, err error) { return w, r.Scan(&w) }); err != nil || len(words) != 3 {
			t.Errorf("%v, %v", words, err)
		}
	})
	t.Run("after the table was changed", func(t *testing.T) {
		d := openFile(t)
		for range 8 { // on every connection
			word(t, d, 1)
		}
		change(t, d, `ALTER TABLE words ADD COLUMN more TEXT`)
		change(t, d, `CREATE INDEX words_by_more ON words (more)`)
		if w := word(t, d, 2); w != "two" {
			t.Error(w)
		}
		change(t, d, `DROP TABLE words`) // an open statement would block this
	})
	t.Run("they have an end", func(t *testing.T) {
		d := openFile(t)
		for i := range 3 * maxPrepared {
			change(t, d, fmt.Sprintf(`UPDATE words SET word = word WHERE n = %d`, i))
		}
		if known, _ := kept(t, d.write); known > maxPrepared || known < 2 {
			t.Errorf("%d statements", known)
		}
	})
}
