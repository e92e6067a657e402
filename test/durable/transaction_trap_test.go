package durable

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wardroom/internal/platform/db"
)

// trap is a row at which a transaction of the service stops: the row is written but never
// committed. The service is killed there.
type trap struct {
	on   string // such as "INSERT ON job_steps"
	when string // condition on NEW and OLD, in SQL for both engines
	here string // query that returns 1 if everything before the row is committed and nothing after it
}

// On PostgreSQL, a trapped transaction waits for a lock that the test holds. SQLite has
// no such locks, so the transaction counts without end.
const (
	lockOne, lockTwo = 4711, 1
)

func (p trap) sqlite() (lay, lift []string) {
	return []string{
		`CREATE VIEW trap_forever AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c WHERE n < 0`,
		`CREATE TRIGGER trap AFTER ` + p.on + ` WHEN ` + p.when + ` BEGIN SELECT n FROM trap_forever; END`,
	}, []string{`DROP TRIGGER trap`, `DROP VIEW trap_forever`}
}

func (p trap) postgres() (lay, lift []string) {
	return []string{
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM set_config(''lock_timeout'', ''0'', true); PERFORM pg_advisory_xact_lock(%d, %d); RETURN NULL; END'`, lockOne, lockTwo),
		`CREATE OR REPLACE TRIGGER trap AFTER ` + p.on + ` FOR EACH ROW WHEN (` + p.when + `) EXECUTE FUNCTION trap()`,
	}, []string{`DROP FUNCTION IF EXISTS trap CASCADE`}
}

// set sets the trap. sprung reports whether the service is in it. unset removes it after
// the service is killed.
func (p trap) set(x *trial) (sprung func() bool, unset func()) {
	x.Helper()
	if x.engine == db.SQLite {
		lay, lift := p.sqlite()
		x.exec(lay)
		return func() bool { return x.count(p.here) == 1 && writeLocked(x.T, x.address) }, func() { x.exec(lift) }
	}
	hold, err := pgx.Connect(x.Context(), x.address)
	if err != nil {
		x.Fatal(err)
	}
	const waiting = `FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	free := sync.OnceFunc(func() { // closing the connection releases the lock
		// The COMMIT may have arrived together with the trapped statement.
		ended := `SELECT COUNT(pg_terminate_backend(pid)) ` + waiting + ` AND classid = $1 AND objid = $2`
		if _, err := hold.Exec(context.WithoutCancel(x.Context()), ended, lockOne, lockTwo); err != nil {
			x.Error(err)
		}
		if err := hold.Close(context.WithoutCancel(x.Context())); err != nil {
			x.Error(err)
		}
	})
	x.Cleanup(free)
	if _, err := hold.Exec(x.Context(), `SELECT pg_advisory_lock($1, $2)`, lockOne, lockTwo); err != nil {
		x.Fatal(err)
	}
	lay, lift := p.postgres()
	x.exec(lay)
	sprung = func() bool {
		return x.count(`SELECT COUNT(*) `+waiting+` AND classid = ? AND objid = ?`, lockOne, lockTwo) == 1
	}
	return sprung, func() { free(); x.exec(lift) }
}

// exec runs each statement in its own transaction.
func (x *trial) exec(statements []string) {
	x.Helper()
	for _, s := range statements {
		x.look(s, func() error {
			return x.db.Tx(x.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(x.Context(), s)
				return err
			})
		})
	}
}

// writeLocked reports whether an SQLite file is locked for writing for at least 200 ms,
// which no transaction of the service takes.
func writeLocked(t *testing.T, address string) bool {
	t.Helper()
	c, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(address, "sqlite:")+"?_txlock=immediate&_pragma=busy_timeout(200)")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return strings.Contains(err.Error(), "locked") || strings.Contains(err.Error(), "BUSY")
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	return false
}
