// Package dbtest gives each test its own database.
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

// Env names the variable with the address of a PostgreSQL server whose user
// may make databases. `make test` starts one and sets it.
const Env = "TEST_POSTGRES_URL"

// EnginesEnv names the variable that limits a run of the tests to one engine:
// "sqlite" or "postgres". Empty means both. `make test` tests SQLite with the race
// detector and PostgreSQL without it.
const EnginesEnv = "TEST_ENGINES"

// Engines returns the engines that this run of the tests covers.
func Engines() []db.Engine {
	switch os.Getenv(EnginesEnv) {
	case db.SQLite.String():
		return []db.Engine{db.SQLite}
	case db.Postgres.String():
		return []db.Engine{db.Postgres}
	}
	return []db.Engine{db.SQLite, db.Postgres}
}

// need skips a test of an engine that this run does not cover. Another run does:
// CONTRIBUTING.md says which.
func need(t testing.TB, engine db.Engine) {
	t.Helper()
	if !slices.Contains(Engines(), engine) {
		t.Skipf("%s=%s excludes %s", EnginesEnv, os.Getenv(EnginesEnv), engine) //nolint:forbidigo // another run covers it, or test/ran fails
	}
}

// Each runs fn against an empty, migrated database of each engine of this run.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(engine.String(), func(t *testing.T) { fn(t, Open(t, URL(t, engine))) })
	}
}

// Twice is Each, and runs fn also where each transaction is taken back once and
// run again, for what might do more in one than the database takes back.
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
// Runs of PostgreSQL alone skip them.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, URL(t, db.SQLite))
}

// URL returns the address of an empty, migrated database. It is a copy of one
// that is made once, as the migrations of thousands of tests would take minutes.
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
// migrations themselves.
func Untouched(t testing.TB, engine db.Engine) string {
	t.Helper()
	need(t, engine)
	if engine == db.SQLite {
		return filepath.Join(t.TempDir(), "test.db")
	}
	return Copy(t, "template1")
}

// Open opens the database at url, brings it up to date and closes it with the test.
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

// Refill runs the INSERT statements of a migration again, for a table that a
// migration fills from others and a test has written those others by SQL.
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
