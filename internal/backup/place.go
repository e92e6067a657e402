package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// vacant fails when something has the name path.
func vacant(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", path)
	}
	return fmt.Errorf("%s %w", path, errExists)
}

// inWorkspace calls fn with a new folder in dir (empty: the one for temporary
// files) that only this user can open, and removes it afterwards.
func inWorkspace[T any](dir string, fn func(dir string) (T, error)) (result T, err error) {
	space, err := os.MkdirTemp(dir, ".wardroom-backup-*")
	if err != nil {
		return result, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(space)) }()
	return fn(space)
}

// place gives a finished file, which is on the disk, its name. Without replace it
// fails when something has that name, also when that came about meanwhile.
func place(from, to string, replace bool) error {
	var err error
	if replace {
		err = os.Rename(from, to)
	} else if err = os.Link(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links: here somebody else could be in between.
		if err = vacant(to); err == nil {
			err = os.Rename(from, to)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w", to, errExists)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// syncFolder has the names in a folder survive a loss of power.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
