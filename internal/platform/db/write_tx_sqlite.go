package db

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// writeSQLite is a write transaction on SQLite that several callers, its members, can
// share. If a member's context ends, its next statement fails. A running statement is
// not interrupted, because SQLite would then roll back the whole transaction for all
// members (https://sqlite.org/c3ref/interrupt.html).
//
// writeSQLite also detects when SQLite itself has ended the transaction, for example
// because the disk is full. It then runs no more statements, because each of them
// would commit on its own.
type writeSQLite struct {
	*sql.Tx
	ended error
}

func (d *DB) beginSQLite() (writeTx, error) {
	raw, err := d.write.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	return &writeSQLite{Tx: raw}, nil
}

func (w *writeSQLite) broken() error { return w.ended }
func (w *writeSQLite) commit() error { return w.Commit() }
func (w *writeSQLite) rollback()     { _ = w.Rollback() } // even if it fails, no transaction is left

// endsAll reports whether err may mean that SQLite has ended the whole transaction
// and not just one statement (https://sqlite.org/lang_transaction.html).
func endsAll(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff != sqlite3.SQLITE_CONSTRAINT
}

// statementCtx returns the context for a statement. The context has already ended if ctx
// or the transaction has ended; otherwise, it never ends.
func (w *writeSQLite) statementCtx(ctx context.Context) context.Context {
	switch {
	case ctx.Err() != nil:
		return ctx // database/sql then returns its error
	case w.ended != nil:
		ended, end := context.WithCancel(ctx)
		end()
		return ended // callers see w.ended instead of this error
	}
	return context.Background()
}

func (w *writeSQLite) recordFailure(err error) {
	if w.ended == nil && endsAll(err) {
		w.ended = err
	}
}

// ExecContext implements the statements interface.
func (w *writeSQLite) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := w.Tx.ExecContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(err)
	return r, err
}

// QueryContext implements the statements interface.
func (w *writeSQLite) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.Tx.QueryContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(err)
	return rows, err
}

// QueryRowContext implements the statements interface.
func (w *writeSQLite) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := w.Tx.QueryRowContext(w.statementCtx(ctx), query, args...)
	w.recordFailure(row.Err())
	return row
}
