// Package year fills a database with the data from a year of use, for the growth test
// and the benchmark. It writes rows with bulk SQL. This takes seconds; writing them
// through the services would take an hour.
//
// The number of rows per day is constant, so a larger database has a longer history,
// not busier days.
package year

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/db"
)

// Size holds the number of rows for each table that grows with use.
type Size struct {
	Tasks, Sessions, Events, Runs int
	Others                        int // each other table, such as comments, inbox items, reports and background jobs
}

// Of returns a Size with n rows for each table.
func Of(n int) Size { return Size{n, n, n, n, n} }

// Plan describes the data for a year of use.
type Plan struct {
	Now          time.Time // creation time of the newest rows
	Full         Size      // size after a whole year; determines the rate
	PasswordHash string    // of every account
}

// Agents returns the IDs of the agents that work on the tasks. The account of the
// i-th agent has the email <agent ID>@example.com and the ID UserID(i).
func Agents() []string {
	ids := []string{"coo", "cto", "cpo", "cmo"}
	for i := len(ids); i < agents; i++ {
		ids = append(ids, fmt.Sprint("a-", i))
	}
	return ids
}

const (
	agents   = 20
	users    = 200 // accounts, including those of agents
	projects = 20

	userPrefix = "00000000-0000-7000-8000-000000000"
	firstTask  = 100_000    // number of the newest task; a full year uses every number from 1
	firstEvent = 90_000_000 // ID of the newest event
)

// Admin is the email address of an account with the role admin.
const Admin = "u-20@example.com"

// UserID returns the ID of the i-th account.
func UserID(i int) string { return fmt.Sprint(userPrefix, 100+i) }

// TaskKey returns the key of the i-th newest task.
func TaskKey(i int) string { return fmt.Sprint("TASK-", firstTask-i) }

// TaskID returns the ID of the i-th newest task.
func TaskID(i int) string { return fmt.Sprint("t-", firstTask-i) }

// EventID returns the ID of the i-th newest event.
func EventID(i int) int64 { return firstEvent - int64(i) }

// Grow adds rows to a database of size have until it has size want. A migrated database
// without rows has the zero Size. No other connection may write at the same time.
func (p Plan) Grow(ctx context.Context, d *db.DB, have, want Size) error {
	w := writer{plan: p, engine: d.Engine()}
	return d.Tx(ctx, func(tx *db.Tx) error {
		if d.Engine() == db.SQLite {
			// With the default of 2 MB, most index pages would be written several times.
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
		if err := RollUp(ctx, tx); err != nil {
			return fmt.Errorf("fill usage_rollup: %w", err)
		}
		return w.setCounters(ctx, tx, want)
	})
}

// RollUp computes the table usage_rollup anew from the usage ledger.
func RollUp(ctx context.Context, tx *db.Tx) error {
	for query := range strings.SplitSeq(rollUp, ";") {
		if !strings.Contains(query, "?") {
			if _, err := tx.Exec(ctx, query); err != nil {
				return err
			}
			continue
		}
		// One dimension at a time, because a statement must end within 20 s on PostgreSQL.
		for _, dimension := range []string{"", "agent", "model", "source", "session", "job", "task", "standup"} {
			if _, err := tx.Exec(ctx, query, dimension); err != nil {
				return fmt.Errorf("dimension %q: %w", dimension, err)
			}
		}
	}
	return nil
}

//go:embed rollup.sql
var rollUp string

// setUp creates the data that does not grow with use: accounts, projects, teams and
// the roster.
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

// setCounters sets the event and task counters to the numbers of the newest rows. On PostgreSQL it also
// creates dead row versions in the counter tables, like those that build up during a long transaction.
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

// table describes how to fill one table.
type table struct {
	name    string
	rows    func(Size) int
	columns []column
}

// column pairs a column's name with its value. The value is an SQL expression in which i is the row's number.
type column struct{ name, value string }

// columns converts alternating names and values to columns.
func columns(pairs ...string) []column {
	var all []column
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, column{pairs[i], pairs[i+1]})
	}
	return all
}

// writer fills tables with SQL for one database engine.
type writer struct {
	plan   Plan
	engine db.Engine
}

// batch is how many rows are inserted at once. On PostgreSQL, a statement must end within 20 s, also on a busy machine.
const batch = 10_000

// fill inserts the rows whose number i satisfies from <= i < to, oldest first.
func (w writer) fill(ctx context.Context, tx *db.Tx, t table, from, to int) error {
	names, values := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i], values[i] = c.name, c.value
	}
	into := `INSERT INTO ` + t.name + ` (` + strings.Join(names, ", ") + `) SELECT ` + strings.Join(values, ", ") + ` FROM `
	for last := to - 1; last >= from; last -= batch {
		first := max(from, last-batch+1)
		series := fmt.Sprintf(`(WITH RECURSIVE series (i) AS (SELECT %d UNION ALL SELECT i - 1 FROM series WHERE i > %d) SELECT i FROM series) AS s`, last, first)
		if w.engine == db.Postgres {
			series = fmt.Sprintf(`GENERATE_SERIES(CAST(%d AS BIGINT), %d, -1) AS s (i)`, last, first)
		}
		if _, err := tx.Exec(ctx, into+series); err != nil {
			return err
		}
	}
	return nil
}

const secondsOfYear = 365 * 24 * 60 * 60

// age returns an SQL expression for the age, in seconds, of row i in a table. The table
// gets as many rows per year as full says.
func age(full int) string { return fmt.Sprintf(`i * %d / %d`, secondsOfYear, full) }

// at returns an SQL expression for the time that is the given number of seconds before
// the plan's Now.
func (w writer) at(seconds string) string {
	if w.engine == db.Postgres {
		return fmt.Sprintf(`(TIMESTAMP '%s' - (%s) * INTERVAL '1 second')`, w.plan.Now.UTC().Format("2006-01-02 15:04:05.000000"), seconds)
	}
	return w.micros(seconds)
}

// iso returns an SQL expression for the same time as at, as JSON has it.
func (w writer) iso(seconds string) string {
	if w.engine == db.Postgres {
		return `TO_CHAR(` + w.at(seconds) + `, 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`
	}
	return `STRFTIME('%Y-%m-%dT%H:%M:%S.000Z', ` + w.micros(seconds) + ` / 1000000, 'unixepoch')`
}

// micros returns an SQL expression for the plan's Now minus the given number of seconds, in
// microseconds since 1970.
func (w writer) micros(seconds string) string {
	return fmt.Sprintf(`(%d - (%s) * 1000000)`, w.plan.Now.UnixMicro(), seconds)
}

// millis returns an SQL expression for the plan's Now minus the given number of seconds, in
// milliseconds since 1970.
func (w writer) millis(seconds string) string {
	return fmt.Sprintf(`(%d - (%s) * 1000)`, w.plan.Now.UnixMilli(), seconds)
}

// day returns an SQL expression for the date that is the given number of days before
// the plan's Now.
func (w writer) day(days string) string {
	if w.engine == db.Postgres {
		return fmt.Sprintf(`TO_CHAR(DATE '%s' - CAST(%s AS INTEGER), 'YYYY-MM-DD')`, w.plan.Now.UTC().Format(time.DateOnly), days)
	}
	return fmt.Sprintf(`DATE('%s', '-' || (%s) || ' days')`, w.plan.Now.UTC().Format(time.DateOnly), days)
}

// pick returns an SQL expression that selects the value at index n, modulo the number of values.
func pick(n string, values ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `CASE (%s) %% %d`, n, len(values))
	for i, v := range values[1:] {
		fmt.Fprintf(&b, ` WHEN %d THEN %s`, i+1, v)
	}
	return b.String() + ` ELSE ` + values[0] + ` END`
}

// when returns an SQL expression that yields the given value if the condition is true, and null
// otherwise.
func when(condition, value string) string {
	return `CASE WHEN ` + condition + ` THEN ` + value + ` END`
}
