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

// migrationLock is the key of a PostgreSQL session lock that prevents replicas from
// running migrations at the same time.
const migrationLock = 7_741_002_611

// ErrNewer means that a newer version of Wardroom has migrated the database, so
// this version must not write to it.
var ErrNewer = errors.New("the database belongs to a newer version of Wardroom")

// ErrUnreleased means that an unreleased version of Wardroom created the database. No
// migration leads from its schema to this version's.
var ErrUnreleased = errors.New("an unreleased version of Wardroom created the database, and this version cannot upgrade it: use a new database, or the version that created this one")

// ErrPending means that some migrations of this version have not been applied to the
// database.
var ErrPending = errors.New("the database is not up to date: run `wardroom migrate`, or start `wardroom serve` once")

// appliedQuery reads the current version of the schema.
const appliedQuery = `SELECT COALESCE(MAX(version_id), 0) FROM migrations WHERE is_applied`

// Schema is the database schema of one version of the program.
type Schema struct {
	Files   fs.FS  // the migrations; see Migrate
	Program string // version of the program, stored so that older ones can name it
}

// Migrate applies the pending migration files in order, each in its own transaction.
// It returns the names of the applied files. If the database has a later version than
// the last file, Migrate returns ErrNewer and changes nothing. If it has an earlier
// version than the first file, Migrate returns ErrUnreleased and changes nothing.
//
// A file applies to both engines unless its name limits it to one: SQLite ignores
// "0222_search.postgres.sql". On SQLite, the caller must own the database file (see
// Own), because goose does not lock it. On PostgreSQL, writers wait until the
// migrations are applied. Older versions of the program can no longer write after
// that.
func (d *DB) Migrate(ctx context.Context, s Schema) ([]string, error) {
	p, err := d.provider(s.Files)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	current, err := d.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	first, known := span(p)
	switch {
	case current > known:
		return nil, d.newer(ctx, current, known, s.Program)
	case current > 0 && current < first:
		return nil, ErrUnreleased
	}
	done, err := d.up(ctx, p, current == known)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if err := d.Check(ctx, s); err != nil { // a newer version may have migrated meanwhile
		return nil, err
	}
	if err := d.recordProgram(ctx, known, s.Program); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	names := make([]string, 0, len(done))
	for _, r := range done {
		names = append(names, r.Source.Path)
	}
	return names, nil
}

// unsynced calls a function. On SQLite, it does not flush each commit of that function to disk,
// because creating a database takes dozens of commits. WAL keeps the file consistent: a power
// failure loses only whole migrations, which the next start applies again. The first commit after
// the call flushes everything before it.
func (d *DB) unsynced(ctx context.Context, do func() error) error {
	if d.engine != SQLite {
		return do()
	}
	if _, err := d.write.ExecContext(ctx, `PRAGMA synchronous = NORMAL`); err != nil {
		return fmt.Errorf("set synchronous to NORMAL: %w", err)
	}
	err := do()
	if _, failed := d.write.ExecContext(context.WithoutCancel(ctx), `PRAGMA synchronous = FULL`); failed != nil {
		err = errors.Join(err, fmt.Errorf("set synchronous to FULL: %w", failed))
	}
	return err
}

// up applies the pending migrations. If current is true, the schema version is already the latest. up then makes
// writers wait only if an earlier migration is missing.
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

// Check returns ErrPending if a migration in s has not been applied, ErrNewer if the database's schema is newer than
// the last migration in s, and ErrUnreleased if it is older than the first. After a successful Check on PostgreSQL,
// write transactions fail with ErrNewer if another program upgrades the schema.
func (d *DB) Check(ctx context.Context, s Schema) error {
	p, err := d.provider(s.Files)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	current, err := d.applied(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	first, known := span(p)
	switch {
	case current > known:
		return d.newer(ctx, current, known, s.Program)
	case current > 0 && current < first:
		return ErrUnreleased
	case current < known:
		return ErrPending
	}
	d.schemaVersion.Store(known)
	return nil
}

// guard reads the schema version from the result of appliedQuery. It returns ErrNewer
// if this program does not support that version yet.
func (d *DB) guard(scan func(...any) error) error {
	var current int64
	if err := scan(&current); err != nil {
		return err
	}
	if known := d.schemaVersion.Load(); known > 0 && current > known {
		return fmt.Errorf("%w: the schema is at version %d, and this version supports up to %d", ErrNewer, current, known)
	}
	return nil
}

// Newer returns ErrNewer if a newer version of Wardroom has migrated the database
// since Check was called.
func (d *DB) Newer(ctx context.Context) error { return d.guard(d.QueryRow(ctx, appliedQuery).Scan) }

// applied returns the current version of the schema, or 0 if the database is empty.
func (d *DB) applied(ctx context.Context) (version int64, err error) {
	err = d.QueryRow(ctx, appliedQuery).Scan(&version)
	if IsNoTable(err) {
		return 0, nil
	}
	return version, err
}

// span returns the lowest and the highest version among the migrations, or zeros if there are none.
func span(p *goose.Provider) (first, last int64) {
	all := p.ListSources() // in order
	if len(all) == 0 {
		return 0, 0
	}
	return all[0].Version, all[len(all)-1].Version
}

// newer returns ErrNewer with a message that names the version of Wardroom that the
// database needs.
func (d *DB) newer(ctx context.Context, current, known int64, program string) error {
	var needed string
	err := d.QueryRow(ctx, `SELECT program FROM schema_programs WHERE version = ?`, current).Scan(&needed)
	if err != nil { // migrated before schema_programs existed
		needed = fmt.Sprintf("a version of Wardroom that supports schema version %d", current)
	} else {
		needed = "Wardroom " + needed + " or later"
	}
	return fmt.Errorf("%w: the schema is at version %d, and Wardroom %s supports up to version %d. Start %s, or restore a backup from before the upgrade",
		ErrNewer, current, program, known, needed)
}

// recordProgram stores which program version first used a schema version. It does nothing if the
// table schema_programs does not exist, as in some tests.
func (d *DB) recordProgram(ctx context.Context, version int64, program string) error {
	var by string
	err := d.QueryRow(ctx, `SELECT program FROM schema_programs WHERE version = ?`, version).Scan(&by)
	if IsNoTable(err) {
		return nil
	}
	if !IsNotFound(err) {
		return err
	}
	return d.Tx(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx,
			`INSERT INTO schema_programs (version, program) VALUES (?, ?) ON CONFLICT (version) DO NOTHING`, version, program)
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
		options = append(options, goose.WithSessionLocker(writeLocker{locker}))
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

// writeLocker combines goose's session lock with writersLock. Therefore every write
// transaction either commits before the first migration starts or checks the schema
// version after the last one has ended.
type writeLocker struct{ lock.SessionLocker }

// SessionLock implements lock.SessionLocker.
func (l writeLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	// A process that freezes must lose this lock; PostgreSQL 13 has no setting for
	// this.
	_, err := conn.ExecContext(ctx,
		`SELECT set_config(name, '60s', false) FROM pg_settings WHERE name = 'idle_session_timeout'`)
	if err == nil {
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+writersLock+`)`)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("wait for writers: %w", err),
			l.SessionLocker.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock implements lock.SessionLocker.
func (l writeLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+writersLock+`), set_config(name, reset_val, false)
		FROM (SELECT 1) AS one LEFT JOIN pg_settings ON name = 'idle_session_timeout'`)
	return errors.Join(err, l.SessionLocker.SessionUnlock(ctx, conn))
}
