package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrationLock is the name of PostgreSQL's session lock under which replicas
// migrate one after the other.
const migrationLock = 7_741_002_611

// Migrate applies the files of dir that have not been applied yet, in order,
// each in its own transaction, and returns their names.
//
// A file serves both engines unless its name says otherwise:
// "0007_search.postgres.sql" is not seen by SQLite. On SQLite the caller owns
// the file (see Own): goose alone is not safe with several processes.
func (d *DB) Migrate(ctx context.Context, dir fs.FS) ([]string, error) {
	p, err := d.provider(dir)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	var done []*goose.MigrationResult
	err = d.unsynced(ctx, func() error {
		done, err = p.Up(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	names := make([]string, 0, len(done))
	for _, r := range done {
		names = append(names, r.Source.Path)
	}
	return names, nil
}

// unsynced runs do without waiting for the disk at each commit of SQLite: a new
// database has dozens. WAL keeps the file consistent, so a power failure loses
// whole migrations, which the next start applies again. The first commit after
// that syncs everything before it.
func (d *DB) unsynced(ctx context.Context, do func() error) error {
	if d.engine != SQLite {
		return do()
	}
	if _, err := d.write.ExecContext(ctx, `PRAGMA synchronous = NORMAL`); err != nil {
		return fmt.Errorf("relax synchronous: %w", err)
	}
	err := do()
	if _, failed := d.write.ExecContext(context.WithoutCancel(ctx), `PRAGMA synchronous = FULL`); failed != nil {
		err = errors.Join(err, fmt.Errorf("restore synchronous: %w", failed))
	}
	return err
}

// Pending reports whether dir has files that have not been applied yet.
func (d *DB) Pending(ctx context.Context, dir fs.FS) (bool, error) {
	p, err := d.provider(dir)
	if err != nil {
		return false, fmt.Errorf("prepare migrations: %w", err)
	}
	return p.HasPending(ctx)
}

func (d *DB) provider(dir fs.FS) (*goose.Provider, error) {
	dialect, other := goose.DialectSQLite3, ".postgres.sql"
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true),
		goose.WithTableName("migrations"),
		goose.WithSlog(slog.New(slog.DiscardHandler)),
	}
	if d.engine == Postgres {
		dialect, other = goose.DialectPostgres, ".sqlite.sql"
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, err
	}
	var hidden []string
	for _, name := range names {
		if strings.HasSuffix(name, other) {
			hidden = append(hidden, name)
		}
	}
	options = append(options, goose.WithExcludeNames(hidden))
	return goose.NewProvider(dialect, d.write, dir, options...)
}
