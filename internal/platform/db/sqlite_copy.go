package db

import (
	"context"
	"fmt"
	"os"
)

// CopySQLite copies the SQLite database at path into the file named by to, which must
// be empty or not exist yet. The copy is a consistent snapshot that contains
// everything committed before the call. Other processes can read and write meanwhile;
// their writes stay in the write-ahead log until the copy is complete. The copy is
// not flushed to disk, and the original is not changed.
func CopySQLite(ctx context.Context, path, to string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("open the database: %w", err)
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

// OpenCopy opens an SQLite file that no other process uses, such as a copy, for
// reading. It creates no files next to it and works on a read-only disk.
func OpenCopy(ctx context.Context, path string) (*DB, error) {
	return openSQLiteReadOnly(ctx, path, address(path, "mode=ro&immutable=1"))
}

// Integrity returns the problems that SQLite finds in its file or, if there are none,
// the references to rows that do not exist, up to the limit most. On PostgreSQL,
// which enforces references and has its own tools, it returns none.
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
		return fmt.Sprintf("row %d of %s refers to a missing row of %s", row, table, parent), err
	})
}
