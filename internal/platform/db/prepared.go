package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
)

// mostPrepared is how many statements one connection keeps prepared. The program
// has some hundreds, and a request uses a handful; filters that callers choose
// make more of them, so that there must be an end.
const mostPrepared = 300

// preparing opens connections that keep their statements prepared. To read and
// plan a statement takes SQLite longer than to find a row by its key. pgx does
// the same for PostgreSQL by itself.
type preparing struct{ driver.Connector }

// plain is what a connection of SQLite's driver can do.
type plain interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Connect is called by database/sql.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := c.(plain)
	if !ok {
		return nil, fmt.Errorf("a connection of SQLite's driver is a %T", c)
	}
	return &prepared{plain: able, known: map[string]*statement{}}, nil
}

// prepared is a connection with its statements. Only one goroutine at a time
// uses it; database/sql sees to that.
type prepared struct {
	plain
	known map[string]*statement // by their text
}

// statement is one that is prepared.
type statement struct {
	do interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool // has rows that are still read
}

// get returns the statement of a text, or nil when it is to be run without
// being kept: when it is in use, and when it is none that comes again.
func (c *prepared) get(ctx context.Context, text string) (*statement, error) {
	if s := c.known[text]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	if !recurs(text) {
		return nil, nil
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &statement{}
	var ok bool
	if s.do, ok = made.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, made.Close()
	}
	if len(c.known) >= mostPrepared {
		c.forget()
	}
	c.known[text] = s
	return s, nil
}

// recurs tells what reads and writes rows from what makes tables and sets
// switches, which is done once, and may be several statements in one text.
func recurs(text string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), " ")
	word, _, _ = strings.Cut(word, "\n")
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return !strings.Contains(text, ";")
	}
	return false
}

// forget lets all statements go that are not in use; those that are needed are
// soon back.
func (c *prepared) forget() {
	for text := range c.known {
		c.drop(text)
	}
}

func (c *prepared) drop(text string) {
	if s := c.known[text]; s != nil && !s.busy {
		delete(c.known, text)
		_ = s.do.Close() // nobody can do anything about it
	}
}

// ExecContext is called by database/sql.
func (c *prepared) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.plain.ExecContext(ctx, text, args)
	}
	r, err := s.do.ExecContext(ctx, args)
	if err != nil {
		c.drop(text) // it begins anew after a failure
	}
	return r, err
}

// QueryContext is called by database/sql.
func (c *prepared) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	held, _ := ctx.Value(placeKey{}).(*place)
	s, err := c.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		rows, err := c.plain.QueryContext(ctx, text, args)
		if err != nil {
			return nil, err
		}
		return &preparedRows{rows, &statement{}, held}, nil
	}
	rows, err := s.do.QueryContext(ctx, args)
	if err != nil {
		c.drop(text)
		return nil, err
	}
	s.busy = true
	return &preparedRows{rows, s, held}, nil
}

// Close is called by database/sql, once nobody reads rows any more.
func (c *prepared) Close() error {
	c.forget()
	return c.plain.Close()
}

// preparedRows give their statement back when they are closed, and the place in
// the gate of readers that they have.
type preparedRows struct {
	driver.Rows
	of   *statement
	held *place
}

// Close is called by database/sql.
func (r *preparedRows) Close() error {
	err := r.Rows.Close()
	r.of.busy = false
	if r.held != nil {
		r.held.leave()
	}
	return err
}
