package db_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// In a database with another encoding, a backup restores as other text, so Wardroom must not start with one.
func TestEncodingIsRefused(t *testing.T) {
	t.Parallel()
	for encoding, want := range map[string]string{"LATIN1": "has the encoding LATIN1", "SQL_ASCII": "has the encoding SQL_ASCII", "UTF8": ""} {
		d, err := db.Own(t.Context(), dbtest.Encoded(t, encoding))
		if err == nil {
			err = d.Close()
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", encoding, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ENCODING 'UTF8'")):
			t.Errorf("%s: %v", encoding, err)
		}
	}
	address := dbtest.Encoded(t, "UTF8")
	sep := "?"
	if strings.Contains(address, "?") {
		sep = "&"
	}
	if _, err := db.Own(t.Context(), address+sep+"client_encoding=LATIN1"); err == nil || !strings.Contains(err.Error(), "remove client_encoding") {
		t.Errorf("a connection in another encoding: %v", err)
	}
}

// A start that fails because of the data folder must say what is wrong with it.
func TestDataFolderIsExplained(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(folder, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(file, "wardroom.db"):   "is not a folder: remove the file, or set another DATA_DIR",
		folder:                               "is a folder: set DATABASE_URL to a file in it",
		filepath.Join(closed, "wardroom.db"): "make that user its owner",
	} {
		if os.Getuid() == 0 && strings.HasPrefix(path, closed) {
			continue // root may write everywhere
		}
		if _, err := db.Own(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
