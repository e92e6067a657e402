package web

import (
	"testing"

	"wardroom/internal/platform/fault"
)

// Only an ETag of this API names a version.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int64{
		"": 0, "*": 0, `"7-0a1b"`: 7, `W/"7-0a1b"`: 7, `"9223372036854775807-a"`: 1<<63 - 1, `"7"`: 7,
	} {
		m := IfMatch{IfMatch: header}
		err := m.parse()
		v := m.Version()
		if err != nil || (v == nil) != (want == 0) || (v != nil && *v != want) {
			t.Errorf("%s is version %v, %v", header, v, err)
		}
	}
	for _, header := range []string{`7-a`, `"7-a`, `7-a"`, `"x-a"`, `"0-a"`, `"-7-a"`, `"7-a", "8-b"`, `""`, `"`, `W/`, `"9223372036854775808-a"`, `"+7-a"`} {
		m := IfMatch{IfMatch: header}
		err := m.parse()
		v := m.Version()
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || v != nil {
			t.Errorf("%s is version %v, %v", header, v, err)
		}
	}
}
