package db

import (
	"context"
	"fmt"
	"os"
)

// CopySQLite copies the SQLite database at the first path to the second path. The file
// at the second path must be missing or empty. The copy is a consistent snapshot that
// contains everything that was committed before the call. Other processes can read and
// write during the call; their writes stay in the write-ahead log until the copy is
// complete. The copy is not flushed to disk. The original does not change.
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

// OpenCopy opens a copy of an SQLite file for reading. No other process may use the
// copy. OpenCopy creates no other files, so it works on a read-only disk.
func OpenCopy(ctx context.Context, path string) (*DB, error) {
	return openSQLiteReadOnly(ctx, path, address(path, "mode=ro&immutable=1"))
}

// Integrity returns the problems that SQLite's integrity check finds, but no more than the given number. If the check
// finds none, Integrity returns references to missing rows instead. On PostgreSQL, Integrity returns nothing, because
// PostgreSQL enforces references and has its own tools.
func (d *DB) Integrity(ctx context.Context, most int) ([]string, error) {
	if d.engine == Postgres {
		return nil, nil
	}
	found, err := integrity(ctx, d.read, most)
	if err != nil || len(found) > 0 {
		return found, err
	}
	rows, err := d.read.QueryContext(ctx,
		`SELECT "table", COALESCE(rowid, 0), parent FROM pragma_foreign_key_check LIMIT ?`, most)
	return All(rows, err, func(r Row) (string, error) {
		var table, parent string
		var row int64
		err := r.Scan(&table, &row, &parent)
		return fmt.Sprintf("row %d of %s refers to a missing row of %s", row, table, parent), err
	})
}
