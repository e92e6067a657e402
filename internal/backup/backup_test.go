package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/backup"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// tool returns a Tool with a fixed clock.
func tool() *backup.Tool {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &backup.Tool{Version: "0.1.0", Now: func() time.Time { return now }}
}

// each runs fn with a migrated database of each engine that has a few rows.
func each(t *testing.T, fn func(t *testing.T, address string)) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			address := dbtest.URL(t, engine)
			write(t, address, `UPDATE event_counter SET last = 5, purged = 2`,
				event(1), event(3), event(4), event(5), ledger("run-1", 70), ledger("run-2", 30),
				`INSERT INTO users (id, email, email_key, name, role, password_hash, active, created_at, updated_at, version)
					VALUES ('u1', 'a@example.com', 'a@example.com', 'A', 'user', 'x', TRUE, '2026-11-20 08:00:00', '2026-11-20 08:00:00', 1)`)
			fn(t, address)
		})
	}
}

func event(id int) string {
	return fmt.Sprintf(`INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data)
		VALUES (%d, '2026-11-20 08:00:00', 'activity', 'x.y', 'a', 'A', 'x', 'x', 'X', '{}')`, id)
}

func ledger(run string, cost int) string {
	return fmt.Sprintf(`INSERT INTO usage_ledger (run_id, provider, model, kind, at, ended_at, noted_at, agent_id, session_key, session_id, source, job_id, task_key,
			standup_id, input, output, cache_read, cache_write, other, cost_nano, price, runs, unpriced, calls, took)
		VALUES ('%s', 'p', 'm', 'run', 0, '2026-11-20 08:00:00', '2026-11-20 08:00:00', 'cto', 'k', 's', 'human', '', '', '', 1, 1, 0, 0, 0, %d, 'runtime', 1, 0, 1, 1)`, run, cost)
}

// write runs statements in a database, one after the other.
func write(t *testing.T, address string, statements ...string) {
	t.Helper()
	d, err := db.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Tx(t.Context(), func(tx *db.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

// made creates a backup of a database.
func made(t *testing.T, address string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "it's a.backup")
	m, err := tool().Make(t.Context(), address, file, false)
	if err != nil || len(m.Faults) > 0 {
		t.Fatalf("%q, %v", m.Faults, err)
	}
	return file
}

// empty returns a place into which a backup of the address's engine can be
// restored.
func empty(t *testing.T, address string) string {
	t.Helper()
	if strings.Contains(address, "://") {
		return dbtest.Untouched(t, db.Postgres)
	}
	return filepath.Join(t.TempDir(), "with a blank", "new.db")
}

// refused checks that err contains each of the texts.
func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("it is taken; want an error that says %q", says)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%v; want an error that says %q", err, s)
		}
	}
}

// A restored database equals the original.
func TestRestoredIsWhatWasBackedUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		file := made(t, address)
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("the file: %v, %v", info.Mode(), err)
		}
		v, err := tool().VerifyFile(t.Context(), file, os.Getenv(dbtest.Env))
		if err != nil || len(v.Faults) > 0 || len(v.Missed) > 0 {
			t.Fatalf("%+v, %v", v, err)
		}
		if v.LastEvent != 5 || v.CostNano != 100 || v.Rows["users"] != 1 || v.Rows["events"] != 4 {
			t.Errorf("the manifest: %+v", v.Manifest)
		}
		into := empty(t, address)
		if _, err := tool().Restore(t.Context(), file, into); err != nil {
			t.Fatal(err)
		}
		if was, is := dump(t, address), dump(t, into); was != is {
			t.Errorf("restored is another: %s", cmp.Diff(was, is))
		}
		again, err := tool().VerifyDatabase(t.Context(), into)
		if err != nil || len(again.Faults) > 0 {
			t.Fatalf("%+v, %v", again, err)
		}
		if d := cmp.Diff(v.Facts, again.Facts); d != "" {
			t.Error(d)
		}
		dbtest.Open(t, into) // Wardroom starts with it
	})
}

// A backup and concurrent writers do not wait for each other. Transactions that
// are open when it starts are not in it.
func TestBackupTakesNoLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		d, err := db.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		file := filepath.Join(t.TempDir(), "x")
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `DELETE FROM users`); err != nil {
				return err
			}
			soon, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			m, err := tool().Make(soon, address, file, true)
			if err == nil && m.Rows["users"] != 1 {
				t.Errorf("it has %d users: another's transaction was not over", m.Rows["users"])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM users`).Scan(&n); err != nil || n != 0 {
			t.Errorf("the writer's transaction: %d users, %v", n, err)
		}
	})
}

// dump returns every row of the tables that each fills, as text.
func dump(t *testing.T, address string) string {
	t.Helper()
	d, err := db.OpenReadOnly(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var out strings.Builder
	for _, query := range []string{
		`SELECT id || ' ' || kind || ' ' || CAST(at AS TEXT) FROM events ORDER BY id`, `SELECT run_id || ' ' || cost_nano FROM usage_ledger ORDER BY run_id`,
		`SELECT email || ' ' || password_hash || ' ' || CAST(created_at AS TEXT) FROM users ORDER BY id`, `SELECT last || ' ' || purged FROM event_counter`,
	} {
		rows, err := d.Query(t.Context(), query)
		lines, err := db.All(rows, err, func(r db.Row) (s string, err error) { return s, r.Scan(&s) })
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, strings.Join(lines, "\n"))
	}
	return out.String()
}

// A backup with any changed byte is refused.
func TestChangedFilesAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		file := made(t, address)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := func(what string, text []byte) {
			t.Helper()
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if v, err := tool().VerifyFile(t.Context(), file, ""); err == nil {
				t.Errorf("%s: verified, %+v", what, v)
			}
			into := empty(t, "") // refused before an engine reads it
			if strings.Contains(address, "://") {
				into = "postgres://nobody@127.0.0.1:9/nowhere"
			}
			if _, err := tool().Restore(t.Context(), file, into); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: restored, %v", what, err)
			}
		}
		const last = 100
		random := rand.New(rand.NewPCG(1, 2))
		var bits []int
		for range 100 {
			bits = append(bits, random.IntN(8*len(whole)))
		}
		for i := range last { // flipping one bit changes the case of a letter
			bits = append(bits, 8*(len(whole)-last+i), 8*(len(whole)-last+i)+5)
		}
		for _, bit := range bits {
			flipped := bytes.Clone(whole)
			flipped[bit/8] ^= 1 << (bit % 8)
			changed(fmt.Sprintf("bit %d of byte %d of %d", bit%8, bit/8, len(whole)), flipped)
		}
		for _, n := range []int{0, 1, 4095, 4096, len(whole) / 2, len(whole) - 4096, len(whole) - 1} {
			changed(fmt.Sprintf("the first %d of %d bytes", n, len(whole)), whole[:n])
		}
		changed("a byte more", append(bytes.Clone(whole), '\n'))
		changed("without its first byte", whole[1:])
		changed("with a block twice", slices.Concat(whole[:4096], whole))
	})
}

// A restore never overwrites a file.
func TestRestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		file := made(t, address)
		if strings.Contains(address, "://") {
			_, err := tool().Restore(t.Context(), file, address)
			refused(t, err, "is not empty", "public")
			_, err = tool().Restore(t.Context(), file, filepath.Join(t.TempDir(), "x.db"))
			refused(t, err, "a backup of PostgreSQL")
			return
		}
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "wardroom.db")
			if err := os.WriteFile(path+end, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, into := range []string{dir, path, "sqlite:" + path} {
				_, err := tool().Restore(t.Context(), file, into)
				refused(t, err, path+end, "already exists")
			}
			if text, err := os.ReadFile(path + end); string(text) != "mine" {
				t.Errorf("it has overwritten %s: %v", end, err)
			}
			if left, err := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("it has left %v, %v", left, err)
			}
		}
		_, err := tool().Restore(t.Context(), file, "postgres://nobody@127.0.0.1:9/x")
		refused(t, err, "a backup of SQLite")
	})
}

// The printed setting selects the restored database.
func TestRestoreNamesTheSetting(t *testing.T) {
	file := made(t, dbtest.URL(t, db.SQLite))
	t.Chdir(t.TempDir())
	for into, want := range map[string][3]string{
		"new":             {"DATA_DIR", "new", "new/wardroom.db"},
		"other/":          {"DATA_DIR", "other", "other/wardroom.db"},
		"deep/er/x.db":    {"DATABASE_URL", "sqlite:deep/er/x.db", "deep/er/x.db"},
		"sqlite:just":     {"DATABASE_URL", "sqlite:just", "just"},
		"sqlite://folder": {"DATABASE_URL", "sqlite:folder", "folder"},
	} {
		r, err := tool().Restore(t.Context(), file, into)
		if err != nil {
			t.Fatal(err)
		}
		if r.Setting != want[0] || r.Value != want[1] {
			t.Errorf("%s: %s=%s", into, r.Setting, r.Value)
		}
		if _, err := os.Stat(want[2]); err != nil {
			t.Errorf("%s: %v", into, err)
		}
	}
}

// A backup overwrites only an earlier backup, and other conflicts are reported
// before it starts.
func TestMakeOverwritesNothing(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, db.SQLite)
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	attempt := func(file string, replace bool) error {
		_, err := tool().Make(t.Context(), address, file, replace)
		return err
	}
	refused(t, attempt(file, false), file, "already exists")
	refused(t, attempt(filepath.Join(dir, "link"), false), "already exists")
	refused(t, attempt(filepath.Join(dir, "link"), true), "already exists")
	refused(t, attempt(file, true), "already exists") // not a backup
	refused(t, attempt(address, true), "already exists")
	refused(t, attempt(dir, true), "is a folder")
	refused(t, attempt(filepath.Join(dir, "none", "x"), false), "no such file or directory")
	refused(t, attempt("/dev/null", true), "already exists")
	if text, err := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("it is overwritten: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := attempt(file, true); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := tool().VerifyFile(t.Context(), file, ""); err != nil || len(v.Faults) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("it has left %v, %v", left, err)
	}
}

// Canceling a backup or restore leaves no files.
func TestStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string) {
		dir := t.TempDir()
		file := made(t, address)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := tool().Make(ctx, address, filepath.Join(dir, "x"), false); err == nil {
			t.Error("it was made")
		}
		if _, err := tool().Restore(ctx, file, filepath.Join(dir, "x.db")); !errors.Is(err, context.Canceled) {
			t.Errorf("it was restored: %v", err)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("it has left %v, %v", left, err)
		}
	})
}

// Violated invariants are reported by verification and by the backup, which is
// written anyway.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	faults := map[string][2]string{
		"a gap in the log":       {`DELETE FROM events WHERE id = 4`, "1 events between 3 and 5 are missing"},
		"a log behind its end":   {`UPDATE event_counter SET last = 4`, "has event 5, but its counter is at 4"},
		"a log without counter":  {`DELETE FROM event_counter`, "the counter of the event log is missing"},
		"a correction is gone":   {`INSERT INTO usage_told VALUES ('s', 'p', 'm', 1, 1, 0, 0, 0, 5, 1, FALSE)`, "for the totals of 1 transcripts"},
		"a task shows another":   {taskOfCost5, "TASK-7"},
		"a row without its task": {`INSERT INTO comments (id, task_id, author_name, body, mentions, created_at, version) VALUES ('c', 'gone', 'A', 'x', '[]', 0, 1)`, "refers to a missing row of tasks"},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, address string) {
				if name == "a row without its task" {
					if strings.Contains(address, "://") {
						return // PostgreSQL rejects it
					}
					withoutTies(t, address, f[0])
				} else {
					write(t, address, f[0])
				}
				v, err := tool().VerifyDatabase(t.Context(), address)
				if err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0], f[1]) {
					t.Errorf("%q, %v; want one that says %q", v.Faults, err, f[1])
				}
				file := filepath.Join(t.TempDir(), "x")
				m, err := tool().Make(t.Context(), address, file, false)
				if err != nil || !slices.Equal(m.Faults, v.Faults) {
					t.Errorf("the backup: %q, %v", m.Faults, err)
				}
				if !strings.Contains(address, "://") {
					_, err = tool().Restore(t.Context(), file, empty(t, address))
					refused(t, err, f[1], "was not restored")
				}
			})
		})
	}
}

const taskOfCost5 = `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, moved_at, created_at, updated_at, version, cost_nano)
	VALUES ('t7', 7, 'x', '', 'todo', 'medium', 'task', '[]', '[]', '[]', '{}', '{}', '2026-11-20 08:00:00', '2026-11-20 08:00:00', '2026-11-20 08:00:00', 1, 5)`

// withoutTies runs a statement in an SQLite file with foreign keys disabled, as
// another program might.
func withoutTies(t *testing.T, path, statement string) {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.ExecContext(t.Context(), statement)
	if err := errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
}

// Files that are not backups, and databases of other programs, are reported as
// such.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := tool().VerifyFile(t.Context(), dir, "")
	refused(t, err, dir)
	_, err = tool().VerifyFile(t.Context(), filepath.Join(dir, "none"), "")
	refused(t, err, "none")
	plain := dbtest.URL(t, db.SQLite)
	_, err = tool().VerifyFile(t.Context(), plain, "")
	refused(t, err, "seal")
	for _, engine := range dbtest.Engines() {
		address := dbtest.Untouched(t, engine)
		write(t, address, `CREATE TABLE theirs (id INTEGER)`)
		_, err := tool().Make(t.Context(), address, filepath.Join(dir, "x"), false)
		refused(t, err, "not a Wardroom database")
	}
}
