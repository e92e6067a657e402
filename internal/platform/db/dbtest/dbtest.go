// Package dbtest gives each test its own database.
package dbtest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
)

// Env names the variable with the address of a PostgreSQL server whose user
// may make schemas. `make test` starts one and sets it.
const Env = "TEST_POSTGRES_URL"

// Each runs fn against an empty, migrated database of each engine.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range []db.Engine{db.SQLite, db.Postgres} {
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
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, URL(t, db.SQLite))
}

// URL returns the address of a database that nothing has touched.
func URL(t testing.TB, engine db.Engine) string {
	t.Helper()
	if engine == db.SQLite {
		return filepath.Join(t.TempDir(), "test.db")
	}
	server := os.Getenv(Env)
	if server == "" {
		t.Fatalf("%s is not set: run `make unit`, which starts PostgreSQL, or `test/postgres.sh go test ./...`", Env)
	}
	admin, err := db.Open(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t_" + strings.ReplaceAll(db.NewID(), "-", "")
	exec := func(query string) {
		err := admin.Tx(context.Background(), func(tx *db.Tx) error {
			_, err := tx.Exec(context.Background(), query)
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	exec(`CREATE SCHEMA ` + name)
	t.Cleanup(func() {
		exec(`DROP SCHEMA ` + name + ` CASCADE`)
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
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
	if _, err := d.Migrate(context.Background(), schema.FS()); err != nil {
		t.Fatal(err)
	}
	return d
}
