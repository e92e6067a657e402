package db

import (
	"fmt"
	"strings"
	"testing"
)

// Clients choose the filters of lists, and every combination is a separate query:
// an unlimited cache would fill the memory.
func TestTextsAreBounded(t *testing.T) {
	c := conn{engine: Postgres, rebound: new(textCache)}
	for i := range 3 * maxTexts {
		query := fmt.Sprintf("SELECT '?', %d%s", i, strings.Repeat(", ?", 2))
		want := fmt.Sprintf("SELECT '?', %d, $1, $2", i)
		for range 2 { // once created, once found
			if got := c.rebind(query); got != want {
				t.Fatalf("%q became %q", query, got)
			}
		}
		if n := len(c.rebound.known); n > maxTexts {
			t.Fatalf("%d texts are remembered", n)
		}
	}
}
