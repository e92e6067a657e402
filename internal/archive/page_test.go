package archive

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// A page of very long messages is bounded in size.
func TestPageOfLongMessages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		const many, size = 40, 300_000 // three pages
		rows := make([]row, many)
		for i := range rows {
			rows[i] = row{text: fmt.Sprint(i, " ", strings.Repeat("long ", size/5))}
		}
		b.say("agent:cto:main", rows...)
		b.look(t.Context())
		part, err := b.s.List(t.Context(), Filter{}, page.Want{Query: page.Query{Limit: 1}})
		if err != nil || len(part.Rows) != 1 {
			t.Fatal(part.Rows, err)
		}
		for _, f := range []Filter{{AgentID: "cto"}, {AgentID: "cto", LastKnown: true}} {
			if found, err := b.s.List(t.Context(), f, page.Want{}); err != nil || len(found.Rows) != 1 {
				t.Errorf("%+v lists %d sessions, %v", f, len(found.Rows), err)
			}
		}
		next, cursor := many, ""
		for n := 0; n == 0 || cursor != ""; n++ {
			some, further, err := b.s.Messages(t.Context(), part.Rows[0].ID, cursor, 500)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(some)
			if err != nil || len(text) > pageBytes+2*partBytes || len(some) == 0 || n == 0 && len(text) < pageBytes/2 {
				t.Fatalf("page %d has %d messages and %d bytes, %v", n, len(some), len(text), err)
			}
			for i := range some {
				if m := some[len(some)-1-i]; *m.Seq != int64(next) {
					t.Fatalf("message %d comes for %d", *m.Seq, next)
				}
				next--
			}
			cursor = further
		}
		if next != 0 {
			t.Errorf("%d messages are missing", next)
		}
	})
}
