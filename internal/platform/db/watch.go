package db

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// peek is how often an SQLite file is asked whether another process has
	// written to it. One question takes some microseconds.
	peek = 50 * time.Millisecond
	// quiet is how long a listening connection may say nothing before it is asked
	// whether it is still there.
	quiet = 15 * time.Second
	// A connection that was lost is made anew after a pause that doubles.
	leastPause, mostPause = 100 * time.Millisecond, 5 * time.Second
)

// watchers are those in this process who wait for topics. They are shared by
// a DB and its transactions.
type watchers struct {
	mu sync.Mutex
	by map[string][]*func()
}

func (w *watchers) add(topic string, wake func()) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string][]*func(){}
	}
	mine := &wake
	w.by[topic] = append(w.by[topic], mine)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		var rest []*func()
		for _, other := range w.by[topic] {
			if other != mine {
				rest = append(rest, other)
			}
		}
		w.by[topic] = rest
	}
}

func (w *watchers) wake(topic string) {
	w.mu.Lock()
	waiting := w.by[topic]
	w.mu.Unlock()
	for _, wake := range waiting {
		(*wake)()
	}
}

// Wake has everyone who watches topic woken once the transaction is committed:
// those of this process at once, those of others as Watch says. It only wakes:
// what there is to know stands in rows. Call it before statements that others
// wait for, because on PostgreSQL it is one more of them.
func (t *Tx) Wake(ctx context.Context, topic string) error {
	if t.woken[topic] {
		return nil
	}
	if t.engine == Postgres {
		// Notifications of one channel that are alike are sent once.
		if _, err := t.Exec(ctx, `SELECT pg_notify(`+channel+`, '')`, topic); err != nil {
			return fmt.Errorf("wake %s: %w", topic, err)
		}
	}
	t.wakes(topic)
	return nil
}

// AlsoWake is Wake by an INSERT that is about to run, so that on PostgreSQL it is
// no statement of its own: clause ends the INSERT, and its arguments end with args.
func (t *Tx) AlsoWake(topic string) (clause string, args []any) {
	if t.engine == Postgres && !t.woken[topic] {
		clause, args = ` RETURNING pg_notify(`+channel+`, '')`, []any{topic}
	}
	t.wakes(topic)
	return clause, args
}

// wakes notes that topic is woken in this process once the transaction is committed.
func (t *Tx) wakes(topic string) {
	if t.woken[topic] {
		return
	}
	if t.woken == nil {
		t.woken = map[string]bool{}
	}
	t.woken[topic] = true
	t.Committed(func() { t.watchers.wake(topic) })
}

// channel names a topic for PostgreSQL, whose channels belong to a database and
// not to a schema, and are at most 63 bytes long.
const channel = `'wardroom_' || md5(current_schema() || '/' || ?)`

// Watch calls wake after every commit that said Wake to topic, until ctx ends.
// Commits of this process wake at once. Those of other processes wake on
// PostgreSQL by LISTEN, on a connection of its own; on SQLite, where every
// commit of another connection wakes, within 50 ms. wake must not wait, may be
// called for nothing, and may miss commits while the database is away: after
// that it is called once, and failed has been told why.
func (d *DB) Watch(ctx context.Context, topic string, wake func(), failed func(error)) {
	defer d.watchers.add(topic, wake)()
	pause := leastPause
	for healthy := true; ; {
		err := d.watch(ctx, topic, func() {
			healthy, pause = true, leastPause
			wake()
		})
		if ctx.Err() != nil {
			return
		}
		if healthy { // one loss is told once
			failed(err)
			healthy = false
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause + rand.N(pause)): //nolint:gosec // G404: only so that replicas do not come back in step
		}
		pause = min(2*pause, mostPause)
	}
}

// watch is Watch for as long as the database can be watched without a break.
func (d *DB) watch(ctx context.Context, topic string, wake func()) error {
	if d.engine == Postgres {
		return d.listen(ctx, topic, wake)
	}
	return d.peek(ctx, wake)
}

// peek watches the number that changes with every commit to the file.
func (d *DB) peek(ctx context.Context, wake func()) error {
	every := time.NewTicker(peek)
	defer every.Stop()
	for last := int64(-1); ; {
		version, err := d.commits.version()
		if err != nil {
			return fmt.Errorf("watch database: %w", err)
		}
		if version != last {
			wake()
			last = version
		}
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// listen watches by LISTEN. Rows that were committed before it listened are
// found because it wakes first.
func (d *DB) listen(ctx context.Context, topic string, wake func()) error {
	c, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(bye) // it may be broken, and ends in any case
	}()
	if err := limit(ctx, c); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	var name string
	if err := c.QueryRow(ctx, `SELECT `+d.rebind(channel), topic).Scan(&name); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := c.Exec(ctx, `LISTEN `+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	wake()
	for {
		wait, cancel := context.WithTimeout(ctx, quiet)
		_, err := c.WaitForNotification(wait)
		silent := wait.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			wake()
		case !silent:
			return fmt.Errorf("listen: %w", err)
		default:
			// Nothing was said. A peer that is gone would say the same.
			probe, cancel := context.WithTimeout(ctx, mostPause)
			err := c.Ping(probe)
			cancel()
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
		}
	}
}
