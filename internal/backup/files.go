package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wardroom/internal/platform/disk"
)

// vacant returns an error if path exists.
func vacant(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: specify a file in it", path)
	}
	return fmt.Errorf("%s %w", path, errExists)
}

// inWorkspace calls fn with a new private folder in dir and removes the folder afterwards. If dir
// is empty, it uses the default folder for temporary files.
func inWorkspace[T any](dir string, fn func(dir string) (T, error)) (result T, err error) {
	space, err := os.MkdirTemp(dir, ".wardroom-backup-*")
	if err != nil {
		return result, fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(space)) }()
	return fn(space)
}

// place moves a finished file to its final name. Unless replace is set, it fails if a file with
// that name exists.
func place(from, to string, replace bool) error {
	var err error
	if replace {
		err = os.Rename(from, to)
	} else if err = os.Link(from, to); err != nil && !errors.Is(err, fs.ErrExist) {
		// The file system has no hard links; a file created between these two
		// calls would be replaced.
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
	return disk.SyncFolder(filepath.Dir(to))
}
