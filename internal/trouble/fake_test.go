package trouble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var night = time.Date(2026, 11, 16, 3, 0, 0, 0, time.UTC)

// every is the interval of checks on the test clock.
const every = 30 * time.Second

// secret is an error message of the gateway.
const secret = "token=hunter2"

// world is an inbox, a manual clock and any number of processes.
type world struct {
	t     *testing.T
	d     *db.DB
	all   []*process
	fault error // returned by the inbox

	mu  sync.Mutex
	now time.Time
}

// process is a process with its gateway connection.
type process struct {
	*Service
	w *world

	mu sync.Mutex
	is gateway.Status
}

func newWorld(t *testing.T, d *db.DB) *world { return &world{t: t, d: d, now: night} }

// starts starts a process whose connection is in the given state.
func (w *world) starts(state gateway.State) *process {
	p := &process{w: w}
	p.Service = &Service{
		DB: w.d, Gateway: p, Log: slog.New(slog.DiscardHandler), Now: w.clock, Every: time.Millisecond, Raise: w.raise, Resolve: w.settle,
	}
	w.all = append(w.all, p)
	p.turns(state)
	return p
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// passes advances the clock; every process checks at each interval.
func (w *world) passes(d time.Duration) {
	w.t.Helper()
	for end := w.clock().Add(d); w.clock().Before(end); {
		w.move(min(every, end.Sub(w.clock())))
		for _, p := range w.all {
			if err := p.Check(w.t.Context()); err != nil && !errors.Is(err, w.fault) {
				w.t.Fatal(err)
			}
		}
	}
}

// turns sets the connection's state and reports it.
func (p *process) turns(state gateway.State) {
	p.mu.Lock()
	p.is = gateway.Status{State: state, LastError: secret, ConnectedAt: p.is.ConnectedAt, DeviceID: p.is.DeviceID}
	p.mu.Unlock()
	p.Observe(p.Status())
}

// shows changes other parts of the connection's status without reporting them.
func (p *process) shows(change func(*gateway.Status)) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.is)
	return p
}

func (p *process) Status() gateway.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.is
}

func (p *process) Watch(ctx context.Context, tell func(gateway.Status)) {
	tell(p.Status())
	<-ctx.Done()
}

// raise mimics the inbox's rules that this package relies on.
func (w *world) raise(ctx context.Context, tx *db.Tx, m inbox.NewItem) error {
	if w.fault != nil {
		return w.fault
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO inbox_items (id, cause, kind, severity, urgency, title, detail, subject_kind, subject_id, subject_name, count, first_at, last_at, state, version)
		VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, 1, ?, ?, 'open', 1)
		ON CONFLICT (cause) DO UPDATE SET count = inbox_items.count + 1, severity = excluded.severity, title = excluded.title, detail = excluded.detail, last_at = excluded.last_at,
			state = CASE WHEN inbox_items.state = 'resolved' THEN 'open' ELSE inbox_items.state END, resolved_at = NULL, resolution = NULL`,
		db.NewID(), m.Cause, m.Kind, m.Severity, m.Title, m.Detail, m.Subject.Kind, m.Subject.ID, m.Subject.Name, m.At, m.At)
	return err
}

func (w *world) settle(ctx context.Context, tx *db.Tx, cause, why string) error {
	_, err := tx.Exec(ctx, `UPDATE inbox_items SET state = 'resolved', resolved_at = ?, resolver_id = ?, resolution = ? WHERE cause = ? AND state <> 'resolved'`,
		clock.At(w.clock()), actor.System.ID, why, cause)
	return err
}

// person sets the state of an item, as a user would.
func (w *world) person(kind, state string) {
	w.t.Helper()
	err := w.d.Tx(w.t.Context(), func(tx *db.Tx) error {
		var ended *clock.Time
		if state == "resolved" {
			ended = clock.Ptr(w.clock())
		}
		_, err := tx.Exec(w.t.Context(), `UPDATE inbox_items SET state = ?, resolved_at = ?, resolver_id = ?, resolution = ? WHERE kind = ?`, state, ended, "ada", "by hand", kind)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// items returns the inbox items, such as "gateway_trouble open x1".
func (w *world) items() string {
	w.t.Helper()
	rows, err := w.d.Query(w.t.Context(), `SELECT kind, state, count FROM inbox_items ORDER BY kind`)
	all, err := db.All(rows, err, func(r db.Row) (text string, err error) {
		var kind, state string
		var count int
		err = r.Scan(&kind, &state, &count)
		return fmt.Sprintf("%s %s x%d", kind, state, count), err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

func (w *world) want(items string) {
	w.t.Helper()
	if got := w.items(); got != items {
		w.t.Errorf("after %s the inbox has %q, want %q", w.clock().Sub(night), got, items)
	}
}
