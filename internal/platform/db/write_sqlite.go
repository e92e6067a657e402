package db

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// writeSQLite is a transaction of SQLite. Its statements are not interrupted when
// a context ends: SQLite would end the whole transaction with a statement that
// writes (https://sqlite.org/c3ref/interrupt.html), and others are in it. Whoever
// has left begins no further statement.
//
// It also notices when SQLite has ended the transaction, as it does when the disk
// is full: what is written after that would be kept by itself, whatever its writer
// is told. So nothing is.
type writeSQLite struct {
	*sql.Tx
	ended error
}

func (d *DB) beginSQLite() (writing, error) {
	raw, err := d.write.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	return &writeSQLite{Tx: raw}, nil
}

func (w *writeSQLite) broken() error { return w.ended }
func (w *writeSQLite) commit() error { return w.Commit() }
func (w *writeSQLite) rollback()     { _ = w.Rollback() } // whatever it says, the connection is without a transaction then

// endsAll tells failures after which SQLite may have ended the transaction by
// itself (https://sqlite.org/lang_transaction.html) from those of one statement.
func endsAll(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff != sqlite3.SQLITE_CONSTRAINT
}

func (w *writeSQLite) whole(ctx context.Context) context.Context {
	switch {
	case ctx.Err() != nil:
		return ctx // which is what database/sql answers then
	case w.ended != nil:
		ended, end := context.WithCancel(ctx)
		end()
		return ended // nobody hears of it, but of what broke the transaction
	}
	return context.Background()
}

func (w *writeSQLite) saw(err error) {
	if w.ended == nil && endsAll(err) {
		w.ended = err
	}
}

// ExecContext is that of sql.Tx.
func (w *writeSQLite) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := w.Tx.ExecContext(w.whole(ctx), query, args...)
	w.saw(err)
	return r, err
}

// QueryContext is that of sql.Tx.
func (w *writeSQLite) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := w.Tx.QueryContext(w.whole(ctx), query, args...)
	w.saw(err)
	return rows, err
}

// QueryRowContext is that of sql.Tx.
func (w *writeSQLite) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := w.Tx.QueryRowContext(w.whole(ctx), query, args...)
	w.saw(row.Err())
	return row
}
