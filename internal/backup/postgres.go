package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"wardroom/internal/platform/db"
)

// dump writes a pg_dump archive to f. It reads the manifest's Facts from the same snapshot as
// pg_dump. To share the snapshot, it keeps its transaction open until pg_dump ends.
func (t *Tool) dump(ctx context.Context, database string, f *os.File, m *Manifest) (faults []string, err error) {
	m.Engine = db.Postgres.String()
	programs, err := db.ProgramsFor(database)
	if err != nil {
		return nil, err
	}
	d, err := db.OpenReadOnly(ctx, database)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	err = d.View(ctx, func(q db.Queryer) error {
		if err := originOf(ctx, q, m); err != nil {
			return err
		}
		if err := newEnough(ctx, programs, "pg_dump", m.Server); err != nil {
			return err
		}
		var snapshot string
		if err := q.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&snapshot); err != nil {
			return fmt.Errorf("take a snapshot of the database: %w", err)
		}
		stop := t.watch("Checking", 0, nil)
		m.Facts, faults, err = survey(ctx, q, db.Postgres)
		stop()
		if err != nil {
			return err
		}
		defer t.watch("Copying", 0, func() int64 { return sizeOf(f.Name()) })()
		_, err = program(ctx, programs, f, "pg_dump", "--format=custom", "--no-password", "--lock-wait-timeout=60s",
			"--snapshot="+snapshot, "--schema="+pattern(m.Namespace))
		return err
	})
	return faults, err
}

// originOf records the server version and the current schema's name in the manifest.
func originOf(ctx context.Context, q db.Queryer, m *Manifest) error {
	var namespace *string
	err := q.QueryRow(ctx,
		`SELECT SPLIT_PART(current_setting('server_version'), ' ', 1), current_schema()`).Scan(&m.Server, &namespace)
	if err != nil {
		return fmt.Errorf("inspect the database: %w", err)
	}
	if namespace == nil {
		return errNotOurs
	}
	m.Namespace = *namespace
	return nil
}

// errNoProgram means that a PostgreSQL client program, such as pg_dump, is not installed.
var errNoProgram = errors.New("is not installed here")

// pattern quotes a schema name for pg_dump, so that no character in it has a
// special meaning.
func pattern(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// program runs a PostgreSQL client program, such as pg_dump. It writes the program's standard
// output to out or, if out is nil, returns it.
func program(ctx context.Context, p db.Programs, out *os.File, name string, args ...string) (string, error) {
	const patience = 5 * time.Second               // for the program to stop
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the name is a constant, and there is no shell
	cmd.Env, cmd.WaitDelay = p.Env, patience
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	if out != nil {
		cmd.Stdout = out
	}
	err := cmd.Run()
	switch text := strings.TrimSpace(p.Hide(failed.String())); {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s %w: install the PostgreSQL client programs (on Debian: postgresql-client)", name,
			errNoProgram)
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && text != "":
		return "", fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, name+": error: "))
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return said.String(), nil
}

// newEnough returns an error if a client program is older than the server, because older
// programs cannot read the server's data.
func newEnough(ctx context.Context, p db.Programs, name, server string) error {
	said, err := program(ctx, p, nil, name, "--version")
	if err != nil {
		return err
	}
	own, want := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(said),
		regexp.MustCompile(`^\d+`).FindString(server)
	if own == nil || want == "" {
		return fmt.Errorf("cannot compare the version of %s (%s) with that of the server (%s)", name, strings.TrimSpace(said),
			server)
	}
	if len(own[1]) < len(want) || len(own[1]) == len(want) && own[1] < want { // as numbers
		return fmt.Errorf("%s is version %s, older than the server (%s): install the client programs of PostgreSQL %s and put them first in PATH", name, own[1], server, want)
	}
	return nil
}

// contents returns the table of contents of a pg_dump archive, one entry per
// line.
func contents(ctx context.Context, p db.Programs, file string) ([]string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	said, err := program(ctx, p, nil, "pg_restore", "--list", path)
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ";") {
			list = append(list, line)
		}
	}
	return list, nil
}

// load restores a pg_dump archive into a database in one transaction. The
// schema must exist already.
func load(ctx context.Context, p db.Programs, file, dir string) error {
	entries, err := contents(ctx, p, file)
	if err != nil {
		return err
	}
	isSchema := regexp.MustCompile(`^\d+; 2615 `) // OID of pg_namespace, the catalog of schemas
	var chosen strings.Builder
	for _, e := range entries {
		if !isSchema.MatchString(e) {
			chosen.WriteString(e + "\n")
		}
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(chosen.String()), 0o600); err != nil {
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	// Use a connection string, so that pg_restore does not parse the database
	// name.
	name := "dbname='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p.Database) + "'"
	_, err = program(ctx, p, nil, "pg_restore", "--dbname="+name, "--no-password", "--no-owner", "--no-privileges",
		"--no-comments", "--exit-on-error", "--single-transaction", "--use-list="+list, path)
	return err
}
