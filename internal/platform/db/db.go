// Package db opens the database and hides what the rest of the program would
// otherwise see of its engine: placeholders, the storage of times, locks, and
// the wording of errors.
//
// Queries are written once, with "?" placeholders, in the SQL that SQLite and
// PostgreSQL share; docs/architecture.md lists what that is.
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
)

// Queryer reads. *DB and *Tx both do; store functions that only read take a
// Queryer, so that the caller decides whether they run inside a transaction.
type Queryer interface {
	Engine() Engine
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Engine is the kind of database behind a DB.
type Engine int

// The engines.
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

// DB is a database of either engine. Queries outside a transaction read;
// whatever writes runs in Tx.
type DB struct {
	conn
	write   *sql.DB
	read    *sql.DB       // the same pool as write on PostgreSQL
	pool    *pgxpool.Pool // on PostgreSQL
	path    string        // of the file, on SQLite
	gate    *gate         // before read, on SQLite
	commits *commits      // on SQLite; see Memo
	pools   func() []Pool
	stop    []func() error
	owner   *owner // of the file, on SQLite; see Own
	turns   turns
	knows   atomic.Int64 // the schema's version that this program knows, once it was checked

	writers  writers
	enter    string // how a transaction begins on PostgreSQL; see entering
	rehearse bool
}

// Pool tells how busy the connections of one kind are.
type Pool struct {
	Name   string // "read" and "write" on SQLite; "all" on PostgreSQL, and "write" for the one of them that writes
	Max    int64  // connections that there can be
	Open   int64  // connections that there are
	InUse  int64
	Waits  int64         // how often somebody had to wait for one, since the start
	Waited time.Duration // how long, together
}

// Pools tells how busy the connections are.
func (d *DB) Pools() []Pool { return d.pools() }

func poolOf(name string, pool *sql.DB) Pool {
	s := pool.Stats()
	return Pool{name, int64(s.MaxOpenConnections), int64(s.OpenConnections), int64(s.InUse), s.WaitCount, s.WaitDuration}
}

// Tx is one transaction.
type Tx struct {
	conn
	committed []func()
	woken     map[string]bool // topics, see Wake
	held      []func(time.Duration)
}

// conn adapts statements and arguments to the engine.
type conn struct {
	engine Engine
	marks  *texts // of PostgreSQL
	seen   func(query string, args []any)

	watchers *watchers
	raw      statements
	dirty    *bool // set when something may have been written; nil where nobody asks
}

// statements is what database/sql's pools and transactions have in common.
type statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Engine reports which engine is in use. Only code that cannot be portable asks.
func (c conn) Engine() Engine { return c.engine }

// Close closes every connection and gives the file lock back.
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

// Observe has fn called with every statement before it runs, as it was written,
// and with its arguments, which fn must not keep or change. It is for tests that
// look at what the program asks of the database. Call it before others use d;
// fn is called from any goroutine.
func (d *DB) Observe(fn func(query string, args []any)) { d.seen = fn }

// Rehearse has every transaction run twice from now on, and be taken back the
// first time, as happens to those that share one with somebody who fails. It is
// for tests: what they see done twice touches more than the database. Call it
// before others use d.
func (d *DB) Rehearse() { d.rehearse = true }

func (c conn) note(query string, args []any) {
	if c.seen != nil {
		c.seen(query, args)
	}
}

// soil notes a statement that may have written.
func (c conn) soil(query string) {
	if c.dirty != nil && !strings.HasPrefix(strings.TrimLeft(query, " \t\n"), "SELECT") {
		*c.dirty = true
	}
}

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.read.PingContext(ctx) }

// Query runs a statement that reads. The caller closes the rows; All does.
func (c conn) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.note(query, args)
	c.soil(query)
	return c.raw.QueryContext(ctx, c.rebind(query), utc(args)...)
}

// QueryRow runs a statement that reads one row.
func (c conn) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	c.note(query, args)
	c.soil(query)
	return c.raw.QueryRowContext(ctx, c.rebind(query), utc(args)...)
}

// Exec runs a statement that writes and returns the number of rows it changed.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.note(query, args)
	res, err := t.raw.ExecContext(ctx, t.rebind(query), utc(args)...)
	if err != nil {
		return 0, err // and nothing of it was written
	}
	t.soil(query)
	return res.RowsAffected()
}

// Committed has fn called once the transaction is committed, and not otherwise.
// It is for waking whoever waits for the change; nothing may depend on it.
func (t *Tx) Committed(fn func()) { t.committed = append(t.committed, fn) }

// Later runs a statement that changes rows and whose result nobody needs. On
// PostgreSQL it waits for the next statement, or for the commit, and shares its
// round trip. Should it fail, that one fails, or the transaction.
func (t *Tx) Later(ctx context.Context, query string, args ...any) error {
	putOff, ok := t.raw.(interface{ putOff(string, []any) })
	if !ok || ctx.Err() != nil {
		_, err := t.Exec(ctx, query, args...)
		return err
	}
	t.note(query, args)
	t.soil(query)
	putOff.putOff(t.rebind(query), utc(args))
	return nil
}

// Held has fn told, once the transaction is committed, for how long it kept others
// from writing: since it, or those it is committed with, began. How long it waited
// for its turn is not in it.
func (t *Tx) Held(fn func(time.Duration)) { t.held = append(t.held, fn) }

// Lock is where a rule that looks at more than one row names what must not change
// meanwhile. Nothing is left to do: one transaction writes at a time, see writers.
func (t *Tx) Lock(context.Context, string) error { return nil }

// Clock is the time that leases are measured by: the server's on PostgreSQL,
// because the clocks of replicas differ, and now on SQLite. Nothing else asks
// the database for the time.
func (t *Tx) Clock(ctx context.Context, now time.Time) (time.Time, error) {
	if t.engine == SQLite {
		return now.UTC(), nil
	}
	var at time.Time
	err := t.QueryRow(ctx, `SELECT clock_timestamp() AT TIME ZONE 'UTC'`).Scan(&at)
	return at.UTC(), err
}

// Tx runs fn in a transaction and commits when it returns nil. fn may run more
// than once, so it must not touch anything but the database. Transactions run one
// after the other, and those that wait at the same time share a commit; queue.go
// says what is guaranteed. The end of ctx keeps further statements from beginning;
// it neither interrupts one nor stops the commit.
//
// On PostgreSQL it fails when others write for too long, and with ErrNewer when a
// newer program has migrated the database; Away knows both.
func (d *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	const attempts = 5
	if d.rehearse {
		_ = d.attempt(ctx, true, func(tx *Tx) error { return cmp.Or(fn(tx), errLost) })
	}
	var err error
	alone := false
	for i := range attempts {
		err = d.attempt(ctx, alone, fn)
		if errors.Is(err, errLost) || errors.Is(err, errCut) {
			alone = true // so that nobody can spoil it
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

func (d *DB) begin() (writing, error) {
	if d.engine == SQLite {
		return d.beginSQLite()
	}
	return d.beginPostgres()
}

// tell calls those who want to hear of the commit, and for how long it kept others waiting.
func (t *Tx) tell(held time.Duration) {
	for _, hear := range t.held {
		hear(held)
	}
	for _, wake := range t.committed {
		wake()
	}
}

// View runs fn on one unchanging view of the database, for what is read with
// several queries and must fit together.
func (d *DB) View(ctx context.Context, fn func(Queryer) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if d.engine == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	if d.gate != nil {
		p, err := d.gate.enter(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer p.leave()
	}
	raw, err := d.read.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer raw.Rollback()
	return fn(d.over(raw))
}

// over is d's conn for one of its transactions.
func (d *DB) over(raw statements) conn {
	c := d.conn
	c.raw = raw
	return c
}

// rebind turns each "?" outside quotes into "$1", "$2", … for PostgreSQL.
func (c conn) rebind(query string) string {
	if c.engine != Postgres {
		return query
	}
	if known, ok := c.marks.find(query); ok {
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
	c.marks.keep(query, b.String())
	return b.String()
}

// indexedBy is how a statement tells SQLite which index to use. PostgreSQL has
// nothing like it and chooses by its statistics.
var indexedBy = regexp.MustCompile(` INDEXED BY \w+`)

// mostTexts is how many queries are remembered in PostgreSQL's words. The program
// has some hundreds; the filters of a list make more of them, and callers choose
// the filters, so that without an end they could fill the memory.
const mostTexts = 1000

// texts are queries by how we write them.
type texts struct {
	mu    sync.RWMutex
	known map[string]string
}

func (t *texts) find(query string) (text string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	text, ok = t.known[query]
	return text, ok
}

// keep remembers a text, and forgets all others when they are too many: those in
// use are back at once.
func (t *texts) keep(query, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= mostTexts {
		t.known = map[string]string{}
	}
	t.known[query] = text
}

// utc makes every time argument UTC: PostgreSQL would drop the zone of a
// TIMESTAMP and keep the hour, which is another moment.
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

// Row is what a scan function reads: *sql.Row or *sql.Rows.
type Row interface{ Scan(dest ...any) error }

// All reads every row with scan and closes rows. It takes the results of Query
// as they come, so that a list is one expression. The list is never nil.
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

// IsNotFound reports whether a single-row query found nothing.
func IsNotFound(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// IsDuplicate reports whether err broke a unique constraint.
func IsDuplicate(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// isRace reports whether a transaction failed only because of another one.
func isRace(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "40001" || pg.Code == "40P01" // serialization failure, deadlock
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY
}

// NewID returns a row's id: a UUIDv7, so that ids sort by creation time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
