package db

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled creates an SQLite file with a few hundred pages and an index.
func filled(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Own(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Tx(t.Context(), func(tx *Tx) error {
		if _, err := tx.Exec(t.Context(), `CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL, mark TEXT NOT NULL UNIQUE)`); err != nil {
			return err
		}
		return addNotes(t.Context(), tx, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func addNotes(ctx context.Context, tx *Tx, from int) error {
	for i := range 2000 {
		if _, err := tx.Exec(ctx, `INSERT INTO notes (body, mark) VALUES (?, ?)`, strings.Repeat("x", 200), fmt.Sprintf("%08x", (from+i)*7919)); err != nil {
			return err
		}
	}
	return nil
}

// copied copies a database's files like cp, even while they are in use.
func copied(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal", ".lock"} {
		text, err := os.ReadFile(path + end)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+end, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// owned opens and closes a database and returns how it was checked.
func owned(t *testing.T, path string) StartCheck {
	t.Helper()
	d, err := Own(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d.StartCheck()
}

// A start after a clean stop must skip the check. After a crash, or with a copied
// file, it must not.
func TestOnlyUncleanFilesAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	d := filled(t, path)
	if c := d.StartCheck(); c.Ran {
		t.Error("a new file was checked")
	}
	crashed := copied(t, path)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if c := owned(t, path); c.Ran {
		t.Error("a file that was closed cleanly was checked")
	}
	if c := owned(t, path); c.Ran {
		t.Error("at the third start it was checked")
	}
	if c := owned(t, crashed); !c.Ran || !c.Complete {
		t.Errorf("after a crash: %+v", c)
	}
	if c := owned(t, crashed); c.Ran {
		t.Error("after the start that followed the crash it was checked once more")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil { // as if the file had been replaced
		t.Fatal(err)
	}
	if c := owned(t, path); !c.Ran {
		t.Error("a file that was replaced was not checked")
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if c := owned(t, path); !c.Ran {
		t.Error("a file without its lock file was not checked")
	}
	command, err := openSQLite(t.Context(), path) // while no server runs: its writes are only in the WAL
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Tx(t.Context(), func(tx *Tx) error { return addNotes(t.Context(), tx, 10000) }); err != nil {
		t.Fatal(err)
	}
	if c := owned(t, path); !c.Ran {
		t.Error("with a write-ahead log beside it the file was not checked")
	}
	if err := command.Close(); err != nil {
		t.Fatal(err)
	}
}

// rootOf returns the offset of the first page of a table or index.
func rootOf(t *testing.T, path, name string) (offset int64) {
	t.Helper()
	pool, err := sql.Open("sqlite", address(path, "mode=ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var page, size int64
	err = pool.QueryRowContext(t.Context(), `SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?`, name).Scan(&page, &size)
	if err != nil {
		t.Fatal(err)
	}
	return (page - 1) * size
}

// spoil overwrites bytes of a file.
func spoil(t *testing.T, path string, at int64, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(text, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// wrongKey changes a text in the index but not in the table: every page is valid,
// but a row cannot be found anymore.
func wrongKey(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Appendf(nil, "%08x", 1000*7919)
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], mark)
		if i < 0 {
			t.Fatal("the index is not in the file")
		}
		if at += i; text[at-1] != 'x' { // in the table, the body precedes it
			spoil(t, path, int64(at+len(mark)-1), []byte{mark[len(mark)-1] ^ 1})
			return
		}
	}
}

// A server that writes to a damaged database makes it worse, until no older backup
// is left. It must report the damage and change nothing.
func TestDamagedFileIsRefused(t *testing.T) {
	const index = "sqlite_autoindex_notes_1"
	damages := map[string]func(t *testing.T, path string){
		"a page of a table":     func(t *testing.T, path string) { spoil(t, path, rootOf(t, path, "notes"), make([]byte, 4096)) },
		"a page of an index":    func(t *testing.T, path string) { spoil(t, path, rootOf(t, path, index), []byte("nonsense")) },
		"a key of an index":     wrongKey,
		"the beginning":         func(t *testing.T, path string) { spoil(t, path, 0, []byte("no database at all")) },
		"the table of contents": func(t *testing.T, path string) { spoil(t, path, 100, bytes.Repeat([]byte{0xff}, 16)) },
		"the end is missing": func(t *testing.T, path string) {
			if err := os.Truncate(path, sizeOf(t, path)/2); err != nil {
				t.Fatal(err)
			}
		},
		// Like cp of a file in use: its pages are from two moments.
		"two moments": func(t *testing.T, path string) {
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := openSQLite(t.Context(), path)
			if err == nil {
				err = errors.Join(d.Tx(t.Context(), func(tx *Tx) error { return addNotes(t.Context(), tx, 50000) }), d.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, path, 0, before[:len(before)/2])
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			if err := filled(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			before := files(t, path)
			for range 2 { // the lock must be released
				_, err := Own(t.Context(), path)
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "wardroom restore") {
					t.Errorf("it is opened: %v", err)
				}
			}
			if after := files(t, path); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Error("the refusal has changed the files")
			}
		})
	}
}

// The write-ahead log left by a crash is part of the database: damage in it must be
// reported, and the log must be kept for analysis.
func TestDamageInTheLogIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	d := filled(t, path)
	crashed := copied(t, path)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if !holdsFrames(crashed) {
		t.Fatal("the crash left no log")
	}
	// The file and the log belong to different databases: each is valid, but not together.
	other := filepath.Join(t.TempDir(), "other.db")
	o := filled(t, other)
	err := o.Tx(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(t.Context(), `DELETE FROM notes WHERE id % 3 = 0`)
		return errors.Join(err, addNotes(t.Context(), tx, 90000))
	})
	if err := errors.Join(err, o.Close()); err != nil {
		t.Fatal(err)
	}
	if err := filledLog(t, path, crashed, other); err != nil {
		t.Fatal(err)
	}
	before := files(t, crashed)
	if _, err := Own(t.Context(), crashed); !errors.Is(err, ErrDamaged) {
		t.Errorf("it is opened: %v", err)
	}
	if after := files(t, crashed); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("the refusal has changed the files")
	}
}

// filledLog creates at crashed the file of other with a log written for path.
func filledLog(t *testing.T, path, crashed, other string) error {
	t.Helper()
	d, err := Own(t.Context(), path)
	if err != nil {
		return err
	}
	err = d.Tx(t.Context(), func(tx *Tx) error { return addNotes(t.Context(), tx, 70000) })
	log, readErr := os.ReadFile(path + "-wal")
	file, otherErr := os.ReadFile(other)
	return errors.Join(err, readErr, otherErr, d.Close(), os.WriteFile(crashed, file, 0o600), os.WriteFile(crashed+"-wal", log, 0o600))
}

// files returns the content of a database and its log.
func files(t *testing.T, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, end := range []string{"", "-wal", ".lock"} {
		text, err := os.ReadFile(path + end)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		out[end] = text
	}
	return out
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A large database must not delay the start for minutes: the check stops at its
// time limit and reports that it is incomplete.
func TestCheckIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	if err := filled(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if complete, err := checkFile(t.Context(), path, time.Nanosecond); complete || err != nil {
		t.Errorf("without time: complete %t, %v", complete, err)
	}
	if complete, err := checkFile(t.Context(), path, time.Minute); !complete || err != nil {
		t.Errorf("with time: complete %t, %v", complete, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := checkFile(stopped, path, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("told to stop: %v", err)
	}
}
