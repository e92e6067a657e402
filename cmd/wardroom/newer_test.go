package main

import (
	"path/filepath"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// An older version could damage data of a newer database. Every command that writes must
// refuse it and name the version to use.
func TestNewerDatabase(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	newer := func(address string) {
		t.Helper()
		t.Run("migrated", func(t *testing.T) { // the subtest closes the database at its end
			err := dbtest.Open(t, address).Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO migrations (version_id, is_applied) VALUES (9999, TRUE)`)
				if err == nil {
					_, err = tx.Exec(t.Context(), `INSERT INTO schema_programs (version, program) VALUES (9999, '7.8.9')`)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	says := []string{"schema is at version 9999", "and Wardroom", "Start Wardroom 7.8.9 or later"}
	for _, engine := range dbtest.Engines() {
		address := filepath.Join(t.TempDir(), "wardroom.db")
		if engine == db.Postgres {
			address = dbtest.URL(t, engine)
		}
		newer(address)
		if engine == db.SQLite {
			address = "sqlite:" + address
			newer(filepath.Join("demo", "wardroom.db"))
			command(t, "", "demo", "--dir", "demo", "--port", "0").ends(1, says...)
		}
		for _, args := range [][]string{
			{"serve", "--port", "0"}, {"migrate"}, {"user", "list"}, {"user", "add", "a@example.com"}, {"key", "list", "a@example.com"},
		} {
			t.Run(engine.String()+" "+args[0], func(t *testing.T) {
				t.Setenv("DATABASE_URL", address)
				command(t, password+"\n", args...).ends(1, says...)
			})
		}
	}
}

// A database of an unreleased version has other tables. Every command must refuse it and say what to do.
func TestUnreleasedDatabase(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	for _, engine := range dbtest.Engines() {
		address := filepath.Join(t.TempDir(), "wardroom.db")
		if engine == db.Postgres {
			address = dbtest.URL(t, engine)
		}
		t.Run("migrated", func(t *testing.T) { // the subtest closes the database at its end
			err := dbtest.Open(t, address).Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE migrations SET version_id = 45 WHERE version_id > 45`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if engine == db.SQLite {
			address = "sqlite:" + address
		}
		for _, args := range [][]string{{"serve", "--port", "0"}, {"migrate"}, {"user", "list"}} {
			t.Run(engine.String()+" "+args[0], func(t *testing.T) {
				t.Setenv("DATABASE_URL", address)
				command(t, "", args...).ends(1, "unreleased version of Wardroom", "use a new database")
			})
		}
	}
}
