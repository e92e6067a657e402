package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// ErrOwned means that another process owns the SQLite file.
var ErrOwned = errors.New("another wardroom process is using this database file")

// oldest is the first SQLite without the WAL-reset bug that can corrupt a
// database with several connections (https://sqlite.org/wal.html, "the WAL-reset bug").
const oldest = 3_051_003

// Open connects to the database at url: "postgres://…", or the path of an
// SQLite file, which is made when it is missing.
func Open(ctx context.Context, rawURL string) (*DB, error) {
	if strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://") {
		return openPostgres(ctx, rawURL)
	}
	return openSQLite(ctx, rawURL)
}

// Own is Open for a process that does background work or migrates. One process
// at a time owns an SQLite file, by a kernel lock on <file>.lock that ends with
// the process: whoever gets it knows that earlier owners are dead. A second
// one gets ErrOwned. A file that was not closed cleanly is checked first, for
// five seconds at most, and refused with ErrDamaged when it is damaged. On
// PostgreSQL it is the same as Open.
func Own(ctx context.Context, rawURL string) (*DB, error) {
	if strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://") {
		return openPostgres(ctx, rawURL)
	}
	if err := os.MkdirAll(filepath.Dir(rawURL), 0o700); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	file := rawURL
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // under another name it is the same file, and has the same lock
	}
	owner, err := own(ctx, file)
	if err != nil {
		return nil, err
	}
	d, err := openSQLite(ctx, rawURL)
	if err != nil {
		return nil, errors.Join(err, owner.release(false))
	}
	d.owner = owner
	return d, nil
}

func openSQLite(ctx context.Context, path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	if err := private(path); err != nil {
		return nil, err
	}
	// One connection writes: SQLite has one writer, and waiting in our own
	// queue is fairer than its busy loop. Settings stand in the address because
	// they belong to a connection, not to the file.
	write, err := pool(dsn(path, "_txlock=immediate"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	if err := checkVersion(ctx, write); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read, err := pool(dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	const readers = 4
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	quiet, err := sqlite.NewConnector(dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	door, seen := &gate{free: readers}, &commits{connector: quiet}
	d := &DB{
		conn:  conn{engine: SQLite, marks: new(texts), watchers: new(watchers), raw: gated{pool: read, gate: door}},
		write: write, read: read, path: path, gate: door, commits: seen, writers: writers{long: longTogether},
		stop: []func() error{seen.Close, read.Close, write.Close},
	}
	d.pools = func() []Pool {
		reading, writing := poolOf("read", read), poolOf("write", write)
		reading.Waits, reading.Waited = door.waits()
		_, writing.Waits, writing.Waited = d.writers.stats()
		return []Pool{reading, writing}
	}
	return d, nil
}

// pool is connections to an SQLite file that keep their statements.
func pool(address string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return sql.OpenDB(preparing{c}), nil
}

// dialer connects to PostgreSQL.
var dialer = &net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepEvery, Count: keepCount},
	Control:         confirmed,
}

// limit tells PostgreSQL when to give up on this process. These are no parameters
// of the start, which poolers of connections may refuse.
// Compiling statements is off: it costs more than any of ours takes.
func limit(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, fmt.Sprintf(`SELECT set_config('idle_in_transaction_session_timeout', '%d', false), set_config('tcp_keepalives_idle', '%d', false),
		set_config('tcp_keepalives_interval', '%d', false), set_config('tcp_keepalives_count', '%d', false), set_config('tcp_user_timeout', '%d', false),
		set_config('jit', 'off', false)`,
		abandoned.Milliseconds(), int(keepIdle.Seconds()), int(keepEvery.Seconds()), keepCount, confirmTime.Milliseconds()))
	if err != nil {
		return fmt.Errorf("set how long PostgreSQL waits for this process: %w", err)
	}
	return nil
}

func dsn(path, more string) string {
	return address(path, more+"&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
}

// address names an SQLite file with parameters for its connections.
func address(path, parameters string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?" + parameters + "&_time_integer_format=unix_micro&_inttotime=1"
}

// private makes the file, when it is new, readable by its owner alone: it
// holds password hashes.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return f.Close()
}

func checkVersion(ctx context.Context, pool *sql.DB) error {
	var text string
	if err := pool.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&text); err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("read SQLite's version %q: %w", text, err)
	}
	if major*1_000_000+minor*1_000+patch < oldest {
		return fmt.Errorf("SQLite %s has a bug that can corrupt the database; 3.51.3 or later is needed", text)
	}
	return nil
}

func openPostgres(ctx context.Context, rawURL string) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		// pgx's message can carry the address with its password.
		return nil, errors.New("DATABASE_URL is not an address that PostgreSQL's client understands")
	}
	cfg.MaxConns = max(cfg.MaxConns, 16)
	if cfg.ConnConfig.ConnectTimeout == 0 || cfg.ConnConfig.ConnectTimeout > dialTime {
		cfg.ConnConfig.ConnectTimeout = dialTime
	}
	cfg.PingTimeout = pingTime // of connections that were idle for a second
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamp", OID: pgtype.TimestampOID,
			Codec: &pgtype.TimestampCodec{ScanLocation: time.UTC},
		})
		return limit(ctx, c)
	}
	cfg.ConnConfig.DialFunc = dialer.DialContext
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database on %s: %w", cfg.ConnConfig.Host, err)
	}
	shared := sql.OpenDB(bounded{stdlib.GetPoolConnector(pool)})
	shared.SetMaxIdleConns(0) // the pool keeps them
	d := &DB{
		conn:  conn{engine: Postgres, marks: new(texts), watchers: new(watchers), raw: shared},
		write: shared, read: shared, pool: pool, writers: writers{most: patience, long: longTogetherPostgres}, enter: entering(lockTime, workTime, restTime),
		stop: []func() error{shared.Close, func() error { pool.Close(); return nil }},
	}
	d.pools = func() []Pool {
		s, write := pool.Stat(), Pool{Name: "write", Max: 1}
		write.InUse, write.Waits, write.Waited = d.writers.stats()
		write.Open = write.InUse
		return []Pool{{
			Name: "all", Max: int64(s.MaxConns()), Open: int64(s.TotalConns()), InUse: int64(s.AcquiredConns()),
			Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
		}, write}
	}
	return d, nil
}
