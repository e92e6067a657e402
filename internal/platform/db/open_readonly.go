package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// readOnlyTimeout limits how long OpenReadOnly takes to connect.
const readOnlyTimeout = 3 * time.Second

// OpenReadOnly opens a database for a command that only reads. It works while a
// server uses the database. It never creates a file: if the SQLite file does not
// exist, it returns fs.ErrNotExist. Writes to the returned DB fail.
func OpenReadOnly(ctx context.Context, rawURL string) (*DB, error) {
	ctx, cancel := context.WithTimeout(ctx, readOnlyTimeout)
	defer cancel()
	if EngineOf(rawURL) == Postgres {
		return openPostgresReadOnly(ctx, rawURL)
	}
	if _, err := os.Stat(rawURL); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return openSQLiteReadOnly(ctx, rawURL, address(rawURL, "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"))
}

// openSQLiteReadOnly opens the SQLite file at path with one read connection.
func openSQLiteReadOnly(ctx context.Context, path, address string) (*DB, error) {
	read, err := pool(address)
	if err != nil {
		return nil, err
	}
	read.SetMaxOpenConns(1)
	if err := checkVersion(ctx, read); err != nil {
		if reason, ok := damage(err); ok {
			err = fmt.Errorf("%w: %s: %s", ErrDamaged, path, reason)
		}
		return nil, errors.Join(err, read.Close())
	}
	queue := &readQueue{free: 1}
	return &DB{
		conn: conn{
			engine: SQLite, rebound: new(textCache), watchers: new(watchers), raw: queuedReader{pool: read, queue: queue},
		},
		write: read, read: read, path: path, readQueue: queue, stop: []func() error{read.Close},
		pools: func() []Pool { return []Pool{poolOf("read", read)} },
	}, nil
}

func openPostgresReadOnly(ctx context.Context, rawURL string) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not a valid PostgreSQL address")
	}
	cfg.MaxConns, cfg.ConnConfig.ConnectTimeout = 1, readOnlyTimeout
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database on %s: %w", cfg.ConnConfig.Host, err)
	}
	shared := stdlib.OpenDBFromPool(pool)
	return &DB{
		conn:  conn{engine: Postgres, rebound: new(textCache), watchers: new(watchers), raw: shared},
		write: shared, read: shared, pool: pool,
		pools: func() []Pool { return []Pool{poolOf("all", shared)} },
		stop:  []func() error{shared.Close, func() error { pool.Close(); return nil }},
	}, nil
}

// IsNoTable reports whether err means that a table does not exist. This happens if an
// earlier version of Wardroom created the database.
func IsNoTable(err error) bool {
	if err == nil {
		return false
	}
	return strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "SQLSTATE 42P01")
}
