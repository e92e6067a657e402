package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the root of the repository.
const root = "../.."

// The files and tests that the documents name must exist.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "specification.md"))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		for _, where := range f.Where {
			if _, err := os.Stat(filepath.Join(root, where)); err != nil {
				t.Errorf("%s: %v", f.ID, err)
			}
		}
	}
	for _, document := range []string{"specification.md", "promises.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named(string(text)) {
			if !exists(t, name) {
				t.Errorf("%s names %s, which does not exist", document, name)
			}
		}
	}
}

// exists reports whether the function of a test exists.
func exists(t *testing.T, name string) bool {
	t.Helper()
	folder, test, _ := strings.Cut(name, ".Test")
	function, _, _ := strings.Cut("Test"+test, "/")
	return testsOf(t, filepath.Join("internal", folder))[function] || testsOf(t, folder)[function]
}

// parsed caches the functions in the test files of each folder.
var parsed = map[string]map[string]bool{}

// testsOf returns the functions in the test files of a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	if found, ok := parsed[folder]; ok {
		return found
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range functions(file) {
			found[f] = true
		}
	}
	parsed[folder] = found
	return found
}

func TestParse(t *testing.T) {
	const head = "| | fact | where | tests |\n|---|---|---|---|\n"
	facts, err := parse(head + "| 4.1 | It lives | `a.go`, `b/` | `app.TestA`, `app.TestB/c_d` |\n| 4.2 | Later | | **Not yet**: with the dashboard |\n")
	want := []fact{
		{ID: "4.1", Where: []string{"a.go", "b/"}, Tests: []string{"app.TestA", "app.TestB/c_d"}},
		{ID: "4.2", Later: true},
	}
	if d := cmp.Diff(want, facts); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for what, text := range map[string]string{
		"an empty table":     head,
		"a row without test": head + "| 4.1 | It lives | `a.go` | |\n",
		"a row twice":        head + strings.Repeat("| 4.1 | It lives | `a.go` | `app.TestA` |\n", 2),
		"a cell too few":     head + "| 4.1 | It lives | `a.go` |\n",
		"both":               head + "| 4.1 | It lives | `a.go` | **Not yet**, but `app.TestA` |\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: parse returned no error", what)
		}
	}
}

// follow must report every failure, because merges depend on it.
func TestFollow(t *testing.T) {
	const (
		pass  = `{"Action":"pass","Package":"wardroom/internal/app","Test":"TestA/b"}` + "\n"
		said  = `{"Action":"output","Package":"wardroom/internal/app","Test":"TestB","Output":"why\n"}` + "\n"
		fail  = `{"Action":"fail","Package":"wardroom/internal/app","Test":"TestB"}` + "\n"
		whole = `{"Action":"fail","Package":"wardroom/internal/app"}` + "\n"
		skip  = `{"Action":"skip","Package":"wardroom/internal/app","Test":"TestC"}` + "\n"
	)
	var out strings.Builder
	passed, err := follow(strings.NewReader(pass+said+skip), &out, false)
	if err != nil || !slices.Equal(passed, []string{"app.TestA/b", "skipped app.TestC"}) || out.String() != "" {
		t.Errorf("passed %q, error %v, output %q", passed, err, out.String())
	}
	for what, text := range map[string]string{
		"a failed test": pass + said + fail, "a crash": pass + said + whole,
		"a failed build": pass + `{"Action":"build-fail","ImportPath":"x"}` + "\n",
		"nothing":        "", "only a skipped test": skip, "no JSON": "FAIL\n",
	} {
		for _, verbose := range []bool{false, true} {
			out.Reset()
			if _, err := follow(strings.NewReader(text), &out, verbose); err == nil {
				t.Errorf("%s: follow returned no error", what)
			}
			if strings.Contains(text, said) && !strings.HasSuffix(out.String(), "why\n") {
				t.Errorf("%s: the output of the failed test is missing: %q", what, out.String())
			}
		}
	}
}

// A reader of a long verbose run may look only at its end.
func TestFollowTellsLastWhatFailed(t *testing.T) {
	const event = `{"Action":"%s","Package":"wardroom/test/realgateway","Test":"%s","Output":"%s\n"}` + "\n"
	text := fmt.Sprintf(event, "output", "TestA/b", "why") + fmt.Sprintf(event, "output", "TestC", "well") +
		fmt.Sprintf(event, "fail", "TestA/b", "") + fmt.Sprintf(event, "output", "TestC", "goes on") + fmt.Sprintf(event, "pass", "TestC", "")
	var out strings.Builder
	_, err := follow(strings.NewReader(text), &out, true)
	if err == nil || !strings.Contains(err.Error(), "test/realgateway.TestA/b") {
		t.Errorf("the failure is %v", err)
	}
	if want := "why\nwell\ngoes on\n\n== test/realgateway.TestA/b failed with this output:\nwhy\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

// A test counts only if it has run and passed; that it exists is not enough.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	table, ran := filepath.Join(dir, "table.md"), filepath.Join(dir, "ran")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(table, "| 4.1 | It lives | `a.go` | `app.TestA` |\n| 4.2 | It stops | `a.go` | `app.TestB/c` |\n")
	record := func(names ...string) error {
		var in strings.Builder
		for _, name := range names {
			in.WriteString(`{"Action":"pass","Package":"wardroom/internal/app","Test":"` + name + `"}` + "\n")
		}
		return run([]string{"record", ran}, strings.NewReader(in.String()), &strings.Builder{})
	}
	args := []string{"check", table, ran}
	if err := record("TestA", "TestB", "TestB/c"); err != nil {
		t.Fatal(err)
	}
	if err := run(args, nil, &strings.Builder{}); err != nil {
		t.Error(err)
	}
	if err := record("TestA", "TestB"); err != nil {
		t.Fatal(err)
	}
	if err := run(args, nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "names app.TestB/c, which") {
		t.Errorf("a test that did not run: %v", err)
	}
	if err := record("TestA", "TestB", "TestB/c"); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	write(other, "skipped app.TestB/c\n")
	if err := run(append(args, other), nil, &strings.Builder{}); err != nil {
		t.Errorf("a test that one run skipped and another passed: %v", err)
	}
	write(other, "skipped app.TestD\n")
	if err := run(append(args, other), nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "app.TestD was skipped") {
		t.Errorf("a test that every run skipped: %v", err)
	}
	write(table, "Nothing that anybody could show.\n")
	if err := run(args, nil, &strings.Builder{}); err == nil {
		t.Error("a document that names no test: no error")
	}
	if err := record(); err == nil {
		t.Error("a run without tests: no error")
	}
	if err := run(args, nil, &strings.Builder{}); err == nil {
		t.Error("the record of the earlier run still exists")
	}
	if err := run([]string{"record"}, nil, &strings.Builder{}); err == nil {
		t.Error("an incomplete command: no error")
	}
}

func functions(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names = append(names, f.Name.Name)
		}
	}
	return names
}
