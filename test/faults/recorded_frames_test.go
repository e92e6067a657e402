package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
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

// sameShape checks that a frame has only members that a recorded one has, with the same types. It may lack some, because
// the demo sends only what the client reads, which the client's own tests show. Lists are compared by their first
// elements, and empty lists match. except lists the paths that may differ.
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

// sameShape must detect differences.
func TestSameShapeNotices(t *testing.T) {
	t.Parallel()
	want := object{"a": 1.0, "b": []any{object{"c": "x"}}, "d": nil}
	for _, got := range []object{
		{"a": "1", "b": []any{}, "d": nil},
		{"a": 1.0, "b": []any{object{"c": 1.0}}, "d": nil},
		{"a": 1.0, "b": []any{}, "d": nil, "e": 1.0},
		{"a": 1.0, "b": object{}, "d": 1.0},
	} {
		if len(differences("", want, got)) == 0 {
			t.Errorf("%v was taken for %v", got, want)
		}
	}
	if d := differences("", want, object{"a": 2.0, "b": []any{object{}}}); len(d) > 0 {
		t.Errorf("the same shape differs: %v", d)
	}
}
