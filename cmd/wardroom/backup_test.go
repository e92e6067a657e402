package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/backup"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// writers create tasks until stop is called.
type writers struct {
	mu   sync.Mutex
	made map[string]bool // titles of tasks that were acknowledged
	stop func()
}

// begin starts n writers and waits until they have created a few tasks.
func (v *victim) begin(n int) *writers {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &writers{made: map[string]bool{}}
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			for ctx.Err() == nil {
				title := db.NewID()
				status, _, text, err := v.ask(http.MethodPost, v.tokens[i%len(v.tokens)], "/tasks", map[string]any{"title": title})
				if err != nil || status != http.StatusCreated {
					v.t.Errorf("a writer got %d %s, %v", status, text, err)
					return
				}
				w.mu.Lock()
				w.made[title] = true
				w.mu.Unlock()
			}
		})
	}
	w.stop = sync.OnceFunc(func() { cancel(); work.Wait() })
	v.t.Cleanup(w.stop)
	for end := time.Now().Add(30 * time.Second); len(w.acknowledged()) < 20*n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) || v.t.Failed() {
			v.t.Fatal("the writers create no tasks")
		}
	}
	return w
}

// acknowledged returns the titles of the tasks created so far.
func (w *writers) acknowledged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.made))
}

// run runs the binary with the service's settings and additional ones.
func (v *victim) run(env []string, args ...string) outcome {
	v.t.Helper()
	var out, errs output
	cmd := exec.CommandContext(v.t.Context(), v.bin, args...)
	cmd.Dir, cmd.Env = v.t.TempDir(), slices.Concat(os.Environ(), v.env, env)
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := 0
	if err := cmd.Run(); err != nil {
		code = -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
	}
	return outcome{v.t, "wardroom " + strings.Join(args, " "), code, out.String(), errs.String()}
}

// titles returns the titles of all tasks in a database.
func titles(t *testing.T, address string) map[string]bool {
	t.Helper()
	d, err := db.OpenReadOnly(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows, err := d.Query(t.Context(), `SELECT title FROM tasks`)
	list, err := db.All(rows, err, func(r db.Row) (s string, err error) { return s, r.Scan(&s) })
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, title := range list {
		out[title] = true
	}
	return out
}

// A backup taken while the service works must contain everything acknowledged before it
// began, must be consistent, and must restore to a working service. A killed backup must
// not leave a file that looks like a backup.
func TestBackupBesideService(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	bin := filepath.Join(t.TempDir(), "wardroom")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "wardroom/cmd/wardroom").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			address, into := dbtest.URL(t, engine), filepath.Join(t.TempDir(), "new", "wardroom.db")
			if engine == db.Postgres {
				into = dbtest.Untouched(t, db.Postgres)
			}
			v := newVictim(t, bin, address)
			w := v.begin(8)
			file := filepath.Join(t.TempDir(), "it's a \"backup\"")
			before := w.acknowledged()
			began := time.Now()
			v.run(nil, "backup", file).ends(0, "Wrote "+file, "encryption key")
			took := time.Since(began)
			if now := w.acknowledged(); len(now) <= len(before) {
				t.Errorf("no writes during the backup: %d tasks before, %d after", len(before), len(now))
			}
			v.run(nil, "verify", file, "--using", os.Getenv(dbtest.Env)).ends(0, "No problems found", "event log without gaps")
			v.run(nil, "verify").ends(0, "No problems found") // while the writers work
			v.killBackups(took)
			if engine == db.SQLite {
				v.copyFolders(filepath.Dir(address))
			}
			w.stop()
			v.run(nil, "restore", file, "--into", into).ends(0, "DATA")
			v.missing(into, before)
			v.startOn(engine, into)
		})
	}
}

// startOn restarts the service with another database and uses it.
func (v *victim) startOn(engine db.Engine, address string) {
	v.t.Helper()
	v.kill()
	setting := address
	if engine == db.SQLite {
		setting = "sqlite:" + address
	}
	v.env = append(v.env, "DATABASE_URL="+setting) // the last value counts
	v.start()
	var in struct{ Token string }
	v.must("", "/auth/login", map[string]any{"email": "owner@example.com", "password": password}, &in)
	status, _, text, err := v.ask(http.MethodPost, in.Token, "/tasks", map[string]any{"title": "after"})
	if err != nil || status != http.StatusCreated {
		v.t.Errorf("the restored service: %d %s, %v", status, text, err)
	}
}

// missing reports the tasks that a database lacks.
func (v *victim) missing(address string, want []string) {
	v.t.Helper()
	there := titles(v.t, address)
	for _, title := range want {
		if !there[title] {
			v.t.Errorf("of %d tasks that were acknowledged before the backup began, it lacks %s", len(want), title)
		}
	}
}

// killBackups kills backups at different stages. took is how long a backup takes.
func (v *victim) killBackups(took time.Duration) {
	v.t.Helper()
	const kills = 8
	dir := v.t.TempDir()
	var left []string
	for i := range kills {
		file := filepath.Join(dir, fmt.Sprint("killed", i))
		cmd := exec.CommandContext(v.t.Context(), v.bin, "backup", file)
		cmd.Env = slices.Concat(os.Environ(), v.env)
		if err := cmd.Start(); err != nil {
			v.t.Fatal(err)
		}
		<-time.After(took * time.Duration(i+1) / (kills + 1))
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // always an error after a kill
		if _, err := os.Stat(file); err == nil {
			v.run(nil, "verify", file).ends(0)
		}
		left, _ = filepath.Glob(filepath.Join(dir, ".wardroom-backup-*")) // fails only for invalid patterns
	}
	if len(left) == 0 {
		v.t.Error("no backup was killed while it worked")
	}
	last := filepath.Join(dir, "last")
	v.run(nil, "backup", last).ends(0)
	v.run(nil, "verify", last).ends(0, "No problems found")
}

// copyFolders copies the data folder while the service writes, as people do in spite of
// the documentation. A damaged copy must not start, and a copy that starts must be sound.
func (v *victim) copyFolders(data string) {
	v.t.Helper()
	for i := range 4 {
		copied := filepath.Join(v.t.TempDir(), "copy")
		if out, err := exec.CommandContext(v.t.Context(), "cp", "-a", data, copied).CombinedOutput(); err != nil {
			v.t.Fatalf("%v: %s", err, out)
		}
		if i%2 == 0 { // as if a user copied only the database file
			for _, end := range []string{"-wal", "-shm", ".lock"} {
				if err := os.Remove(filepath.Join(copied, "test.db"+end)); err != nil {
					v.t.Fatal(err)
				}
			}
		}
		there := []string{"DATABASE_URL=sqlite:" + filepath.Join(copied, "test.db")}
		if o := v.run(there, "migrate"); o.code != 0 {
			o.ends(1, "is damaged", "wardroom restore")
			continue
		}
		v.run(there, "verify").ends(0, "No problems found")
	}
}

// The error for a damaged database must say what to do.
func TestDamagedDatabaseDoesNotStart(t *testing.T) {
	machine(t)
	t.Setenv("JWT_SECRET", secret)
	t.Setenv("PORT", "0")
	serve(t, "serve").end()
	path := filepath.Join("data", "wardroom.db")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, 4096), 3*4096)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"serve", "migrate"} {
		command(t, "", name).ends(1, "the database is damaged: data/wardroom.db", "did not change the file", "wardroom restore FILE --into NEW")
	}
	if o := command(t, "", "verify").ends(1, "problems found:\n  Tree "); strings.Contains(o.out, "ledger") {
		t.Errorf("it lists checks that did not run:\n%s", o.out)
	}
	command(t, "", "backup", "x").ends(1, "the database is damaged")
}

// The backup commands report what they did, and what is wrong with their arguments.
func TestBackupCommands(t *testing.T) {
	machine(t)
	command(t, "", "--help").ends(0, "backup", "restore", "verify")
	command(t, "", "backup").ends(2, "<file>")
	command(t, "", "backup", "x").ends(1, "no database at data/wardroom.db")
	command(t, "", "verify").ends(1, "no database at data/wardroom.db")
	command(t, "", "migrate").ends(0)
	command(t, "", "restore", "x").ends(2, "--into")
	command(t, "", "verify", "x").ends(1, "x: no such file")
	command(t, "", "backup", "x").ends(0, "Wrote x", "SQLite, migration", "data/encryption.key")
	command(t, "", "backup", "x").ends(1, "x already exists")
	command(t, "", "backup", "data").ends(1, "data is a folder")
	command(t, "", "verify", "x").ends(0, "a backup of SQLite", "No problems found")
	command(t, "", "restore", "x", "--into", "data").ends(1, "data/wardroom.db already exists")
	command(t, "", "restore", "x", "--into", "new").ends(0, "\n  DATA_DIR=new\n")
	command(t, "", "verify", "--data-dir", "new").ends(0)
	streamed := command(t, "", "backup", "-").ends(0)
	write(t, "y", streamed.out)
	command(t, "", "verify", "y").ends(0)
	write(t, "z", streamed.out[:len(streamed.out)-1])
	command(t, "", "verify", "z").ends(1, "seal")
	const other = "database-password-52be"
	address := "postgres://wardroom:" + other + "@127.0.0.1:9/wardroom"
	for _, args := range [][]string{{"backup", "p", "--database-url", address}, {"verify", "--database-url", address}, {"restore", "x", "--into", address}} {
		if o := command(t, "", args...).ends(1); strings.Contains(o.out+o.err, other) {
			t.Errorf("the output contains the database's password:\n%s%s", o.out, o.err)
		}
	}
}

// The progress line shows how far a step is, and is empty at the end.
func TestProgressLine(t *testing.T) {
	const million = 1000 * 1000
	for want, p := range map[string]backup.Progress{
		"Copying … 50 % of 80.0 MB, 1.5s": {Step: "Copying", Done: 40 * million, Total: 80 * million, Took: 1500 * time.Millisecond},
		"Copying … 90.0 MB, 1s":           {Step: "Copying", Done: 90 * million, Total: 80 * million, Took: time.Second},
		"Copying … 12 kB, 1s":             {Step: "Copying", Done: 11_500, Took: time.Second},
		"Checking … 1m0.2s":               {Step: "Checking", Took: time.Minute + 190*time.Millisecond},
		"":                                {Step: "Checking", Took: time.Minute, Over: true},
	} {
		if got := progressLine(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
