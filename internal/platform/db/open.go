package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// ErrOwned means that another process owns the SQLite file.
var ErrOwned = errors.New("another Wardroom process is using this database file")

// oldest is the minimum version of SQLite. Earlier versions have a bug that can
// corrupt a database with several connections (https://sqlite.org/wal.html, "the
// WAL-reset bug").
const oldest = 3_051_003

// EngineOf returns the engine of the database at the given address: PostgreSQL for its URLs, otherwise SQLite.
func EngineOf(address string) Engine {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return Postgres
	}
	return SQLite
}

// Open connects to the database at the given address: "postgres://…", or the path of
// an SQLite file. It creates the file if it does not exist.
func Open(ctx context.Context, rawURL string) (*DB, error) {
	if EngineOf(rawURL) == Postgres {
		return openPostgres(ctx, rawURL)
	}
	return openSQLite(ctx, rawURL)
}

// Own opens the database for a process that runs background work or migrations. On
// PostgreSQL, it does the same as Open. Only one process at a time can own an SQLite
// file: Own takes a kernel lock on <file>.lock and returns ErrOwned if another process
// holds that lock. The kernel releases the lock when the process ends. If the file was
// not closed cleanly, Own first checks it for up to five seconds and returns ErrDamaged
// if it is damaged.
func Own(ctx context.Context, rawURL string) (*DB, error) {
	if EngineOf(rawURL) == Postgres {
		return openPostgres(ctx, rawURL)
	}
	if err := makeFolder(rawURL); err != nil {
		return nil, err
	}
	file := rawURL
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a symbolic link must lock the same file
	}
	owner, err := own(ctx, file)
	if err != nil {
		return nil, advised(err, file)
	}
	d, err := openSQLite(ctx, rawURL)
	if err != nil {
		return nil, errors.Join(err, owner.release(false))
	}
	d.owner = owner
	return d, nil
}

func openSQLite(ctx context.Context, path string) (*DB, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, advised(err, path)
	}
	// One connection writes: SQLite allows one writer, and our own queue is fairer
	// than its busy loop. Settings are in the address because they apply to a
	// connection, not to the file.
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
	queue, seen := &readQueue{free: readers}, &dataVersion{connector: quiet}
	d := &DB{
		conn: conn{
			engine: SQLite, rebound: new(textCache), watchers: new(watchers), raw: queuedReader{pool: read, queue: queue},
		},
		write: write, read: read, path: path, readQueue: queue, commits: seen, writers: writers{long: joinTime},
		stop: []func() error{seen.Close, read.Close, write.Close},
	}
	d.pools = func() []Pool {
		reading, writing := poolOf("read", read), poolOf("write", write)
		reading.Waits, reading.Waited = queue.waits()
		_, writing.Waits, writing.Waited = d.writers.stats()
		return []Pool{reading, writing}
	}
	return d, nil
}

// pool returns a pool of connections to an SQLite file. The connections cache their
// prepared statements.
func pool(address string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return sql.OpenDB(preparing{c}), nil
}

// dialer opens connections to PostgreSQL and detects when they are dead.
var dialer = &net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepEvery, Count: keepCount},
	Control:         setUserTimeout,
}

// setTimeouts tells PostgreSQL to close the connection c if a transaction on it is idle
// for too long, or if this process can no longer be reached. It uses SQL because
// connection poolers can reject startup parameters. It also turns off JIT compilation,
// which takes longer than any of Wardroom's queries.
func setTimeouts(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, fmt.Sprintf(`SELECT set_config('idle_in_transaction_session_timeout', '%d', false), set_config('tcp_keepalives_idle', '%d', false),
		set_config('tcp_keepalives_interval', '%d', false), set_config('tcp_keepalives_count', '%d', false), set_config('tcp_user_timeout', '%d', false),
		set_config('jit', 'off', false)`,
		idleTimeout.Milliseconds(), int(keepIdle.Seconds()), int(keepEvery.Seconds()), keepCount, confirmTime.Milliseconds()))
	if err != nil {
		return fmt.Errorf("set the PostgreSQL connection timeouts: %w", err)
	}
	return nil
}

func dsn(path, more string) string {
	return address(path,
		more+"&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
}

// address returns the URL of an SQLite file with the given connection parameters.
func address(path, parameters string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?" + parameters + "&_time_integer_format=unix_micro&_inttotime=1"
}

// makeFolder creates the folder of a database file.
func makeFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return advised(fmt.Errorf("create the database folder: %w", err), path)
	}
	return nil
}

// advised adds what to do to an error about a database file or its folder.
func advised(err error, path string) error {
	folder := filepath.Dir(path)
	info, missing := os.Stat(path)
	switch {
	case missing == nil && info.IsDir():
		return fmt.Errorf("%w (%s is a folder: set DATABASE_URL to a file in it, such as sqlite:%s)", err, path,
			filepath.Join(path, "wardroom.db"))
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w (%s is not a folder: remove the file, or set another DATA_DIR)", err, folder)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w (the file system is read-only: mount a writable volume at %s, or set another DATA_DIR)", err,
			folder)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (user %d, which runs Wardroom, must be allowed to write to %s: make that user its owner, or set another DATA_DIR)", err, os.Getuid(), folder)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w (the disk is full: make room on the volume of %s)", err, folder)
	}
	return err
}

// createPrivate creates the database file if it does not exist. Only the user who
// runs Wardroom can read the file, because it contains password hashes.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return f.Close()
}

func checkVersion(ctx context.Context, pool *sql.DB) error {
	var text string
	if err := pool.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&text); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("read SQLite version %q: %w", text, err)
	}
	if major*1_000_000+minor*1_000+patch < oldest {
		return fmt.Errorf("SQLite %s has a bug that can corrupt the database. Use 3.51.3 or later", text)
	}
	return nil
}

// limits are the time limits of PostgreSQL that DATABASE_URL can change.
type limits struct {
	dial time.Duration // to open a connection
	lock time.Duration // for a lock in a write transaction
	idle time.Duration // between two statements of a write transaction
}

// limitsOf takes the limits out of the parameters of a database URL: connect_timeout in seconds,
// lock_timeout and idle_in_transaction_session_timeout in milliseconds. PostgreSQL gets them with
// each write transaction, because connection poolers can reject startup parameters.
func limitsOf(cfg *pgx.ConnConfig) (limits, error) {
	within := limits{dial: dialTime, lock: lockTime, idle: idleTxTimeout}
	if cfg.ConnectTimeout > 0 {
		within.dial = cfg.ConnectTimeout
	}
	cfg.ConnectTimeout = within.dial
	for name, limit := range map[string]*time.Duration{
		"lock_timeout": &within.lock, "idle_in_transaction_session_timeout": &within.idle,
	} {
		given, ok := cfg.RuntimeParams[name]
		if !ok {
			continue
		}
		ms, err := strconv.Atoi(given)
		if err != nil || ms < 1 {
			return limits{}, fmt.Errorf("%s in DATABASE_URL must be a number of milliseconds greater than 0", name)
		}
		*limit = time.Duration(ms) * time.Millisecond
		delete(cfg.RuntimeParams, name)
	}
	return within, nil
}

// checkEncoding connects for the first time and refuses a database that can't store all text: in another encoding,
// some text is refused, and a backup restores as other text.
func checkEncoding(ctx context.Context, pool *pgxpool.Pool, cfg *pgx.ConnConfig) error {
	var server, client string
	if err := pool.QueryRow(
		ctx, `SELECT current_setting('server_encoding'), current_setting('client_encoding')`,
	).Scan(&server, &client); err != nil {
		return fmt.Errorf("connect to the database on %s: %w", cfg.Host, err)
	}
	switch {
	case server != "UTF8":
		return fmt.Errorf("the PostgreSQL database %s has the encoding %s, in which Wardroom can't store every text: create a database with "+
			"CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0, and set DATABASE_URL or DB_NAME to it", cfg.Database, server)
	case client != "UTF8":
		return fmt.Errorf("connections to the PostgreSQL database %s have the encoding %s, so PostgreSQL would change texts: remove client_encoding "+
			"from DATABASE_URL and from the settings of the role and the database", cfg.Database, client)
	}
	return nil
}

func openPostgres(ctx context.Context, rawURL string) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		// pgx's message can contain the address with its password.
		return nil, errors.New("DATABASE_URL is not a valid PostgreSQL address")
	}
	cfg.MaxConns = max(cfg.MaxConns, 16)
	within, err := limitsOf(cfg.ConnConfig)
	if err != nil {
		return nil, err
	}
	cfg.PingTimeout = pingTime // for connections that were idle for a second
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamp", OID: pgtype.TimestampOID,
			Codec: &pgtype.TimestampCodec{ScanLocation: time.UTC},
		})
		return setTimeouts(ctx, c)
	}
	cfg.ConnConfig.DialFunc = dialer.DialContext
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := checkEncoding(ctx, pool, cfg.ConnConfig); err != nil {
		pool.Close()
		return nil, err
	}
	shared := sql.OpenDB(boundedConnector{stdlib.GetPoolConnector(pool), within.dial + pingTime})
	shared.SetMaxIdleConns(0) // pgxpool keeps idle connections
	d := &DB{
		conn:  conn{engine: Postgres, rebound: new(textCache), watchers: new(watchers), raw: shared},
		write: shared, read: shared, pool: pool, writers: writers{most: TurnTimeout, long: joinTimePostgres},
		enter: beginStatement(within.lock, workTime, within.idle),
		stop:  []func() error{shared.Close, func() error { pool.Close(); return nil }},
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
