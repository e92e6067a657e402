package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A method that is used and not listed here would be missing without anybody
// being told what does not work.
func TestNeedsComplete(t *testing.T) {
	t.Parallel()
	listed, used := map[string]bool{}, map[string]bool{}
	for _, n := range needs() {
		if n.feature == "" || listed[n.method] {
			t.Errorf("%s has no feature, or stands there twice", n.method)
		}
		listed[n.method] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				for _, m := range methodsIn(c) {
					used[m] = true
				}
			}
			return true
		})
	}
	if len(used) < 10 {
		t.Fatalf("only %d methods are found: %v", len(used), used)
	}
	for m := range used {
		if !listed[m] {
			t.Errorf("%s is used and not among the needs", m)
		}
	}
	for m := range listed {
		if !used[m] {
			t.Errorf("%s is among the needs and not used", m)
		}
	}
}

// methodsIn are the names of methods that a call sends.
func methodsIn(c *ast.CallExpr) (methods []string) {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "call" && f.Sel.Name != "once" && f.Sel.Name != "roundTripOn" && f.Sel.Name != "send" {
		return nil
	}
	for _, arg := range c.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if m, err := strconv.Unquote(lit.Value); err == nil && m != "" {
				methods = append(methods, m)
			}
		}
	}
	return methods
}

// What the gateway calls an unknown method comes from outside; only a method
// that we use may get into the status.
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
		if n := unknownMethod(&wireError{Message: message}); n != nil {
			got = n.method
		}
		if got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

// A method that nobody has thought of must not go over the connection with
// operator.admin: it may start a run.
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
