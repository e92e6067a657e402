package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDamaged means that the SQLite file is damaged. Nothing was written to it.
var ErrDamaged = errors.New("the database is damaged")

// checkTime bounds the check of an SQLite file at the start.
const checkTime = 5 * time.Second

// StartCheck describes how Own checked an SQLite file that was not closed cleanly.
// The zero StartCheck means that no check was needed.
type StartCheck struct {
	Ran      bool
	Complete bool          // false when it was cut short
	Took     time.Duration // five seconds at most
}

// StartCheck returns how the file was checked when it was opened.
func (d *DB) StartCheck() StartCheck {
	if d.owner == nil {
		return StartCheck{}
	}
	return d.owner.check
}

// owner is the kernel's lock on <file>.lock. After a clean close the lock file
// holds the database file's size and modification time. It is empty while
// somebody owns the file and after a crash, and in a copy of a running
// service's folder, so the next owner knows that the file needs a check.
type owner struct {
	lock  *os.File
	path  string // of the database
	check StartCheck
}

// own takes the lock and refuses a database that was not closed cleanly and is
// damaged.
func own(ctx context.Context, path string) (*owner, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	o := &owner{lock: lock, path: path}
	if err := o.inspect(ctx); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := lock.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("mark the database as in use: %w", err), lock.Close())
	}
	return o, nil
}

// inspect checks the file, unless it is new or was closed cleanly.
func (o *owner) inspect(ctx context.Context) error {
	now, err := o.state()
	if err != nil || now == "" {
		return err
	}
	const longest = 100
	left, err := io.ReadAll(io.NewSectionReader(o.lock, 0, longest))
	if err != nil {
		return fmt.Errorf("read the lock file: %w", err)
	}
	if string(left) == now && !holdsFrames(o.path) {
		return nil
	}
	began := time.Now()
	complete, err := checkFile(ctx, o.path, checkTime)
	o.check = StartCheck{Ran: true, Complete: complete, Took: time.Since(began)}
	return err
}

// state identifies what the database file holds. It is empty for a file that is
// missing or empty.
func (o *owner) state() (string, error) {
	info, err := os.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the database: %w", err)
	}
	return fmt.Sprintf("closed cleanly: %d bytes, modified %d\n", info.Size(), info.ModTime().UnixNano()), nil
}

// holdsFrames reports whether the database has a write-ahead log that is not
// empty: SQLite deletes it when the last connection closes.
func holdsFrames(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// release gives the lock back. When the connections were closed without an error
// it notes that first, so that the next start needs no check. A note that cannot
// be written costs that check and nothing else.
func (o *owner) release(clean bool) error {
	if state, err := o.state(); clean && err == nil && !holdsFrames(o.path) {
		_, _ = o.lock.WriteAt([]byte(state), 0)
	}
	return o.lock.Close()
}

// checkFile looks for damage in an SQLite file until limit is over; complete tells
// whether that was enough. It changes nothing in the file and its write-ahead
// log: a connection that may write would fold the log into the file at its end.
func checkFile(ctx context.Context, path string, limit time.Duration) (complete bool, err error) {
	read, err := pool(address(path, "mode=ro&_pragma=busy_timeout(5000)"))
	if err != nil {
		return false, err
	}
	defer read.Close()
	read.SetMaxOpenConns(1)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := integrity(limited, read, 1)
	switch {
	case limited.Err() != nil && ctx.Err() == nil && len(found) == 0:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("check the database %s: %w", path, err)
	case len(found) > 0:
		return true, fmt.Errorf("%w: %s: %s. Wardroom did not start and changed nothing in it. "+
			"Restore a backup with `wardroom restore FILE --into NEW`; keep the damaged files until that works", ErrDamaged, path, found[0])
	}
	return true, nil
}

// integrity returns what SQLite finds wrong with its file, most findings at the
// most. Unlike other errors, a file that SQLite cannot read is a finding.
func integrity(ctx context.Context, q statements, most int) ([]string, error) {
	rows, err := q.QueryContext(ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, most))
	found, err := All(rows, err, func(r Row) (text string, err error) { return text, r.Scan(&text) })
	if reason, ok := damage(err); ok {
		found, err = append(found, reason), nil
	}
	if err != nil || len(found) == 1 && found[0] == "ok" {
		return nil, err
	}
	for i, text := range found {
		text = strings.TrimPrefix(text, "*** in database main ***\n")
		found[i] = strings.ReplaceAll(text, "\n", "; ")
	}
	return found, nil
}

// damage tells whether err is SQLite's word for a file that it cannot make sense of.
func damage(err error) (reason string, ok bool) {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return "", false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT:
		return "its content is malformed", true
	case sqlite3.SQLITE_NOTADB:
		return "it is not an SQLite database", true
	}
	return "", false
}
