package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recordings returns the frames of a real gateway in a testdata file.
func recordings(t *testing.T, file string) map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// recording returns one recorded frame.
func recording(t *testing.T, file, name string) object {
	t.Helper()
	raw, ok := recordings(t, file)[name]
	if !ok {
		t.Fatalf("no recording %q in %s", name, file)
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// sameShape checks that a frame has only members of a recorded one, with the same types, and all of them whose names
// the client reads. Lists are compared by their first elements, and empty lists match. except lists the paths that may
// differ.
func sameShape(t *testing.T, what string, want, got any, except ...string) {
	t.Helper()
	for _, d := range differences("", want, got) {
		path, _, _ := strings.Cut(d, ": ")
		if !slices.ContainsFunc(except, func(e string) bool { return path == e || strings.HasPrefix(path, e+"/") }) {
			t.Errorf("%s %s", what, d)
		}
	}
}

func differences(path string, want, got any) []string {
	switch want := want.(type) {
	case object:
		got, ok := got.(object)
		if !ok {
			return []string{fmt.Sprintf("%s: is not an object", path)}
		}
		var all []string
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[k]; ok {
				all = append(all, differences(path+"/"+k, want[k], got[k])...)
			} else if readByClient()[k] {
				all = append(all, fmt.Sprintf("%s/%s: is missing", path, k))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[k]; !ok {
				all = append(all, fmt.Sprintf("%s/%s: was never recorded", path, k))
			}
		}
		return all
	case []any:
		got, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: is not a list", path)}
		}
		if len(want) == 0 || len(got) == 0 {
			return nil
		}
		return differences(path+"[]", want[0], got[0])
	}
	if a, b := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); a != b {
		return []string{fmt.Sprintf("%s: is %s, recorded %s", path, b, a)}
	}
	return nil
}

// readByClient returns the names of the members that the client reads anywhere, from the tags in its source.
var readByClient = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	files, _ := filepath.Glob("../../internal/gateway/*.go") // the pattern is valid
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, tag := range jsonTag.FindAllSubmatch(source, -1) {
			names[string(tag[1])] = true
		}
	}
	return names
})

var jsonTag = regexp.MustCompile("`json:\"([A-Za-z_]+)")

// sameShape must detect differences.
func TestSameShapeNotices(t *testing.T) {
	t.Parallel()
	want := object{"seq": 1.0, "jobs": []any{object{"runId": "x"}}, "error": nil, "nobody reads": 1.0}
	for _, got := range []object{
		{"seq": 1.0, "jobs": []any{}},
		{"seq": "1", "jobs": []any{}, "error": nil},
		{"seq": 1.0, "jobs": []any{object{}}, "error": nil},
		{"seq": 1.0, "jobs": []any{}, "error": nil, "new": 1.0},
		{"seq": 1.0, "jobs": object{}, "error": 1.0},
		{"seq": 1.0, "jobs": []any{}, "error": nil, "nobody reads": "1"},
	} {
		if len(differences("", want, got)) == 0 {
			t.Errorf("%v was taken for %v", got, want)
		}
	}
	if d := differences("", want, object{"seq": 2.0, "jobs": []any{object{"runId": "y"}}, "error": nil}); len(d) > 0 {
		t.Errorf("the same shape differs: %v", d)
	}
}
