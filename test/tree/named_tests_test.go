package tree_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	factRow   = regexp.MustCompile(`^\|\s*(\d+\.\d+)\s*\|`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	namedTest = regexp.MustCompile(`^([a-z/]+)\.(Test\w+)(/\S+)?$`)
)

// A document that names a test which does not exist promises what nothing proves. `make test` and `make nightly`
// together run every test.
func TestDocumentsNameTests(t *testing.T) {
	tests := testFunctions{}
	for _, document := range []string{"specification.md", "promises.md"} {
		text, err := os.ReadFile("../../docs/" + document)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, words := range quoted.FindAllStringSubmatch(string(text), -1) {
			if name := namedTest.FindStringSubmatch(words[1]); name != nil {
				found++
				if !tests.in(t, "internal/"+name[1])[name[2]] && !tests.in(t, name[1])[name[2]] {
					t.Errorf("%s names %s, which does not exist", document, words[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("%s names no test", document)
		}
	}
}

// Each row of the specification is `| number | fact | where | tests |` and names existing files and a test.
func TestFactsNameFilesAndTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for row := range strings.Lines(string(text)) {
		id := factRow.FindStringSubmatch(row)
		if id == nil {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		if seen[id[1]] || len(cells) != 4 {
			t.Errorf("%s appears twice, or has %d cells instead of 4", id[1], len(cells))
			continue
		}
		seen[id[1]] = true
		files, tests := quoted.FindAllStringSubmatch(cells[2], -1), quoted.FindAllStringSubmatch(cells[3], -1)
		if len(files) == 0 || len(tests) == 0 {
			t.Errorf("%s names no file or no test", id[1])
		}
		for _, file := range files {
			if _, err := os.Stat("../../" + file[1]); err != nil {
				t.Errorf("%s: %v", id[1], err)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("the specification has no rows")
	}
}

// testFunctions caches the names of the functions in the test files of each folder.
type testFunctions map[string]map[string]bool

// in returns the names of the functions in the test files of a folder, which is relative to the root.
func (c testFunctions) in(t *testing.T, folder string) map[string]bool {
	t.Helper()
	if found, ok := c[folder]; ok {
		return found
	}
	files, err := filepath.Glob("../../" + folder + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				found[f.Name.Name] = true
			}
		}
	}
	c[folder] = found
	return found
}
