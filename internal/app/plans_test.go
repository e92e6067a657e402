package app_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// A statement that reads a whole table is quick on a new board and slow on one
// that has been used for a year. Everything that the service asks of a large
// database, while every route is called with each of its filters, has an index.
func TestEveryPlan(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.GatewayScopes = "operator.admin" }) // for schedules
		a := h.build()
		seed(t, a.DB)
		var asked questions
		a.DB.Observe(asked.note)
		s := h.run(a).connected()
		askEverything(t, s)
		s.stop()

		cfg, _, err := h.raw.Check()
		if err != nil {
			t.Fatal(err)
		}
		d, err := db.Open(t.Context(), cfg.DatabaseURL.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for _, query := range slices.Sorted(maps.Keys(asked.args)) {
			for _, args := range asked.args[query] {
				wantIndexes(t, d, query, args)
			}
		}
		for text := range whole() {
			if !asked.contain(text) {
				t.Errorf("nothing asks %q any more: take it off the list", text)
			}
		}
		t.Logf("%d statements", len(asked.args))
		if len(asked.args) < 150 {
			t.Errorf("only %d statements were seen", len(asked.args))
		}
	})
}

// small are the tables that do not grow with the use of the service, so that
// reading all of one costs nothing.
func small() map[string]string {
	return map[string]string{
		"projects":          "some dozens",
		"teams":             "some dozens",
		"standup_schedules": "a row for each team",
		"schedule_jobs":     "a row for each of the runtime's jobs",
		"schedule_reading":  "one row",
		"agent_roster":      "one row",
		"job_timers":        "a row for each piece of timed work",
		"pairing_devices":   "two rows at most",
		"retention_runs":    "a row for each policy",
		"usage_state":       "one row",
		"usage_going":       "a row for each run that is going",
		"archive_state":     "one row",
		"stalled_runs":      "a row for each run that hung within the hour",
		"usage_prices":      "a row for each change of the prices",
		"setup_tokens":      "a row for each start without an owner, for half an hour",
		"goose_db_version":  "a row for each migration",
	}
}

// whole are the statements that may read all of a table, by a part of their
// text, and why.
func whole() map[string]string {
	return map[string]string{
		"SELECT COUNT(*) FROM ":                       "a total reads what it counts; nobody gets one who does not ask for it",
		"(name_key || ' ' || email_key) LIKE ":        "an admin looks for one of some hundred accounts by a part of a name",
		"users WHERE active AND agent_id IS NOT NULL": "it answers all the agents, and half of these accounts are some",
	}
}

// questions are the statements that were seen, with the arguments of the first
// few times.
type questions struct {
	mu   sync.Mutex
	args map[string][][]any
}

func (q *questions) note(query string, args []any) {
	const times = 3
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.args == nil {
		q.args = map[string][][]any{}
	}
	if len(q.args[query]) < times {
		q.args[query] = append(q.args[query], slices.Clone(args))
	}
}

// contain reports whether a statement with this text in it was seen.
func (q *questions) contain(text string) bool {
	for query := range q.args {
		if strings.Contains(query, text) {
			return true
		}
	}
	return false
}

// wantIndexes looks at how the database would answer.
func wantIndexes(t *testing.T, d *db.DB, query string, args []any) {
	t.Helper()
	first := strings.ToUpper(strings.Fields(query)[0])
	if !slices.Contains([]string{"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}, first) {
		return // settings and the like
	}
	plan, err := explain(t.Context(), d, query, args)
	if err != nil {
		t.Errorf("%s\n%v", query, err)
		return
	}
	for _, table := range tables(t, d) {
		if small()[table] != "" || !reads(d.Engine(), query, plan, table) {
			continue
		}
		allowed := func(text string) bool { return strings.Contains(query, text) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(whole())), allowed) {
			t.Errorf("all of %s is read by\n%s\nwith %v:\n%s", table, query, args, plan)
		}
	}
}

// reads reports whether a plan reads all of a table, or makes an index of it
// each time. SQLite calls it by the name that the statement gave it.
func reads(engine db.Engine, query, plan, table string) bool {
	names := []string{table}
	if engine == db.SQLite {
		for _, m := range regexp.MustCompile(`(?i)\b(?:FROM|JOIN|,)\s*`+table+`\s+(?:AS\s+)?(\w+)`).FindAllStringSubmatch(query, -1) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		bad := `(?m)SCAN ` + name + `$|SEARCH ` + name + ` USING AUTOMATIC`
		if engine == db.Postgres {
			bad = `Seq Scan on ` + name + `\b`
		}
		if regexp.MustCompile(bad).MatchString(plan) {
			return true
		}
	}
	return false
}

// explain is the database's plan for a statement, which it does not run.
func explain(ctx context.Context, d *db.DB, query string, args []any) (string, error) {
	how := `EXPLAIN QUERY PLAN `
	if d.Engine() == db.Postgres {
		how = `EXPLAIN `
	}
	rows, err := d.Query(ctx, how+query, args...)
	lines, err := db.All(rows, err, func(r db.Row) (line string, err error) {
		if d.Engine() == db.Postgres {
			return line, r.Scan(&line)
		}
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	})
	return strings.Join(lines, "\n"), err
}

// tables are all that there are: one that a migration adds tomorrow, too.
func tables(t *testing.T, d *db.DB) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`
	if d.Engine() == db.Postgres {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	}
	rows, err := d.Query(t.Context(), query)
	names, err := db.All(rows, err, func(r db.Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		t.Fatal(err)
	}
	return names
}
