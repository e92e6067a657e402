package app_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
)

// columns returns the columns of every table. It leaves out the counts of failed logins,
// which refused requests may change.
func (c *contract) columns() map[string][]string {
	query := `SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid`
	if c.db.Engine() == db.Postgres {
		query = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`
	}
	of := map[string][]string{}
	rows, err := c.db.Query(context.Background(), query)
	_, err = db.All(rows, err, func(row db.Row) (table string, err error) {
		var column string
		err = row.Scan(&table, &column)
		of[table] = append(of[table], column)
		return table, err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	delete(of, "login_failures")
	if len(of["users"]) == 0 || len(of["events"]) == 0 || len(of["jobs"]) == 0 {
		c.t.Fatalf("these are not all tables: %v", of)
	}
	return of
}

// noteChanges creates the query that detects changes of the stored data. Reading all data
// after each request would be too slow.
func (c *contract) noteChanges() string {
	if c.db.Engine() == db.Postgres {
		// PostgreSQL stores which transaction wrote a row, so no column has to be read.
		var tables []string
		for _, table := range slices.Sorted(maps.Keys(c.columns())) {
			tables = append(tables, `SELECT COUNT(*) || '/' || COALESCE(SUM(hashtext(xmin::text || ctid::text)), 0) AS state FROM `+table)
		}
		return `SELECT STRING_AGG(state, ' ') FROM (` + strings.Join(tables, ` UNION ALL `) + `) AS states`
	}
	statements := []string{`CREATE TABLE changes_noted (n INTEGER NOT NULL)`, `INSERT INTO changes_noted VALUES (0)`}
	for table, columns := range c.columns() {
		var differ []string
		for _, column := range columns {
			differ = append(differ, `OLD.`+column+` IS NOT NEW.`+column)
		}
		for does, when := range map[string]string{"INSERT": "", "DELETE": "", "UPDATE": `WHEN ` + strings.Join(differ, ` OR `)} {
			statements = append(statements, fmt.Sprintf(`CREATE TRIGGER noted_%s_%s AFTER %s ON %s %s BEGIN UPDATE changes_noted SET n = n + 1; END`, does, table, does, table, when))
		}
	}
	err := c.db.Tx(context.Background(), func(tx *db.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(context.Background(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return `SELECT n FROM changes_noted`
}

// now returns the state of all stored data. It stays the same as long as nothing changes.
func (c *contract) now() (state string) {
	if err := c.db.QueryRow(context.Background(), c.changes).Scan(&state); err != nil {
		c.t.Fatal(err)
	}
	return state
}
