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

// recapBytes is how much of what a failed test said is told once more at the end
// of a verbose run: its last words.
const recapBytes = 16 << 10

// skipMark begins the line of a test that a run skipped.
const skipMark = "skipped "

// recorder follows a run of tests.
type recorder struct {
	out     io.Writer
	verbose bool
	said    map[string]*strings.Builder // what each test has printed so far, by name
	passed  []string
	skipped []string
	failed  []string
	recap   strings.Builder // why, of a verbose run
	bad     bool            // also without a test, as a build that fails
}

// follow shows a run as `go test` would without -json, or every line of it, and
// returns the names of the tests that passed, as the table writes them, and of
// those that were skipped, each after a skipMark. It fails
// when a test, a package or a build does, and when nothing ran. What failed is
// told at the end, where somebody who sees only the last lines finds it.
func follow(in io.Reader, out io.Writer, verbose bool) (ran []string, err error) {
	r := &recorder{out: out, verbose: verbose, said: map[string]*strings.Builder{}}
	for d := json.NewDecoder(in); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("this is no output of `go test -json`: %w", err)
		}
		r.take(l)
	}
	fmt.Fprint(out, &r.recap)
	switch {
	case len(r.failed) > 0:
		return nil, fmt.Errorf("%w: %s", errFailed, strings.Join(r.failed, ", "))
	case r.bad:
		return nil, errFailed
	case len(r.passed) == 0:
		return nil, errors.New("no test ran")
	}
	return append(r.passed, r.skipped...), nil
}

func (r *recorder) take(l line) {
	name := l.Package + "." + l.Test
	switch l.Action {
	case "output", "build-output":
		if r.verbose || l.Test == "" {
			fmt.Fprint(r.out, l.Output)
		}
		if l.Test == "" {
			return
		}
		if r.said[name] == nil {
			r.said[name] = &strings.Builder{}
		}
		r.said[name].WriteString(l.Output)
	case "pass":
		delete(r.said, name)
		if l.Test != "" {
			r.passed = append(r.passed, short(name))
		}
	case "skip":
		delete(r.said, name)
		if l.Test != "" {
			r.skipped = append(r.skipped, skipMark+short(name))
		}
	case "fail", "build-fail":
		r.bad = true
		if l.Test != "" {
			r.failed = append(r.failed, short(name))
			r.show(name)
			return
		}
		// A crash or a timeout leaves tests without an end: what they said tells why.
		for name := range r.said {
			if strings.HasPrefix(name, l.Package+".") {
				r.show(name)
			}
		}
	}
}

// show tells what a test said that failed: now, or at the end, if it was told
// already as it came.
func (r *recorder) show(name string) {
	said := r.said[name]
	if said == nil {
		return
	}
	delete(r.said, name)
	if !r.verbose {
		fmt.Fprint(r.out, said)
		return
	}
	text := said.String()
	fmt.Fprintf(&r.recap, "\n== %s failed, and said last:\n%s", short(name), text[max(0, len(text)-recapBytes):])
}

// short is the name of a test in the table: without the module, and without
// the folder that nearly all of it lies in.
func short(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "wardroom/"), "internal/")
}
