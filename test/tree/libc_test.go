package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var libc = regexp.MustCompile(`(?m)^\s*(?:require\s+)?modernc\.org/libc\s+(v\S+)`)

// libcOf returns the rule that go.mod requires the same version of modernc.org/libc as
// SQLite's go.mod. SQLite is tested only with that version.
func libcOf(sqlite string) rule {
	return func(tree fs.FS) ([]string, error) {
		ours, err := fs.ReadFile(tree, "go.mod")
		if err != nil {
			return nil, err
		}
		want, got := libc.FindStringSubmatch(sqlite), libc.FindSubmatch(ours)
		switch {
		case want == nil:
			return []string{"the go.mod of modernc.org/sqlite asks for no modernc.org/libc: look at what it does now"}, nil
		case got == nil:
			return []string{"go.mod does not name modernc.org/libc, so that any module may move it"}, nil
		case string(got[1]) != want[1]:
			return []string{fmt.Sprintf("go.mod has modernc.org/libc %s, and modernc.org/sqlite asks for %s", got[1], want[1])}, nil
		case regexp.MustCompile(`modernc\.org/\S+(\s+v\S+)?\s+=>`).Match(ours):
			return []string{"go.mod replaces a module of modernc.org"}, nil
		}
		return nil, nil
	}
}

// sqliteMod returns the go.mod of the SQLite module in use. It is in the module
// cache, so no network is needed.
func sqliteMod(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	name, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
