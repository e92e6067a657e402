//go:build unix

package db

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a lock on an open file. It returns false if another process holds the lock. The kernel
// releases the lock when the file is closed or the process ends.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
