package db

import (
	"fmt"
	"strings"
	"testing"
)

// Whoever may read a list chooses its filters, and every combination of them is
// another query: remembered without an end they fill the memory.
func TestTextsAreBounded(t *testing.T) {
	c := conn{engine: Postgres, rebound: new(textCache)}
	for i := range 3 * maxTexts {
		query := fmt.Sprintf("SELECT '?', %d%s", i, strings.Repeat(", ?", 2))
		want := fmt.Sprintf("SELECT '?', %d, $1, $2", i)
		for range 2 { // made and found
			if got := c.rebind(query); got != want {
				t.Fatalf("%q became %q", query, got)
			}
		}
		if n := len(c.rebound.known); n > maxTexts {
			t.Fatalf("%d texts are remembered", n)
		}
	}
}
