package tree_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// A rule returns everything in a tree that breaks it.
type rule func(tree fs.FS) (broken []string, err error)

// treeRules returns the rules by name.
func treeRules(t testing.TB) map[string]rule {
	return map[string]rule{
		"imports": imports,
		"http":    httpInItsFile,
		"tables":  tableOwners,
		"maps":    mapsAreFresh,
		"metrics": metricsInTheirFile,
		"libc":    libcOf(sqliteMod(t)),
		"tests":   noInitNoSkip,
		"lines":   shortLines,
	}
}

// TestTree checks the rules on the repository.
func TestTree(t *testing.T) {
	for name, r := range treeRules(t) {
		t.Run(name, func(t *testing.T) {
			broken, err := r(ownTree)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range broken {
				t.Error(b)
			}
		})
	}
}

const module = "wardroom"

// goFile is one Go file of a tree.
type goFile struct {
	*ast.File
	path string
	pkg  string // as mayImport names it
	test bool
	at   func(token.Pos) token.Position
}

// ownTree is the repository.
var ownTree = os.DirFS("../..")

// ownFiles reads the files of the repository once for all rules.
var ownFiles = sync.OnceValues(func() ([]goFile, error) { return readFiles(ownTree) })

// goFiles returns every Go file of the module, including those with build tags.
func goFiles(tree fs.FS) ([]goFile, error) {
	if tree == ownTree {
		return ownFiles()
	}
	return readFiles(tree)
}

func readFiles(tree fs.FS) ([]goFile, error) {
	var files []goFile
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && isForeign(tree, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{
			File: f, path: name, pkg: strings.TrimPrefix(path.Dir(name), "internal/"),
			test: strings.HasSuffix(name, "_test.go"), at: set.Position,
		})
		return nil
	})
	return files, err
}

// isForeign reports whether a folder does not belong to the module's packages.
func isForeign(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil || strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"
}

// paths returns the imports of the file.
func (f goFile) paths() []string {
	var list []string
	for _, i := range f.Imports {
		name, _ := strconv.Unquote(i.Path.Value) // cannot fail: the parser has read it
		list = append(list, name)
	}
	return list
}

// ours returns the package of an import path as mayImport names it. ok is false for
// packages of other modules.
func ours(name string) (pkg string, ok bool) {
	pkg, ok = strings.CutPrefix(name, module+"/")
	return strings.TrimPrefix(pkg, "internal/"), ok
}

// imports is the rule that packages import only what mayImport lists. Tests may also use
// the plumbing, dbtest and the demo runtime with its faults, but no other feature.
func imports(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	for _, f := range files {
		allowed, known := mayImport[f.pkg]
		if !known {
			broken = append(broken, fmt.Sprintf("%s: package %s is not on the map of who may import whom", f.path, f.pkg))
			continue
		}
		if f.test {
			allowed = slices.Concat(allowed, plumbing, []string{f.pkg, "platform/config", "platform/db/dbtest", "schema", "gateway/demo", "test/conform", "test/faults", "test/year"})
		}
		for _, name := range f.paths() {
			if to, ok := ours(name); ok && !slices.Contains(allowed, to) {
				broken = append(broken, fmt.Sprintf("%s imports %s, which the map does not allow to %s", f.path, to, f.pkg))
			}
		}
	}
	return broken, err
}

// httpInItsFile is the rule that a feature uses HTTP only in http.go, and that only those
// files and the platform use huma.
func httpInItsFile(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	for _, f := range files {
		feature := slices.Contains(features, f.pkg)
		edge := feature && path.Base(f.path) == "http.go"
		for _, name := range f.paths() {
			isHTTP := name == "net/http" || strings.HasPrefix(name, "net/http/") || name == module+"/internal/platform/web"
			isHuma := strings.HasPrefix(name, "github.com/danielgtaylor/huma")
			switch {
			case f.test || edge:
			case feature && isHTTP:
				broken = append(broken, fmt.Sprintf("%s imports %s: the HTTP of a feature is in its http.go", f.path, name))
			case isHuma && !strings.HasPrefix(f.pkg, "platform/"):
				broken = append(broken, fmt.Sprintf("%s imports %s: huma is for the platform and for http.go", f.path, name))
			}
		}
	}
	return broken, err
}

// Expressions for the tables that SQL writes and creates. "ON CONFLICT DO UPDATE SET"
// names no table.
var (
	writes  = regexp.MustCompile(`(?i)\b(?:(?:(?:insert(?:\s+or\s+\w+)?|replace|merge)\s+into|delete\s+from)\s+([^\s(;]+)|update\s+([^\s(;]+)(?:\s+(?:as\s+)?\w+)?\s+set\b)`)
	creates = regexp.MustCompile(`(?i)\bcreate\s+(?:virtual\s+)?table\s+(?:if\s+not\s+exists\s+)?"?(\w+)`)
	renames = regexp.MustCompile(`(?i)\balter\s+table\s+(\w+)\s+rename\s+to\s+(\w+)`)
	remark  = regexp.MustCompile(`--.*`)
)

// tableOwners is the rule that each table has an owner and only the owner writes it.
func tableOwners(tree fs.FS) (broken []string, err error) {
	tables, err := migratedTables(tree)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if owners[table] == "" {
			broken = append(broken, fmt.Sprintf("internal/schema: table %s is not on the map of owners", table))
		}
	}
	files, err := goFiles(tree)
	for _, f := range files {
		if f.test || f.pkg == "test/bench" || f.pkg == "test/year" { // they fill databases for tests
			continue
		}
		eachText(f.File, func(pos token.Pos, text string) {
			for _, m := range writes.FindAllStringSubmatch(text, -1) {
				table := strings.ToLower(strings.Trim(m[1]+m[2], "\"`"))
				switch owner := owners[table]; owner {
				case f.pkg:
				case "":
					broken = append(broken, fmt.Sprintf("%s writes %q, which is not on the map of owners", f.at(pos), table))
				default:
					broken = append(broken, fmt.Sprintf("%s writes %s, which belongs to %s", f.at(pos), table, owner))
				}
			}
		})
	}
	return broken, err
}

func migratedTables(tree fs.FS) (tables []string, err error) {
	names, err := fs.Glob(tree, "internal/schema/*.sql")
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		text = remark.ReplaceAll(text, nil)
		renamed := map[string]string{} // a rebuilt table gets its old name back
		for _, m := range renames.FindAllSubmatch(text, -1) {
			renamed[strings.ToLower(string(m[1]))] = strings.ToLower(string(m[2]))
		}
		for _, m := range creates.FindAllSubmatch(text, -1) {
			name := strings.ToLower(string(m[1]))
			tables = append(tables, cmp.Or(renamed[name], name))
		}
	}
	return tables, err
}

// unknown replaces a part of a text that is known only at run time. No package owns a
// table with this name.
const unknown = "…"

// eachText yields every string of a file. Strings joined with "+" are yielded as one.
func eachText(f ast.Node, yield func(token.Pos, string)) {
	var visit func(ast.Node) bool
	var join func(ast.Expr) string
	join = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.ParenExpr:
			return join(e.X)
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				return join(e.X) + join(e.Y)
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(e.Value); err == nil {
				return text
			}
		}
		ast.Inspect(e, visit)
		return unknown
	}
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD {
				yield(n.Pos(), join(n))
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				yield(n.Pos(), join(n))
			}
		}
		return true
	}
	ast.Inspect(f, visit)
}

// metricsInTheirFile is the rule that only metrics.go imports the Prometheus library.
func metricsInTheirFile(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	for _, f := range files {
		for _, name := range f.paths() {
			if strings.HasPrefix(name, "github.com/prometheus/") && f.pkg != "app" {
				broken = append(broken, fmt.Sprintf("%s imports %s, which is for internal/app alone", f.path, name))
			}
		}
	}
	return broken, err
}

// mapsAreFresh is the rule that everything listed in mayImport and owners exists. A stale
// entry would apply to a new package or table of the same name.
func mapsAreFresh(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	tables, err := migratedTables(tree)
	there := map[string]bool{}
	for _, f := range files {
		there[f.pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		if !there[pkg] {
			broken = append(broken, "package "+pkg+" is on the map and not in the tree")
		}
	}
	for _, table := range slices.Sorted(maps.Keys(owners)) {
		if !slices.Contains(tables, table) {
			broken = append(broken, "table "+table+" is on the map and not in the migrations")
		}
	}
	return broken, err
}

// noInitNoSkip is the rule that no package has an init function, and that a test is skipped only with -short, or by
// dbtest because the run excludes its engine.
func noInitNoSkip(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	for _, f := range files {
		testing := f.test || slices.Contains(f.paths(), "testing")
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					broken = append(broken, fmt.Sprintf("%s has an init function", f.at(n.Pos())))
				}
				return f.path != "internal/platform/db/dbtest/dbtest.go" || n.Name.Name != "need"
			case *ast.IfStmt:
				return !wantsShort(n.Cond)
			case *ast.SelectorExpr:
				if testing && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name) {
					broken = append(broken, fmt.Sprintf("%s skips a test", f.at(n.Pos())))
				}
			}
			return true
		})
	}
	return broken, err
}

// wantsShort reports whether a condition is testing.Short(), alone or together with others.
func wantsShort(cond ast.Expr) bool {
	switch cond := cond.(type) {
	case *ast.BinaryExpr:
		return cond.Op == token.LAND && (wantsShort(cond.X) || wantsShort(cond.Y))
	case *ast.CallExpr:
		is, ok := cond.Fun.(*ast.SelectorExpr)
		return ok && is.Sel.Name == "Short"
	}
	return false
}

// sound returns a small tree that breaks no rule.
func sound() fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"go.mod":                         text("module wardroom\n\nrequire (\n\tmodernc.org/libc v1.77.1\n\tmodernc.org/sqlite v1.60.1\n)\n"),
		"cmd/wardroom/main.go":           text(`package main; import _ "wardroom/internal/app"`),
		"internal/app/app.go":            text(`package app; import (_ "net/http"; _ "wardroom/internal/task"; _ "wardroom/internal/platform/web")`),
		"internal/event/store.go":        text("package event; const q = `UPDATE event_counter SET last = last + 1 RETURNING last`"),
		"internal/platform/web/web.go":   text(`package web; import (_ "net/http"; _ "github.com/danielgtaylor/huma/v2")`),
		"internal/schema/0004_tasks.sql": text("CREATE TABLE tasks (id TEXT);\n-- never CREATE TABLE notes\nCREATE TABLE IF NOT EXISTS task_counter (one INTEGER);"),
		"internal/task/http.go":          text(`package task; import (_ "net/http"; _ "github.com/danielgtaylor/huma/v2"; _ "wardroom/internal/platform/web")`),
		"internal/task/http_test.go":     text(`package task_test; import (_ "net/http/httptest"; _ "wardroom/internal/task"; _ "wardroom/internal/platform/db/dbtest")`),
		"internal/task/task.go":          text("package task; import (_ \"fmt\"; _ \"wardroom/internal/event\")\ntype T struct{}; func (T) init() {}; func (T) Skip() { T{}.Skip() }"),
		"internal/task/task_test.go":     text(`package task; func TestX(t *testing.T) { if testing.Short() && race { t.Skip("slow") } }`),
		"internal/task/store.go": text("package task; const q = `INSERT INTO tasks (` + c + `) VALUES (?) ON CONFLICT (id) DO UPDATE SET id = excluded.id`;" +
			"const r = \"UPDATE tasks AS t SET \" + c; const s = `SELECT * FROM users FOR UPDATE SKIP LOCKED`; const e = `update the settings`"),
		"internal/task/store_test.go": text("package task; const q = `DELETE FROM users`"),
		// Files of other modules, which the rules ignore.
		"tools/go.mod":                  text("module tools\n"),
		"tools/tools.go":                text(`package tools; func init() {}`),
		"internal/task/testdata/x.go":   text(`no Go at all`),
		"test/.cache/node_modules/x.go": text(`no Go at all`),
	}
}

// Each rule must report a tree that breaks it.
func TestTreeRulesFailWhenBroken(t *testing.T) {
	const sqlite = "module modernc.org/sqlite\n\nrequire (\n\tmodernc.org/libc v1.77.1\n)\n"
	rules := map[string]rule{"imports": imports, "http": httpInItsFile, "metrics": metricsInTheirFile, "tables": tableOwners, "libc": libcOf(sqlite), "tests": noInitNoSkip, "lines": shortLines}
	for name, r := range rules {
		if broken, err := r(sound()); len(broken) > 0 || err != nil {
			t.Errorf("%s: the sound tree: %q, %v", name, broken, err)
		}
	}
	for _, tt := range []struct{ rule, path, text, want string }{
		{"imports", "internal/notes/notes.go", `package notes`, "package notes is not on the map"},
		{"imports", "cli/cli.go", `package cli`, "package cli is not on the map"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/dispatch"`, "imports dispatch"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/gateway"`, "imports gateway"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/app"`, "imports app"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/platform/config"`, "imports platform/config"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/platform/db/dbtest"`, "imports platform/db/dbtest"},
		{"imports", "internal/task/claim.go", `package task; import _ "wardroom/internal/notes"`, "imports notes"},
		{"imports", "internal/task/claim.go", "//go:build journey\n\npackage task; import _ \"wardroom/internal/dispatch\"", "imports dispatch"},
		{"imports", "internal/task/claim_test.go", `package task; import _ "wardroom/internal/dispatch"`, "imports dispatch"},
		{"imports", "internal/event/tail.go", `package event; import _ "wardroom/internal/task"`, "imports task"},
		{"imports", "internal/gateway/cache.go", `package gateway; import _ "wardroom/internal/platform/db"`, "imports platform/db"},
		{"imports", "internal/gateway/proxy.go", `package gateway; import _ "wardroom/internal/platform/web"`, "imports platform/web"},
		{"imports", "internal/platform/web/login.go", `package web; import _ "wardroom/internal/account"`, "imports account"},
		{"imports", "internal/platform/page/sql.go", `package page; import _ "wardroom/internal/platform/db"`, "imports platform/db"},
		{"imports", "cmd/wardroom/task.go", `package main; import _ "wardroom/internal/task"`, "imports task"},
		{"http", "internal/task/service.go", `package task; import _ "net/http"`, "imports net/http"},
		{"http", "internal/task/service.go", `package task; import _ "net/http/httputil"`, "imports net/http/httputil"},
		{"http", "internal/task/service.go", `package task; import _ "wardroom/internal/platform/web"`, "imports wardroom/internal/platform/web"},
		{"http", "internal/task/service.go", `package task; import _ "github.com/danielgtaylor/huma/v2"`, "imports github.com/danielgtaylor/huma/v2"},
		{"http", "internal/standup/answer/fetch.go", `package answer; import _ "net/http"`, "imports net/http"},
		{"http", "internal/gateway/http.go", `package gateway; import _ "github.com/danielgtaylor/huma/v2"`, "huma is for the platform"},
		{"http", "internal/app/http.go", `package app; import _ "github.com/danielgtaylor/huma/v2"`, "huma is for the platform"},
		{"metrics", "internal/platform/web/count.go", `package web; import _ "github.com/prometheus/client_golang/prometheus"`, "which is for internal/app alone"},
		{"tables", "internal/task/q.go", "package task; const q = `DELETE FROM users WHERE TRUE`", "writes users, which belongs to account"},
		{"tables", "internal/task/q.go", "package task; const q = `insert into  Events (id) VALUES (1)`", "writes events, which belongs to event"},
		{"tables", "internal/task/q.go", "package task; const q = `WITH x AS (SELECT 1)\n\tUPDATE jobs\n\tSET state = 'done'`", "writes jobs, which belongs to platform/job"},
		{"tables", "internal/task/q.go", "package task; const q = `UPDATE \"users\" AS u SET active = FALSE`", "writes users"},
		{"tables", "internal/task/q.go", "package task; const q = `UPDATE users ` + `SET active = FALSE`", "writes users"},
		{"tables", "internal/task/q.go", "package task; func f(t string) string { return g(`DELETE FROM ` + t) }", `writes "…"`},
		{"tables", "internal/task/q.go", "package task; const q = 1 + len(`REPLACE INTO notes`)", `writes "notes", which is not on the map`},
		{"tables", "cmd/wardroom/q.go", "package main; const q = `INSERT OR IGNORE INTO tasks VALUES (1)`", "writes tasks, which belongs to task"},
		{"tables", "internal/schema/0009_notes.sql", "create table notes (id TEXT)", "table notes is not on the map"},
		{"libc", "go.mod", "require (\n\tmodernc.org/libc v1.78.0\n\tmodernc.org/sqlite v1.60.1\n)", "go.mod has modernc.org/libc v1.78.0"},
		{"libc", "go.mod", "require modernc.org/sqlite v1.60.1", "does not name modernc.org/libc"},
		{"libc", "go.mod", "require modernc.org/libc v1.77.1\nreplace modernc.org/libc => ../libc", "replaces"},
		{"tests", "internal/task/q.go", `package task; func init() {}`, "has an init function"},
		{"tests", "internal/task/q_test.go", `package task; func TestX(t *testing.T) { t.Skip("no database") }`, "skips a test"},
		{"tests", "internal/task/q_test.go", `package task; func TestX(t *testing.T) { t.Run("x", func(t *testing.T) { t.SkipNow() }) }`, "skips a test"},
		{"tests", "internal/task/q_test.go", `package task; func TestX(t *testing.T) { if testing.Short() || broken { t.Skip("broken") } }`, "skips a test"},
		{"lines", "internal/task/q.go", "package task; const q = " + strings.Repeat("1+", 50) + "1", "has 125 columns"},
		{"tests", "internal/platform/db/dbtest/q.go", `package dbtest; import "testing"; func X(t testing.TB) { t.Skipf("no %s", "database") }`, "skips a test"},
	} {
		tree := sound()
		tree[tt.path] = &fstest.MapFile{Data: []byte(tt.text)}
		broken, err := rules[tt.rule](tree)
		if err != nil || len(broken) != 1 || !strings.Contains(broken[0], tt.want) {
			t.Errorf("%s: %s with %s: %q, %v; want an error with %q", tt.rule, tt.path, tt.text, broken, err, tt.want)
		}
	}
	if broken, err := mapsAreFresh(fstest.MapFS{}); len(broken) != len(mayImport)+len(owners) || err != nil {
		t.Errorf("an empty tree has %d names of the maps missing, %v; want all %d", len(broken), err, len(mayImport)+len(owners))
	}
	if broken, err := libcOf("module modernc.org/sqlite")(sound()); len(broken) != 1 || err != nil {
		t.Errorf("an SQLite without libc: %q, %v", broken, err)
	}
}
