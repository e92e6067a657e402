package db

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// gate lets as many in as there are connections, and the others in the order in
// which they came. database/sql hands a connection that becomes free to any of
// those who wait, so that in a crowd somebody waits for a hundred others.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting []chan struct{} // the first came first; closed for who is let in
	waited  int64           // how many have waited, and
	took    time.Duration   // how long, together
}

// enter waits for a place, or until ctx ends.
func (g *gate) enter(ctx context.Context) (*place, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	if g.free > 0 { // then nobody waits
		g.free--
		g.mu.Unlock()
		return &place{of: g}, nil
	}
	in, began := make(chan struct{}), time.Now()
	g.waiting = append(g.waiting, in)
	g.mu.Unlock()
	defer func() { g.note(time.Since(began)) }()
	select {
	case <-in:
		return &place{of: g}, nil
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
	g.pass() // it was let in just now, and has no use for it
	return nil, ctx.Err()
}

func (g *gate) note(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waited, g.took = g.waited+1, g.took+took
}

// waits tells how many have waited, and how long together.
func (g *gate) waits() (int64, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waited, g.took
}

// pass gives a place to who has waited longest.
func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}

// place is one in the gate. It is given back once, by whoever is first: the rows
// that are closed, or who learned that there are none.
type place struct {
	of   *gate
	once sync.Once
}

func (p *place) leave() { p.once.Do(p.of.pass) }

type placeKey struct{}

// gated are the readers of an SQLite file, in their order. The place of a
// statement that has rows goes with its context to the driver, which gives it
// back when they are closed; see preparedRows.
type gated struct {
	pool  *sql.DB
	gate  *gate
	brief bool // see DB.Brief
}

// QueryContext is called by conn.
func (g gated) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p, err := g.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := g.pool.QueryContext(g.within(ctx, p), query, args...)
	if err != nil {
		p.leave()
	}
	return rows, err
}

// QueryRowContext is called by conn.
func (g gated) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	p, err := g.gate.enter(ctx)
	if err != nil {
		return g.pool.QueryRowContext(ctx, query, args...) // which says why, because ctx has ended
	}
	row := g.pool.QueryRowContext(g.within(ctx, p), query, args...)
	if row.Err() != nil {
		p.leave()
	}
	return row
}

// ExecContext is here because transactions have it, too. Nobody writes with a reader.
func (g gated) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return g.pool.ExecContext(ctx, query, args...)
}

func (g gated) within(ctx context.Context, p *place) context.Context {
	if g.brief {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithValue(ctx, placeKey{}, p)
}

// Brief is d for statements that find a few rows by their key. They are not
// interrupted when the context ends, only not begun: database/sql and SQLite's
// driver each start a goroutine for a statement that may be interrupted, which
// takes longer than such a statement. On PostgreSQL, which may hang, it is d.
func (d *DB) Brief() Queryer {
	if d.engine == Postgres {
		return d
	}
	c := d.conn
	c.raw = gated{pool: d.read, gate: d.gate, brief: true}
	return c
}
