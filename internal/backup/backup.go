// Package backup writes the database to one file while Wardroom runs, verifies
// such files, and restores them.
//
// A backup is an ordinary SQLite database or a pg_dump archive in the custom format, followed by a
// seal. The seal consists of a manifest and a checksum of the whole file. Other programs ignore
// it, so sqlite3 and pg_restore can read a backup.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"wardroom/internal/platform/db"
)

// Tool creates, verifies, and restores backups.
type Tool struct {
	Version string           // of Wardroom
	Now     func() time.Time // for the manifest
	Report  func(Progress)   // called a few times a second during long steps; may be nil
}

// Made is the result of writing a backup.
type Made struct {
	Manifest
	Bytes  int64    // of the file
	Faults []string // problems found in the database, which the backup contains, too
}

// Make writes a backup of the database to file. The file appears only when it is complete and
// flushed to disk, and only its owner can read it. If replace is set, Make can overwrite an
// existing backup, but never any other file.
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

// Stream writes a backup of the database to w. It creates the backup in a
// temporary file first.
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
		if err := os.RemoveAll(dir); err != nil { // leaves no file behind if a broken pipe ends the process
			return made, err
		}
		if _, err := io.Copy(w, reader{ctx, f}); err != nil {
			return made, fmt.Errorf("write the backup: %w", err)
		}
		return made, nil
	})
}

// write creates a sealed backup in a new file. The part parameter is the file's path.
func (t *Tool) write(ctx context.Context, database, part string) (Made, error) {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return Made{}, err
	}
	defer f.Close()
	m := Manifest{MadeAt: t.Now().UTC(), Version: t.Version}
	var faults []string
	if db.EngineOf(database) == db.Postgres {
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

// inspection is the result of checking a database.
type inspection struct {
	Facts
	checked []string // descriptions of the checks
	faults  []string
}

// inspectCopy checks an SQLite file that no other process uses.
func (t *Tool) inspectCopy(ctx context.Context, path string) (inspection, error) {
	d, err := db.OpenCopy(ctx, path)
	if err != nil {
		return inspection{}, err
	}
	defer d.Close()
	return t.inspect(ctx, d)
}

// inspect checks a database's contents. For SQLite, it first checks the file's integrity.
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

// errExists means that a file to be created already exists.
var errExists = errors.New("already exists: choose another name")

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
