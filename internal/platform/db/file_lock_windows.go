package db

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes a lock on an open file. It returns false if another process holds the lock. Windows
// releases the lock when the file is closed or the process ends. It locks one byte far behind the
// end, because Windows keeps other processes from reading what is locked.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
