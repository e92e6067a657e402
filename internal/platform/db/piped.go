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

// piped is a connection to PostgreSQL that can put statements off and send them
// with the next one, in one round trip. A context that has ended does it no harm.
type piped struct {
	*stdlib.Conn
	later *pgx.Batch
}

// laterError is the failure of a statement that was put off. It shows in another
// statement, which may be another caller's.
type laterError struct{ error }

// Unwrap is for errors.Is.
func (e *laterError) Unwrap() error { return e.error }

func (c *piped) wire() net.Conn { return c.Conn.Conn().PgConn().Conn() }
func (c *piped) status() byte   { return c.Conn.Conn().PgConn().TxStatus() }

// send runs what is put off. An error is a laterError unless it is of the last one.
func (c *piped) send() error {
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

// args are those of pgx.
func args(named []driver.NamedValue) []any {
	out := make([]any, len(named))
	for i, n := range named {
		out[i] = n.Value
	}
	return out
}

// ExecContext is called by database/sql.
func (c *piped) ExecContext(ctx context.Context, query string, named []driver.NamedValue) (r driver.Result, err error) {
	if err := ctx.Err(); err != nil { // the driver would give the connection up
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

// QueryContext is called by database/sql.
func (c *piped) QueryContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
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

// fetched are rows that are here already.
type fetched struct {
	columns []string
	rows    [][]driver.Value
}

func (f *fetched) read(rows pgx.Rows) error {
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

// value is v as database/sql wants it.
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
		return nil, fmt.Errorf("no value of database/sql: %T", v)
	}
	return v, nil
}

// Columns is called by database/sql.
func (f *fetched) Columns() []string { return f.columns }

// Close is called by database/sql.
func (f *fetched) Close() error { return nil }

// Next is called by database/sql.
func (f *fetched) Next(dest []driver.Value) error {
	if len(f.rows) == 0 {
		return io.EOF
	}
	copy(dest, f.rows[0])
	f.rows = f.rows[1:]
	return nil
}
