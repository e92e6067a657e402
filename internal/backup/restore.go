package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"wardroom/internal/platform/db"
)

// Restored is the result of a restore.
type Restored struct {
	Manifest
	Setting string // the environment variable that makes Wardroom use the database
	Value   string // its value; empty if it is the given address
}

// Restore restores a backup into a new or empty database. It checks the backup first and the
// restored database afterwards. An SQLite backup is restored into a folder, or a file such as x.db
// or sqlite:x. A PostgreSQL backup is restored into the database with the given URL, whose schema
// must be empty or missing.
func (t *Tool) Restore(ctx context.Context, file, into string) (r Restored, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer f.Close()
	if r.Manifest, err = t.readWhole(ctx, f, io.Discard); err != nil {
		return r, err
	}
	if r.Engine == db.Postgres.String() {
		if db.EngineOf(into) == db.SQLite {
			return r, errors.New(
				"this is a backup of PostgreSQL: restore it into an empty database, postgres://USER@HOST:PORT/NAME",
			)
		}
		r.Setting = "DATABASE_URL"
		return r, t.restorePostgres(ctx, file, r.Manifest, into)
	}
	if db.EngineOf(into) == db.Postgres {
		return r, errors.New("this is a backup of SQLite: restore it into a folder, or a file such as new/wardroom.db")
	}
	var path string
	path, r.Setting, r.Value = targetOf(into)
	return r, t.restoreSQLite(ctx, f, path)
}

// targetOf returns the path of the database file to restore into. It also returns a
// setting, as name and value, that makes Wardroom use that file.
func targetOf(into string) (path, setting, value string) {
	if rest, ok := strings.CutPrefix(into, "sqlite:"); ok {
		path = strings.TrimPrefix(rest, "//")
	} else if ext := filepath.Ext(into); ext == ".db" || ext == ".sqlite" || ext == ".sqlite3" {
		path = into
	}
	if path != "" {
		path = filepath.Clean(path)
		return path, "DATABASE_URL", "sqlite:" + path
	}
	dir := filepath.Clean(into)
	return filepath.Join(dir, "wardroom.db"), "DATA_DIR", dir
}

func (t *Tool) restoreSQLite(ctx context.Context, f *os.File, path string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} { // SQLite would apply them to the new file
		if err := vacant(path + end); err != nil {
			return err
		}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := inWorkspace(dir, func(space string) (none struct{}, err error) {
		part := filepath.Join(space, "part")
		m, err := t.unpack(ctx, f, part)
		if err != nil {
			return none, err
		}
		seen, err := t.inspectCopy(ctx, part)
		if err != nil {
			return none, err
		}
		faults := seen.faults
		if len(faults) == 0 {
			faults = seen.diff(m.Facts)
		}
		if len(faults) > 0 {
			return none, refusal(faults)
		}
		return none, place(part, path, false)
	})
	return err
}

// unpack writes the content of the backup f, without its seal, to the new file part and flushes
// that file to disk.
func (t *Tool) unpack(ctx context.Context, f *os.File, part string) (m Manifest, err error) {
	out, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	defer out.Close()
	if m, err = t.readWhole(ctx, f, out); err != nil {
		return m, err
	}
	return m, out.Sync()
}

func refusal(faults []string) error {
	return fmt.Errorf("the backup was not restored, because it contains problems from the original database:\n  %s",
		strings.Join(faults, "\n  "))
}

func (t *Tool) restorePostgres(ctx context.Context, file string, m Manifest, into string) error {
	programs, err := db.ProgramsFor(into)
	if err != nil {
		return err
	}
	c, err := connect(ctx, into)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	undo, err := prepareSchema(ctx, c, m.Namespace)
	if err != nil {
		return err
	}
	_, err = inWorkspace("", func(dir string) (none struct{}, err error) {
		defer t.watch("Restoring", 0, nil)()
		return none, load(ctx, programs, file, dir)
	})
	if err != nil {
		return errors.Join(err, undo())
	}
	d, err := db.OpenReadOnly(ctx, into)
	if err != nil {
		return err
	}
	defer d.Close()
	seen, err := t.inspect(ctx, d)
	if faults := slices.Concat(seen.faults, seen.diff(m.Facts)); err == nil && len(faults) > 0 {
		err = errors.New("\n  " + strings.Join(faults, "\n  "))
	}
	if err != nil {
		return fmt.Errorf("the database was restored but failed its checks; do not use it: %w", err)
	}
	return nil
}

// connect opens one connection to PostgreSQL. Its errors do not contain the
// password.
func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	cfg, err := pgxpool.ParseConfig(address) // accepts the parameters of a pool, too
	if err != nil {
		return nil, errors.New("the address is not a valid PostgreSQL connection string")
	}
	c, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to the database on %s: %w", cfg.ConnConfig.Host, err)
	}
	return c, nil
}

// prepareSchema prepares an empty schema with the given name for a restore, and creates it if
// necessary. It fails if Wardroom would look for its tables in a different schema. The returned
// undo function drops the schema if prepareSchema created it.
func prepareSchema(ctx context.Context, c *pgx.Conn, name string) (undo func() error, err error) {
	undo = func() error { return nil }
	quoted := pgx.Identifier{name}.Sanitize()
	var exists bool
	if err := c.QueryRow(
		ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, name,
	).Scan(&exists); err != nil {
		return undo, fmt.Errorf("inspect the database: %w", err)
	}
	if !exists {
		if _, err := c.Exec(ctx, `CREATE SCHEMA `+quoted); err != nil {
			return undo, fmt.Errorf("create the schema %s: %w", name, err)
		}
		undo = func() error {
			_, err := c.Exec(context.WithoutCancel(ctx), `DROP SCHEMA `+quoted)
			return err
		}
	}
	var current string
	var there []string
	err = c.QueryRow(ctx, `
		SELECT COALESCE(current_schema(), ''), COALESCE((SELECT ARRAY_AGG(relname::text ORDER BY relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')), '{}')`, name).Scan(&current, &there)
	switch {
	case err != nil:
		err = fmt.Errorf("inspect the database: %w", err)
	case current != name:
		err = fmt.Errorf("the backup is of schema %s, but this address uses schema %s: add the parameter search_path=%s to it",
			name, cmp.Or(current, "none"), url.PathEscape(quoted))
	case len(there) > 0:
		err = fmt.Errorf(
			"the database is not empty: its schema %s has %d tables or other objects, such as %s. Use an empty database", name,
			len(there), there[0],
		)
	}
	if err != nil {
		return undo, errors.Join(err, undo())
	}
	return undo, nil
}

// restoreToScratch checks a PostgreSQL backup by restoring it into a scratch database on the given
// server.
func (t *Tool) restoreToScratch(ctx context.Context, file, server string, v *Verified) (err error) {
	u, err := url.Parse(server)
	if err != nil || db.EngineOf(server) == db.SQLite {
		return errors.New("--using needs the address of a PostgreSQL server, such as postgres://USER@HOST:PORT/postgres")
	}
	c, err := connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	name := "wardroom_verify_" + strings.ReplaceAll(db.NewID(), "-", "")
	if _, err := c.Exec(ctx, `CREATE DATABASE `+name+` TEMPLATE template0`); err != nil {
		return fmt.Errorf("create a scratch database: %w", err)
	}
	defer func() {
		if _, dropped := c.Exec(context.WithoutCancel(ctx), `DROP DATABASE `+name+` WITH (FORCE)`); dropped != nil {
			err = errors.Join(err, fmt.Errorf("drop the scratch database %s: %w", name, dropped))
		}
	}()
	q := u.Query()
	q.Set("search_path", pgx.Identifier{v.Namespace}.Sanitize())
	q.Del("dbname")
	u.Path, u.RawQuery = "/"+name, strings.ReplaceAll(q.Encode(), "+", "%20") // PostgreSQL does not decode + as a space
	if err := t.restorePostgres(ctx, file, v.Manifest, u.String()); err != nil {
		return err
	}
	v.Checked = append(v.Checked, checkedRestored, checkedTies, checkedLog, checkedLedger)
	return nil
}
