package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"wardroom/internal/app"
	"wardroom/internal/backup"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

type backupCmd struct {
	config.RawCommon `embed:""`

	File    string `arg:"" help:"File to write, or - for standard output."`
	Replace bool   `help:"Replace FILE if it is a backup."`
}

// Run writes a backup.
func (c backupCmd) Run(ctx context.Context, t terminal) error {
	database, dataDir, err := source(c.RawCommon)
	if err != nil {
		return err
	}
	tool, report := t.backups(), t.out
	began := time.Now()
	var made backup.Made
	if c.File == "-" {
		if isTerminal(t.out) {
			return usage(errors.New("a backup is binary: redirect standard output to a file or a program"))
		}
		report = t.err
		made, err = tool.Stream(ctx, database, t.out)
	} else {
		made, err = tool.Make(ctx, database, c.File, c.Replace)
	}
	if err != nil {
		return failed(ctx, "create the backup", err)
	}
	fmt.Fprintf(report, "Wrote %s: %s in %s.\n", outputName(c.File), size(made.Bytes), short(time.Since(began)))
	fmt.Fprintf(report, "It contains the whole database (%s). It does not contain the settings (.env) or the encryption key (ENCRYPTION_KEY, or %s): back them up separately.\n",
		origin(made.Manifest), filepath.Join(dataDir, "encryption.key"))
	if len(made.Faults) > 0 {
		return fmt.Errorf(
			"the backup was written, but the database has problems, so `wardroom restore` will refuse the backup:\n%s",
			indented(made.Faults),
		)
	}
	return nil
}

type restoreCmd struct {
	File string `arg:"" help:"The backup."`
	Into string `required:"" placeholder:"NEW" help:"Where to restore: a new data folder, a new SQLite file such as new/wardroom.db, or an empty database such as postgres://USER@HOST:PORT/NAME. Pass the password in PGPASSWORD: other users of the machine can read the command line."`
}

// Run restores a backup.
func (c restoreCmd) Run(ctx context.Context, t terminal) error {
	began := time.Now()
	r, err := t.backups().Restore(ctx, c.File, c.Into)
	if err != nil {
		return failed(ctx, "restore the backup", err)
	}
	fmt.Fprintf(t.out, "Restored and checked in %s: %s.\n", short(time.Since(began)), described(r.Manifest))
	if r.Value == "" {
		fmt.Fprintf(t.out, "To use it, set %s to the address you gave and start Wardroom.\n", r.Setting)
	} else {
		fmt.Fprintf(t.out, "To use it, set this and start Wardroom:\n\n  %s=%s\n\n", r.Setting, r.Value)
	}
	fmt.Fprintln(t.out, "Set the same ENCRYPTION_KEY as before, or copy encryption.key into the data folder. Without the key, you must pair with the gateway again.")
	return nil
}

type verifyCmd struct {
	config.RawCommon `embed:""`

	File  string `arg:"" optional:"" help:"The backup. The default is to check the database in the settings, which is safe while Wardroom runs."`
	Using string `placeholder:"postgres://…" help:"PostgreSQL server for a test restore of a PostgreSQL backup into a temporary database. The user must be allowed to create databases."`
}

// Run checks a backup or the database.
func (c verifyCmd) Run(ctx context.Context, t terminal) error {
	began := time.Now()
	var v backup.Verified
	var err error
	if c.File != "" {
		v, err = t.backups().VerifyFile(ctx, c.File, c.Using)
	} else {
		var database string
		if database, _, err = source(c.RawCommon); err != nil {
			return err
		}
		v, err = t.backups().VerifyDatabase(ctx, database)
	}
	if err != nil {
		return failed(ctx, "finish the check", err)
	}
	if c.File != "" {
		fmt.Fprintf(t.out, "%s: %s.\n", c.File, described(v.Manifest))
	} else {
		fmt.Fprintf(t.out, "The database: %s.\n", origin(v.Manifest))
	}
	fmt.Fprintf(t.out, "Checked in %s:\n%s\n", short(time.Since(began)), indented(v.Checked))
	if len(v.Missed) > 0 {
		fmt.Fprintf(t.out, "Not checked:\n%s\n", indented(v.Missed))
	}
	if len(v.Faults) > 0 {
		return fmt.Errorf("problems found:\n%s", indented(v.Faults))
	}
	fmt.Fprintln(t.out, "No problems found.")
	return nil
}

// failed returns an error that says what could not be done and wraps err. If ctx has
// ended, the reason is "interrupted" instead of err.
func failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return fmt.Errorf("could not %s: %w", what, err)
}

// source returns the database URL and the data folder from the settings. It fails if the
// database is an SQLite file that does not exist.
func source(raw config.RawCommon) (database, dataDir string, err error) {
	cfg, _, err := raw.Check()
	if err != nil {
		return "", "", usage(fmt.Errorf("invalid settings:\n%w", err))
	}
	database = cfg.DatabaseURL.Reveal()
	return database, cfg.DataDir, exists(database)
}

// backups returns the backup tool. The tool reports its progress if standard error is
// a terminal.
func (t terminal) backups() *backup.Tool {
	tool := &backup.Tool{Version: app.Version, Now: clock.Now}
	if isTerminal(t.err) {
		tool.Report = func(p backup.Progress) { fmt.Fprint(t.err, "\r\x1b[K"+progressLine(p)) }
	}
	return tool
}

// progressLine formats the progress of one step of a backup, a restore or a check. It
// returns an empty string when the step is over.
func progressLine(p backup.Progress) string {
	switch took := short(p.Took); {
	case p.Over:
		return ""
	case p.Total > 0 && p.Done <= p.Total:
		return fmt.Sprintf("%s … %d %% of %s, %s", p.Step, 100*p.Done/p.Total, size(p.Total), took)
	case p.Done > 0:
		return fmt.Sprintf("%s … %s, %s", p.Step, size(p.Done), took)
	default:
		return fmt.Sprintf("%s … %s", p.Step, took)
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// described returns a short description of a backup: its database, its date and the
// version of Wardroom that made it.
func described(m backup.Manifest) string {
	return fmt.Sprintf("a backup of %s, made at %s by Wardroom %s", origin(m),
		m.MadeAt.Format("2006-01-02 15:04:05 UTC"), m.Version)
}

// origin describes the database that a backup was made from.
func origin(m backup.Manifest) string {
	engine := "SQLite"
	if m.Engine == db.Postgres.String() {
		engine = fmt.Sprintf("PostgreSQL %s, schema %s", m.Server, m.Namespace)
	}
	return fmt.Sprintf("%s, migration %d", engine, m.Schema)
}

func outputName(file string) string {
	if file == "-" {
		return "standard output"
	}
	return file
}

func indented(lines []string) string { return "  " + strings.Join(lines, "\n  ") }

// size formats a number of bytes in kB or MB.
func size(n int64) string {
	const kilo = 1000
	if n < kilo*kilo {
		return fmt.Sprintf("%d kB", (n+kilo-1)/kilo)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(kilo*kilo))
}

// short formats a duration, rounded to a tenth of a second.
func short(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
