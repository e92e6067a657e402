package db_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/schema"
)

// A read-only command must see the current data and change nothing, whether or not
// the server runs.
func TestOpenReadOnly(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := dbtest.URL(t, engine)
			d, err := db.Own(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Migrate(t.Context(), db.Schema{Files: schema.FS()}); err != nil {
				t.Fatal(err)
			}
			look := func() {
				t.Helper()
				l, err := db.OpenReadOnly(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				var n int
				if err := l.QueryRow(t.Context(), `SELECT COUNT(*) FROM event_counter`).Scan(&n); err != nil || n != 1 {
					t.Errorf("found %d, %v", n, err)
				}
				var x int
				err = l.QueryRow(t.Context(), `SELECT 1 FROM nowhere`).Scan(&x)
				if !db.IsNoTable(err) || db.IsNoTable(nil) {
					t.Errorf("a table that is not there: %v", err)
				}
				err = l.Tx(t.Context(), func(tx *db.Tx) error {
					_, err := tx.Exec(context.Background(), `UPDATE event_counter SET last = 7`)
					return err
				})
				if err == nil {
					t.Error("it writes")
				}
			}
			look()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			look()
			again, err := db.Own(t.Context(), url) // like the next start
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			var last int
			if err := again.QueryRow(t.Context(), `SELECT last FROM event_counter`).Scan(&last); err != nil || last != 0 {
				t.Errorf("the counter is %d, %v", last, err)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none.db")
	if _, err := db.OpenReadOnly(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it made the file")
	}
}
