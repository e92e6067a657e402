// Command ran checks that the tests named in documents have run and passed.
//
//	go test -json ./... | go run ./test/ran record FILE   shows the test output and writes the passed tests to FILE
//	go run ./test/ran check DOCUMENT.md... FILE...        fails if a test named in a document has not passed,
//	                                                      or if a test was skipped and has not passed in another run
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: `go test -json ./... | ran record [-v] FILE`, or `ran check DOCUMENT.md... FILE...`")

// run executes the command in args.
func run(args []string, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "record":
		return recordTo(args[1], in, out, false)
	case len(args) == 3 && args[0] == "record" && args[1] == "-v":
		return recordTo(args[2], in, out, true)
	case len(args) >= 3 && args[0] == "check":
		return check(args[1:], out)
	}
	return errUsage
}

// recordTo reads the output of a test run and writes the names of the passed and skipped
// tests to the file at path. It removes an existing file first, so that no file remains
// after a failed run.
func recordTo(path string, in io.Reader, out io.Writer, verbose bool) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ran, err := follow(in, out, verbose)
	if err != nil {
		return err
	}
	slices.Sort(ran)
	return os.WriteFile(path, []byte(strings.Join(ran, "\n")+"\n"), 0o600)
}

// check returns an error if a document names a test that, according to the record files, has not passed.
func check(files []string, out io.Writer) error {
	passed := map[string]bool{}
	var documents []string
	for _, file := range files {
		if strings.HasSuffix(file, ".md") {
			documents = append(documents, file)
			continue
		}
		if err := readLines(file, func(line string) { passed[line] = true }); err != nil {
			return err
		}
	}
	var missing []string
	for line := range passed {
		if name, skipped := strings.CutPrefix(line, skipMark); skipped && !passed[name] {
			missing = append(missing, name+" was skipped and has passed in no other run")
		}
	}
	slices.Sort(missing)
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		tests := named(string(text))
		for _, t := range tests {
			if !passed[t] {
				missing = append(missing, fmt.Sprintf("%s names %s, which has not passed", file, t))
			}
		}
		if len(tests) == 0 {
			missing = append(missing, file+" names no test")
		}
		fmt.Fprintf(out, "%s names %d tests\n", file, len(tests))
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "\n"))
	}
	return nil
}

// readLines passes each line of a file to the given function.
func readLines(path string, each func(string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	for scan.Scan() {
		each(scan.Text())
	}
	return scan.Err()
}
