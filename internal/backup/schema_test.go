package backup_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/schema"
)

// Every file that the service ever wrote can be restored, and then brought up to date.
func TestEarlierSchemas(t *testing.T) {
	t.Parallel()
	versions := map[db.Engine][]int{db.SQLite: {1, 2, 7, 13, 20, 26, 28, 34}, db.Postgres: {1, 26}}
	for _, engine := range dbtest.Engines() {
		for _, upTo := range versions[engine] {
			t.Run(fmt.Sprint(engine, " ", upTo), func(t *testing.T) {
				address := dbtest.Untouched(t, engine)
				migrate(t, address, upTo)
				file := made(t, address)
				into := empty(t, address)
				if _, err := tool().Restore(t.Context(), file, into); err != nil {
					t.Fatal(err)
				}
				dbtest.Open(t, into) // migrates
			})
		}
	}
}

// migrate brings a new database to an earlier version.
func migrate(t *testing.T, address string, upTo int) {
	t.Helper()
	old := fstest.MapFS{}
	names, err := fs.Glob(schema.FS(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(schema.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(name[:4]); err != nil || n <= upTo {
			old[name] = &fstest.MapFile{Data: text}
		}
	}
	d, err := db.Own(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Migrate(t.Context(), db.Schema{Files: old})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

// What a newer program wrote is not understood here: it is left alone.
func TestLaterSchemaIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		write(t, address, `INSERT INTO migrations (version_id, is_applied) VALUES (9001, TRUE)`)
		_, err := tool().VerifyDatabase(t.Context(), address)
		refused(t, err, "9001", "newer Wardroom")
		_, err = tool().Make(t.Context(), address, filepath.Join(t.TempDir(), "x"), false)
		refused(t, err, "9001", "newer Wardroom")
	})
}
