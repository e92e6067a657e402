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
	// pollInterval is how often an SQLite file is checked for commits by other
	// processes. One check takes a few microseconds.
	pollInterval = 50 * time.Millisecond
	// pingAfter is how long a LISTEN connection can be silent before it is pinged.
	pingAfter = 15 * time.Second
	// After a connection is lost, the pause doubles with each attempt to reconnect,
	// within these limits.
	leastPause, mostPause = 100 * time.Millisecond, 5 * time.Second
)

// watchers holds the functions that this process calls after a commit, by topic. A
// DB and its transactions share them.
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

// Wake wakes all watchers of a topic when the transaction commits. Watchers in this
// process are woken immediately; Watch describes when those in other processes are
// woken. Wake transfers no data, so the change itself must be in the database. On
// PostgreSQL it is an additional statement, so call it before the statements that make
// other writers wait.
func (t *Tx) Wake(ctx context.Context, topic string) error {
	if t.woken[topic] {
		return nil
	}
	if t.engine == Postgres {
		// PostgreSQL sends identical notifications of one transaction only once.
		if _, err := t.Exec(ctx, `SELECT pg_notify(`+channel+`, '')`, topic); err != nil {
			return fmt.Errorf("wake %s: %w", topic, err)
		}
	}
	t.wakes(topic)
	return nil
}

// AlsoWake is a variant of Wake for a transaction that runs an INSERT. The caller must append the
// returned clause to the INSERT and the returned arguments to its arguments. This saves a statement
// on PostgreSQL.
func (t *Tx) AlsoWake(topic string) (clause string, args []any) {
	if t.engine == Postgres && !t.woken[topic] {
		clause, args = ` RETURNING pg_notify(`+channel+`, '')`, []any{topic}
	}
	t.wakes(topic)
	return clause, args
}

// wakes makes t's commit wake all watchers of the topic in this process.
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

// channel is the SQL expression for the name of a topic's channel on PostgreSQL. It
// includes the schema, because channels belong to the whole database. It uses a hash,
// because channel names can have at most 63 bytes.
const channel = `'wardroom_' || md5(current_schema() || '/' || ?)`

// Watch calls the function wake after each commit of a transaction that called Wake
// for the topic, until ctx ends. After a commit by this process, it does so
// immediately. On PostgreSQL, Watch is notified of commits by other processes through
// LISTEN on a separate connection. On SQLite, it calls wake within 50 ms of every
// commit by another process, whatever the topic.
//
// The function wake must not block. It may also be called when nothing has changed.
// While the database is unavailable, Watch misses commits. In that case it calls the
// function failed once with the reason, and wake once when the database is available
// again.
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
		if healthy { // report each loss once
			failed(err)
			healthy = false
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause + rand.N(pause)): //nolint:gosec // G404: jitter, so that replicas do not reconnect together
		}
		pause = min(2*pause, mostPause)
	}
}

// watch calls wake whenever a topic may have changed, until ctx ends or the database becomes
// unavailable.
func (d *DB) watch(ctx context.Context, topic string, wake func()) error {
	if d.engine == Postgres {
		return d.listen(ctx, topic, wake)
	}
	return d.pollFile(ctx, wake)
}

// pollFile calls the function wake whenever the data version of an SQLite file
// changes.
func (d *DB) pollFile(ctx context.Context, wake func()) error {
	every := time.NewTicker(pollInterval)
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

// listen watches a topic with LISTEN. It calls the function wake once at the start,
// because changes may have been committed before PostgreSQL received the LISTEN.
func (d *DB) listen(ctx context.Context, topic string, wake func()) error {
	c, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(bye) // an error does not matter: the connection is gone
	}()
	if err := setTimeouts(ctx, c); err != nil {
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
		wait, cancel := context.WithTimeout(ctx, pingAfter)
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
			// Silence can also mean that the server is gone.
			probe, cancel := context.WithTimeout(ctx, mostPause)
			err := c.Ping(probe)
			cancel()
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
		}
	}
}
