package task

import (
	"encoding/json"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/test/year"
)

// The growth test and the benchmark are not part of `make test`, so a change of the schema must show here. They would
// measure nothing if the tasks were not stored as the service stores them.
func TestYearOfUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const tasks = 200
		plan := year.Plan{Now: time.Now().UTC().Truncate(time.Second), Full: year.Of(tasks), PasswordHash: "hash"}
		if err := plan.Grow(t.Context(), d, year.Size{}, year.Of(tasks)); err != nil {
			t.Fatal(err)
		}
		rows, err := d.Query(t.Context(), `SELECT card, rest FROM tasks`)
		cards, err := db.All(rows, err, func(r db.Row) (c Card, err error) { return c, r.Scan(&c.board, &c.rest) })
		if err != nil || len(cards) != tasks {
			t.Fatalf("%d tasks, %v", len(cards), err)
		}
		for _, c := range cards {
			made, err := c.Task()
			if err != nil {
				t.Fatal(err)
			}
			if want, err := json.Marshal(made); err != nil || string(want) != string(c.AppendJSON(nil)) {
				t.Fatalf("stored as\n%s\nwant\n%s, %v", c.AppendJSON(nil), want, err)
			}
		}
	})
}
