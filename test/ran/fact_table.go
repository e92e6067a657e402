package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// fact is one row of docs/specification.md.
type fact struct {
	ID    string   // section and number, such as "4.1"
	Where []string // files and folders, relative to the root of the repository
	Tests []string // such as "account.TestLogin/refuses_a_wrong_password"
	Later bool     // the fact is marked as not yet true
}

var (
	factID = regexp.MustCompile(`^\d+\.\d+$`)
	quoted = regexp.MustCompile("`([^`]+)`")
	test   = regexp.MustCompile(`^[a-z/]+\.Test\w+(/\S+)?$`)
	// later marks a row that is not yet true.
	later = "**Not yet**"
)

// parse reads the rows `| id | fact | where | tests |`. IDs must be unique. Each row
// must name a file and a test, unless it is marked as not yet true.
func parse(text string) ([]fact, error) {
	var facts []fact
	seen := map[string]bool{}
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !factID.MatchString(id) {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("%s has %d cells, want 4", id, len(cells))
		}
		f := fact{ID: id, Where: words(cells[2]), Tests: words(cells[3]), Later: strings.Contains(cells[3], later)}
		switch {
		case seen[id]:
			return nil, fmt.Errorf("%s appears twice", id)
		case f.Later && len(f.Tests) > 0:
			return nil, fmt.Errorf("%s names tests but is marked as not yet true", id)
		case !f.Later && (len(f.Where) == 0 || len(f.Tests) == 0):
			return nil, fmt.Errorf("%s has no file or no test", id)
		}
		seen[id] = true
		facts = append(facts, f)
	}
	if len(facts) == 0 {
		return nil, errors.New("the document has no rows")
	}
	return facts, nil
}

// named returns the test names in backquotes that a text contains, sorted and without duplicates.
func named(text string) []string {
	tests := slices.DeleteFunc(words(text), func(w string) bool { return !test.MatchString(w) })
	slices.Sort(tests)
	return slices.Compact(tests)
}

// words returns the strings that are enclosed in backquotes in a table cell or other text.
func words(cell string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}
