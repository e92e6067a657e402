// Package db opens the SQLite or PostgreSQL database and hides the differences
// between the two engines, such as placeholders, time storage, locking and error
// codes.
//
// Queries are written once, with "?" as the placeholder, in SQL that both engines
// understand. docs/architecture.md describes this subset of SQL.
package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"wardroom/internal/platform/limiter"
)

// Queryer runs read queries. *DB and *Tx implement it. A function that only reads
// takes a Queryer, so that its caller can decide whether it runs in a transaction.
type Queryer interface {
	Engine() Engine
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Engine identifies the kind of database.
type Engine int

// The supported engines.
const (
	SQLite Engine = iota
	Postgres
)

func (e Engine) String() string {
	if e == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// DB is an SQLite or PostgreSQL database. Queries outside a transaction are
// read-only; all writes go through Tx.
type DB struct {
	conn
	write         *sql.DB
	read          *sql.DB       // on PostgreSQL, the same pool as write
	pool          *pgxpool.Pool // PostgreSQL only
	path          string        // SQLite file
	readQueue     *readQueue    // SQLite only: limits and orders the readers
	commits       *dataVersion  // SQLite only; see ReadCache
	pools         func() []Pool
	stop          []func() error
	owner         *owner        // SQLite only; see Own
	longReads     limiter.Queue // by caller; see LimitReads
	schemaVersion atomic.Int64  // latest version this program supports; 0 until Check

	writers  writers
	enter    string // PostgreSQL only: first statement of a write transaction; see beginStatement
	rehearse bool   // see Rehearse
	outage   outage // see Away
}

// Pool holds statistics about one kind of database connection, such as SQLite's read
// connections.
type Pool struct {
	Name   string // "read" and "write" on SQLite; "all" and "write" (the current writer) on PostgreSQL
	Max    int64  // maximum number of connections
	Open   int64  // open connections
	InUse  int64
	Waits  int64         // times a caller had to wait, since the start
	Waited time.Duration // total time waited
}

// Pools returns the statistics for each kind of connection.
func (d *DB) Pools() []Pool { return d.pools() }

func poolOf(name string, pool *sql.DB) Pool {
	s := pool.Stats()
	return Pool{name, int64(s.MaxOpenConnections), int64(s.OpenConnections), int64(s.InUse), s.WaitCount, s.WaitDuration}
}

// Tx is a database transaction.
type Tx struct {
	conn
	committed []func()
	woken     map[string]bool // topics; see Wake
	held      []func(time.Duration)
	numbers   map[string]int64 // of the shared transaction; see Numbers
}

// conn adapts SQL statements and their arguments to the database engine.
type conn struct {
	engine  Engine
	rebound *textCache // PostgreSQL only: rewritten query texts
	seen    func(query string, args []any)

	watchers *watchers
	raw      statements
	dirty    *bool // set by statements that may write; nil if not tracked
}

// statements is the interface that database/sql's pools and transactions have in
// common.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Engine returns the engine in use. Call it only where the two engines need different
// SQL.
func (c conn) Engine() Engine { return c.engine }

// Close closes every connection and releases the file lock.
func (d *DB) Close() error {
	var errs []error
	for _, stop := range d.stop {
		errs = append(errs, stop())
	}
	if d.owner != nil {
		errs = append(errs, d.owner.release(errors.Join(errs...) == nil))
	}
	return errors.Join(errs...)
}

// Observe makes d call fn before each statement runs. The query that fn receives is the
// statement as written in the code. fn may be called from any goroutine, and must not
// retain or modify args. Tests use Observe to check which queries run. Call it before
// other goroutines use d.
func (d *DB) Observe(fn func(query string, args []any)) { d.seen = fn }

// Rehearse makes d run every transaction twice and roll back the first run. In
// production, a transaction can run twice if it shares a commit with one that fails.
// Tests use Rehearse to find transaction functions with side effects outside the
// database. Call it before other goroutines use d.
func (d *DB) Rehearse() { d.rehearse = true }

func (c conn) note(query string, args []any) {
	if c.seen != nil {
		c.seen(query, args)
	}
}

// markDirty records that a statement may have changed data, unless it is a SELECT.
func (c conn) markDirty(query string) {
	if c.dirty != nil && !strings.HasPrefix(strings.TrimLeft(query, " \t\n"), "SELECT") {
		*c.dirty = true
	}
}

// Ping returns an error if the database does not respond.
func (d *DB) Ping(ctx context.Context) error { return d.read.PingContext(ctx) }

// Query runs a statement that returns rows. The caller must close the rows, for
// example by passing them to All.
func (c conn) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.note(query, args)
	c.markDirty(query)
	return c.raw.QueryContext(ctx, c.rebind(query), utc(args)...)
}

// QueryRow runs a statement that returns at most one row.
func (c conn) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	c.note(query, args)
	c.markDirty(query)
	return c.raw.QueryRowContext(ctx, c.rebind(query), utc(args)...)
}

// Exec runs a statement that writes. It returns the number of changed rows.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.note(query, args)
	res, err := t.raw.ExecContext(ctx, t.rebind(query), utc(args)...)
	if err != nil {
		return 0, err // the statement wrote nothing
	}
	t.markDirty(query)
	return res.RowsAffected()
}

// Committed makes t call the function fn after the commit. If t is rolled back, fn is
// not called. Use it only to wake goroutines that wait for the change, because a
// crash can skip the call.
func (t *Tx) Committed(fn func()) { t.committed = append(t.committed, fn) }

// Later runs a write whose result is not needed. On PostgreSQL, the write is sent
// together with the next statement or the commit, which saves a round trip. If the
// write fails, that statement or the commit returns the error.
func (t *Tx) Later(ctx context.Context, query string, args ...any) error {
	pg, ok := t.raw.(*writePostgres)
	if !ok || ctx.Err() != nil || pg.under.later.Len() >= maxLater {
		_, err := t.Exec(ctx, query, args...)
		return err
	}
	t.note(query, args)
	t.markDirty(query)
	pg.under.later.Queue(t.rebind(query), utc(args)...)
	return nil
}

// Numbers returns the numbers that the callers of a shared transaction leave for those
// after them, by name. They are forgotten when the transaction ends. A caller that sets a
// number must also have written it: if that caller fails, nobody commits.
func (t *Tx) Numbers() map[string]int64 { return t.numbers }

// Held registers a function to call after the commit with the time for which the
// transaction blocked other writers. This includes the time of other transactions that
// share the commit, but not the time that t waited for its turn.
func (t *Tx) Held(fn func(time.Duration)) { t.held = append(t.held, fn) }

// Clock returns the current time for leases. On PostgreSQL this is the server's time,
// because the clocks of replicas can differ. On SQLite it is the time that the caller
// passes in. All code that does not handle leases uses the local time.
func (t *Tx) Clock(ctx context.Context, now time.Time) (time.Time, error) {
	if t.engine == SQLite {
		return now.UTC(), nil
	}
	var at time.Time
	err := t.QueryRow(ctx, `SELECT clock_timestamp() AT TIME ZONE 'UTC'`).Scan(&at)
	return at.UTC(), err
}

// Tx runs fn in a transaction and commits if fn returns nil. It may call fn more than
// once, so fn must have no effects outside the database. Only one transaction runs at
// a time, but several waiting transactions can share a commit; write_queue.go lists
// the guarantees. When ctx ends, no further statement starts, but a running statement
// or commit is not interrupted.
//
// On PostgreSQL, Tx returns ErrBusy if other writers block it for too long, and
// ErrNewer if a newer version of Wardroom has migrated the database. The function
// Unavailable recognizes both errors.
func (d *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	const attempts = 5
	if d.rehearse {
		_ = d.attempt(ctx, true, func(tx *Tx) error { return cmp.Or(fn(tx), errLost) })
	}
	var err error
	alone := false
	for i := range attempts {
		err = d.attempt(ctx, alone, fn)
		if errors.Is(err, errLost) || errors.Is(err, errConnEnded) {
			alone = true // another transaction cannot roll it back
			continue
		}
		if !isRace(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(5<<i) * time.Millisecond):
		}
	}
	return err
}

// Do runs fn in a transaction and returns what fn returns. See DB.Tx. The text what says
// in an error what failed, such as "create a task".
func Do[T any](ctx context.Context, d *DB, what string, fn func(*Tx) (T, error)) (T, error) {
	var v, none T
	err := d.Tx(ctx, func(tx *Tx) (err error) {
		v, err = fn(tx)
		return err
	})
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

func (d *DB) begin() (writeTx, error) {
	if d.engine == SQLite {
		return d.beginSQLite()
	}
	return d.beginPostgres()
}

// runHooks calls the functions registered with Held and Committed.
func (t *Tx) runHooks(held time.Duration) {
	for _, fn := range t.held {
		fn(held)
	}
	for _, wake := range t.committed {
		wake()
	}
}

// View runs fn on a consistent snapshot of the database. Use it for results that
// combine several queries.
func (d *DB) View(ctx context.Context, fn func(Queryer) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if d.engine == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	if d.readQueue != nil {
		p, err := d.readQueue.enter(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer p.release()
	}
	raw, err := d.read.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer raw.Rollback()
	return fn(d.connFor(raw))
}

// connFor returns a copy of d's conn that runs its statements on raw, which is a
// connection or a transaction.
func (d *DB) connFor(raw statements) conn {
	c := d.conn
	c.raw = raw
	return c
}

// rebind replaces each "?" that is not in quotes with "$1", "$2" and so on if the
// engine is PostgreSQL.
func (c conn) rebind(query string) string {
	if c.engine != Postgres {
		return query
	}
	if known, ok := c.rebound.find(query); ok {
		return known
	}
	var b strings.Builder
	n, quoted := 0, false
	for _, r := range indexedBy.ReplaceAllString(query, "") {
		switch {
		case r == '\'':
			quoted = !quoted
			b.WriteRune(r)
		case r == '?' && !quoted:
			n++
			fmt.Fprintf(&b, "$%d", n)
		default:
			b.WriteRune(r)
		}
	}
	c.rebound.keep(query, b.String())
	return b.String()
}

// indexedBy matches an index hint for SQLite. PostgreSQL has no such hints, so they
// are removed from its queries.
var indexedBy = regexp.MustCompile(` INDEXED BY \w+`)

// maxTexts is the maximum number of queries whose PostgreSQL text is cached. The program
// has only a few hundred queries, but clients can combine list filters in any way, and
// each combination produces a different query.
const maxTexts = 1000

// textCache maps each query to its text with PostgreSQL placeholders.
type textCache struct {
	mu    sync.RWMutex
	known map[string]string
}

func (t *textCache) find(query string) (text string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	text, ok = t.known[query]
	return text, ok
}

// keep adds a query to the cache. If the cache is full, keep empties it first;
// queries that are in use are soon added again.
func (t *textCache) keep(query, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[string]string{}
	}
	t.known[query] = text
}

// utc converts every time argument to UTC. PostgreSQL would drop the time zone of a
// TIMESTAMP and keep the hour, which would change the time.
func utc(args []any) []any {
	for i, a := range args {
		switch t := a.(type) {
		case time.Time:
			args[i] = t.UTC()
		case *time.Time:
			if t != nil {
				args[i] = t.UTC()
			}
		}
	}
	return args
}

// Row is a result row that a scan function reads: a *sql.Row or *sql.Rows.
type Row interface{ Scan(dest ...any) error }

// All reads every row with the function scan and closes the rows. It accepts the
// results of Query directly, so that a list can be read in one expression. If there
// is no error, the returned slice is not nil.
func All[T any](rows *sql.Rows, err error, scan func(Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// In returns the end of an SQL condition that is true for the given values, such as "IN (?, ?)", and the
// values as arguments. Without values the condition is never true.
func In(values []string) (condition string, args []any) {
	if len(values) == 0 {
		return "IN (NULL)", nil
	}
	for _, v := range values {
		args = append(args, v)
	}
	return "IN (?" + strings.Repeat(", ?", len(values)-1) + ")", args
}

// IsNotFound reports whether err means that a query for a single row found none.
func IsNotFound(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// IsDuplicate reports whether err is a unique constraint violation.
func IsDuplicate(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// isRace reports whether a transaction failed only because another one ran at the
// same time.
func isRace(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "40001" || pg.Code == "40P01" // serialization failure, deadlock
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// NewID returns a new row ID. It is a UUIDv7, so that IDs sort by creation time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
