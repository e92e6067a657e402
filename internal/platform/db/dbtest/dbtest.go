// Package dbtest gives each test a database of its own.
package dbtest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wardroom/internal/platform/db"
)

// Env names the environment variable that contains the URL of a PostgreSQL server. The user in the URL must be allowed
// to create databases. `make test` starts a server and sets the variable.
const Env = "TEST_POSTGRES_URL"

// EnginesEnv names the environment variable that limits a test run to one engine: "sqlite" or "postgres".
const EnginesEnv = "TEST_ENGINES"

// Engines returns the database engines that this test run covers: the one that EnginesEnv names, or SQLite and, if Env
// is set, PostgreSQL.
func Engines() []db.Engine {
	switch only := os.Getenv(EnginesEnv); {
	case only == db.Postgres.String():
		return []db.Engine{db.Postgres}
	case only == db.SQLite.String(), os.Getenv(Env) == "":
		return []db.Engine{db.SQLite}
	}
	return []db.Engine{db.SQLite, db.Postgres}
}

// need skips a test if this run does not cover the engine that the test needs.
func need(t testing.TB, engine db.Engine) {
	t.Helper()
	if !slices.Contains(Engines(), engine) {
		t.Skipf("this run excludes %s; see %s and %s", engine, Env, EnginesEnv)
	}
}

// Each runs fn as a subtest for each engine that this test run covers. Each subtest
// gets an empty, migrated database.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(engine.String(), func(t *testing.T) { fn(t, Open(t, URL(t, engine))) })
	}
}

// Twice runs fn like Each. Then it runs fn once more with a database that rolls back
// every transaction and runs it again. This finds transaction functions with side
// effects; see db.DB.Rehearse.
func Twice(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	Each(t, fn)
	t.Run("twice", func(t *testing.T) {
		d := New(t)
		d.Rehearse()
		fn(t, d)
	})
}

// New returns an empty, migrated SQLite database for tests that are not about SQL. It
// skips the test if this run covers only PostgreSQL.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, URL(t, db.SQLite))
}

// URL returns the file path or URL of an empty, migrated database. The database is a copy of a template, because
// running the migrations for each of thousands of tests would take minutes.
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

// ProductLimits returns the address of a PostgreSQL database with the time limits that users have. It is for tests of
// these limits: for all others, test/postgres.sh raises them, because a busy machine exceeds them by chance.
func ProductLimits(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // the database reports it
	}
	query := u.Query()
	for _, name := range []string{"connect_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Untouched returns the file path or URL of a database without tables, for migration tests.
func Untouched(t testing.TB, engine db.Engine) string {
	t.Helper()
	need(t, engine)
	if engine == db.SQLite {
		return filepath.Join(t.TempDir(), "test.db")
	}
	return Copy(t, "template1")
}

// Hide renames a table, so that everything that uses it fails until show is called.
func Hide(t testing.TB, d *db.DB, table string) (show func()) {
	t.Helper()
	rename := func(from, to string) {
		t.Helper()
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	rename(table, "hidden_"+table)
	return func() { t.Helper(); rename("hidden_"+table, table) }
}

// Open opens and migrates the database at the given URL or path. It closes the database when
// the test ends.
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
