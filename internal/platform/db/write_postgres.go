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

// How long a writing transaction of PostgreSQL may keep others waiting. They
// hold for this transaction alone: migrations and whatever reads have none of them.
const (
	// restTime is how long it may rest between two statements. A process that is
	// frozen or cut off loses its transaction and its locks after that, and as
	// each process has one writing transaction at a time, nobody waits longer.
	restTime = 2 * time.Second
	// lockTime is how long a statement waits for a lock. It is longer than two
	// processes that freeze one after the other can hold one.
	lockTime = 5 * time.Second
	// workTime is how long one statement may take.
	workTime = 20 * time.Second
	// hangTime is when a server that answers nothing at all is given up.
	hangTime = workTime + 3*time.Second
	// patience is how long a caller waits for its turn within its own process.
	patience = 10 * time.Second
)

var (
	// errCut means that the connection ended before the commit.
	errCut = errors.New("the connection ended in the middle of a transaction")
	// errAborted means that PostgreSQL has rolled back what it was to commit.
	errAborted = errors.New("PostgreSQL rolled the transaction back after a statement in it had failed")
)

// writersLock is held by the one transaction that may write to a schema. Every
// change would wait for the counter of events anyhow. With this lock writers cannot
// deadlock, and a migration keeps all of them out, older programs included (see guard).
const writersLock = `hashtextextended(current_schema() || '/writer', 0)`

// entering is the statement that waits for that lock, with limits that end with
// the transaction.
func entering(lock, work, rest time.Duration) string {
	return fmt.Sprintf(`SELECT set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true),
		set_config('idle_in_transaction_session_timeout', '%d', true), pg_advisory_xact_lock(`+writersLock+`)`,
		lock.Milliseconds(), work.Milliseconds(), rest.Milliseconds())
}

// writePostgres is a transaction of PostgreSQL. Its statements are not cancelled
// when a context ends, because PostgreSQL would abort all of it and others are in
// it. Whoever has left begins no further statement, and hangTime bounds the rest.
type writePostgres struct {
	conn  *sql.Conn // ours until the end
	under *piped
	ended error
}

// beginPostgres begins a transaction, waits for the right to write and looks at
// the schema, in one round trip.
func (d *DB) beginPostgres() (_ writing, err error) {
	conn, err := d.write.Conn(context.Background()) // bounded by acquireTime
	if err != nil {
		return nil, err
	}
	w := &writePostgres{conn: conn}
	err = conn.Raw(func(driver any) (err error) {
		c, ok := driver.(*piped)
		if !ok {
			return fmt.Errorf("a connection to PostgreSQL is a %T", driver)
		}
		w.under = c
		c.later.Queue(`BEGIN`)
		c.later.Queue(d.enter)
		if d.knows.Load() > 0 {
			c.later.Queue(appliedQuery).QueryRow(func(row pgx.Row) error { return d.guard(row.Scan) })
		}
		w.hurry()
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

// hurry gives the next round trip until hangTime.
func (w *writePostgres) hurry() {
	_ = w.under.wire().SetDeadline(time.Now().Add(hangTime)) // one that is closed says so itself
}

// saw notes what ended the transaction.
func (w *writePostgres) saw(err error) {
	_, later := errors.AsType[*laterError](err)
	switch {
	case w.ended != nil:
	case isCut(err) || w.under.Conn.Conn().IsClosed():
		w.ended = errors.Join(errCut, err)
	case later:
		w.ended = err
	case w.under.status() == 'E':
		w.ended = errors.Join(errAborted, err)
	}
}

// isCut reports whether PostgreSQL ended a connection because its transaction rested.
func isCut(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "25P03"
}

func (w *writePostgres) broken() error {
	w.saw(nil)
	return w.ended
}

func (w *writePostgres) commit() error {
	defer w.rollback() // of what was not committed, and the connection goes back
	w.hurry()
	var tag pgconn.CommandTag
	err := w.conn.Raw(func(any) error {
		w.under.later.Queue(`COMMIT`).Exec(func(t pgconn.CommandTag) error { tag = t; return nil })
		return w.under.send()
	})
	later, ok := errors.AsType[*laterError](err)
	switch {
	case isCut(err):
		return errors.Join(errCut, err)
	case ok && w.under.Conn.Conn().IsClosed():
		return later.error // the COMMIT may have arrived
	case err == nil && tag.String() != "COMMIT":
		return errAborted
	}
	return err
}

// undone reports whether a failed commit has certainly committed nothing. After
// the end of a connection nobody knows, unless it ended because it rested.
func undone(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, errAborted) || errors.Is(err, errCut) || ok && pg.SeverityUnlocalized == "ERROR"
}

// rollback gives the connection back without its transaction. The pool closes one
// that has it still.
func (w *writePostgres) rollback() {
	if w.under == nil {
		_ = w.conn.Close()
		return
	}
	w.under.later = &pgx.Batch{}
	if !w.under.Conn.Conn().IsClosed() && w.under.status() != 'I' {
		w.hurry()
		_, _ = w.conn.ExecContext(context.Background(), `ROLLBACK`)
	}
	_ = w.under.wire().SetDeadline(time.Time{})
	_ = w.conn.Close()
}

// next is the context for a statement.
func (w *writePostgres) next(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx // which is what database/sql answers then
	}
	w.hurry()
	return context.Background()
}

// ExecContext is that of sql.Conn.
func (w *writePostgres) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := w.conn.ExecContext(w.next(ctx), query, args...)
	w.saw(err)
	return r, err
}

// QueryContext is that of sql.Conn.
func (w *writePostgres) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.conn.QueryContext(w.next(ctx), query, args...)
	w.saw(err)
	return rows, err
}

// QueryRowContext is that of sql.Conn.
func (w *writePostgres) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := w.conn.QueryRowContext(w.next(ctx), query, args...)
	w.saw(row.Err())
	return row
}

// putOff keeps a statement for Tx.Later.
func (w *writePostgres) putOff(query string, args []any) { w.under.later.Queue(query, args...) }
