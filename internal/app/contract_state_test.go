package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
)

// readEverything makes one query of every column of every table. Counts of
// failed logins are left out: a refused login is there to be counted.
func (c *contract) readEverything() string {
	columns := `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`
	if c.db.Engine() == db.Postgres {
		columns = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`
	}
	texts := map[string][]string{}
	rows, err := c.db.Query(context.Background(), columns)
	_, err = db.All(rows, err, func(row db.Row) (table string, err error) {
		var column string
		err = row.Scan(&table, &column)
		text := `CAST(` + column + ` AS TEXT)` // of which a beginning and the length tell enough
		texts[table] = append(texts[table], `COALESCE(SUBSTR(`+text+`, 1, 100) || LENGTH(`+text+`), '-')`)
		return table, err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	delete(texts, "login_failures")
	if len(texts["users"]) == 0 || len(texts["events"]) == 0 || len(texts["jobs"]) == 0 {
		c.t.Fatalf("these are not all tables: %v", texts)
	}
	var selects []string
	for _, table := range slices.Sorted(maps.Keys(texts)) {
		if c.db.Engine() == db.Postgres {
			// It says itself which transaction wrote a row, and reads no columns for that.
			selects = append(selects, `SELECT '`+table+`' || COUNT(*) || '/' || COALESCE(SUM(hashtext(xmin::text || ctid::text)), 0) FROM `+table)
			continue
		}
		selects = append(selects, `SELECT '`+table+`' || `+strings.Join(texts[table], ` || '|' || `)+` FROM `+table)
	}
	return strings.Join(selects, ` UNION ALL `)
}

// versions tells of a SQLite file whether others have written to it. It asks with
// one connection of its own, as PRAGMA data_version wants it.
func versions(t *testing.T, path string) func() int {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	return func() (version int) {
		if err := pool.QueryRowContext(context.Background(), `PRAGMA data_version`).Scan(&version); err != nil {
			t.Fatal(err)
		}
		return version
	}
}

// now is the state. All that SQLite holds is read only if anything was written:
// on that, nine tenths of the whole test would go.
func (c *contract) now() string {
	if c.version == nil {
		return c.state()
	}
	if version := c.version(); version != c.seen || c.before == "" {
		c.seen, c.before = version, c.state()
	}
	return c.before
}

// state is a digest of all that is stored, whatever the order of the rows.
func (c *contract) state() string {
	var sum uint64
	rows, err := c.db.Query(context.Background(), c.everything)
	all, err := db.All(rows, err, func(row db.Row) (n int, err error) {
		var text sql.RawBytes
		if r, ok := row.(*sql.Rows); ok {
			err = r.Scan(&text)
		}
		h := fnv.New64a()
		_, _ = h.Write(text) // it cannot fail
		sum += h.Sum64()
		return 0, err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprint(len(all), "/", sum)
}
