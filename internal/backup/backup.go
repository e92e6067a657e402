// Package backup copies the whole database to one file beside a running service,
// checks such files, and restores them.
//
// A backup is an ordinary SQLite database, or an archive of pg_dump in its custom
// format, with a seal at its end: a manifest and a checksum of the whole file.
// Other programs ignore the seal, so sqlite3 and pg_restore can read a backup.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wardroom/internal/platform/db"
)

// Tool makes, verifies and restores backups.
type Tool struct {
	Version string           // of the program
	Now     func() time.Time // for the manifest
	Report  func(Progress)   // called a few times a second during long work; may be nil
}

// Made describes a backup that was written.
type Made struct {
	Manifest
	Bytes  int64    // of the file
	Faults []string // what the checks found wrong with the database itself; the backup repeats it
}

// Make writes a backup of the database to file. The file appears when it is
// complete and on the disk; it is readable by its owner alone. With replace it
// takes the place of an earlier backup, and never of another file.
func (t *Tool) Make(ctx context.Context, database, file string, replace bool) (Made, error) {
	if err := vacant(file); err != nil && (!replace || !isBackup(file)) {
		return Made{}, err
	}
	return inWorkspace(filepath.Dir(file), func(dir string) (Made, error) {
		part := filepath.Join(dir, "part")
		made, err := t.write(ctx, database, part)
		if err != nil {
			return made, err
		}
		return made, place(part, file, replace)
	})
}

// Stream writes a backup of the database to w. It is made in a temporary file first.
func (t *Tool) Stream(ctx context.Context, database string, w io.Writer) (Made, error) {
	return inWorkspace("", func(dir string) (Made, error) {
		part := filepath.Join(dir, "part")
		made, err := t.write(ctx, database, part)
		if err != nil {
			return made, err
		}
		f, err := os.Open(part)
		if err != nil {
			return made, err
		}
		defer f.Close()
		if err := os.RemoveAll(dir); err != nil { // so that nothing is left if the reader goes away and this process with it
			return made, err
		}
		if _, err := io.Copy(w, reader{ctx, f}); err != nil {
			return made, fmt.Errorf("write the backup: %w", err)
		}
		return made, nil
	})
}

// write makes a sealed backup at part.
func (t *Tool) write(ctx context.Context, database, part string) (Made, error) {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return Made{}, err
	}
	defer f.Close()
	m := Manifest{MadeAt: t.Now().UTC(), Version: t.Version}
	var faults []string
	if isPostgres(database) {
		faults, err = t.dump(ctx, database, f, &m)
	} else {
		faults, err = t.copySQLite(ctx, database, part, &m)
	}
	if err != nil {
		return Made{}, err
	}
	stop := t.watch("Sealing", 0, nil)
	defer stop()
	bytes, err := seal(ctx, f, &m)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return Made{}, fmt.Errorf("finish the backup: %w", err)
	}
	return Made{Manifest: m, Bytes: bytes, Faults: faults}, nil
}

func (t *Tool) copySQLite(ctx context.Context, database, part string, m *Manifest) ([]string, error) {
	m.Engine = db.SQLite.String()
	stop := t.watch("Copying", sizeOf(database), func() int64 { return sizeOf(part) })
	err := db.CopySQLite(ctx, database, part)
	stop()
	if err != nil {
		return nil, fmt.Errorf("copy the database: %w", err)
	}
	seen, err := t.inspectCopy(ctx, part)
	m.Facts = seen.Facts
	return seen.faults, err
}

// inspection is what a look at a whole database has found.
type inspection struct {
	Facts
	checked []string // what was looked at, in words
	faults  []string
}

// inspectCopy looks at an SQLite file that nobody else uses.
func (t *Tool) inspectCopy(ctx context.Context, path string) (inspection, error) {
	d, err := db.OpenCopy(ctx, path)
	if err != nil {
		return inspection{}, err
	}
	defer d.Close()
	return t.inspect(ctx, d)
}

// inspect surveys a database, after SQLite has checked its file.
func (t *Tool) inspect(ctx context.Context, d *db.DB) (seen inspection, err error) {
	stop := t.watch("Checking", 0, nil)
	defer stop()
	if d.Engine() == db.SQLite {
		const most = 5
		seen.checked = []string{checkedFile, checkedTies}
		if seen.faults, err = d.Integrity(ctx, most); err != nil || len(seen.faults) > 0 {
			return seen, err
		}
	}
	err = d.View(ctx, func(q db.Queryer) (err error) {
		seen.Facts, seen.faults, err = survey(ctx, q, d.Engine())
		return err
	})
	seen.checked = append(seen.checked, checkedLog, checkedLedger)
	return seen, err
}

// errExists means that something has the name of what is to be written.
var errExists = errors.New("exists already: give another name")

func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
