package search

import (
	"fmt"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// fill creates n tasks with one common word and one unique word each.
func fill(t testing.TB, d *db.DB, n int) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for i := range n {
			id, title := fmt.Sprint("t", i), fmt.Sprint("common", i%50, " alone", i)
			_, err := tx.Exec(t.Context(), `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, moved_at, created_at, updated_at, version)
				VALUES (?, ?, ?, 'everywhere', 'todo', 'low', 'task', '[]', '[]', '[]', '{}', '{}', ?, ?, ?, 1)`, id, i+1, title, monday, monday, monday)
			if err == nil {
				err = Put(t.Context(), tx, Text{TaskID: id, Title: fmt.Sprint("TASK-", i+1, " ", title), Body: "everywhere " + strings.Repeat(title+" ", 10)})
			}
			if err != nil {
				return err
			}
		}
		if d.Engine() == db.Postgres {
			_, err := tx.Exec(t.Context(), `ANALYZE`)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A search does not scan all texts.
func TestPlan(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d, 5000)
		q, prefixes := parse("common7 alone77"), Filter{Kinds: []Kind{OfTask, OfComment}}.prefixes(false)
		explain, plans := `EXPLAIN QUERY PLAN `, map[string]string{matching: "VIRTUAL TABLE INDEX"}
		if d.Engine() == db.Postgres {
			explain, plans = `EXPLAIN `, map[string]string{inIndex: "search_texts_words", amongNewest(`task_id IS NOT NULL`, 500): "search_texts_of_work"}
		}
		for ids, index := range plans {
			rows, err := d.Query(t.Context(), explain+ids, q.match(d.Engine(), prefixes, nil), 20)
			lines, err := db.All(rows, err, func(r db.Row) (line string, err error) {
				if d.Engine() == db.Postgres {
					return line, r.Scan(&line)
				}
				var id, parent, unused int
				return line, r.Scan(&id, &parent, &unused, &line)
			})
			text := strings.Join(lines, "\n")
			if err != nil || !strings.Contains(text, index) || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "Seq Scan") {
				t.Errorf("%v\n%s", err, text)
			}
		}
	})
}
