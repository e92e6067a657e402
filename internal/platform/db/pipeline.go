package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipelined is a PostgreSQL connection that can defer statements. It sends deferred
// statements together with the next statement, in a single round trip. If the context
// of a statement has already ended, the statement fails but the connection stays
// open; pgx would close it.
type pipelined struct {
	*stdlib.Conn
	later *pgx.Batch
}

// laterError is the error from a deferred statement. The next statement returns it,
// even if that statement belongs to another caller.
type laterError struct{ error }

// Unwrap returns the underlying error for errors.Is.
func (e *laterError) Unwrap() error { return e.error }

func (c *pipelined) wire() net.Conn { return c.Conn.Conn().PgConn().Conn() }
func (c *pipelined) status() byte   { return c.Conn.Conn().PgConn().TxStatus() }

// send sends the queued statements in one round trip and runs them. If any statement except the
// last one fails, send returns a laterError. This tells callers that the error is not from the last
// statement.
func (c *pipelined) send() error {
	batch := c.later
	c.later = &pgx.Batch{}
	ran := 0
	for _, q := range batch.QueuedQueries[:batch.Len()-1] {
		each := q.Fn
		if each == nil {
			each = func(sent pgx.BatchResults) error { _, err := sent.Exec(); return err }
		}
		q.Fn = func(sent pgx.BatchResults) error {
			err := each(sent)
			if err == nil {
				ran++
			}
			return err
		}
	}
	err := c.Conn.Conn().SendBatch(context.Background(), batch).Close()
	if err != nil && ran < batch.Len()-1 {
		return &laterError{err}
	}
	return err
}

// args converts driver arguments to pgx arguments.
func args(named []driver.NamedValue) []any {
	out := make([]any, len(named))
	for i, n := range named {
		out[i] = n.Value
	}
	return out
}

// ExecContext implements driver.ExecerContext.
func (c *pipelined) ExecContext(
	ctx context.Context, query string, named []driver.NamedValue,
) (r driver.Result, err error) {
	if err := ctx.Err(); err != nil { // pgx would close the connection
		return nil, err
	}
	if c.later.Len() == 0 {
		return c.Conn.ExecContext(ctx, query, named)
	}
	c.later.Queue(query, args(named)...).Exec(func(tag pgconn.CommandTag) error {
		r = driver.RowsAffected(tag.RowsAffected())
		return nil
	})
	return r, c.send()
}

// QueryContext implements driver.QueryerContext.
func (c *pipelined) QueryContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.later.Len() == 0 {
		return c.Conn.QueryContext(ctx, query, named)
	}
	all := &fetched{}
	c.later.Queue(query, args(named)...).Query(all.read)
	if err := c.send(); err != nil {
		return nil, err
	}
	return all, nil
}

// fetched implements driver.Rows for rows that are already in memory.
type fetched struct {
	columns []string
	rows    [][]driver.Value
}

func (f *fetched) read(rows pgx.Rows) error {
	if err := rows.Err(); err != nil { // such rows have no descriptions, and FieldDescriptions would panic
		return err
	}
	for _, d := range rows.FieldDescriptions() {
		f.columns = append(f.columns, d.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		row := make([]driver.Value, len(values))
		for i, v := range values {
			if row[i], err = value(v); err != nil {
				return fmt.Errorf("column %s: %w", f.columns[i], err)
			}
		}
		f.rows = append(f.rows, row)
	}
	return rows.Err()
}

// value converts v to a type that database/sql accepts.
func value(v any) (driver.Value, error) {
	switch v := v.(type) {
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case driver.Valuer:
		return v.Value()
	}
	if !driver.IsValue(v) {
		return nil, fmt.Errorf("type %T is not a database/sql value", v)
	}
	return v, nil
}

// Columns implements driver.Rows.
func (f *fetched) Columns() []string { return f.columns }

// Close implements driver.Rows.
func (f *fetched) Close() error { return nil }

// Next implements driver.Rows.
func (f *fetched) Next(dest []driver.Value) error {
	if len(f.rows) == 0 {
		return io.EOF
	}
	copy(dest, f.rows[0])
	f.rows = f.rows[1:]
	return nil
}
