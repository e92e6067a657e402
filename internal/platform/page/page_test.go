package page_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
)

// A cursor must decode to exactly the position that it was created from, or rows
// are skipped or repeated.
func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
		parts := rapid.SliceOfN(text, 1, 4).Draw(t, "parts")
		got, err := page.Decode(page.Encode(parts...), len(parts))
		if err != nil || !slices.Equal(got, parts) {
			t.Fatalf("%q came back as %q, %v", parts, got, err)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	good := page.Encode("2026", "id")
	tests := map[string]string{
		"another number of parts": page.Encode("id"),
		"another version":         "2" + good[1:],
		"not base64":              "1!!!!",
		"not a list":              "1e30",
		"a longer spelling":       good + "=",
		"something after it":      good + "AA",
		"NUL":                     page.Encode("a\x00b", "id"),
		"other JSON of the same":  "1WyAiMjAyNiIsImlkIl0",
	}
	for name, cursor := range tests {
		t.Run(name, func(t *testing.T) {
			parts, err := page.Decode(cursor, 2)
			if !errors.Is(err, page.ErrCursor) || parts != nil {
				t.Fatalf("got %q, %v", parts, err)
			}
			f := fault.Of(err)
			if f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Pointer != "query.cursor" {
				t.Errorf("got %+v", f)
			}
		})
	}
	if parts, err := page.Decode("", 2); parts != nil || err != nil {
		t.Errorf("the empty cursor gave %q, %v", parts, err)
	}
}

// Decoding arbitrary text must neither panic nor accept what Encode does not
// produce.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "1", page.Encode("a", "b"), "1WyJhIl0", "1bnVsbA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		parts, err := page.Decode(cursor, 2)
		if err == nil && cursor != "" && page.Encode(parts...) != cursor {
			t.Errorf("%q is accepted and not ours", cursor)
		}
	})
}

func TestCut(t *testing.T) {
	at := func(n int) []string { return []string{string(rune('a' + n))} }
	rows, next := page.Cut([]int{0, 1, 2}, 2, at)
	if !slices.Equal(rows, []int{0, 1}) || next != page.Encode("b") {
		t.Errorf("got %v, %q", rows, next)
	}
	// A page that is exactly full is the last one.
	rows, next = page.Cut([]int{0, 1}, 2, at)
	if len(rows) != 2 || next != "" {
		t.Errorf("got %v, %q", rows, next)
	}
}

func TestLink(t *testing.T) {
	u, err := url.Parse("/api/v1/t%2Fx?status=todo&tag=a&tag=b&cursor=old")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := page.Link(u, "new"), `</api/v1/t%2Fx?cursor=new&status=todo&tag=a&tag=b>; rel="next"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := page.Link(u, ""); got != "" {
		t.Errorf("the last page links to %s", got)
	}
}
