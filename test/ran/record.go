package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// line is one line of `go test -json`, as `go doc test2json` describes it.
type line struct {
	Action  string
	Package string
	Test    string
	Output  string
}

var errFailed = errors.New("tests failed")

// follow shows a run as `go test` would without -json, or every line of it, and
// returns the names of the tests that passed, as the table writes them. It fails
// when a test, a package or a build does, and when nothing ran.
func follow(in io.Reader, out io.Writer, verbose bool) (passed []string, err error) {
	said := map[string]*strings.Builder{} // what each test has printed so far, by name
	failed := false
	for d := json.NewDecoder(in); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("this is no output of `go test -json`: %w", err)
		}
		name := l.Package + "." + l.Test
		switch l.Action {
		case "output", "build-output":
			if verbose || l.Test == "" {
				fmt.Fprint(out, l.Output)
				continue
			}
			if said[name] == nil {
				said[name] = &strings.Builder{}
			}
			said[name].WriteString(l.Output)
		case "pass":
			delete(said, name)
			if l.Test != "" {
				passed = append(passed, short(name))
			}
		case "fail", "build-fail":
			failed = true
			if l.Test != "" {
				show(out, said, name)
				continue
			}
			// A crash or a timeout leaves tests without an end: what they said tells why.
			for name := range said {
				if strings.HasPrefix(name, l.Package+".") {
					show(out, said, name)
				}
			}
		}
	}
	switch {
	case failed:
		return nil, errFailed
	case len(passed) == 0:
		return nil, errors.New("no test ran")
	}
	return passed, nil
}

func show(out io.Writer, said map[string]*strings.Builder, name string) {
	if text := said[name]; text != nil {
		fmt.Fprint(out, text)
		delete(said, name)
	}
}

// short is the name of a test in the table: without the module, and without
// the folder that nearly all of it lies in.
func short(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "wardroom/"), "internal/")
}
