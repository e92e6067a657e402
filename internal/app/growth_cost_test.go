package app_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	runtimelib "modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"wardroom/internal/platform/db"
)

// cost is the work of one statement in units that do not depend on the machine.
type cost struct {
	rows  int64 // steps of SQLite's virtual machine, or rows read by PostgreSQL
	pages int64 // pages requested from the cache, including those of full-text indexes
}

func (c cost) most(o cost) cost { return cost{max(c.rows, o.rows), max(c.pages, o.pages)} }

func (c cost) within(o cost) bool { return c.rows <= o.rows && c.pages <= o.pages }

// String formats the cost for messages.
func (c cost) String() string {
	if c == endless {
		return "more than 5 seconds"
	}
	return fmt.Sprintf("%d rows or steps and %d pages", c.rows, c.pages)
}

// meter measures statements in transactions that it rolls back.
type meter interface {
	measure(ctx context.Context, query string, args []any) (cost, error)
	plan(ctx context.Context, query string, args []any) string
}

func newMeter(t *testing.T, engine db.Engine, address string) meter {
	t.Helper()
	if engine == db.Postgres {
		d, err := db.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return postgresMeter{d}
	}
	pool, err := sql.Open("sqlite", "file:"+address+"?_txlock=immediate&_pragma=foreign_keys(1)&_time_integer_format=unix_micro&_inttotime=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	c, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return sqliteMeter{c}
}

// sqliteMeter counts the steps of the virtual machine. The driver has no method for that,
// so the meter uses the handle of the driver's statement.
type sqliteMeter struct{ conn *sql.Conn }

func (m sqliteMeter) measure(ctx context.Context, query string, args []any) (w cost, err error) {
	tx, err := m.conn.BeginTx(ctx, nil)
	if err != nil {
		return w, err
	}
	defer tx.Rollback()
	err = m.conn.Raw(func(raw any) error {
		w, err = stepsOf(ctx, raw, query, args)
		return err
	})
	return w, err
}

func stepsOf(ctx context.Context, raw any, query string, args []any) (w cost, err error) {
	c, ok := raw.(interface {
		driver.ConnPrepareContext
		sqlite.DBStatus
	})
	if !ok {
		return w, fmt.Errorf("a connection of SQLite's driver is a %T", raw)
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return w, err
	}
	defer func() { _ = prepared.Close() }()
	handle := reflect.ValueOf(prepared).Elem().FieldByName("pstmt")
	run, ok := prepared.(driver.StmtQueryContext)
	if !ok || !handle.IsValid() || handle.Uint() == 0 {
		return w, fmt.Errorf("a statement of SQLite's driver is a %T without a handle", prepared)
	}
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i].Ordinal = i + 1
		if values[i].Value, err = valueOf(a); err != nil {
			return w, err
		}
	}
	_, err = pagesOf(c)
	if err != nil {
		return w, err
	}
	if err := drain(run.QueryContext(ctx, values)); err != nil {
		return w, err
	}
	w.pages, err = pagesOf(c)
	tls := runtimelib.NewTLS()
	defer tls.Close()
	w.rows = int64(sqlite3.Xsqlite3_stmt_status(tls, uintptr(handle.Uint()), sqlite3.SQLITE_STMTSTATUS_VM_STEP, 1))
	if err == nil && w.rows == 0 {
		err = errors.New("SQLite counted no steps")
	}
	return w, err
}

// valueOf converts an argument as database/sql does for the driver.
func valueOf(a any) (driver.Value, error) {
	v, err := driver.DefaultParameterConverter.ConvertValue(a)
	if t, ok := v.(time.Time); ok {
		v = t.UTC()
	}
	return v, err
}

func drain(rows driver.Rows, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	values := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		err = rows.Next(values)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// pagesOf returns how many pages were requested from the cache since the last call.
func pagesOf(c sqlite.DBStatus) (int64, error) {
	hits, _, err := c.Status(sqlite.DBStatusCacheHit, true)
	if err != nil {
		return 0, err
	}
	misses, _, err := c.Status(sqlite.DBStatusCacheMiss, true)
	return int64(hits + misses), err
}

func (m sqliteMeter) plan(ctx context.Context, query string, args []any) string {
	for i, a := range args {
		if v, err := valueOf(a); err == nil {
			args[i] = v
		}
	}
	rows, err := m.conn.QueryContext(ctx, `EXPLAIN QUERY PLAN `+query, args...)
	lines, err := db.All(rows, err, func(r db.Row) (line string, err error) {
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	})
	if err != nil {
		return err.Error()
	}
	return strings.Join(lines, "\n")
}

// postgresMeter counts the rows that scans read and the pages of all nodes.
type postgresMeter struct{ db *db.DB }

var errMeasured = errors.New("roll back")

func (m postgresMeter) explain(ctx context.Context, how, query string, args []any) (text string, err error) {
	var lines []string
	err = m.db.Tx(ctx, func(tx *db.Tx) error {
		rows, err := tx.Query(ctx, how+query, args...)
		lines, err = db.All(rows, err, func(r db.Row) (line string, err error) { return line, r.Scan(&line) })
		if err != nil {
			return err
		}
		return errMeasured
	})
	if errors.Is(err, errMeasured) {
		err = nil
	}
	return strings.Join(lines, "\n"), err
}

func (m postgresMeter) measure(ctx context.Context, query string, args []any) (w cost, err error) {
	text, err := m.explain(ctx, `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) `, query, args)
	if err != nil {
		return w, err
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) == 0 {
		return w, fmt.Errorf("read the plan %s: %w", text, err)
	}
	return cost{rows: plans[0].Plan.read(), pages: plans[0].Plan.Hit + plans[0].Plan.Read}, nil
}

// node is a node of PostgreSQL's plan. Its pages include those of its children.
type node struct {
	Type      string  `json:"Node Type"`
	Rows      float64 `json:"Actual Rows"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Loops     float64 `json:"Actual Loops"`
	Hit       int64   `json:"Shared Hit Blocks"`
	Read      int64   `json:"Shared Read Blocks"`
	Plans     []node
}

func (n node) read() (rows int64) {
	if strings.HasSuffix(n.Type, "Scan") {
		rows = int64((n.Rows + n.Filtered + n.Rechecked) * n.Loops)
	}
	for _, p := range n.Plans {
		rows += p.read()
	}
	return rows
}

func (m postgresMeter) plan(ctx context.Context, query string, args []any) string {
	text, err := m.explain(ctx, `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) `, query, args)
	if err != nil {
		return err.Error()
	}
	return text
}

// isConstraint reports whether a statement failed because of a constraint.
func isConstraint(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "23")
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}
