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

// trap is a row that a transaction of the service gets to and not past: it is
// written, and never committed. The service is killed there.
type trap struct {
	on   string // such as "INSERT ON job_steps"
	when string // a condition on NEW and OLD, in SQL that both engines know
	here string // a query: 1 when all that comes before is committed, and nothing after
}

// A trapped transaction of PostgreSQL waits for a lock that we hold. SQLite has
// nothing to wait for: there it counts, and never comes to an end.
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

// set sets the trap. sprung says whether the service is in it, and unset takes
// it away, after the service is dead.
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
	free := sync.OnceFunc(func() { // the lock goes with the connection
		// The COMMIT may have arrived together with the statement that is trapped.
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

// exec runs statements one by one, each in its transaction.
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

// writeLocked says whether somebody keeps the one place for writers of an
// SQLite file for long: no transaction of the service takes a fifth of a second.
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
