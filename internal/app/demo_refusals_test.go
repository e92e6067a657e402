package app_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/app"
	"wardroom/internal/platform/db"
)

// Invalid options are reported before anything is created.
func TestDemoRefusals(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	log := slog.New(slog.DiscardHandler)
	dir := filepath.Join(t.TempDir(), "demo")
	if _, err := app.NewDemo(t.Context(), app.DemoOptions{Dir: dir, Port: "99999"}, log); !errors.Is(err, app.ErrSettings) {
		t.Errorf("a bad port: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused demo left a folder: %v", err)
	}
	d := startDemo(t, dir)
	if _, err := app.NewDemo(t.Context(), app.DemoOptions{Dir: dir, Port: "0"}, log); !errors.Is(err, db.ErrOwned) {
		t.Errorf("a second demo in the same folder: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "demo.json"), []byte(`{"jwt_se`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := app.NewDemo(t.Context(), app.DemoOptions{Dir: dir, Port: "0"}, log)
	if want := fmt.Sprintf("delete the folder %s to start over", dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("damaged secrets: %v, want %q in it", err, want)
	}
}
