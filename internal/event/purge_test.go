package event

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

var meeting = Subject{Kind: "standup", ID: "9", Name: "2026-11-16"}

// purge removes in one transaction.
func purge(t *testing.T, d *db.DB, before time.Time, limit int) (n int64) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) (err error) {
		n, err = Purge(t.Context(), tx, before, limit)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What goes is gone for good, so it must not be a moment too young, and never a
// task's history or the audit. Who watched must hear that they missed something.
func TestPurge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		border := monday
		record(t, d, border.Add(-time.Hour), Activity, "task.changed", task1, nil)                   // 1: history
		record(t, d, border.Add(-time.Hour), Audit, "user.changed", Subject{Kind: "user"}, nil)      // 2: audit
		record(t, d, border.Add(-3*time.Hour), Activity, "standup.started", meeting, nil)            // 3: passing
		record(t, d, border.Add(-time.Millisecond), Activity, "standup.closed", meeting, nil)        // 4: passing, the youngest
		record(t, d, border, Activity, "standup.opened", meeting, nil)                               // 5: at the border
		record(t, d, border.Add(-48*time.Hour), Activity, "standup.opened", meeting, nil)            // 6: passing, the oldest
		record(t, d, border.Add(time.Hour), Activity, "standup.closed", meeting, nil)                // 7: young
		record(t, d, border.Add(-time.Hour), Audit, "standup.watched", meeting, nil)                 // 8: audit
		record(t, d, border.Add(time.Hour), Activity, "task.changed", task1, map[string]int{"n": 1}) // 9: young

		n, oldest, err := CountPassing(t.Context(), d, border)
		if err != nil || n != 3 || !oldest.Equal(border.Add(-48*time.Hour)) {
			t.Fatalf("%d would go, the oldest of %s, %v; want 3, the oldest of two days ago", n, oldest, err)
		}
		s := start(t, &Service{DB: d})
		live := s.open(t, "owner", "/events", "")
		live.want("9 hello")
		if n := purge(t, d, border, 2); n != 2 {
			t.Errorf("%d went, want 2", n)
		}
		want := func(left ...int64) {
			t.Helper()
			if got, err := after(t.Context(), d, 0); err != nil || !slices.Equal(got, left) {
				t.Errorf("%v are left, %v; want %v", got, err, left)
			}
		}
		want(1, 2, 4, 5, 7, 8, 9) // the two oldest went
		if n := purge(t, d, border, 2); n != 1 {
			t.Errorf("%d went, want the last", n)
		}
		want(1, 2, 5, 7, 8, 9)
		if n := purge(t, d, border, 2); n != 0 {
			t.Errorf("%d went of nothing", n)
		}
		if n, oldest, err := CountPassing(t.Context(), d, border); err != nil || n != 0 || !oldest.IsZero() {
			t.Errorf("%d would still go, the oldest of %s, %v", n, oldest, err)
		}
		part, err := Read(t.Context(), d, Filter{Class: Activity}, page.Want{Query: page.Query{Limit: 10}, Total: true})
		if err != nil || ids(part.Rows) != "9 7 5 1" || part.Total == nil || *part.Total != 4 {
			t.Errorf("the list has %s, %v", ids(part.Rows), err)
		}
		s.open(t, "owner", "/events", "5").want("9 reset")
		s.open(t, "owner", "/events", "6").want("6 hello", "7 standup.closed", "8 standup.watched", "9 task.changed")
		record(t, d, border, Activity, "task.changed", task1, nil)
		live.want("10 task.changed") // and who is there misses nothing
	})
}

// A purge that is undone must not tell anybody that they missed something.
func TestPurgeUndone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, monday, Activity, "standup.opened", meeting, nil)
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if n, err := Purge(t.Context(), tx, monday.Add(time.Hour), 10); err != nil || n != 1 {
				t.Errorf("%d, %v", n, err)
			}
			return context.Canceled
		})
		at, failed := standing(t.Context(), d)
		if err == nil || failed != nil || at != (stand{last: 1}) {
			t.Errorf("%v, %v, %+v", err, failed, at)
		}
	})
}

// The purge runs every night over everything there is: each batch, and the
// count, must read what goes and nothing else.
func TestPurgePlans(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		seed(t, d, 20_000)
		explain := `EXPLAIN QUERY PLAN `
		if d.Engine() == db.Postgres {
			explain = `EXPLAIN `
		}
		for name, plan := range map[string]string{
			"count": planOf(t, d, explain+countPassing, monday),
			"purge": planOf(t, d, explain+purgePassing, monday, 50),
		} {
			bad := []string{"Seq Scan on events", "SCAN events\n", "TEMP B-TREE", "Sort", "events_by_time", "events_of_class"}
			if !strings.Contains(plan, "events_passing") || slices.ContainsFunc(bad, func(b string) bool { return strings.Contains(plan, b) }) {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
	})
}

// seed fills the log with n events of n minutes, of which a quarter passes with
// time, half is the history of tasks, and the rest is audit.
func seed(t testing.TB, d *db.DB, n int) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for i := 0; i < n; i += 4 {
			_, err := tx.Exec(t.Context(), `
				INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data)
				SELECT ? + n.i, ?, n.class, 'k', 'ada', 'Ada', n.kind, '1', 'One', '{}'
				FROM (SELECT 1 AS i, 'activity' AS class, 'task' AS kind UNION ALL SELECT 2, 'activity', 'task'
					UNION ALL SELECT 3, 'audit', 'user' UNION ALL SELECT 4, 'activity', 'standup') AS n`,
				i, monday.Add(time.Duration(i-n/2)*time.Minute))
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(t.Context(), `UPDATE event_counter SET last = ?`, n)
		return err
	})
	if err == nil && d.Engine() == db.Postgres {
		err = d.Tx(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), `ANALYZE events`); return err })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// planOf is how the database would answer a query.
func planOf(t testing.TB, d *db.DB, query string, args ...any) string {
	t.Helper()
	rows, err := d.Query(t.Context(), query, args...)
	lines, err := db.All(rows, err, func(r db.Row) (line string, err error) {
		if d.Engine() == db.Postgres {
			return line, r.Scan(&line)
		}
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}
