package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// line is one line of the output of `go test -json`. `go doc test2json` describes the
// format.
type line struct {
	Action  string
	Package string
	Test    string
	Output  string
}

var errFailed = errors.New("tests failed")

// recapBytes limits how much of a failed test's output a verbose run repeats at the end.
const recapBytes = 16 << 10

// skipMark is the prefix that marks a skipped test in a record file.
const skipMark = "skipped "

// recorder collects the results of a test run.
type recorder struct {
	out     io.Writer
	verbose bool
	output  map[string]*strings.Builder // output of each unfinished test, by name
	passed  []string
	skipped []string
	failed  []string
	recap   strings.Builder // output of the failed tests of a verbose run
	bad     bool            // a test, a package or a build has failed
}

// follow reads the output of `go test -json` and prints it as plain `go test` would, or as `go test
// -v` if verbose is set. Verbose output ends with a repetition of the failed tests' output. follow
// returns the names of the passed and skipped tests in the form used in documents; those of skipped
// tests have the prefix skipMark. It returns an error if a test, a package or a build fails, or if
// no test passes.
func follow(in io.Reader, out io.Writer, verbose bool) (ran []string, err error) {
	r := &recorder{out: out, verbose: verbose, output: map[string]*strings.Builder{}}
	for d := json.NewDecoder(in); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the input is not the output of `go test -json`: %w", err)
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

// take processes one line of the test output.
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
		if r.output[name] == nil {
			r.output[name] = &strings.Builder{}
		}
		r.output[name].WriteString(l.Output)
	case "pass":
		delete(r.output, name)
		if l.Test != "" {
			r.passed = append(r.passed, short(name))
		}
	case "skip":
		delete(r.output, name)
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
		// After a crash or a timeout, the output of unfinished tests shows the reason.
		for name := range r.output {
			if strings.HasPrefix(name, l.Package+".") {
				r.show(name)
			}
		}
	}
}

// show prints the output of a failed test. In a verbose run, the output has already
// been printed, so show adds the end of it to the recap instead.
func (r *recorder) show(name string) {
	output := r.output[name]
	if output == nil {
		return
	}
	delete(r.output, name)
	if !r.verbose {
		fmt.Fprint(r.out, output)
		return
	}
	text := output.String()
	fmt.Fprintf(&r.recap, "\n== %s failed with this output:\n%s", short(name), text[max(0, len(text)-recapBytes):])
}

// short returns a test's name as used in documents, without the prefixes "wardroom/" and
// "internal/".
func short(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "wardroom/"), "internal/")
}
