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

// ErrDamaged means that the SQLite file is damaged. Wardroom has not written to the
// file.
var ErrDamaged = errors.New("the database is damaged")

// checkTime limits how long the check of an SQLite file at startup can take.
const checkTime = 5 * time.Second

// StartCheck describes how Own checked an SQLite file that was not closed cleanly.
// The zero StartCheck means that no check was needed.
type StartCheck struct {
	Ran      bool
	Complete bool          // false if the check ran out of time
	Took     time.Duration // at most five seconds
}

// StartCheck describes how the SQLite file was checked when d was opened.
func (d *DB) StartCheck() StartCheck {
	if d.owner == nil {
		return StartCheck{}
	}
	return d.owner.check
}

// owner holds the kernel lock on <file>.lock. After a clean close, the lock file
// contains the size and modification time of the database file. The lock file is
// empty while the database is in use, after a crash, and in a copy that was made
// while Wardroom ran. If it is empty, the next owner checks the database.
type owner struct {
	lock  *os.File
	path  string // database file
	check StartCheck
}

// own takes the lock on the database file. It fails if the file was not closed
// cleanly and is damaged.
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

// lockFile opens the file at path and locks it. It returns ErrOwned if another process holds the lock.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	locked, err := tryLock(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	if !locked {
		return nil, errors.Join(fmt.Errorf("%w (%s is locked): stop it first, or set another DATA_DIR", ErrOwned, path),
			f.Close())
	}
	return f, nil
}

// inspect checks the database file unless the file is new or was closed cleanly.
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

// state returns a string that identifies the current content of the database file. The
// string is empty if the file is missing or empty.
func (o *owner) state() (string, error) {
	info, err := os.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the database file: %w", err)
	}
	return fmt.Sprintf("closed cleanly: %d bytes, modified %d\n", info.Size(), info.ModTime().UnixNano()), nil
}

// holdsFrames reports whether the write-ahead log exists and is not empty. SQLite
// deletes the log when the last connection closes.
func holdsFrames(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// release gives up the lock. If the connections were closed cleanly, release first
// records the state of the database file. Without this record, the next start checks the
// file for damage.
func (o *owner) release(clean bool) error {
	if state, err := o.state(); clean && err == nil && !holdsFrames(o.path) {
		_, _ = o.lock.WriteAt([]byte(state), 0)
	}
	return o.lock.Close()
}

// checkFile looks for damage in an SQLite file. It stops when the time limit is
// reached, and reports whether the check is complete. It opens the file read-only,
// because a connection that can write would merge the write-ahead log into the file
// when it closes.
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
		return true, fmt.Errorf("%w: %s: %s. Wardroom did not start and did not change the file. "+
			"Restore a backup with `wardroom restore FILE --into NEW`; keep the damaged files until that works", ErrDamaged, path, found[0])
	}
	return true, nil
}

// integrity returns the problems that SQLite finds in its file, up to the given number. If SQLite cannot read the
// file, integrity returns this as a problem instead of an error.
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

// damage reports whether err means that SQLite cannot read its file, and why.
func damage(err error) (reason string, ok bool) {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return "", false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT:
		return "the content is malformed", true
	case sqlite3.SQLITE_NOTADB:
		return "it is not an SQLite database", true
	}
	return "", false
}
