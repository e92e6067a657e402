package app_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/web"
)

// TestGenerated checks that the generated documents match the code. `make generate`
// writes them.
func TestGenerated(t *testing.T) {
	a := newHouse(t, db.SQLite, nil).build()
	for name, text := range map[string][]byte{
		"openapi.json": a.API.Document(), "settings.md": []byte(config.Markdown()), "errors.md": errorsPage(a),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "docs", name)
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: run `make generate`", err)
			}
			if !bytes.Equal(kept, text) {
				t.Errorf("docs/%s is out of date from line %d on: run `make generate` and commit it", name, firstDifference(kept, text))
			}
		})
	}
}

var _ = flag.Bool("update", false, "write the generated files instead of comparing them")

// Two Apps must write the same document, so that it changes only with the code.
func TestGeneratedIsDeterministic(t *testing.T) {
	a, b := newHouse(t, db.SQLite, nil).build(), newHouse(t, db.SQLite, nil).build()
	if x, y := a.API.Document(), b.API.Document(); !bytes.Equal(x, y) {
		t.Errorf("two documents of the same routes differ from line %d on", firstDifference(x, y))
	}
}

// errorsPage returns the text of docs/errors.md.
func errorsPage(a *app.App) []byte {
	var b bytes.Buffer
	b.WriteString("# Errors\n\n" +
		"Every error is a problem (RFC 9457, `application/problem+json`). Decide by its `code`, never by its texts.\n" +
		"What was special this time, and what to do about it, is in `detail`; which inputs were refused is in `errors`;\n" +
		"`request_id` finds the line in the log.\n\n" +
		"| Code | Status | Title |\n|---|---|---|\n")
	for _, f := range a.API.Faults() {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", f.Code, web.StatusOf(f), f.Title)
	}
	return b.Bytes()
}

func firstDifference(a, b []byte) int {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}
