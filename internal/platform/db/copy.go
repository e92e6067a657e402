package db

import (
	"context"
	"fmt"
	"os"
)

// CopySQLite writes the SQLite database at path to the file to, which must be
// missing or empty. The copy holds one moment: everything committed before the
// call and nothing half done. Other processes keep reading and writing meanwhile;
// the write-ahead log grows by what they write until the copy is complete. The
// copy is not flushed to the disk, and nothing is written to the original.
func CopySQLite(ctx context.Context, path, to string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	read, err := pool(address(path, "mode=ro&_pragma=busy_timeout(5000)"))
	if err != nil {
		return err
	}
	defer read.Close()
	read.SetMaxOpenConns(1)
	err = checkVersion(ctx, read)
	if err == nil {
		_, err = read.ExecContext(ctx, `VACUUM INTO ?`, to)
	}
	if reason, ok := damage(err); ok {
		return fmt.Errorf("%w: %s: %s", ErrDamaged, path, reason)
	}
	return err
}

// LookAtCopy opens an SQLite file that nobody else uses, such as a copy, to read
// it. It makes no file beside it, and works on a disk that is read-only.
func LookAtCopy(ctx context.Context, path string) (*DB, error) {
	return lookSQLite(ctx, path, address(path, "mode=ro&immutable=1"))
}

// Integrity returns what SQLite finds wrong with its file and with the references
// between its tables, most findings of each at the most. On PostgreSQL, which
// guards references itself and has tools of its own for its files, it returns none.
func (d *DB) Integrity(ctx context.Context, most int) ([]string, error) {
	if d.engine == Postgres {
		return nil, nil
	}
	found, err := integrity(ctx, d.read, most)
	if err != nil || len(found) > 0 {
		return found, err
	}
	rows, err := d.read.QueryContext(ctx, `SELECT "table", COALESCE(rowid, 0), parent FROM pragma_foreign_key_check LIMIT ?`, most)
	return All(rows, err, func(r Row) (string, error) {
		var table, parent string
		var row int64
		err := r.Scan(&table, &row, &parent)
		return fmt.Sprintf("row %d of %s refers to a row of %s that is missing", row, table, parent), err
	})
}
