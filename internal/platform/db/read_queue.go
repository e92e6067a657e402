package db

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// readQueue limits the number of concurrent readers of an SQLite file to the number of
// connections. Any further readers wait and are served in order of arrival. Without the
// queue, database/sql would give a free connection to a random waiter, and a reader
// could wait for a hundred readers that arrived later.
type readQueue struct {
	mu      sync.Mutex
	free    int
	waiting []chan struct{} // in order of arrival; closed when the reader may start
	waited  int64           // number of readers that had to wait
	took    time.Duration   // total time waited
}

// enter waits until a slot is free or ctx ends.
func (g *readQueue) enter(ctx context.Context) (*readSlot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	if g.free > 0 { // no reader waits
		g.free--
		g.mu.Unlock()
		return &readSlot{of: g}, nil
	}
	in, began := make(chan struct{}), time.Now()
	g.waiting = append(g.waiting, in)
	g.mu.Unlock()
	defer func() { g.note(time.Since(began)) }()
	select {
	case <-in:
		return &readSlot{of: g}, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for i, other := range g.waiting {
		if other == in {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			g.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	g.mu.Unlock()
	g.release() // the slot was assigned at the same moment
	return nil, ctx.Err()
}

func (g *readQueue) note(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waited, g.took = g.waited+1, g.took+took
}

// waits returns the number of readers that had to wait, and their total waiting time.
func (g *readQueue) waits() (int64, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waited, g.took
}

// release frees a slot. If readers are waiting, the one that has waited longest gets it.
func (g *readQueue) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}

// readSlot is one reader's slot in a readQueue. It is released when the query's rows are closed or
// when the query fails; any later release has no effect.
type readSlot struct {
	of   *readQueue
	once sync.Once
}

func (p *readSlot) release() { p.once.Do(p.of.release) }

type readSlotKey struct{}

// queuedReader runs queries on an SQLite file in the order of the read queue. A query
// that returns rows passes its slot to the driver through the context. The driver
// releases the slot when the rows are closed; see preparedRows.
type queuedReader struct {
	pool  *sql.DB
	queue *readQueue
	brief bool // see DB.Brief
}

// QueryContext implements the statements interface.
func (g queuedReader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p, err := g.queue.enter(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := g.pool.QueryContext(g.within(ctx, p), query, args...)
	if err != nil {
		p.release()
	}
	return rows, err
}

// QueryRowContext implements the statements interface.
func (g queuedReader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	p, err := g.queue.enter(ctx)
	if err != nil {
		return g.pool.QueryRowContext(ctx, query, args...) // ctx has ended; the row carries its error
	}
	row := g.pool.QueryRowContext(g.within(ctx, p), query, args...)
	if row.Err() != nil {
		p.release()
	}
	return row
}

// ExecContext implements the statements interface. Readers do not call it.
func (g queuedReader) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return g.pool.ExecContext(ctx, query, args...)
}

func (g queuedReader) within(ctx context.Context, p *readSlot) context.Context {
	if g.brief {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithValue(ctx, readSlotKey{}, p)
}

// Brief returns a Queryer for queries that find a few rows by their key. If ctx has
// ended, such a query does not start, but a running query is not interrupted. To make
// a query interruptible, database/sql and SQLite's driver each start a goroutine,
// which takes longer than the query itself. On PostgreSQL, where a query can hang,
// Brief returns d.
func (d *DB) Brief() Queryer {
	if d.engine == Postgres {
		return d
	}
	c := d.conn
	c.raw = queuedReader{pool: d.read, queue: d.readQueue, brief: true}
	return c
}
