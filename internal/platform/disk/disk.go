// Package disk has what the systems do differently with files.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// SyncFolder flushes a folder to the disk, so that its entries survive a power failure. On Windows, which cannot
// flush a folder and writes its entries by itself, it does nothing.
func SyncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Mode returns the permissions of a file. On Windows they are 0600, because its files have none of this kind: who may
// read a file there depends on the folder.
func Mode(info fs.FileInfo) fs.FileMode {
	if runtime.GOOS == "windows" {
		return 0o600
	}
	return info.Mode().Perm()
}
