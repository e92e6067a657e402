package backup_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// program puts a shell script first in PATH under the name of a PostgreSQL
// program. The script can call the original as $REAL.
func program(t *testing.T, name, script string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := "#!/bin/sh\nREAL='" + path + "'\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// The programs get no secrets as arguments, which other users can read, and no
// secrets of Wardroom in their environment.
func TestProgramsSeeNoSecrets(t *testing.T) {
	address := dbtest.URL(t, db.Postgres)
	into := dbtest.Untouched(t, db.Postgres) + "&pool_max_conns=3"
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	if len(password) < 8 {
		t.Fatal("the tests' server needs a password for this one")
	}
	seen := filepath.Join(t.TempDir(), "seen")
	for _, name := range []string{"pg_dump", "pg_restore"} {
		program(t, name, `echo "`+name+` $*" >>'`+seen+`'; env >>'`+seen+`.env'; exec "$REAL" "$@"`)
	}
	t.Setenv("JWT_SECRET", "a secret of the service 77e1")
	t.Setenv("DATABASE_URL", address)
	t.Setenv("PGHOSTADDR", "203.0.113.1") // would override the address
	file := made(t, address)
	if _, err := tool().Restore(t.Context(), file, into); err != nil {
		t.Fatal(err)
	}
	arguments, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(seen + ".env")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pg_dump --format=custom", "pg_restore --list", "pg_restore --dbname"} {
		if !strings.Contains(string(arguments), want) {
			t.Errorf("nobody called %s: %s", want, arguments)
		}
	}
	if strings.Contains(string(arguments), password) {
		t.Error("the password is in the arguments")
	}
	if !strings.Contains(string(env), "PGPASSWORD="+password) {
		t.Error("the password is not in the environment, so that this test shows nothing")
	}
	if strings.Contains(string(env), "77e1") || strings.Contains(string(env), "DATABASE_URL") || strings.Contains(string(env), "PGHOSTADDR") {
		t.Errorf("the programs are given what is not theirs: %s", env)
	}
}

// Failures are reported with a remedy and without the password.
func TestProgramsThatFail(t *testing.T) {
	address := dbtest.URL(t, db.Postgres)
	attempt := func() error {
		_, err := tool().Make(t.Context(), address, filepath.Join(t.TempDir(), "x"), false)
		return err
	}
	t.Run("older than the server", func(t *testing.T) {
		program(t, "pg_dump", `echo "pg_dump (PostgreSQL) 9.6.24"`)
		refused(t, attempt(), "pg_dump is version 9, older than the server", "install the client programs of PostgreSQL")
	})
	t.Run("fails", func(t *testing.T) {
		program(t, "pg_dump", `[ "$1" = --version ] && exec "$REAL" "$@"; echo "half a dump"; echo "pg_dump: error: no luck with $PGPASSWORD" >&2; exit 1`)
		refused(t, attempt(), "pg_dump: no luck with [password]")
	})
	t.Run("is stopped", func(t *testing.T) {
		begun := filepath.Join(t.TempDir(), "begun")
		program(t, "pg_dump", `[ "$1" = --version ] && exec "$REAL" "$@"; echo >'`+begun+`'; exec sleep 60`)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(begun); err == nil {
					stop()
				}
			}
		}()
		dir := t.TempDir()
		_, err := tool().Make(ctx, address, filepath.Join(dir, "x"), false)
		refused(t, err, "context canceled")
		if left, err := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("it has left %v, %v", left, err)
		}
	})
	t.Run("is missing", func(t *testing.T) {
		file := made(t, address)
		t.Setenv("PATH", t.TempDir())
		refused(t, attempt(), "pg_dump is not installed here", "client programs")
		v, err := tool().VerifyFile(t.Context(), file, "")
		if err != nil || len(v.Checked) != 1 || len(v.Missed) != 2 || !strings.Contains(v.Missed[1], "pg_restore is not installed") {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// Verification without a server reports what it did not check.
func TestVerifyWithoutServer(t *testing.T) {
	file := made(t, dbtest.URL(t, db.Postgres))
	v, err := tool().VerifyFile(t.Context(), file, "")
	if err != nil || len(v.Faults) > 0 || len(v.Missed) != 1 || !strings.Contains(v.Missed[0], "--using") {
		t.Errorf("%+v, %v", v, err)
	}
	program(t, "pg_restore", `"$REAL" "$@" | grep -v "TABLE DATA public users "`)
	v, err = tool().VerifyFile(t.Context(), file, "")
	if err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0], "has no table users") {
		t.Errorf("without a table: %+v, %v", v, err)
	}
	_, err = tool().VerifyFile(t.Context(), file, "elsewhere")
	refused(t, err, "--using")
}

// Verification on a server finds missing rows and drops its scratch database.
func TestVerifyOnServer(t *testing.T) {
	file := made(t, dbtest.URL(t, db.Postgres))
	server := os.Getenv(dbtest.Env)
	program(t, "pg_restore", `"$REAL" "$@" || exit; [ "$1" = --list ] || psql -qc "DELETE FROM migrations WHERE version_id = 203"`)
	_, err := tool().VerifyFile(t.Context(), file, server)
	refused(t, err, "rows of migrations", "do not use it")
	c, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var left int
	if err := c.QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_database WHERE datname LIKE 'wardroom_verify_%'`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d scratch databases are left, %v", left, err)
	}
}

// A backup has only the schema that Wardroom uses, whatever its name.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	const name = `o"ps X`
	shared := dbtest.URL(t, db.Postgres) // has another Wardroom in schema public
	write(t, shared, `CREATE SCHEMA "o""ps X"`, `UPDATE event_counter SET last = 3`, event(1), event(2), event(3))
	inSchema := func(address string) string {
		return address + "&search_path=" + url.PathEscape(pgx.Identifier{name}.Sanitize())
	}
	dbtest.Open(t, inSchema(shared))
	file := made(t, inSchema(shared))
	v, err := tool().VerifyFile(t.Context(), file, os.Getenv(dbtest.Env))
	if err != nil || len(v.Faults) > 0 || v.Namespace != name || v.LastEvent != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	into := dbtest.Untouched(t, db.Postgres)
	_, err = tool().Restore(t.Context(), file, into)
	refused(t, err, name, "uses schema public", "search_path=%22o%22%22ps%20X%22")
	if _, err := tool().Restore(t.Context(), file, inSchema(into)); err != nil {
		t.Fatal(err)
	}
	if _, err := tool().VerifyDatabase(t.Context(), inSchema(into)); err != nil {
		t.Error(err)
	}
	_, err = tool().VerifyDatabase(t.Context(), into)
	refused(t, err, "not a Wardroom database")
}
