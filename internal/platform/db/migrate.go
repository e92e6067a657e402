package db

import (
	"context"
	"database/sql"
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

// ErrNewer means that a newer program has migrated the database, so that this one
// must not write to it.
var ErrNewer = errors.New("the database belongs to a newer Wardroom")

// ErrPending means that the database has yet to be migrated by this program.
var ErrPending = errors.New("the database is not up to date: run `wardroom migrate`, or start the service once")

// appliedQuery finds the version that the schema is at.
const appliedQuery = `SELECT COALESCE(MAX(version_id), 0) FROM migrations WHERE is_applied`

// Schema is what a program makes of a database.
type Schema struct {
	Files   fs.FS  // the migrations; see Migrate
	Program string // the program's version, kept to tell older ones what they would need
}

// Migrate applies the files that have not been applied yet, in order, each in its
// own transaction, and returns their names. It returns ErrNewer, and changes
// nothing, when the database has a later version than the last file.
//
// A file serves both engines unless its name says otherwise:
// "0007_search.postgres.sql" is not seen by SQLite. On SQLite the caller owns
// the file (see Own): goose alone is not safe with several processes. On
// PostgreSQL nobody writes while migrations are applied, and from then on older
// programs write no more.
func (d *DB) Migrate(ctx context.Context, s Schema) ([]string, error) {
	p, err := d.provider(s.Files)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	current, err := d.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	known := latest(p)
	if current > known {
		return nil, d.newer(ctx, current, known, s.Program)
	}
	done, err := d.up(ctx, p, current == known)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if err := d.Check(ctx, s); err != nil { // a newer program may have been quicker
		return nil, err
	}
	if err := d.sign(ctx, known, s.Program); err != nil {
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

// up applies what is pending. It does not keep writers out for nothing.
func (d *DB) up(ctx context.Context, p *goose.Provider, current bool) ([]*goose.MigrationResult, error) {
	if current {
		pending, err := p.HasPending(ctx)
		if err != nil || !pending {
			return nil, err
		}
	}
	var done []*goose.MigrationResult
	err := d.unsynced(ctx, func() (err error) {
		done, err = p.Up(ctx)
		return err
	})
	return done, err
}

// Check returns ErrPending when s has files that have not been applied yet, and
// ErrNewer when the database has a later version than the last of them. From then
// on, on PostgreSQL, no transaction of d begins once a later version was applied.
func (d *DB) Check(ctx context.Context, s Schema) error {
	p, err := d.provider(s.Files)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	current, err := d.applied(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	known := latest(p)
	switch {
	case current > known:
		return d.newer(ctx, current, known, s.Program)
	case current < known:
		return ErrPending
	}
	d.knows.Store(known)
	return nil
}

// guard reads a row of appliedQuery and returns ErrNewer when the schema is later
// than what d knows.
func (d *DB) guard(scan func(...any) error) error {
	var current int64
	if err := scan(&current); err != nil {
		return err
	}
	if known := d.knows.Load(); known > 0 && current > known {
		return fmt.Errorf("%w: its schema is at version %d, and this one knows up to %d", ErrNewer, current, known)
	}
	return nil
}

// Newer returns ErrNewer when a newer program has migrated the database since d
// was opened.
func (d *DB) Newer(ctx context.Context) error { return d.guard(d.QueryRow(ctx, appliedQuery).Scan) }

// applied is the version that the schema is at, 0 for an empty database.
func (d *DB) applied(ctx context.Context) (version int64, err error) {
	err = d.QueryRow(ctx, appliedQuery).Scan(&version)
	if IsNoTable(err) {
		return 0, nil
	}
	return version, err
}

// latest is the version of the last migration.
func latest(p *goose.Provider) (version int64) {
	for _, s := range p.ListSources() {
		version = max(version, s.Version)
	}
	return version
}

// newer is ErrNewer in words for whoever has started the older program.
func (d *DB) newer(ctx context.Context, current, known int64, program string) error {
	var needed string
	err := d.QueryRow(ctx, `SELECT program FROM schema_programs WHERE version = ?`, current).Scan(&needed)
	if err != nil { // it was migrated by one that had not signed yet
		needed = fmt.Sprintf("a Wardroom that knows version %d", current)
	} else {
		needed = "Wardroom " + needed + " or later"
	}
	return fmt.Errorf("%w: its schema is at version %d, and this is Wardroom %s, which knows up to version %d. Start %s, or restore a backup from before the upgrade",
		ErrNewer, current, program, known, needed)
}

// sign notes which program was the first to know a version of the schema. It does
// nothing where the files have no table for it, as in tests.
func (d *DB) sign(ctx context.Context, version int64, program string) error {
	var by string
	err := d.QueryRow(ctx, `SELECT program FROM schema_programs WHERE version = ?`, version).Scan(&by)
	if IsNoTable(err) {
		return nil
	}
	if !IsNotFound(err) {
		return err
	}
	return d.Tx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO schema_programs (version, program) VALUES (?, ?) ON CONFLICT (version) DO NOTHING`, version, program)
		return err
	})
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
		options = append(options, goose.WithSessionLocker(writersOut{locker}))
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

// writersOut is the lock of those who migrate, with that of those who write: so
// each transaction that writes is committed before the first migration, or looks
// at the schema after the last.
type writersOut struct{ lock.SessionLocker }

// SessionLock is called by goose.
func (l writersOut) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	// A process that freezes with this lock must lose it; PostgreSQL 13 has no such limit.
	_, err := conn.ExecContext(ctx, `SELECT set_config(name, '60s', false) FROM pg_settings WHERE name = 'idle_session_timeout'`)
	if err == nil {
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+writersLock+`)`)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("wait for writers: %w", err), l.SessionLocker.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock is called by goose.
func (l writersOut) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+writersLock+`), set_config(name, reset_val, false)
		FROM (SELECT 1) AS one LEFT JOIN pg_settings ON name = 'idle_session_timeout'`)
	return errors.Join(err, l.SessionLocker.SessionUnlock(ctx, conn))
}
