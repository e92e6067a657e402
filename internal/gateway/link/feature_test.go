package link

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every method that the package sends is listed in needs, so that the status can report
// a missing one.
func TestNeedsComplete(t *testing.T) {
	t.Parallel()
	listed, used := map[string]bool{}, map[string]bool{}
	for _, n := range needs() {
		if n.feature == "" || listed[n.method] {
			t.Errorf("%s has no feature, or stands there twice", n.method)
		}
		listed[n.method] = true
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(own, methods...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			for _, m := range methodsIn(n) {
				used[m] = true
			}
			return true
		})
	}
	if len(used) < 10 {
		t.Fatalf("only %d methods are found: %v", len(used), used)
	}
	delete(used, "connect") // the handshake
	for m := range used {
		if !listed[m] {
			t.Errorf("%s is used but not in needs", m)
		}
	}
	for m := range listed {
		if !used[m] {
			t.Errorf("%s is in needs but not used", m)
		}
	}
}

// methodsIn returns the names of the methods that a call or a Request names.
func methodsIn(n ast.Node) (methods []string) {
	var names []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"call", "once", "Call", "CallOnce", "ConnFor"}, f.Sel.Name) {
			names = n.Args
		}
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		if ok && key.Name == "Method" {
			names = []ast.Expr{n.Value}
		}
	}
	for _, name := range names {
		if lit, ok := name.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if m, err := strconv.Unquote(lit.Value); err == nil && m != "" {
				methods = append(methods, m)
			}
		}
	}
	return methods
}

// An unknown method is named by the gateway; only a method from needs may get into the
// status.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"unknown method: cron.run":        "cron.run",
		"unknown method:  cron.run ":      "cron.run",
		"unknown method: cron.run\x1b[2J": "",
		"unknown method: of mine":         "",
		"unknown method":                  "",
		"cron.run is an unknown method":   "",
		"":                                "",
	} {
		got := ""
		if n := unknownMethod(&WireError{Message: message}); n != nil {
			got = n.method
		}
		if got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

// An unclassified method must not use the connection with operator.admin, because it
// may start a run.
func TestEveryMethodHasItsConnection(t *testing.T) {
	t.Parallel()
	runs := map[string]bool{"agent": true, "agent.wait": true, "chat.send": true, "tasks.cancel": true}
	for _, n := range needs() {
		switch over := laneOf(n.method); {
		case n.over == unclassified:
			t.Errorf("%s has no connection", n.method)
		case (over == runsLane) != runs[n.method]:
			t.Errorf("%s goes over lane %d", n.method, over)
		case (over == adminLane) != (n.scope == scopeAdmin):
			t.Errorf("%s needs %s and goes over lane %d", n.method, n.scope, over)
		}
	}
	for _, unknown := range []string{"sessions.steer", "sessions.send", "chat.inject", "tools.invoke", ""} {
		if laneOf(unknown) != runsLane {
			t.Errorf("%q, which nobody classified, goes over lane %d", unknown, laneOf(unknown))
		}
	}
}
