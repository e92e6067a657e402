package db

import (
	"path/filepath"
	"testing"
	"testing/fstest"
)

// Migrations need not wait for the disk, but commits after them must, even after a
// failed migration.
func TestMigrateLeavesCommitsSynced(t *testing.T) {
	d, err := Own(t.Context(), filepath.Join(t.TempDir(), "wardroom.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	files := fstest.MapFS{}
	for _, m := range []struct{ name, sql string }{{"0001_good.sql", "CREATE TABLE good (id BIGINT);"}, {"0002_bad.sql", "CREATE TABLE;"}} {
		name := m.name
		files[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + m.sql)}
		if _, err := d.Migrate(t.Context(), Schema{Files: files}); (err != nil) != (name == "0002_bad.sql") {
			t.Fatalf("%s: %v", name, err)
		}
		var level int
		if err := d.write.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&level); err != nil || level != 2 {
			t.Errorf("after %s synchronous is %d, %v; 2 is FULL", name, level, err)
		}
	}
}
