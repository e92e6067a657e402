// Package dbtest provides a separate database for each test.
package dbtest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
)

// Env is the environment variable with the address of a PostgreSQL server whose
// user can create databases. `make test` starts a server and sets it.
const Env = "TEST_POSTGRES_URL"

// EnginesEnv is the environment variable that limits a test run to one engine:
// "sqlite" or "postgres". If it is empty, tests run on both. `make test` tests
// SQLite with the race detector and PostgreSQL without it.
const EnginesEnv = "TEST_ENGINES"

// Engines returns the engines that this test run covers.
func Engines() []db.Engine {
	switch os.Getenv(EnginesEnv) {
	case db.SQLite.String():
		return []db.Engine{db.SQLite}
	case db.Postgres.String():
		return []db.Engine{db.Postgres}
	}
	return []db.Engine{db.SQLite, db.Postgres}
}

// need skips a test of an engine that this run does not cover. CONTRIBUTING.md says
// which run covers it.
func need(t testing.TB, engine db.Engine) {
	t.Helper()
	if !slices.Contains(Engines(), engine) {
		t.Skipf("%s=%s excludes %s", EnginesEnv, os.Getenv(EnginesEnv), engine) //nolint:forbidigo // another run covers it, or test/ran fails
	}
}

// Each runs fn with an empty, migrated database of each engine that this run
// covers.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(engine.String(), func(t *testing.T) { fn(t, Open(t, URL(t, engine))) })
	}
}

// Twice runs fn like Each, and once more with every transaction rolled back and run
// again, to find transaction functions with side effects; see db.DB.Rehearse.
func Twice(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	Each(t, fn)
	t.Run("twice", func(t *testing.T) {
		d := New(t)
		d.Rehearse()
		fn(t, d)
	})
}

// New returns an empty, migrated SQLite database, for tests that are not about SQL.
// Test runs that cover only PostgreSQL skip them.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, URL(t, db.SQLite))
}

// URL returns the address of an empty, migrated database. It is a copy of a
// template that is migrated once, because migrating for each of thousands of tests
// would take minutes.
func URL(t testing.TB, engine db.Engine) string {
	t.Helper()
	need(t, engine)
	if engine == db.SQLite {
		path := filepath.Join(t.TempDir(), "test.db")
		made, err := migratedFile()
		if err == nil {
			err = made.write(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	template, err := migratedDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return Copy(t, template)
}

// Untouched returns the address of a database without tables, for tests of the
// migrations.
func Untouched(t testing.TB, engine db.Engine) string {
	t.Helper()
	need(t, engine)
	if engine == db.SQLite {
		return filepath.Join(t.TempDir(), "test.db")
	}
	return Copy(t, "template1")
}

// Open opens and migrates the database at url, and closes it when the test ends.
func Open(t testing.TB, url string) *db.DB {
	t.Helper()
	d, err := db.Own(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.Migrate(context.Background(), migrations()); err != nil {
		t.Fatal(err)
	}
	return d
}

// Refill runs the INSERT statements of a migration again, for tests that write the
// source tables of a derived table with SQL.
func Refill(t testing.TB, d *db.DB, migration string) {
	t.Helper()
	file, err := fs.ReadFile(schema.FS(), migration)
	if err != nil {
		t.Fatal(err)
	}
	up, _, _ := strings.Cut(string(file), "-- +goose Down")
	err = d.Tx(context.Background(), func(tx *db.Tx) error {
		for query := range strings.SplitSeq(up, ";") {
			if strings.Contains(query, "INSERT INTO") {
				if _, err := tx.Exec(context.Background(), query); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
