package db

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// Rows that are read together with deferred statements must equal rows read alone,
// even when the caller's context has ended.
func TestRowsAfterLater(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		d := opened(t, address)
		change(t, d, `CREATE TABLE all_kinds (i INTEGER, b BIGINT, s SMALLINT, f DOUBLE PRECISION, t TEXT, yes BOOLEAN, at TIMESTAMP, none TEXT)`)
		at := time.Date(2026, 11, 16, 8, 0, 0, 123_000, time.UTC)
		change(t, d, `INSERT INTO all_kinds VALUES (1, 2, 3, 4.5, 'six', TRUE, ?, NULL)`, at)
		change(t, d, `INSERT INTO all_kinds VALUES (-1, 9007199254740993, 0, 0, '', FALSE, ?, '')`, at)
		type row struct {
			I, B, S, Sum int64
			F            float64
			T            string
			Yes          bool
			At           time.Time
			None         *string
		}
		read := func(tx *Tx) ([]row, error) {
			rows, err := tx.Query(t.Context(), `SELECT i, b, s, SUM(b) OVER (), f, t, yes, at, none FROM all_kinds WHERE i IN (?, ?) ORDER BY i`, 1, -1)
			return All(rows, err, func(r Row) (v row, err error) {
				return v, r.Scan(&v.I, &v.B, &v.S, &v.Sum, &v.F, &v.T, &v.Yes, &v.At, &v.None)
			})
		}
		err := d.Tx(t.Context(), func(tx *Tx) error {
			alone, err := read(tx)
			if err != nil {
				return err
			}
			if err := tx.Later(t.Context(), `UPDATE all_kinds SET t = t`); err != nil {
				return err
			}
			together, err := read(tx)
			if d := cmp.Diff(alone, together); d != "" || len(alone) != 2 {
				t.Errorf("alone and together (-, +):\n%s", d)
			}
			if err := errors.Join(err, tx.Later(t.Context(), `UPDATE all_kinds SET t = t`)); err != nil {
				return err
			}
			if n, err := tx.Exec(t.Context(), `UPDATE all_kinds SET t = 'x'`); err != nil || n != 2 {
				t.Errorf("%d rows were changed, %v", n, err)
			}
			if err := tx.Later(t.Context(), `UPDATE all_kinds SET t = t`); err != nil {
				return err
			}
			ended, end := context.WithCancel(t.Context())
			end()
			var n int
			if err := tx.QueryRow(ended, `SELECT 1`).Scan(&n); !errors.Is(err, context.Canceled) {
				t.Errorf("who has left was told %d, %v", n, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		err = d.Tx(t.Context(), func(tx *Tx) error {
			if _, err := read(tx); err != nil {
				t.Error(err)
			}
			if _, err := tx.Exec(t.Context(), `DROP TABLE all_kinds`); err != nil {
				t.Error(err)
			}
			if err := tx.Later(t.Context(), `SELECT 1`); err != nil {
				t.Error(err)
			}
			_, err := read(tx)
			return err
		})
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42P01" {
			t.Errorf("a prepared query of a dropped table: %v", err)
		}
		change(t, d, `UPDATE all_kinds SET t = 'y'`) // other writers proceed
	})
}
