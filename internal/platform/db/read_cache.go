package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
)

// dataVersion detects commits to an SQLite file by any process. It reads PRAGMA data_version, whose
// value changes when another connection commits
// (https://sqlite.org/pragma.html#pragma_data_version). This requires a separate connection.
// Because the connection bypasses database/sql, a check takes only 3 µs, a fifth of the time that
// it takes to read a row.
type dataVersion struct {
	connector driver.Connector
	mu        sync.Mutex
	conn      driver.Conn
	stmt      driver.Stmt
	ask       driver.StmtQueryContext // stmt as the interface that read needs
	closed    bool
}

// version returns a number that changes with every commit.
func (c *dataVersion) version() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, errors.New("the database is closed")
	}
	if c.ask == nil {
		if err := c.connect(); err != nil {
			return 0, err
		}
	}
	v, err := c.read()
	if err != nil {
		return 0, fmt.Errorf("read the database's data version: %w", err)
	}
	return v, nil
}

// connect opens the connection when it is first needed. The connection is never
// replaced, because the data versions of two connections cannot be compared.
func (c *dataVersion) connect() error {
	conn, err := c.connector.Connect(context.Background())
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	stmt, err := conn.Prepare(`PRAGMA data_version`)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	ask, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return fmt.Errorf("unexpected SQLite statement type %T", stmt)
	}
	c.conn, c.stmt, c.ask = conn, stmt, ask
	return nil
}

func (c *dataVersion) read() (version int64, err error) {
	rows, err := c.ask.QueryContext(context.Background(), nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // read-only
	var value [1]driver.Value
	if err := rows.Next(value[:]); err != nil {
		return 0, err
	}
	version, ok := value[0].(int64)
	if !ok {
		return 0, fmt.Errorf("unexpected type %T", value[0])
	}
	return version, nil
}

// Close closes the statement and then the connection. As long as a statement is open, SQLite keeps
// its connection open. Closing the other connections would then not merge the WAL into the file
// (https://sqlite.org/c3ref/close.html).
func (c *dataVersion) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed = true; c.conn == nil {
		return nil
	}
	return errors.Join(c.stmt.Close(), c.conn.Close())
}

// maxCached is the maximum number of entries in a ReadCache. It is larger than the
// number of concurrent callers.
const maxCached = 1000

// ReadCache caches database values that every request needs. The zero ReadCache is
// ready to use.
//
// On SQLite, a cached value is valid until any process commits a change. Every call to
// Read checks this, so it sees all commits that happened before the call. On
// PostgreSQL, nothing is cached, because no check is cheaper than the read itself.
// Instead, concurrent calls for the same key share one read. The read starts only
// after all of these calls were made, so it also sees all commits before them.
type ReadCache[K comparable, V any] struct {
	mu    sync.Mutex
	at    int64 // data version at which the values in known were read, or an earlier one
	known map[K]V
	// PostgreSQL only: keys with a running read, and the next read if a caller waits for it.
	next map[K]*reading[V]
}

// reading is a read that several callers share.
type reading[V any] struct {
	done chan struct{} // closed when v and err are set
	v    V
	err  error
}

// together returns the result of a read that starts after this call. While a read for
// the given key is running, new callers wait for the next read and share it. If ctx
// ends, together returns early and the read continues for the other callers.
func (m *ReadCache[K, V]) together(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	m.mu.Lock()
	mine, runs := m.next[key]
	if mine == nil {
		mine = &reading[V]{done: make(chan struct{})}
		if m.next == nil {
			m.next = map[K]*reading[V]{}
		}
		if m.next[key] = mine; !runs {
			m.next[key] = nil
			go m.serve(context.WithoutCancel(ctx), key, mine, read)
		}
	}
	m.mu.Unlock()
	select {
	case <-mine.done:
		return mine.v, mine.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// serve performs the given read for a key. If callers have begun to wait in the meantime,
// it performs another read for them, and so on.
func (m *ReadCache[K, V]) serve(ctx context.Context, key K, now *reading[V], read func(context.Context) (V, error)) {
	for now != nil {
		limited, end := context.WithTimeout(ctx, sharedTime)
		if now.v, now.err = read(limited); now.err != nil && limited.Err() != nil {
			now.err = fmt.Errorf("%w: %w", errNoAnswer, now.err)
		}
		end()
		close(now.done)
		m.mu.Lock()
		if now = m.next[key]; now != nil {
			m.next[key] = nil
		} else {
			delete(m.next, key)
		}
		m.mu.Unlock()
	}
}

// Read returns the cached value for a key. If there is none, it loads the value with
// the function read. Errors are not cached. All callers get the same value and must
// not change what it points to.
func (m *ReadCache[K, V]) Read(ctx context.Context, d *DB, key K, read func(context.Context) (V, error)) (V, error) {
	if d.commits == nil {
		return m.together(ctx, key, read)
	}
	// The version is read first. A commit during the read then only causes one more
	// read.
	at, err := d.commits.version()
	if err != nil {
		return read(ctx) // fails with a better description of the problem
	}
	m.mu.Lock()
	v, ok := m.known[key]
	ok = ok && m.at == at
	m.mu.Unlock()
	if ok {
		return v, nil
	}
	if v, err = read(ctx); err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || m.at != at || len(m.known) >= maxCached {
		m.at, m.known = at, map[K]V{}
	}
	m.known[key] = v
	return v, nil
}
