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

// lookTime is how long it may take to reach a database that is only looked at.
const lookTime = 3 * time.Second

// Look opens a database for a command that only reads, beside a service that may
// be using it. It makes nothing: without an SQLite file it fails with
// fs.ErrNotExist. Writing fails.
func Look(ctx context.Context, rawURL string) (*DB, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://") {
		return lookPostgres(ctx, rawURL)
	}
	if _, err := os.Stat(rawURL); err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	return lookSQLite(ctx, rawURL, address(rawURL, "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"))
}

// lookSQLite opens the SQLite file at path with one connection that reads.
func lookSQLite(ctx context.Context, path, address string) (*DB, error) {
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
	door := &gate{free: 1}
	return &DB{
		conn:  conn{engine: SQLite, marks: new(texts), watchers: new(watchers), raw: gated{pool: read, gate: door}},
		write: read, read: read, path: path, gate: door, stop: []func() error{read.Close},
		pools: func() []Pool { return []Pool{poolOf("read", read)} },
	}, nil
}

func lookPostgres(ctx context.Context, rawURL string) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not an address that PostgreSQL's client understands")
	}
	cfg.MaxConns, cfg.ConnConfig.ConnectTimeout = 1, lookTime
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database on %s: %w", cfg.ConnConfig.Host, err)
	}
	shared := stdlib.OpenDBFromPool(pool)
	return &DB{
		conn:  conn{engine: Postgres, marks: new(texts), watchers: new(watchers), raw: shared},
		write: shared, read: shared, pool: pool,
		pools: func() []Pool { return []Pool{poolOf("all", shared)} },
		stop:  []func() error{shared.Close, func() error { pool.Close(); return nil }},
	}, nil
}

// IsNoTable reports whether err says that a table is not there, as in a database
// that an earlier version made.
func IsNoTable(err error) bool {
	if err == nil {
		return false
	}
	return strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "SQLSTATE 42P01")
}
