package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// How long PostgreSQL may keep somebody waiting before it counts as away. A
// request that waits longer is of no use to its caller.
const (
	dialTime    = 3 * time.Second // for one connection to be made
	pingTime    = time.Second     // for one that was idle to show that it lives
	acquireTime = 4 * time.Second // for both, and for others to give theirs back
)

// abandoned is how long PostgreSQL lets a transaction rest that only reads, or that
// migrates. One that writes has less; see restTime.
const abandoned = time.Minute

// How soon a host that has vanished is noticed: one that does not answer while
// nothing is said, and one that does not confirm what it was sent. Both ends look,
// because each waits for the other. Otherwise TCP takes hours.
const (
	keepIdle, keepEvery, keepCount = 10 * time.Second, 5 * time.Second, 3
	confirmTime                    = 10 * time.Second
)

// errNoConnection means that no connection could be had in time: the server
// hangs, or all connections are in use.
var errNoConnection = errors.New("no connection to the database within " + acquireTime.String())

// sharedTime is how long a reading may take that several wait for; see Memo.
const sharedTime = 5 * time.Second

// errNoAnswer means that such a reading was given up.
var errNoAnswer = errors.New("no answer from the database within " + sharedTime.String())

// Away tells whether err says that the database cannot be used at the moment,
// rather than that a query is wrong: then reason says why, for the log. It is
// nothing that the caller did, and it passes without a change of ours. An end
// of the caller's own context is not it.
func Away(err error) (reason string, away bool) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return awayPostgres(pg)
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return awaySQLite(lite.Code())
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	broken, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, ErrNewer):
		return "a newer Wardroom has migrated it", true
	case errors.Is(err, ErrBusy):
		return "others have been writing for too long", true
	case errors.Is(err, errNoConnection):
		return "no connection can be had in time", true
	case errors.Is(err, errNoAnswer):
		return "PostgreSQL does not answer", true
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !connecting:
		return "", false // a deadline is a net.Error, too
	case connecting:
		return "PostgreSQL cannot be reached", true
	case network && broken != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, driver.ErrBadConn):
		return "the connection to PostgreSQL broke", true
	case err != nil && strings.Contains(err.Error(), "conn closed"): // pgconn has no name for it
		return "the connection to PostgreSQL broke", true
	}
	return "", false
}

// ErrBusy means that others were writing for so long that this change was given up.
// Nothing of it is in the database.
var ErrBusy = errors.New("the database is busy")

// awayPostgres knows the codes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
func awayPostgres(e *pgconn.PgError) (string, bool) {
	switch e.Code {
	case "57P01", "57P02", "57P05", "25P03":
		return "PostgreSQL ended the connection", true
	case "57P03":
		return "PostgreSQL is starting or stopping", true
	case "53300":
		return "PostgreSQL has too many connections", true
	case "53100":
		return "PostgreSQL's disk is full", true
	case "55P03":
		return "PostgreSQL waited too long for a lock", true
	case "57014": // not by us: the end of a context closes the connection
		return "a statement took too long", true
	case "25006":
		return "PostgreSQL only reads: it is a standby", true
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08":
		return "the connection to PostgreSQL broke", true
	case "53":
		return "PostgreSQL is short of resources", true
	case "58":
		return "PostgreSQL's machine has a fault", true
	}
	return "", false
}

func awaySQLite(code int) (string, bool) {
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "the disk is full", true
	case sqlite3.SQLITE_READONLY:
		return "the database's file or disk is read-only", true
	case sqlite3.SQLITE_IOERR:
		return "the disk answers with errors", true
	case sqlite3.SQLITE_CANTOPEN:
		return "the database's file cannot be opened", true
	}
	return "", false
}

// bounded lets nobody wait for a connection longer than acquireTime.
type bounded struct{ driver.Connector }

// Connect is called by database/sql for each use.
func (b bounded) Connect(ctx context.Context) (driver.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	c, err := b.Connector.Connect(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errNoConnection, err)
	}
	if under, ok := c.(*stdlib.Conn); ok {
		return &piped{Conn: under, later: &pgx.Batch{}}, err
	}
	return c, err
}
