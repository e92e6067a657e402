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

// Time limits for connecting to PostgreSQL. When one is exceeded, the database counts as
// unavailable. The limits are short because clients do not wait long for a response.
const (
	dialTime = 3 * time.Second // to open a connection, unless DATABASE_URL sets connect_timeout
	pingTime = time.Second     // for the ping of an idle connection, and for the wait for a free one
)

// idleTimeout is how long a read transaction or a migration can be idle before PostgreSQL
// ends it. For write transactions, the limit is idleTxTimeout, which is shorter.
const idleTimeout = time.Minute

// Timeouts for detecting that the other host is gone, when a connection is idle or sent data is
// not acknowledged. Wardroom and PostgreSQL both check, because each may be waiting for the
// other. Without these timeouts, TCP takes hours to notice.
const (
	keepIdle, keepEvery, keepCount = 10 * time.Second, 5 * time.Second, 3
	confirmTime                    = 10 * time.Second
)

// errNoConnection means that no connection became available in time. Either the
// server hangs, or all connections are in use.
var errNoConnection = errors.New("no connection to the database in time")

// sharedTime limits the duration of a read that several callers share; see ReadCache.
const sharedTime = 5 * time.Second

// errNoAnswer means that a shared read timed out.
var errNoAnswer = errors.New("no response from the database within " + sharedTime.String())

// Unavailable reports whether err means that the database cannot be used at the moment.
// It also returns the reason, for the log. Such errors are not caused by the query, and
// they go away without a change to the program. If err only means that the caller's
// context has ended, Unavailable returns false.
func Unavailable(err error) (reason string, unavailable bool) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unavailablePostgres(pg)
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return unavailableSQLite(lite.Code())
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	broken, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, ErrNewer):
		return "a newer version of Wardroom has migrated it", true
	case errors.Is(err, ErrBusy):
		return "other writers were busy for too long", true
	case errors.Is(err, errNoConnection):
		return "no connection became available in time", true
	case errors.Is(err, errNoAnswer):
		return "PostgreSQL does not respond", true
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !connecting:
		return "", false // a context deadline is also a net.Error
	case connecting:
		return "PostgreSQL cannot be reached", true
	case network && broken != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, driver.ErrBadConn):
		return "the connection to PostgreSQL broke", true
	case err != nil && strings.Contains(err.Error(), "conn closed"): // pgconn has no error variable for it
		return "the connection to PostgreSQL broke", true
	}
	return "", false
}

// ErrBusy means that other writers blocked a change for too long. No part of the
// change was stored.
var ErrBusy = errors.New("the database is busy")

// unavailablePostgres reports whether an error code of PostgreSQL means that the database is
// unavailable, and if so, why. The codes are listed at
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func unavailablePostgres(e *pgconn.PgError) (string, bool) {
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
	case "57014": // a timeout; Wardroom cancels a statement by closing the connection
		return "a statement took too long", true
	case "25006":
		return "PostgreSQL is a read-only standby", true
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08":
		return "the connection to PostgreSQL broke", true
	case "53":
		return "PostgreSQL is out of resources", true
	case "58":
		return "PostgreSQL reports a system error", true
	}
	return "", false
}

func unavailableSQLite(code int) (string, bool) {
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "the disk is full", true
	case sqlite3.SQLITE_READONLY:
		return "the database file or its disk is read-only", true
	case sqlite3.SQLITE_IOERR:
		return "the disk reports errors", true
	case sqlite3.SQLITE_CANTOPEN:
		return "the database file cannot be opened", true
	}
	return "", false
}

// boundedConnector waits at most as long as its limit for a connection.
type boundedConnector struct {
	driver.Connector
	limit time.Duration
}

// Connect implements driver.Connector.
func (b boundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	c, err := b.Connector.Connect(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, fmt.Errorf("%w (%s): %w", errNoConnection, b.limit, err)
	}
	if under, ok := c.(*stdlib.Conn); ok {
		return &pipelined{Conn: under, later: &pgx.Batch{}}, err
	}
	return c, err
}
