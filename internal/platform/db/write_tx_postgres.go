package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Limits on how long a PostgreSQL write transaction can block other writers. They
// apply only to write transactions, not to migrations or reads. DATABASE_URL can set the
// first two (see limitsOf).
const (
	// idleTxTimeout is how long a transaction can pause between two statements. After
	// that, a frozen or disconnected process loses its transaction and locks. Each
	// process has at most one write transaction, so others wait no longer than this.
	idleTxTimeout = 2 * time.Second
	// lockTime is how long a statement waits for a lock. It is longer than the time
	// for which two processes that freeze one after the other can hold the lock.
	lockTime = 5 * time.Second
	// workTime is how long one statement can run.
	workTime = 20 * time.Second
	// hangTime is how long to wait for a server that does not respond at all.
	hangTime = workTime + 3*time.Second
	// maxLater is how many statements wait to be sent. More would leave the server idle
	// for too long while a caller prepares them (see idleTxTimeout).
	maxLater = 100
	// TurnTimeout is how long a change to PostgreSQL waits for those before it in its process; then it fails
	// with ErrBusy.
	TurnTimeout = 10 * time.Second
)

var (
	// errConnEnded means that the connection ended before the commit.
	errConnEnded = errors.New("the connection ended in the middle of a transaction")
	// errAborted means that PostgreSQL rolled the transaction back instead of
	// committing it.
	errAborted = errors.New("PostgreSQL rolled the transaction back after a statement in it had failed")
)

// writersLock is the SQL expression for the key of an advisory lock. Every write transaction in a
// schema holds this lock, so only one of them runs at a time. This does not slow writers down:
// without the lock, they would wait for each other to update the event counter, which is a single
// row. The lock prevents deadlocks between writers. It also lets a migration block all writers,
// including older versions of the program (see guard).
const writersLock = `hashtextextended(current_schema() || '/writer', 0)`

// beginStatement returns the statement that takes writersLock and sets three time
// limits for the transaction: lock for acquiring locks, work for each statement, and
// rest for pauses between statements.
func beginStatement(lock, work, rest time.Duration) string {
	return fmt.Sprintf(`SELECT set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true),
		set_config('idle_in_transaction_session_timeout', '%d', true), pg_advisory_xact_lock(`+writersLock+`)`,
		lock.Milliseconds(), work.Milliseconds(), rest.Milliseconds())
}

// writePostgres is a write transaction on PostgreSQL that several callers, its
// members, can share. If a member's context ends, its next statement fails. A running
// statement is not canceled, because PostgreSQL would then abort the transaction for
// all members. Instead, hangTime limits how long the statement can run.
type writePostgres struct {
	conn  *sql.Conn // reserved until the transaction ends
	under *pipelined
	ended error
}

// beginPostgres begins a transaction, takes writersLock and checks the schema
// version, all in one round trip.
func (d *DB) beginPostgres() (_ writeTx, err error) {
	conn, err := d.write.Conn(context.Background()) // limited by boundedConnector
	if err != nil {
		return nil, err
	}
	w := &writePostgres{conn: conn}
	err = conn.Raw(func(driver any) (err error) {
		c, ok := driver.(*pipelined)
		if !ok {
			return fmt.Errorf("unexpected PostgreSQL connection type %T", driver)
		}
		w.under = c
		// With a stricter level as the default, the snapshot would be older than the lock.
		c.later.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
		c.later.Queue(d.enter)
		if d.schemaVersion.Load() > 0 {
			c.later.Queue(appliedQuery).QueryRow(func(row pgx.Row) error { return d.guard(row.Scan) })
		}
		w.extendDeadline()
		return c.send()
	})
	if later, ok := errors.AsType[*laterError](err); ok {
		err = later.error
	}
	if err != nil {
		w.rollback()
		return nil, err
	}
	return w, nil
}

// extendDeadline allows the next round trip to take as long as hangTime.
func (w *writePostgres) extendDeadline() {
	_ = w.under.wire().SetDeadline(time.Now().Add(hangTime)) // a closed connection fails on use
}

// recordFailure stores err if err has ended the transaction.
func (w *writePostgres) recordFailure(err error) {
	_, later := errors.AsType[*laterError](err)
	switch {
	case w.ended != nil:
	case isIdleTimeout(err) || w.under.Conn.Conn().IsClosed():
		w.ended = errors.Join(errConnEnded, err)
	case later:
		w.ended = err
	case w.under.status() == 'E':
		w.ended = errors.Join(errAborted, err)
	}
}

// isIdleTimeout reports whether PostgreSQL closed the connection because the
// transaction was idle.
func isIdleTimeout(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "25P03"
}

func (w *writePostgres) broken() error {
	w.recordFailure(nil)
	return w.ended
}

func (w *writePostgres) commit() error {
	defer w.rollback() // if not committed; also returns the connection
	w.extendDeadline()
	var tag pgconn.CommandTag
	err := w.conn.Raw(func(any) error {
		w.under.later.Queue(`COMMIT`).Exec(func(t pgconn.CommandTag) error { tag = t; return nil })
		return w.under.send()
	})
	later, ok := errors.AsType[*laterError](err)
	switch {
	case isIdleTimeout(err):
		return errors.Join(errConnEnded, err)
	case ok && w.under.Conn.Conn().IsClosed():
		return later.error // the server may have received the COMMIT
	case err == nil && tag.String() != "COMMIT":
		return errAborted
	}
	return err
}

// rolledBack reports whether a failed commit certainly stored nothing. If the connection
// ended, the outcome is unknown, unless the server closed the connection because it was
// idle.
func rolledBack(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, errAborted) || errors.Is(err, errConnEnded) || ok && pg.SeverityUnlocalized == "ERROR"
}

// rollback ends the transaction and returns the connection to the pool. If the
// transaction cannot be ended, the pool closes the connection.
func (w *writePostgres) rollback() {
	if w.under == nil {
		_ = w.conn.Close()
		return
	}
	w.under.later = &pgx.Batch{}
	if !w.under.Conn.Conn().IsClosed() && w.under.status() != 'I' {
		w.extendDeadline()
		_, _ = w.conn.ExecContext(context.Background(), `ROLLBACK`)
	}
	_ = w.under.wire().SetDeadline(time.Time{})
	_ = w.conn.Close()
}

// statementCtx returns ctx if it has already ended. Otherwise it returns a context that never ends, so that ctx does
// not cancel a statement in progress.
func (w *writePostgres) statementCtx(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx // database/sql then returns its error
	}
	w.extendDeadline()
	return context.Background()
}

// ExecContext implements the statements interface.
func (w *writePostgres) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := w.conn.ExecContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(err)
	return r, err
}

// QueryContext implements the statements interface.
func (w *writePostgres) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.conn.QueryContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(err)
	return rows, err
}

// QueryRowContext implements the statements interface.
func (w *writePostgres) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := w.conn.QueryRowContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(row.Err())
	return row
}
