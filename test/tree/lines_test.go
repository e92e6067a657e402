package tree_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns  = 120 // a tab is one
	longText    = 60  // a text of more columns may go beyond maxColumns, so that it can be searched for
	lineOfTable = `^internal/(app/demo_(ask|fill|jobs|plans|script|work)|gateway/demo/scenarios|gateway/link/feature|platform/redact/pattern)\.go$`
)

// shortLines is the rule that lines have at most maxColumns, except in tests, with a long text, and in the files that
// are tables with one row per line.
func shortLines(tree fs.FS) (broken []string, err error) {
	files, err := goFiles(tree)
	tables := regexp.MustCompile(lineOfTable)
	for _, f := range files {
		if f.test || strings.HasPrefix(f.path, "test/") || tables.MatchString(f.path) {
			continue
		}
		source, err := fs.ReadFile(tree, f.path)
		if err != nil {
			return nil, err
		}
		long := map[int]bool{} // the lines with a long text
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && utf8.RuneCountInString(lit.Value) > longText {
				for line := f.at(lit.Pos()).Line; line <= f.at(lit.End()).Line; line++ {
					long[line] = true
				}
			}
			return true
		})
		for i, line := range strings.Split(string(source), "\n") {
			if n := utf8.RuneCountInString(line); n > maxColumns && !long[i+1] && !strings.Contains(line, "//nolint") {
				broken = append(broken, fmt.Sprintf("%s:%d has %d columns, want at most %d", f.path, i+1, n, maxColumns))
			}
		}
	}
	return broken, err
}
