package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
)

// Facts are counts that characterize the content of a database. They are read from one snapshot,
// and every complete copy of the database has the same counts.
type Facts struct {
	Schema    int64            `json:"schema"`     // the newest applied migration
	LastEvent int64            `json:"last_event"` // the newest event ID
	CostNano  int64            `json:"cost_nano"`  // the sum of the usage ledger, in nano-dollars
	Rows      map[string]int64 `json:"rows"`       // by table
}

// diff describes how other differs from f.
func (f Facts) diff(other Facts) []string {
	var out []string
	differ := func(what string, is, was int64) {
		if is != was {
			out = append(out, fmt.Sprintf("%s: %d in the backup, %d now", what, was, is))
		}
	}
	differ("schema version", other.Schema, f.Schema)
	differ("newest event", other.LastEvent, f.LastEvent)
	differ("cost in the ledger, in nano-dollars", other.CostNano, f.CostNano)
	tables := maps.Clone(f.Rows)
	maps.Copy(tables, other.Rows)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		differ("rows of "+table, other.Rows[table], f.Rows[table])
	}
	return out
}

var errNotOurs = errors.New("it is not a Wardroom database: it has no table of migrations")

// survey returns the Facts of a database. It also checks rules that every transaction preserves,
// and returns the violations in faults. It can also read databases of earlier releases.
func survey(ctx context.Context, q db.Queryer, engine db.Engine) (f Facts, faults []string, err error) {
	err = q.QueryRow(ctx, `SELECT MAX(version_id) FROM migrations WHERE is_applied`).Scan(&f.Schema)
	if db.IsNoTable(err) {
		return f, nil, errNotOurs
	}
	if err != nil {
		return f, nil, fmt.Errorf("read the schema's version: %w", err)
	}
	if err := known(f.Schema); err != nil {
		return f, nil, err
	}
	if f.Rows, err = countRows(ctx, q, engine); err != nil {
		return f, nil, err
	}
	for _, look := range []func(context.Context, db.Queryer, *Facts) ([]string, error){
		checkLog, checkLedger, checkTaskCosts,
	} {
		found, err := look(ctx, q, &f)
		if err != nil {
			return f, faults, err
		}
		faults = append(faults, found...)
	}
	return f, faults, nil
}

// known returns an error if this program does not support the schema version.
func known(version int64) error {
	names, err := fs.Glob(schema.FS(), "*.sql")
	if err != nil {
		return err
	}
	var newest int64
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
		newest = max(newest, n)
	}
	if version < schema.Base {
		return fmt.Errorf("it has schema version %d, of an unreleased Wardroom or of a first start that was interrupted: use the version that created it", version)
	}
	if version > newest {
		return fmt.Errorf("it has schema version %d, but this Wardroom supports versions up to %d: use a newer Wardroom",
			version, newest)
	}
	return nil
}

// countRows counts the rows of every table, except for the internal tables of SQLite's search
// index.
func countRows(ctx context.Context, q db.Queryer, engine db.Engine) (map[string]int64, error) {
	list := `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'`
	if engine == db.Postgres {
		list = `SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()`
	}
	rows, err := q.Query(ctx, list)
	tables, err := db.All(rows, err, func(r db.Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	counts := map[string]int64{}
	for _, table := range tables {
		var n int64
		quoted := `"` + strings.ReplaceAll(table, `"`, `""`) + `"`
		if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM `+quoted).Scan(&n); err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", table, err)
		}
		counts[table] = n
	}
	return counts, nil
}

// checkLog checks that the event log has no gaps after the highest ID that was purged.
func checkLog(ctx context.Context, q db.Queryer, f *Facts) (faults []string, err error) {
	var purged, n, highest int64
	err = q.QueryRow(ctx, `SELECT last, purged FROM event_counter WHERE one = 1`).Scan(&f.LastEvent, &purged)
	if db.IsNotFound(err) {
		return []string{"the counter of the event log is missing"}, nil
	}
	if err == nil {
		err = q.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MAX(id), 0) FROM events WHERE id > ?`, purged).Scan(&n, &highest)
	}
	if err != nil {
		return nil, fmt.Errorf("check the event log: %w", err)
	}
	if highest > f.LastEvent {
		faults = append(faults, fmt.Sprintf("the event log has event %d, but its counter is at %d", highest, f.LastEvent))
	} else if missing := f.LastEvent - purged - n; missing != 0 {
		faults = append(faults,
			fmt.Sprintf("%d events between %d and %d are missing from the event log", missing, purged+1, f.LastEvent))
	}
	return faults, nil
}

// checkLedger checks that the usage ledger has the recorded number of adjustments for each
// transcript.
func checkLedger(ctx context.Context, q db.Queryer, f *Facts) ([]string, error) {
	var wrong int64
	err := q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(cost_nano), 0) AS BIGINT) FROM usage_ledger`).Scan(&f.CostNano)
	if err == nil {
		err = q.QueryRow(ctx, `
			SELECT COUNT(*) FROM usage_told t
			LEFT JOIN (SELECT session_id, provider, model, COUNT(*) AS n FROM usage_ledger WHERE kind = 'reconciled' GROUP BY session_id, provider, model) l
				ON l.session_id = t.session_id AND l.provider = t.provider AND l.model = t.model
			WHERE t.rows_made <> COALESCE(l.n, 0)`).Scan(&wrong)
	}
	if err != nil {
		return nil, fmt.Errorf("check the usage ledger: %w", err)
	}
	if wrong > 0 {
		return []string{
			fmt.Sprintf("the usage ledger has missing or extra rows for the totals of %d transcripts", wrong),
		}, nil
	}
	return nil, nil
}

// checkTaskCosts checks that the cost shown on each task equals the sum of the task's usage in the
// ledger.
func checkTaskCosts(ctx context.Context, q db.Queryer, _ *Facts) ([]string, error) {
	rows, err := q.Query(ctx, `
		SELECT t.number FROM tasks t
		LEFT JOIN (SELECT task_key, CAST(SUM(cost_nano) AS BIGINT) AS cost FROM usage_ledger WHERE task_key <> '' GROUP BY task_key) l
			ON l.task_key = 'TASK-' || CAST(t.number AS TEXT)
		WHERE COALESCE(t.cost_nano, 0) <> COALESCE(l.cost, 0) ORDER BY t.number`)
	tasks, err := db.All(rows, err, func(r db.Row) (n int64, err error) { return n, r.Scan(&n) })
	if err != nil {
		return nil, fmt.Errorf("compare the costs of tasks with the ledger: %w", err)
	}
	if len(tasks) > 0 {
		return []string{
			fmt.Sprintf("the cost of %d tasks, such as TASK-%d, differs from the usage ledger", len(tasks), tasks[0]),
		}, nil
	}
	return nil, nil
}
