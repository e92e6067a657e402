package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
)

// maxPrepared limits how many prepared statements each connection keeps. Without a limit their number could grow
// indefinitely, because clients can combine list filters freely and each combination is a different statement.
const maxPrepared = 300

// preparing opens connections that cache prepared statements. The cache pays off because
// SQLite takes longer to parse and plan a statement than to find a row by its key.
// PostgreSQL connections do not need it, because pgx has its own cache.
type preparing struct{ driver.Connector }

// driverConn combines the interfaces that the SQLite driver's connections implement.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Connect implements driver.Connector.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := c.(driverConn)
	if !ok {
		return nil, fmt.Errorf("unexpected SQLite connection type %T", c)
	}
	return &prepared{driverConn: able, known: map[string]*statement{}}, nil
}

// prepared is a connection with its cached prepared statements. database/sql ensures
// that only one goroutine uses the connection at a time.
type prepared struct {
	driverConn
	known map[string]*statement // by text
}

// statement is a prepared statement.
type statement struct {
	do interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool // its rows are still open
}

// get returns the prepared statement for an SQL text. It returns nil if the text must
// run as an unprepared statement, because the prepared one is in use or the text is not
// cacheable.
func (c *prepared) get(ctx context.Context, text string) (*statement, error) {
	if s := c.known[text]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	if !cacheable(text) {
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
	if len(c.known) >= maxPrepared {
		c.closeIdle()
	}
	c.known[text] = s
	return s, nil
}

// cacheable reports whether text is a single statement that reads or changes rows.
// Statements that change the schema or a setting are not cached, because they run
// only once. Texts with several statements are not cached either.
func cacheable(text string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), " ")
	word, _, _ = strings.Cut(word, "\n")
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return !strings.Contains(text, ";")
	}
	return false
}

// closeIdle closes all statements that are not in use. A closed statement is prepared
// again when it is needed.
func (c *prepared) closeIdle() {
	for text := range c.known {
		c.drop(text)
	}
}

func (c *prepared) drop(text string) {
	if s := c.known[text]; s != nil && !s.busy {
		delete(c.known, text)
		_ = s.do.Close() // an error here has no remedy
	}
}

// ExecContext implements driver.ExecerContext.
func (c *prepared) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.driverConn.ExecContext(ctx, text, args)
	}
	r, err := s.do.ExecContext(ctx, args)
	if err != nil {
		c.drop(text) // prepare it again after a failure
	}
	return r, err
}

// QueryContext implements driver.QueryerContext.
func (c *prepared) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	held, _ := ctx.Value(readSlotKey{}).(*readSlot)
	s, err := c.get(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		rows, err := c.driverConn.QueryContext(ctx, text, args)
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

// Close implements driver.Conn. database/sql closes all rows before it calls Close.
func (c *prepared) Close() error {
	c.closeIdle()
	return c.driverConn.Close()
}

// preparedRows releases its prepared statement and its slot in the read queue when it
// is closed.
type preparedRows struct {
	driver.Rows
	of   *statement
	held *readSlot
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	err := r.Rows.Close()
	r.of.busy = false
	if r.held != nil {
		r.held.release()
	}
	return err
}
