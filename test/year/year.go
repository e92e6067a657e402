// Package year fills a database with a year of use, for the growth test and the
// benchmark. It writes rows with bulk SQL, which takes seconds where the services
// would take an hour.
//
// Rows are made from the newest to the oldest at a constant rate, so that a
// larger database has a longer history and not a busier day.
package year

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
)

// Size is the number of rows of the tables that grow with use.
type Size struct {
	Tasks, Sessions, Events, Runs int
	Others                        int // each of comments, inbox items, reports, background jobs, slots and so on
}

// Of is a size with n rows in each growing table.
func Of(n int) Size { return Size{n, n, n, n, n} }

// Plan says what a year looks like.
type Plan struct {
	Now          time.Time // when the newest rows were made
	Full         Size      // the size of a whole year; it sets the rate
	PasswordHash string    // of every account
}

// Agents are the agents that work on the tasks. The account of the i-th has the
// address <agent>@example.com and the id UserID(i).
func Agents() []string {
	ids := []string{"coo", "cto", "cpo", "cmo"}
	for i := len(ids); i < agents; i++ {
		ids = append(ids, fmt.Sprint("a-", i))
	}
	return ids
}

const (
	agents   = 20
	users    = 200 // accounts, agents included
	projects = 20

	userPrefix = "00000000-0000-7000-8000-000000000"
	firstTask  = 100_000    // the number of the newest task, so that a full year has every number from 1
	firstEvent = 90_000_000 // the id of the newest event
)

// Admin is the email of an admin's account.
const Admin = "u-20@example.com"

// UserID is the id of the i-th account.
func UserID(i int) string { return fmt.Sprint(userPrefix, 100+i) }

// TaskKey is the key of the i-th newest task.
func TaskKey(i int) string { return fmt.Sprint("TASK-", firstTask-i) }

// TaskID is the id of the i-th newest task.
func TaskID(i int) string { return fmt.Sprint("t-", firstTask-i) }

// EventID is the id of the i-th newest event.
func EventID(i int) int64 { return firstEvent - int64(i) }

// lastMigration is the newest migration whose tables the package fills. What later
// ones derive from these tables, their own SQL makes of the rows that are there.
const lastMigration = "0035"

// Schema returns the migrations that a database has when it is filled. Apply all
// the others when it is full.
func Schema() db.Schema { return db.Schema{Files: upTo{schema.FS()}, Program: "0.0.0-test"} }

// upTo hides the migrations after lastMigration.
type upTo struct{ fs.FS }

// ReadDir is called by fs.Glob.
func (u upTo) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(u.FS, name)
	later := func(e fs.DirEntry) bool { return e.Name()[:min(len(lastMigration), len(e.Name()))] > lastMigration }
	return slices.DeleteFunc(all, later), err
}

// Grow adds the rows that a database of size have lacks to be of size want. A new
// database, migrated with Schema, has the zero size. No other connection may write at the same time.
func (p Plan) Grow(ctx context.Context, d *db.DB, have, want Size) error {
	w := writer{plan: p, engine: d.Engine()}
	return d.Tx(ctx, func(tx *db.Tx) error {
		if d.Engine() == db.SQLite {
			// The default of 2 MB would write most pages of the indexes several times.
			if _, err := tx.Exec(ctx, `PRAGMA cache_size = -200000`); err != nil {
				return err
			}
		}
		if have == (Size{}) {
			if err := w.setUp(ctx, tx); err != nil {
				return err
			}
		}
		for _, t := range w.tables() {
			from, to := t.rows(have), t.rows(want)
			if err := w.fill(ctx, tx, t, from, to); err != nil {
				return fmt.Errorf("fill %s: %w", t.name, err)
			}
		}
		return w.setCounters(ctx, tx, want)
	})
}

// setUp makes what does not grow: accounts, projects, teams and the roster.
func (w writer) setUp(ctx context.Context, tx *db.Tx) error {
	for _, t := range w.fixed() {
		if err := w.fill(ctx, tx, t, 0, t.rows(Size{})); err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
	}
	type entry struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var roster []entry
	for i, id := range Agents() {
		roster = append(roster, entry{id, strings.ToUpper(id)})
		_, err := tx.Exec(ctx, `UPDATE users SET agent_id = ?, name = ?, name_key = ?, email = ?, email_key = ? WHERE id = ?`,
			id, strings.ToUpper(id), id, id+"@example.com", id+"@example.com", UserID(i))
		if err != nil {
			return err
		}
	}
	text, err := json.Marshal(roster)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO agent_roster (one, agents, as_of) VALUES (1, ?, ?)`, string(text), w.plan.Now)
	return err
}

// setCounters moves the counters to the newest rows. On PostgreSQL it also leaves
// the dead versions of their rows that a long transaction beside many changes
// would leave.
func (w writer) setCounters(ctx context.Context, tx *db.Tx, size Size) error {
	for table, last := range map[string]int{"event_counter": firstEvent, "task_counter": firstTask} {
		if w.engine == db.Postgres {
			again := fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..5000 LOOP UPDATE %s SET last = last + 1; END LOOP; END $$`, table)
			if _, err := tx.Exec(ctx, again); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE `+table+` SET last = ?`, last); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE event_counter SET purged = ?`, firstEvent-size.Events)
	return err
}

// table is how one table is filled.
type table struct {
	name    string
	rows    func(Size) int
	columns []column
}

// column is the value of a column as an SQL expression of i, the number of the row.
type column struct{ name, value string }

// columns are pairs of a name and a value.
func columns(pairs ...string) []column {
	var all []column
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, column{pairs[i], pairs[i+1]})
	}
	return all
}

// writer writes the SQL of one engine.
type writer struct {
	plan   Plan
	engine db.Engine
}

// fill inserts the rows from (inclusive) to to (exclusive), the oldest first.
func (w writer) fill(ctx context.Context, tx *db.Tx, t table, from, to int) error {
	if from >= to {
		return nil
	}
	names, values := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i], values[i] = c.name, c.value
	}
	series := fmt.Sprintf(`(WITH RECURSIVE series (i) AS (SELECT %d UNION ALL SELECT i - 1 FROM series WHERE i > %d) SELECT i FROM series) AS s`, to-1, from)
	if w.engine == db.Postgres {
		series = fmt.Sprintf(`GENERATE_SERIES(CAST(%d AS BIGINT), %d, -1) AS s (i)`, to-1, from)
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+t.name+` (`+strings.Join(names, ", ")+`) SELECT `+strings.Join(values, ", ")+` FROM `+series)
	return err
}

const secondsOfYear = 365 * 24 * 60 * 60

// age is how many seconds ago row i was made, in a table with full rows a year.
func age(full int) string { return fmt.Sprintf(`i * %d / %d`, secondsOfYear, full) }

// at is the moment some seconds ago.
func (w writer) at(seconds string) string {
	if w.engine == db.Postgres {
		return fmt.Sprintf(`(TIMESTAMP '%s' - (%s) * INTERVAL '1 second')`, w.plan.Now.UTC().Format("2006-01-02 15:04:05.000000"), seconds)
	}
	return w.micros(seconds)
}

// micros is the moment some seconds ago, in microseconds since 1970.
func (w writer) micros(seconds string) string {
	return fmt.Sprintf(`(%d - (%s) * 1000000)`, w.plan.Now.UnixMicro(), seconds)
}

// millis is the moment some seconds ago, in milliseconds since 1970.
func (w writer) millis(seconds string) string {
	return fmt.Sprintf(`(%d - (%s) * 1000)`, w.plan.Now.UnixMilli(), seconds)
}

// day is the date some days ago.
func (w writer) day(days string) string {
	if w.engine == db.Postgres {
		return fmt.Sprintf(`TO_CHAR(DATE '%s' - CAST(%s AS INTEGER), 'YYYY-MM-DD')`, w.plan.Now.UTC().Format(time.DateOnly), days)
	}
	return fmt.Sprintf(`DATE('%s', '-' || (%s) || ' days')`, w.plan.Now.UTC().Format(time.DateOnly), days)
}

// pick takes the values in turn.
func pick(n string, values ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `CASE (%s) %% %d`, n, len(values))
	for i, v := range values[1:] {
		fmt.Fprintf(&b, ` WHEN %d THEN %s`, i+1, v)
	}
	return b.String() + ` ELSE ` + values[0] + ` END`
}

// when is the value where the condition holds, and null elsewhere.
func when(condition, value string) string {
	return `CASE WHEN ` + condition + ` THEN ` + value + ` END`
}
