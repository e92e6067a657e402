package enum_test

import (
	"testing"

	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/fault"
)

type size string

func sizes() []size { return []size{"small", "medium", "large"} }

// A wrong word is refused with the words that are allowed.
func TestCheck(t *testing.T) {
	t.Parallel()
	var bad fault.Fields
	enum.Check(&bad, "size", "medium", sizes())
	if err := bad.Err(); err != nil {
		t.Errorf("an allowed word: %v", err)
	}
	enum.Check(&bad, "size", "huge", sizes())
	f := fault.Of(bad.Err())
	if want := (fault.Field{Pointer: "/size", Detail: "The size must be small, medium, or large."}); f == nil || len(f.Fields) != 1 || f.Fields[0] != want {
		t.Errorf("a wrong word: %+v, want %+v", f, want)
	}
}

// The API's document lists the words in their order.
func TestSchema(t *testing.T) {
	t.Parallel()
	if s := enum.Schema(sizes()); s.Type != "string" || len(s.Enum) != 3 || s.Enum[0] != "small" || s.Enum[2] != "large" {
		t.Errorf("the schema is %+v", s)
	}
}
