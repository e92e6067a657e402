package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"wardroom/internal/platform/db"
)

// Verified is the result of a verification.
type Verified struct {
	Manifest          // of a backup; for a live database only the engine and the facts
	Checked  []string // descriptions of the checks
	Missed   []string // what was not checked, and why
	Faults   []string // problems found
}

// Descriptions of the checks that a verification performs.
const (
	checkedSum      = "checksum of the whole file"
	checkedFile     = "structure of the SQLite file and its search index"
	checkedTies     = "foreign keys"
	checkedLog      = "event log without gaps"
	checkedLedger   = "usage ledger matches stored totals"
	checkedRestored = "restored into a scratch database: rows, newest event, and ledger sum match the manifest"
	checkedList     = "table of contents of the dump has every table"
)

// VerifyDatabase checks a database, even while Wardroom uses it.
func (t *Tool) VerifyDatabase(ctx context.Context, database string) (v Verified, err error) {
	d, err := db.OpenReadOnly(ctx, database)
	if err != nil {
		return v, err
	}
	defer d.Close()
	v.Engine = d.Engine().String()
	if v.Engine == db.Postgres.String() {
		err = d.View(ctx, func(q db.Queryer) error { return originOf(ctx, q, &v.Manifest) })
	}
	if err != nil {
		return v, err
	}
	seen, err := t.inspect(ctx, d)
	v.Facts, v.Checked, v.Faults = seen.Facts, seen.checked, seen.faults
	if d.Engine() == db.Postgres {
		v.Missed = []string{"PostgreSQL's own files and indexes: use pg_amcheck. PostgreSQL enforces foreign keys itself"}
	}
	return v, err
}

// VerifyFile checks a backup. A PostgreSQL backup is restored into a scratch database, which VerifyFile creates on the
// given server and then drops. Without a server, only the checksum and the table of contents of a PostgreSQL backup
// are checked.
func (t *Tool) VerifyFile(ctx context.Context, file, server string) (v Verified, err error) {
	f, err := os.Open(file)
	if err != nil {
		return v, err
	}
	defer f.Close()
	if v.Manifest, err = t.readWhole(ctx, f, io.Discard); err != nil {
		return v, err
	}
	v.Checked = []string{checkedSum}
	if v.Engine == db.SQLite.String() {
		seen, err := t.inspectCopy(ctx, file)
		v.Checked = append(v.Checked, seen.checked...)
		if v.Faults = seen.faults; len(v.Faults) == 0 && err == nil {
			v.Faults = seen.diff(v.Facts)
		}
		return v, err
	}
	if server != "" {
		err = t.restoreToScratch(ctx, file, server, &v)
	} else {
		err = checkContents(ctx, file, &v)
	}
	return v, err
}

// readWhole reads a whole backup and writes everything before its seal to content. It checks the
// seal, and that this program supports the backup's schema version.
func (t *Tool) readWhole(ctx context.Context, f *os.File, content io.Writer) (Manifest, error) {
	var done counter
	defer t.watch("Reading", sizeOf(f.Name()), done.load)()
	m, err := unseal(ctx, f, io.MultiWriter(&done, content))
	if errors.Is(err, errNotBackup) || errors.Is(err, errBroken) {
		return m, fmt.Errorf("%s cannot be used: %w", f.Name(), err)
	}
	if err != nil {
		return m, err
	}
	if m.Schema == 0 { // the database was damaged, so Make did not read its facts
		return m, nil
	}
	if err := known(m.Schema); err != nil {
		return m, fmt.Errorf("%s was created by Wardroom %s: %w", f.Name(), m.Version, err)
	}
	return m, nil
}

// checkContents checks that a dump's table of contents lists every table in the manifest.
func checkContents(ctx context.Context, file string, v *Verified) error {
	const rest = "the rows in the dump: use --using postgres://… to restore them into a scratch database"
	v.Missed = []string{rest}
	none, err := db.ProgramsFor("postgres:///")
	if err != nil {
		return err
	}
	entries, err := contents(ctx, none, file)
	if errors.Is(err, errNoProgram) {
		v.Missed = append(v.Missed, "the dump's table of contents: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	held := map[string]bool{}
	for _, e := range entries {
		if _, what, ok := strings.Cut(e, " TABLE DATA "+v.Namespace+" "); ok {
			table, _, _ := strings.Cut(what, " ")
			held[table] = true
		}
	}
	for table := range v.Rows {
		if !held[table] {
			v.Faults = append(v.Faults, "the dump has no table "+table)
		}
	}
	v.Checked = append(v.Checked, checkedList)
	return nil
}
