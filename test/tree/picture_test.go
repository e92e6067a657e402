package tree_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the picture and the order in docs/architecture.md instead of comparing them")

// TestGenerated checks the generated parts of docs/architecture.md. `make generate` writes them.
func TestGenerated(t *testing.T) {
	const path = "../../docs/architecture.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := architecturePage(t, page)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, want) {
		t.Error("the picture or the order in docs/architecture.md is out of date: run `make generate` and commit it")
	}
}

// architecturePage returns the page docs/architecture.md with its picture drawn anew from the imports, and the paragraph
// below it written anew from the order of the features.
func architecturePage(t *testing.T, page []byte) []byte {
	t.Helper()
	before, rest, _ := bytes.Cut(page, []byte("```mermaid\n"))
	_, rest, _ = bytes.Cut(rest, []byte("```\n\n"))
	_, after, found := bytes.Cut(rest, []byte("\n\n"))
	if !found {
		t.Fatal("docs/architecture.md has no picture: it needs a block of Mermaid and a paragraph below it")
	}
	files, err := goFiles(ownTree)
	if err != nil {
		t.Fatal(err)
	}
	inOrder := "The features in their order: " + strings.Join(order, " < ") + ". Each may import those before it."
	return slices.Concat(before, []byte("```mermaid\n"+picture(files)+"```\n\n"+inOrder+"\n\n"), after)
}

// picture returns a Mermaid flowchart of the packages below internal/ and which of them import which. It leaves out
// the plumbing and the schema, which most packages import, and the imports of app, which imports everything.
func picture(files []goFile) string {
	rooms, importers := map[string]bool{}, map[string]map[string]bool{}
	drawn := func(pkg string) bool {
		return pkg != "app" && pkg != "schema" && !strings.HasPrefix(pkg, "platform/")
	}
	for _, f := range files {
		if f.test || !strings.HasPrefix(f.path, "internal/") || !drawn(f.pkg) {
			continue
		}
		rooms[f.pkg] = true
		for _, name := range f.paths() {
			if to, ok := ours(name); ok && drawn(to) {
				if importers[to] == nil {
					importers[to] = map[string]bool{}
				}
				importers[to][f.pkg] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n  cmd/wardroom --> app --> features\n  subgraph features\n    ")
	maps.DeleteFunc(rooms, func(room string, _ bool) bool { return importers[room] != nil })
	b.WriteString(strings.Join(slices.Sorted(maps.Keys(rooms)), "; ") + "\n  end\n")
	for _, to := range slices.Sorted(maps.Keys(importers)) {
		fmt.Fprintf(&b, "  %s --> %s\n", strings.Join(slices.Sorted(maps.Keys(importers[to])), " & "), to)
	}
	return b.String()
}

// A new import must show in the picture, and what most packages import must not hide the rest.
func TestPicture(t *testing.T) {
	file := func(pkg, imports string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package " + pkg + "\nimport (" + imports + ")")}
	}
	files, err := goFiles(fstest.MapFS{
		"internal/app/app.go":           file("app", `"wardroom/internal/task"`),
		"internal/inbox/inbox.go":       file("inbox", `"wardroom/internal/platform/db"; "fmt"`),
		"internal/task/task.go":         file("task", `"wardroom/internal/inbox"; "wardroom/internal/schema"`),
		"internal/task/task_test.go":    file("task", `"wardroom/internal/event"`),
		"internal/platform/db/db.go":    file("db", ""),
		"internal/trouble/a.go":         file("trouble", `"wardroom/internal/inbox"`),
		"internal/trouble/b.go":         file("trouble", `"wardroom/internal/inbox"; "wardroom/internal/event"`),
		"test/realgateway/main_test.go": file("realgateway", `"wardroom/internal/task"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `flowchart TD
  cmd/wardroom --> app --> features
  subgraph features
    task; trouble
  end
  trouble --> event
  task & trouble --> inbox
`
	if got := picture(files); got != want {
		t.Errorf("the picture is\n%s\nwant\n%s", got, want)
	}
}
